"""Settings of the morphological tagger, for Python and the command line alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.base.settings import setting
from eigentext.base.values import Anything, Real, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike


@dataclass
class MorphTaggerSettings:
    """Settings of a morphological tagger."""

    clusters: str | PathLike[str] | Mapping[str, str] | None = setting(
        None, Anything(), "Brown clusters: bits TAB word TAB count.", path=True, kept=True
    )
    vectors: str | PathLike[str] | Mapping[str, Any] | None = setting(
        None, Anything(), "Word vectors, word2vec text or binary.", path=True, kept=True
    )
    epochs: int = setting(6, Whole(1), "Passes over the data.")
    rate: float = setting(0.04, Real(0, open=True), "Length of the first step of a weight.")
    bits: int = setting(21, Whole(10, 26), "The table of weights has 2^bits entries.")
    seed: int = setting(0, Whole(0), "Start of every random choice.")
