"""Text, words and trees as data: documents, sentences, tokens, formats, trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.language.doc import Doc as Doc
    from eigentext.language.reading import read as read
    from eigentext.language.reading import read_docs as read_docs
    from eigentext.language.sentence import Alternatives as Alternatives
    from eigentext.language.sentence import Columns as Columns
    from eigentext.language.sentence import Sentence as Sentence
    from eigentext.language.sentence import TreeReading as TreeReading
    from eigentext.language.sentence import WordReading as WordReading
    from eigentext.language.token import Token as Token
    from eigentext.language.token import Word as Word

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "doc": "Doc",
        "reading": "read read_docs",
        "sentence": "Alternatives Columns Sentence TreeReading WordReading",
        "token": "Token Word",
    },
    modules="formats tokenise trees",
)
