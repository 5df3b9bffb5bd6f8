"""``POST /api/dep/parse``: sentences in, heads, relations, k-best lists and arc diagrams out.

The flow: raw text -> tokens (or tokens as they came) -> the parser that the settings name, loaded
once when the application is made -> trees -> `reports.arcs`.  One sentence is parsed at a time.
"""

from __future__ import annotations

from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING

from eigentext.corpus.tokenise import tokenise_text
from eigentext.errors import DataError, EigentextError
from eigentext.reports.arcs import arcs_svg
from eigentext.web.schemas import (
    Dependency,
    DependencyAnswer,
    DependencyRequest,
    DependencyView,
    TreeChoice,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.dependency import GraphParser, Parse
    from eigentext.web.settings import ServiceSettings

__all__ = ["DependencyService", "NoModelError", "TooMuchError"]


_WIDTH = 960.0  # of a row of words; longer sentences are broken


class NoModelError(EigentextError):
    """The service was started without the model that a request needs."""


class TooMuchError(EigentextError):
    """A request within the limit of bytes asks for more work than the settings allow."""


class DependencyService:
    """A parser and the limits under which it works for strangers."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.parser: GraphParser | None = None
        self._turn = Lock()
        if settings.dep_model is not None:
            from eigentext.dependency import GraphParser

            self.parser = GraphParser.load(settings.dep_model)

    def answer(self, request: DependencyRequest) -> DependencyAnswer:
        """Parse what the request holds."""
        parser = self.parser
        if parser is None:
            raise NoModelError(
                "this service has no dependency parser: start it with "
                "`eigentext serve --dep-model FILE`, a file of `eigentext dep train`"
            )
        sentences = self._sentences(request)
        with self._turn:
            return DependencyAnswer(
                sentences=[self._view(parser, tokens, request) for tokens in sentences]
            )

    def _sentences(self, request: DependencyRequest) -> list[list[str]]:
        most_sentences, most_words = self.settings.max_trees, self.settings.max_words
        if (request.text is None) == (request.sentences is None):
            raise DataError("input", None, "expected either text or sentences, and not both")
        if request.sentences is not None:
            sentences = [list(tokens) for tokens in request.sentences]
            for number, tokens in enumerate(sentences, start=1):
                if not tokens or any(not token.strip() for token in tokens):
                    raise DataError("input", number, f"sentence {number} has an empty token")
        else:
            text = request.text or ""
            if len(text) > self.settings.max_characters:
                raise TooMuchError(
                    f"the text has {len(text):,} characters; "
                    f"at most {self.settings.max_characters:,} are read"
                )
            found = tokenise_text(text, request.scheme)
            sentences = [[token.text for token in tokens] for tokens in found]
        if len(sentences) > most_sentences:
            raise TooMuchError(
                f"found {len(sentences):,} sentences; at most {most_sentences:,} are parsed"
            )
        for tokens in sentences:
            if len(tokens) > most_words:
                raise TooMuchError(
                    f"a sentence has {len(tokens):,} words; at most {most_words:,} are parsed"
                )
        return sentences

    def _view(
        self, parser: GraphParser, tokens: list[str], request: DependencyRequest
    ) -> DependencyView:
        columns = parser.columns(tokens)  # tagged once for all questions
        tags = next(
            (tuple(tags) for tags in (columns.upos, columns.xpos) if set(tags) != {"_"}), None
        )
        best = parser.parse(*columns)
        heads = best.tree.heads.tolist()
        probabilities: list[float] | None = None
        if request.marginals:
            chances = parser.marginals(*columns)
            probabilities = [
                round(min(1.0, max(0.0, float(chances[head, word]))), 6)
                for word, head in enumerate(heads, start=1)
            ]
        others = parser.kbest(*columns, k=request.kbest) if request.kbest > 1 else []
        return DependencyView(
            tokens=tokens,
            dependencies=_dependencies(best, tags),
            score=_finite(best.score),
            approximate=best.approximate,
            probabilities=probabilities,
            svg=_drawing(best, tags, probabilities, None),
            kbest=[
                TreeChoice(
                    rank=rank,
                    score=_finite(one.score),
                    heads=one.tree.heads.tolist(),
                    relations=list(one.tree.relations or ("",) * len(tokens)),
                    svg=_drawing(one, tags, None, None if rank == 1 else best),
                )
                for rank, one in enumerate(others, start=1)
            ],
        )


def _finite(score: float) -> float | None:
    """JSON has no infinity."""
    return float(score) if isfinite(score) else None


def _dependencies(parse: Parse, tags: Sequence[str] | None) -> list[Dependency]:
    tree = parse.tree
    columns = zip(tree.forms, tags or ("",) * len(tree), tree.arcs, strict=True)
    return [
        Dependency(id=word, form=form, tag=tag, head=head, relation=relation or "")
        for form, tag, (head, word, relation) in columns
    ]


def _drawing(
    parse: Parse,
    tags: Sequence[str] | None,
    probabilities: Sequence[float] | None,
    best: Parse | None,
) -> str:
    """The tree; beside a better one, with what differs in colour."""
    tree = parse.tree
    return arcs_svg(
        tree.forms,
        tree.heads.tolist(),
        tree.relations,
        tags=tags,
        title="Dependencies",
        probabilities=probabilities,
        against=None if best is None else best.tree.heads.tolist(),
        against_relations=None if best is None else best.tree.relations,
        names=("this tree", "the best tree"),
        width=_WIDTH,
    )
