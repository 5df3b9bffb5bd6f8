"""Raw text -> sentences, tokens and the words of multiword tokens, learned from a treebank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.tagging.segmentation.model import SegmentedSentence as SegmentedSentence
    from eigentext.tagging.segmentation.model import Segmenter as Segmenter
    from eigentext.tagging.segmentation.model import SurfaceToken as SurfaceToken
    from eigentext.tagging.segmentation.raw import raw_text as raw_text

__getattr__, __dir__, __all__ = lazy(
    __name__, {"model": "SegmentedSentence Segmenter SurfaceToken", "raw": "raw_text"}
)
