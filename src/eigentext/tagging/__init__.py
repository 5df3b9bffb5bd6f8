"""What words are: sequences of tags, morphology, and where words begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.tagging.morphology import MorphTagger as MorphTagger
    from eigentext.tagging.segmentation import Segmenter as Segmenter
    from eigentext.tagging.sequence import SequenceTagger as SequenceTagger

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {"morphology": "MorphTagger", "segmentation": "Segmenter", "sequence": "SequenceTagger"},
    modules="morphology segmentation sequence",
)
