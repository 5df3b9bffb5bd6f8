"""Modules that are read when they are used: in a process of its own, since imports stay."""

from __future__ import annotations

import subprocess
import sys

from helpers.commands import ENVIRONMENT

_CODE = """
import sys
from eigentext.base import later
later.put_off("scipy.stats")
import sklearn.base
assert "scipy.optimize" not in sys.modules, "scipy.stats was read"
import scipy.stats
assert "scipy.optimize" not in sys.modules, "an import alone reads nothing"
{use}
assert "scipy.optimize" in sys.modules
assert type(scipy.stats) is type(sys)
import scipy
assert scipy.stats is sys.modules["scipy.stats"]
"""
_USES = [
    "assert scipy.stats.norm.cdf(0) == 0.5",
    "from scipy.stats import rankdata",
    "assert 'rankdata' in dir(scipy.stats)",
    "from sklearn.cluster import KMeans; KMeans(1).fit([[0.0], [1.0]]); scipy.stats.norm",
]


def test_scipy_stats_is_read_when_it_is_used() -> None:
    for use in _USES:
        line = [sys.executable, "-c", _CODE.format(use=use)]
        result = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=False)
        assert result.returncode == 0, (use, result.stderr.decode())


def test_the_library_leaves_modules_alone() -> None:
    code = "import sys, eigentext.base.model, sklearn.base, scipy.stats"
    code += "; assert type(scipy.stats) is type(sys); assert 'scipy.optimize' in sys.modules"
    line = [sys.executable, "-c", code]
    result = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
