"""Our parsers and taggers with the manners of NLTK: ``ParserI`` and ``TaggerI``.

>>> from eigentext.datasets import load_english
>>> from eigentext.constituency import LPCFG
>>> from eigentext.language.trees.constituent import Tree
>>> trees = [Tree.from_brackets(line) for line in load_english("train")]
>>> parser = nltk_parser(LPCFG(n_states=1).fit(trees))
>>> print(next(parser.parse("The farmer slept .".split())))
(TOP (S (NP (DT The) (NN farmer)) (VP (VBD slept)) (. .)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.errors import MissingExtraError
from eigentext.integrations.nltk_trees import to_nltk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def nltk_parser(model: Any, *, kbest: int = 1) -> Any:
    """An ``nltk.parse.api.ParserI`` over an LPCFG; ``parse`` gives the ``kbest`` best trees."""
    try:
        from nltk.parse.api import ParserI  # type: ignore[import-untyped]
    except ImportError as missing:
        raise MissingExtraError("parsers of NLTK", modules=["nltk"]) from missing

    class Parser(ParserI):  # type: ignore[misc]
        """Trees of the model, the best first."""

        def parse(self, sent: Sequence[str], *_: Any, **__: Any) -> Iterator[Any]:
            parse = model.parse(list(sent), kbest=kbest)
            trees = [candidate.tree for candidate in parse.kbest] or [parse.tree]
            return (to_nltk(tree) for tree in trees)

    return Parser()


def nltk_tagger(model: Any) -> Any:
    """An ``nltk.tag.api.TaggerI`` over a SequenceTagger or a LatentTagger."""
    try:
        from nltk.tag.api import TaggerI  # type: ignore[import-untyped]
    except ImportError as missing:
        raise MissingExtraError("taggers of NLTK", modules=["nltk"]) from missing

    class Tagger(TaggerI):  # type: ignore[misc]
        """(word, tag) pairs."""

        def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
            words = list(tokens)
            return list(zip(words, model.tag(words), strict=True)) if words else []

    return Tagger()
