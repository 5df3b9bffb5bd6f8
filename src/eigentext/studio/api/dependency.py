"""``POST /api/dep/parse``: sentences in, heads, relations, k-best lists and arc diagrams out.

The flow, in a worker: raw text -> tokens (or tokens as they came) -> the parser, loaded once ->
trees -> `drawing.arcs`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from eigentext.drawing.arcs import arcs_svg
from eigentext.studio.api import schemas as wire
from eigentext.studio.service.limits import as_typed, check_parsing, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.dependency import DependencyParser, Parse
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_WIDTH = 960.0  # of a row of words; longer sentences are broken


class DependencyService:
    """Parsers that work for strangers."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def answer(
        self, request: wire.DependencyRequest, limits: ServiceSettings
    ) -> wire.DependencyAnswer:
        """Parse what the request holds, within the limits."""
        parser = self._served.get("dep", request.model)
        sentences = _sentences(request, limits)
        return wire.DependencyAnswer(
            sentences=[_view(parser, tokens, request) for tokens in sentences]
        )


def _sentences(request: wire.DependencyRequest, limits: ServiceSettings) -> list[list[str]]:
    tokens = tokens_of(request, limits, least=1)
    sentences = [as_typed(request, sentence) for sentence in tokens]
    check_parsing([len(tokens) for tokens in sentences], request.kbest, limits)
    return sentences


def _view(
    parser: DependencyParser, tokens: list[str], request: wire.DependencyRequest
) -> wire.DependencyView:
    tagged = parser.tagged(tokens)  # once for all questions
    tags = next((tuple(tags) for tags in (tagged.upos, tagged.xpos) if set(tags) != {"_"}), None)
    best = parser.parse(tagged)
    marginals = parser.marginals(tagged) if request.marginals else None
    probabilities = arc_probabilities(best, marginals)
    others = parser.kbest(tagged, k=request.kbest) if request.kbest > 1 else []
    return wire.DependencyView(
        tokens=tokens,
        dependencies=_dependencies(best, tags),
        score=finite(best.score),
        approximate=best.approximate,
        probabilities=probabilities,
        svg=arc_drawing(best, None, tags=tags, probabilities=probabilities, width=_WIDTH),
        kbest=[
            wire.TreeChoice(
                rank=rank,
                score=finite(parse.score),
                heads=parse.tree.heads.tolist(),
                relations=list(parse.tree.relations or ("",) * len(tokens)),
                svg=arc_drawing(parse, None if rank == 1 else best, tags=tags, width=_WIDTH),
            )
            for rank, parse in enumerate(others, start=1)
        ],
    )


def finite(score: float) -> float | None:
    """JSON has no infinity."""
    return float(score) if isfinite(score) else None


def arc_probabilities(parse: Parse, marginals: Any) -> list[float] | None:
    """That of the head of each word, in a matrix of head and word."""
    if marginals is None:
        return None
    return [
        round(min(1.0, max(0.0, float(marginals[head, word]))), 6)
        for word, head in enumerate(parse.tree.heads.tolist(), start=1)
    ]


def _dependencies(parse: Parse, tags: Sequence[str] | None) -> list[wire.Dependency]:
    tree = parse.tree
    columns = zip(tree.forms, tags or ("",) * len(tree), tree.arcs, strict=True)
    return [
        wire.Dependency(id=word, form=form, tag=tag, head=head, relation=relation or "")
        for form, tag, (head, word, relation) in columns
    ]


def arc_drawing(parse: Parse, best: Parse | None, **style: Any) -> str:
    """The tree; beside a better one, with what differs in colour."""
    tree = parse.tree
    return arcs_svg(
        tree.forms,
        tree.heads.tolist(),
        tree.relations,
        title="Dependencies",
        against=None if best is None else best.tree.heads.tolist(),
        against_relations=None if best is None else best.tree.relations,
        names=("this tree", "the best tree"),
        **style,
    )
