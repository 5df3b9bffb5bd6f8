"""One version everywhere, and what is around the package agrees with pyproject.toml."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import eigentext

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = eigentext.__version__


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pythons() -> list[str]:
    found = [
        mark.rpartition(" ")[2]
        for mark in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", mark)
    ]
    assert found[0] == PROJECT["requires-python"].removeprefix(">=")
    return found


# ---------------------------------------------------------------- versions


def test_one_version_everywhere() -> None:
    assert yaml.safe_load(page("CITATION.cff"))["version"] == VERSION
    assert yaml.safe_load(page("recipe/recipe.yaml"))["context"]["version"] == VERSION
    headings = re.findall(r"^## (.+)$", page("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(re.escape(VERSION) + r" \(\d{4}-\d\d-\d\d\)", headings[1])
    released = yaml.safe_load(page("CITATION.cff"))["date-released"]
    assert str(released) in headings[1]
    assert f"formats that {VERSION} reads" in page("docs/reference/promises.md")


def test_this_python_is_one_of_those_that_are_named() -> None:
    assert pythons() == ["3.11", "3.12", "3.13", "3.14", "3.15"]
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in pythons()
    assert "Python 3.11 to 3.15" in page("docs/reference/promises.md")


# ---------------------------------------------------------------- conda


def names(requirements: list[str]) -> dict[str, str]:
    """Name to lower bound; what comes after a semicolon is for pip alone."""
    found = {}
    for line in requirements:
        bare = line.partition(";")[0].strip()
        name, _, bound = bare.partition(">=")
        found[name.strip().lower()] = bound.strip()
    return found


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    recipe = yaml.safe_load(page("recipe/recipe.yaml"))
    run = names(recipe["requirements"]["run"])
    assert run.pop("python") == ""
    assert run == names(PROJECT["dependencies"])
    assert f'match(python, "<{pythons()[0]}")' in recipe["build"]["skip"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    # the package that is built compiles its own kernels, and so needs all that it needs in use
    host = names(recipe["requirements"]["host"])
    assert host == {"python": "", "pip": "", "hatchling": ""} | run


def test_the_conda_recipe_brings_compiled_kernels() -> None:
    build = yaml.safe_load(page("recipe/recipe.yaml"))["build"]
    assert "noarch" not in build, "kernels are for one kind of processor"
    plain, compiled, brought = build["script"]
    assert "pip install ." in plain
    assert "EIGENTEXT_KERNELS" not in plain
    assert compiled.endswith('.ci/kernels.py "$SRC_DIR/kernels"')
    assert brought.startswith('EIGENTEXT_KERNELS="$SRC_DIR/kernels" ')


# ---------------------------------------------------------------- licences


@pytest.fixture
def licences() -> Any:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_is_on_the_page_of_licences(licences: Any) -> None:
    told = page("docs/reference/licences.md")
    rows = licences.known_rows(told)
    for extra, needed in licences.requirements().items():
        title = f"## Extra `{extra}`" if extra else "## Always needed"
        part = told[told.index(title) :].partition("\n## ")[0]
        for name, versions in needed:
            assert f"| {name} | {versions} | " in part, f"{name}: run `make licences`"
            assert rows[name], name
    wanted = {name for needed in licences.requirements().values() for name, _ in needed}
    assert set(rows) == wanted, "nothing on the page that is not needed any more"


def test_what_is_always_needed_is_free_for_all_uses(licences: Any) -> None:
    rows = licences.known_rows(page("docs/reference/licences.md"))
    for name, _ in licences.requirements()[""]:
        assert re.search("BSD|MIT|Apache|PSF", rows[name]), (name, rows[name])
        assert "GPL" not in rows[name], name


def test_every_data_set_is_on_the_page_of_licences(licences: Any) -> None:
    assert licences.data_table() in page("docs/reference/licences.md"), "run `make licences`"


def test_the_image_has_nothing_under_gpl(licences: Any) -> None:
    rows = licences.known_rows(page("docs/reference/licences.md"))
    extras = re.search(r"whl\)\[([\w,]+)\]", page("Dockerfile"))
    assert extras is not None
    for extra in extras[1].split(","):
        for name, _ in licences.requirements()[extra]:
            assert not re.match("GPL", rows[name]), name


# ---------------------------------------------------------------- workflows


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_pins_its_actions_and_has_least_permissions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Not run yet"), "until it has been: then say so"
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        if "uses" in job:
            assert job["uses"].startswith("./.github/workflows/")
            continue
        assert job["timeout-minutes"], name
        writes = {k for k, v in job.get("permissions", {}).items() if v == "write"}
        allowed = {"attestations", "id-token", "pages"}
        assert writes <= ({"contents"} if (path.stem, name) == ("release", "page") else allowed)
        for step in job["steps"]:
            if "uses" in step:
                assert re.search(r"@v\d+(\.\d+)*$", step["uses"]), step["uses"]
                if step["uses"].startswith("actions/checkout@"):
                    assert step["with"] == {"persist-credentials": False}
            else:
                assert "${{ github.event" not in step["run"], "no text of others in a shell"


def test_the_matrix_has_every_python_and_system() -> None:
    jobs = yaml.safe_load(page(".github/workflows/test.yml"))["jobs"]
    matrix = jobs["part"]["strategy"]["matrix"]
    assert matrix["python"] == pythons()
    systems = [*matrix["system"], *(one["system"] for one in matrix["include"])]
    for wanted in ("ubuntu-24.04", "-arm", "macos", "windows"):
        assert any(wanted in system for system in systems), wanted
    steps = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    for folder in re.findall(r"tests/\S+", steps):
        assert (ROOT / folder).exists(), folder


def test_a_release_has_kernels_for_every_processor_and_python() -> None:
    jobs = yaml.safe_load(page(".github/workflows/release.yml"))["jobs"]
    matrix = jobs["kernels"]["strategy"]["matrix"]
    assert matrix["python"] == [version for version in pythons() if version != "3.15"]  # no numba
    assert matrix["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    artifacts = {}  # of each job, by the action that keeps or fetches them
    for name, job in jobs.items():
        for step in job.get("steps", ()):
            action = step.get("uses", "").partition("@")[0].rpartition("/")[2]
            if (
                action in ("upload-artifact", "download-artifact")
                and step["with"]["path"] != "sbom/"
            ):
                artifacts.setdefault((name, action), []).append(step["with"])
    (kept,) = artifacts["kernels", "upload-artifact"]
    for part in ("runner", "python"):  # no two of the same name
        assert f"${{{{ matrix.{part} }}}}" in kept["name"]
    for name in ("attest", "publish", "page"):
        fetched = artifacts[name, "download-artifact"][0]
        assert fetched == {"pattern": "dist*", "path": "dist", "merge-multiple": True}
        assert "kernels" in needed(jobs, name)


def needed(jobs: dict[str, Any], name: str) -> set[str]:
    """The jobs that come before one, directly or not."""
    before = jobs[name].get("needs", [])
    direct = {before} if isinstance(before, str) else set(before)
    return direct.union(*(needed(jobs, other) for other in direct))


def test_make_knows_every_target_that_a_workflow_asks_for() -> None:
    targets = set(re.findall(r"^([\w-]+):", page("Makefile"), re.MULTILINE))
    asked = {
        target
        for path in WORKFLOWS
        for target in re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8"))
    }
    assert {"dist", "lint", "site", "test-core", "test-lab", "test-studio"} == asked
    assert asked - targets <= {"site"}  # of the documentation, which may come later


def test_issue_templates_are_forms() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert {"bug", "question", "new-language", "config"} == {path.stem for path in forms}
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.stem != "config":
            assert form["name"], path
            assert form["description"], path
            ids = [field["id"] for field in form["body"]]
            assert len(set(ids)) == len(ids)


# ---------------------------------------------------------------- the image


def test_the_image_runs_as_nobody_special_and_its_service_is_looked_after() -> None:
    lines = page("Dockerfile").splitlines()
    last = [line for line in lines if line.startswith("USER ")][-1]
    assert last.split()[1].isdigit()
    assert last != "USER 0"
    text = "\n".join(lines)
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)
    assert re.search(r'^CMD \["eigentext", "serve", "--host", "0.0.0.0"', text, re.MULTILINE)
    assert text.index("USER ") < text.index('CMD ["eigentext"')
    kept = {line[1:] for line in page(".dockerignore").splitlines() if line.startswith("!")}
    copied = set(" ".join(re.findall(r"^COPY (?!--)(.+) \./", text, re.MULTILINE)).split())
    assert copied == kept


def test_the_image_has_kernels_for_its_processor() -> None:
    build, image = re.split(r"^FROM (?=.*\n(?:LABEL))", page("Dockerfile"), flags=re.MULTILINE)
    assert build.index("pip wheel") < build.index(".ci/kernels.py /kernels")
    assert "EIGENTEXT_KERNELS=/kernels python -m hatchling build -t wheel -d /wheels" in build
    # the very numba that compiled them, and no other that an index has
    assert "--no-index --find-links /wheels" in image
    # elsewhere than on such a processor, whoever serves compiles, and keeps it
    cache = re.search(r"NUMBA_CACHE_DIR=(\S+)/numba", image)
    assert cache is not None
    assert re.search(rf"install -d -o eigentext \S+ \S+ {cache[1]} ", image)
