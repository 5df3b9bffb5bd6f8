"""``POST /api/dep/parse``: sentences in, heads, relations, k-best lists and arc diagrams out.

The flow, in a worker: raw text -> tokens (or tokens as they came) -> the parser, loaded once ->
trees -> `drawing.arcs`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from eigentext.drawing.arcs import arcs_svg
from eigentext.errors import DataError
from eigentext.studio.api.schemas import Dependency, DependencyAnswer, DependencyView, TreeChoice
from eigentext.studio.service.limits import check_parsing, tokens_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.dependency import DependencyParser, Parse
    from eigentext.studio.api.schemas import DependencyRequest
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_WIDTH = 960.0  # of a row of words; longer sentences are broken


class DependencyService:
    """Parsers that work for strangers."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def answer(self, request: DependencyRequest, limits: ServiceSettings) -> DependencyAnswer:
        """Parse what the request holds, within the limits."""
        parser = self._served.get("dep", request.model)
        sentences = _sentences(request, limits)
        return DependencyAnswer(sentences=[_view(parser, tokens, request) for tokens in sentences])


def _sentences(request: DependencyRequest, limits: ServiceSettings) -> list[list[str]]:
    tokenised = tokens_of_text(request, limits)
    if tokenised is None:
        sentences = [list(tokens) for tokens in request.sentences or ()]
        for number, tokens in enumerate(sentences, start=1):
            if not tokens or any(not token.strip() for token in tokens):
                raise DataError("input", number, f"sentence {number} has an empty token")
    else:
        text = request.text or ""
        # as typed: the parser itself knows quotes by their other names
        sentences = [[text[token.start : token.end] for token in tokens] for tokens in tokenised]
    check_parsing([len(tokens) for tokens in sentences], request.kbest, limits)
    return sentences


def _view(
    parser: DependencyParser, tokens: list[str], request: DependencyRequest
) -> DependencyView:
    tagged = parser.tagged(tokens)  # once for all questions
    tags = next((tuple(tags) for tags in (tagged.upos, tagged.xpos) if set(tags) != {"_"}), None)
    best = parser.parse(tagged)
    marginals = parser.marginals(tagged) if request.marginals else None
    probabilities = arc_probabilities(best, marginals)
    others = parser.kbest(tagged, k=request.kbest) if request.kbest > 1 else []
    return DependencyView(
        tokens=tokens,
        dependencies=_dependencies(best, tags),
        score=finite(best.score),
        approximate=best.approximate,
        probabilities=probabilities,
        svg=arc_drawing(best, None, tags=tags, probabilities=probabilities, width=_WIDTH),
        kbest=[
            TreeChoice(
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


def _dependencies(parse: Parse, tags: Sequence[str] | None) -> list[Dependency]:
    tree = parse.tree
    columns = zip(tree.forms, tags or ("",) * len(tree), tree.arcs, strict=True)
    return [
        Dependency(id=word, form=form, tag=tag, head=head, relation=relation or "")
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
