"""The package as a whole: installed from the wheel, light to import, its examples true."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest

import eigentext
from eigentext.cli.main import CORE


def _modules() -> list[str]:
    found = pkgutil.walk_packages(eigentext.__path__, "eigentext.")
    return sorted(m.name for m in found if not m.name.endswith("__main__"))


def test_the_wheel_is_tested_and_not_the_source_tree():
    if not os.environ.get("EIGENTEXT_TEST_WHEEL"):
        pytest.skip("EIGENTEXT_TEST_WHEEL is not set: `make test` sets it")
    assert "site-packages" in Path(eigentext.__file__).parts


@pytest.mark.parametrize("name", _modules())
def test_examples_in_docstrings(name: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def _in_fresh_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_import_loads_none_of_the_heavy_parts():
    loaded = _in_fresh_python("import eigentext, sys; print(*sorted(sys.modules))").split()
    heavy = {"numpy", "scipy", "numba", "sklearn", "typer", "rich", "pydantic", "matplotlib"}
    assert not heavy & set(loaded)
    ours = {name for name in loaded if name.startswith("eigentext")}
    assert ours == {"eigentext", "eigentext.base", "eigentext.base.lazy", "eigentext.version"}


def test_help_loads_none_of_the_heavy_parts():
    code = (
        "import sys\nfrom eigentext.cli.main import run\nrun(['--help'])\n"
        "print('LOADED', *sorted(sys.modules))"
    )
    loaded = set(_in_fresh_python(code).rpartition("LOADED")[2].split())
    assert not {"numpy", "scipy", "numba", "sklearn", "matplotlib", "fastapi"} & loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("eigentext.")}
    assert rooms == {"base", "cli", "errors", "version", "lab", "studio"}  # no model
    wings = {name for name in loaded if name.startswith(("eigentext.lab", "eigentext.studio"))}
    assert wings == {
        "eigentext.lab",
        "eigentext.lab.cli",
        "eigentext.studio",
        "eigentext.studio.cli",
    }
    assert not {f"eigentext.cli.{name}" for name in CORE} & loaded


def test_rooms_are_attributes():
    rooms = [module.name for module in pkgutil.iter_modules(eigentext.__path__) if module.ispkg]
    assert {"lab", "language", "words"} <= set(rooms)
    code = f"import eigentext\nprint(*(getattr(eigentext, room).__name__ for room in {rooms}))"
    assert _in_fresh_python(code).split() == [f"eigentext.{room}" for room in rooms]
    assert set(rooms) | {"__version__"} <= set(dir(eigentext))
    assert "__version__" in eigentext.__all__


def test_extras_are_the_agreed_ones():
    assert set(metadata("eigentext").get_all("Provides-Extra") or ()) == {
        "arabic",
        "cluster",
        "dev",
        "docs",
        "gpu",
        "hub",
        "inception",
        "parquet",
        "plot",
        "polish",
        "postgres",
        "spacy",
        "ud",
        "web",
    }
    assert metadata("eigentext")["License-Expression"] == "Apache-2.0"
    assert any(requirement.startswith("numpy") for requirement in requires("eigentext") or ())
