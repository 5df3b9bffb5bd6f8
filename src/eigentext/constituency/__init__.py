"""Latent-variable PCFGs.

Training: transform (binary trees) -> treebank -> features -> spectrum -> learn -> grammar.
Parsing: lexicon -> chart (coarse, fine, decode) -> answer.  ``model`` is the way in to both.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.constituency.answer import Candidate, Parse
    from eigentext.constituency.chart.constraints import Constraints
    from eigentext.constituency.model import LPCFG

__all__ = ["LPCFG", "Candidate", "Constraints", "Parse"]

_HOME_OF = {
    "LPCFG": "model",
    "Parse": "answer",
    "Candidate": "answer",
    "Constraints": "chart.constraints",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.constituency.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.constituency' has no attribute {name!r}")
