"""Every model is used once when it is loaded: the first request would wait for compilers else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from eigentext.errors import EigentextError

if TYPE_CHECKING:
    from collections.abc import Callable


def warm(kind: str, model: Any) -> None:
    """Ask a model of this kind all that pages ask, of a few words.

    What it cannot answer it says when somebody asks.
    """
    for use in _USES.get(kind, ()):
        with suppress(EigentextError, ValueError):
            use(model)


def _pipeline(model: Any) -> None:
    if model.segmenter_ is not None:
        model("Hello, world.", top=2, probabilities=True)
    else:
        model("Hello , world .", keep="tokens", top=2, probabilities=True)
    if model.parser_ is not None:
        (sentence,) = model([["a", "b"]], keep="tokens").sentences
        for k in (1, 2):
            model.parses(sentence, k, required_arcs=[(2, 1)])
        model.marginals(sentence, required_arcs=[(2, 1)])
    if model.const_ is not None:
        _const(model.const_)


def _const(model: Any) -> None:
    from eigentext.constituency.chart.constraints import Constraints

    words = ["a", "b", "c"]
    model.parse(words, kbest=2, marginals=True)
    for k in (1, 2):
        model.parse(words, kbest=k, marginals=True, constraints=Constraints(required=[(0, 2)]))


def _dep(model: Any) -> None:
    tagged = model.tagged(["a", "b"])
    for arcs in ({}, {"required_arcs": [(2, 1)]}):
        model.parse(tagged, **arcs)
        model.marginals(tagged, **arcs)
        model.kbest(tagged, k=2, **arcs)


def _lex(model: Any) -> None:
    model.rank(["a"])


def _words(model: Any) -> None:
    embeddings = getattr(model, "embeddings_", None)
    if embeddings is not None:
        embeddings.neighbours(embeddings.words[0], 2)


def _hmm(model: Any) -> None:
    text = [["a", "b"]]
    for ask in ("surprisals", "predict", "predict_proba"):
        if hasattr(model, ask):
            getattr(model, ask)(text)
    if hasattr(model, "analyse"):  # a tagger with hidden states
        model.analyse(text[0], kbest=2)


def _tagger(model: Any) -> None:
    model.kbest(["a", "b"], 2)


_USES: dict[str, tuple[Callable[[Any], object], ...]] = {
    "pipeline": (_pipeline,),
    "const": (_const,),
    "dep": (_dep,),
    "lex": (_lex,),
    "words": (_words,),
    "hmm": (_hmm,),
    "tagger": (_tagger,),
}
