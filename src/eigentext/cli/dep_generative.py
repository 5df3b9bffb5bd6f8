"""The generative parser behind ``dep train --model generative`` and ``dep parse``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.dependency import GenerativeParser
    from eigentext.language.formats.conllu import ConlluBlock

__all__ = ["generative_predictor", "is_generative", "refuse"]


def is_generative(path: str) -> bool:
    """By what the model file says it is."""
    from eigentext.base import modelfile

    kind = "dependency-generative"
    return modelfile.read_header(path, "graph-parser", kind).kind == kind


def refuse(asked: dict[str, Any], why: str) -> None:
    """An error that names the first option that was asked for and means nothing here."""
    from eigentext.errors import SettingsError

    for name, value in asked.items():
        if value:
            raise SettingsError(f"{name}: {why}")


def generative_predictor(
    path: str, asked: dict[str, Any], *, marginals: bool
) -> Callable[[list[ConlluBlock]], list[ConlluBlock]]:
    """Sentences with tags in, with trees out; relations are ``_``."""
    from eigentext.dependency import GenerativeParser

    refuse(asked, f"not with {path}: a generative parser gives one tree for CoNLL-U with tags")
    parser = GenerativeParser.load(path)
    return partial(_parsed_all, parser, marginals)


def _parsed_all(
    parser: GenerativeParser, marginals: bool, chunk: list[ConlluBlock]
) -> list[ConlluBlock]:
    return [parsed(parser, sentence, marginals=marginals) for sentence in chunk]


def parsed(
    parser: GenerativeParser, sentence: ConlluBlock, *, marginals: bool = False
) -> ConlluBlock:
    """The sentence with heads, all relations ``_``; with ``marginals`` also ``Prob=``."""
    from eigentext.dependency.decoding.decoders import eisner
    from eigentext.dependency.graph.answer import with_probabilities
    from eigentext.dependency.sentence import TaggedSentence

    arcs, _ = parser.marginals(TaggedSentence.from_conllu(sentence))
    heads = eisner(arcs)[0].tolist()
    filled = sentence.with_columns(head=heads, deprel=["_"] * len(heads))
    if not marginals:
        return filled
    return with_probabilities(filled, [float(arcs[h, d]) for d, h in enumerate(heads, start=1)])
