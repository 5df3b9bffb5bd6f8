"""What goes to PyPI: nothing is missing in sdist and wheel, nothing foreign is in them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "eigentext"
VERSION = re.search(r'VERSION = "(.+)"', (SOURCE / "version.py").read_text())[1]  # type: ignore[index]
MADE = ("__pycache__", ".nbi", ".nbc", ".pyc", ".pyo", ".part", ".DS_Store")


def built(kind: str, source: Path, target: Path) -> Path:
    """The one file that the build backend makes of a source tree, without the network."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def on_disk() -> set[str]:
    return {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and not any(part in str(path) for part in MADE)
    }


def sums(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    about = f"eigentext-{VERSION}.dist-info"
    names = {name for name in sums(wheel) if not name.startswith(f"{about}/")}
    assert names == on_disk()
    for needed in (
        "py.typed",
        "studio/store/migrations/env.py",
        "studio/store/migrations/versions/0001_first.py",
        "accel/constituency/parse.cu",
        "datasets/catalogue.json",
        "datasets/english/train.mrg",
        "lexical/schemes/turkish.json",
        "recipes/english.toml",
        "reports/report.css",
    ):
        assert f"eigentext/{needed}" in names, needed
    pages = {Path(name).suffix for name in names if name.startswith("eigentext/studio/service/")}
    assert {".html", ".css", ".js"} <= pages
    assert wheel.name == f"eigentext-{VERSION}-py3-none-any.whl"


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    about = f"eigentext-{VERSION}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        told = HeaderParser().parsestr(archive.read(f"{about}/METADATA").decode())
        entry_points = archive.read(f"{about}/entry_points.txt").decode()
        assert f"{about}/licenses/LICENSE" in archive.namelist()
    assert (told["Name"], told["Version"]) == ("eigentext", VERSION)
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert "eigentext = eigentext.cli.main:main" in entry_points
    zstandard = [one for one in told.get_all("Requires-Dist") if one.startswith("zstandard")]
    assert zstandard == ["zstandard>=0.22; python_version < '3.14'"]


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert folder.name == f"eigentext-{VERSION}"
    again = built("wheel", folder, tmp_path / "made")
    assert sums(again) == sums(wheel)


def test_the_sdist_has_tests_and_documents_and_nothing_that_was_made(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        files = [member for member in archive.getmembers() if not member.isdir()]
    names = {member.name.partition("/")[2] for member in files}
    assert all(member.isreg() for member in files), "no links, no devices"
    assert {name.partition("/")[0] for name in names} <= {
        *(".ci", ".dockerignore", ".github", ".gitignore", "CHANGELOG.md", "CITATION.cff"),
        *("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile"),
        *("PKG-INFO", "README.md", "SECURITY.md", "benchmarks", "docs", "examples"),
        *("pyproject.toml", "recipe", "src", "tests"),
    }
    assert {f"src/{name}" for name in on_disk()} <= names
    assert {
        "tests/golden/released.json",
        "tests/conftest.py",
        "docs/reference/promises.md",
    } <= names
    assert not [name for name in names if any(part in name for part in MADE)]


def test_a_wheel_with_compiled_kernels_is_for_one_kind_of_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: Path
) -> None:
    kernels = tmp_path / "kernels"
    (kernels / "eigentext.linalg.kernels").mkdir(parents=True)
    (kernels / "eigentext.linalg.kernels" / "one.py311.nbi").write_bytes(b"code")
    monkeypatch.setenv("EIGENTEXT_KERNELS", str(kernels))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0  # half-made: nothing says what they were made for
    assert "kernels.py makes them" in done.stderr
    (kernels / "made-for.json").write_text("{}")
    made = built("wheel", ROOT, tmp_path)
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert made.name.split("-")[2:4] == [python, python]
    assert "any" not in made.name.split("-")[-1]
    about = f"eigentext-{VERSION}.dist-info"
    more = {name for name in sums(made).keys() - sums(wheel).keys() if about not in name}
    assert more == {
        "eigentext/compiled/made-for.json",
        "eigentext/compiled/eigentext.linalg.kernels/one.py311.nbi",
    }
