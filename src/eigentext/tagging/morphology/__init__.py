"""Morphology: words -> candidate tags -> the best sequence -> part of speech, features, lemmas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.tagging.morphology.tagger import Morphology as Morphology
    from eigentext.tagging.morphology.tagger import MorphTagger as MorphTagger
    from eigentext.tagging.morphology.tagger import fold_works as fold_works
    from eigentext.tagging.morphology.tagger import jackknifed as jackknifed

__getattr__, __dir__, __all__ = lazy(
    __name__, {"tagger": "MorphTagger Morphology fold_works jackknifed"}
)
