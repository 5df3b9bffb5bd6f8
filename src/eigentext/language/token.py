"""What a sentence is made of: tokens, which stand in the text, and words, which have the tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Token(NamedTuple):
    """What stands in the text from ``start`` to ``end``, -1 where that is not known.

    ``form``         the text there, runs of white space made one blank
    ``misc``         what CoNLL-U says of the space after it: ``_``, ``SpaceAfter=No``, ...
    ``first, last``  the numbers of its words, from 1; the same for an ordinary token, 0: not known
    """

    form: str
    start: int = -1
    end: int = -1
    misc: str = "_"
    first: int = 0
    last: int = 0


class Word(NamedTuple):
    """A syntactic word; columns are as in CoNLL-U, but ``id`` and ``head`` are numbers."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None
    deprel: str
    deps: str
    misc: str

    @property
    def features(self) -> dict[str, str]:
        """The column ``feats`` as a dict."""
        from eigentext.language.formats.conllu import parse_pairs

        return parse_pairs(self.feats)


def plain_text(tokens: Iterable[Token]) -> str:
    """Tokens with one blank wherever there is white space after one."""
    pieces = []
    for token in tokens:
        pieces.append(token.form)
        if "SpaceAfter=No" not in token.misc or "SpaceAfter=No" not in token.misc.split("|"):
            pieces.append(" ")
    if pieces[-1] == " ":
        pieces.pop()
    return "".join(pieces)
