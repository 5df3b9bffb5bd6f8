"""The oracle grammar, loaded from its place beside this folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def lpcfg():
    """The module tests/oracle/lpcfg.py."""
    path = Path(__file__).parent.parent / "oracle" / "lpcfg.py"
    spec = importlib.util.spec_from_file_location("oracle_lpcfg", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
