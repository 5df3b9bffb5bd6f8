"""From raw text to everything: sentences, words, tags, features, lemmas and trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.pipeline.doc import Alternatives as Alternatives
    from eigentext.pipeline.doc import Doc as Doc
    from eigentext.pipeline.doc import DocSentence as DocSentence
    from eigentext.pipeline.doc import DocToken as DocToken
    from eigentext.pipeline.doc import TreeReading as TreeReading
    from eigentext.pipeline.doc import Word as Word
    from eigentext.pipeline.doc import WordReading as WordReading
    from eigentext.pipeline.model import Pipeline as Pipeline

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "doc": "Alternatives Doc DocSentence DocToken TreeReading Word WordReading",
        "model": "Pipeline",
    },
)
