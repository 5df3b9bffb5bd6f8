"""Latent-variable PCFGs.

Training: transform (binary trees) -> treebank -> features -> learn -> grammar.
Parsing: lexicon -> chart (coarse, fine, decode) -> answer.  ``model`` is the way in to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.constituency.answer import Parse as Parse
    from eigentext.constituency.answer import RankedTree as RankedTree
    from eigentext.constituency.chart.constraints import Constraints as Constraints
    from eigentext.constituency.model import LPCFG as LPCFG

__getattr__, __dir__, __all__ = lazy(
    __name__, {"answer": "Parse RankedTree", "chart.constraints": "Constraints", "model": "LPCFG"}
)
