"""``POST /api/parse``: constituents and dependencies of a text, k best, under constraints.

The flow, in a worker: text -> sentences (`parse_models`) -> both parsers, each with what is asked
of its trees -> what the k best trees differ in -> `drawing`.  Contradictions are found by the
parsers themselves; a tree that does not meet what was asked for is never sent.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from math import nan
from typing import TYPE_CHECKING, Any

from eigentext.constituency.chart.constraints import Constraints
from eigentext.constituency.inspection import Inventory, inventory
from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg
from eigentext.errors import SettingsError
from eigentext.studio.api import schemas_parse as wire
from eigentext.studio.api.parse_models import (
    BLANKS,
    Arcs,
    chosen_const,
    chosen_dep,
    sentences_to_parse,
    there_are,
)
from eigentext.studio.service.limits import check_parsing, finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.constituency import LPCFG
    from eigentext.constituency import Parse as ConstParse
    from eigentext.dependency import Parse as DepParse
    from eigentext.language.trees.constituent import Tree
    from eigentext.studio.api.parse_models import DepModel, Input, ParsedTrees
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_WIDTH = 760.0  # of a row of words of an arc diagram; longer sentences are broken
_MARGINALS = {"const": "posterior", "dep": "probability"}  # what the legends call them


class ParseService:
    """Parsers of both kinds that work for strangers."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def answer(self, request: wire.ParseRequest, limits: ServiceSettings) -> wire.ParseAnswer:
        """Parse what the request holds, within the limits."""
        served, layers = self._served, request.layers
        if layers is None:
            kinds: tuple[wire.Layer, ...] = ("const", "dep")
            layers = [kind for kind in kinds if there_are(served, kind)] or ["dep"]
        const_name, const = (
            chosen_const(served, request.const) if "const" in layers else (None, None)
        )
        dep_name, dep = (
            chosen_dep(served, request.dep, request.rerank) if "dep" in layers else (None, None)
        )

        def check(lengths: Sequence[int]) -> None:
            some = [lengths[number] for number in _chosen(request, len(lengths))]
            check_parsing(some, request.kbest, limits)

        sentences_in = sentences_to_parse(request, dep, limits, check)
        constraints = _constraints_of(request, len(sentences_in))
        chosen = _chosen(request, len(sentences_in))
        sentences = []
        for number in chosen:
            sentence = sentences_in[number]
            demands = constraints.get(number, wire.SentenceConstraints(sentence=number))
            with _naming_sentence(number, len(sentences_in)):
                sentences.append(
                    wire.ParsedSentence(
                        index=number,
                        tokens=_tokens(sentence),
                        constituents=_constituents(const, sentence, demands, request, limits)
                        if const
                        else None,
                        dependencies=_dependencies(dep, sentence, number, demands, request)
                        if dep
                        else None,
                    )
                )
        symbols = inventory(const.grammar_) if const else Inventory((), ())
        return wire.ParseAnswer(
            const=const_name,
            dep=dep_name,
            n_sentences=len(sentences_in),
            labels=list(symbols.labels),
            tags=list(symbols.tags),
            relations=dep.relations if dep else [],
            sentences=sentences,
        )


def _chosen(request: wire.ParseRequest, n_sentences: int) -> list[int]:
    """The numbers of the sentences that are to be parsed."""
    if request.only is None:
        return list(range(n_sentences))
    chosen = sorted(set(request.only))
    for number in chosen:
        if number >= n_sentences:
            why = f"only: there is no sentence {number}; the text has {n_sentences}"
            raise SettingsError(why)
    return chosen


def _constraints_of(
    request: wire.ParseRequest, n_sentences: int
) -> dict[int, wire.SentenceConstraints]:
    """The constraints by the number of their sentence."""
    by_sentence: dict[int, wire.SentenceConstraints] = {}
    for each in request.constraints:
        if each.sentence >= n_sentences:
            raise SettingsError(
                f"constraints: there is no sentence {each.sentence}; the text has {n_sentences}"
            )
        if each.sentence in by_sentence:
            raise SettingsError(f"constraints: sentence {each.sentence} has two sets of them")
        by_sentence[each.sentence] = each
    return by_sentence


@contextmanager
def _naming_sentence(number: int, n_sentences: int) -> Iterator[None]:
    """Say of which of several sentences something cannot be had."""
    try:
        yield
    except SettingsError as error:
        if n_sentences == 1:
            raise
        raise SettingsError(f"sentence {number}: {error}") from error


def _tokens(sentence: Input) -> list[wire.ParsedToken]:
    nowhere: list[tuple[int | None, int | None]] = [(None, None)] * len(sentence.words)
    return [
        wire.ParsedToken(text=word, start=start, end=end)
        for word, (start, end) in zip(sentence.words, sentence.places or nowhere, strict=True)
    ]


# ---------------------------------------------------------------- constituents


def _constituents(
    parser: LPCFG,
    sentence: Input,
    demands: wire.SentenceConstraints,
    request: wire.ParseRequest,
    limits: ServiceSettings,
) -> wire.ConstituentsView:
    words = [BLANKS.sub("_", word) for word in sentence.words]  # brackets cannot hold them
    constraints = _constraints(demands)
    parse = parser.parse(
        words, kbest=request.kbest, marginals=request.marginals, constraints=constraints
    )
    if not _meets(parse.tree, constraints):
        raise SettingsError(
            "the grammar has no tree that meets all constraints: "
            + _in_words(constraints, constraints.tags)
        )
    best = _spans(parse.tree, parse)
    return wire.ConstituentsView(
        brackets=str(parse.tree),
        log_score=finite(parse.log_score),
        log_prob=finite(parse.log_prob),
        flags=sorted(parse.flags),
        spans=best,
        svg=_tree_drawing(parse.tree, parse, request, limits, ()),
        kbest=[
            _choice(rank, tree.tree, (tree.log_score, tree.log_prob), parse, best, request, limits)
            for rank, tree in enumerate(parse.kbest, start=1)
        ],
    )


def _constraints(demands: wire.SentenceConstraints) -> Constraints:
    tags: dict[int, str] = {}
    for each in demands.tags:
        if tags.setdefault(each.word, each.tag) != each.tag:
            raise SettingsError(
                f"word {each.word} has to have two tags: {tags[each.word]!r} and {each.tag!r}"
            )
    required, forbidden = demands.required, demands.forbidden
    return Constraints(list(map(_span, required)), list(map(_span, forbidden)), tags)


def _span(demand: wire.SpanAsked) -> Any:
    return (demand.start, demand.end, *([demand.label] if demand.label is not None else []))


def _meets(tree: Tree, constraints: Constraints) -> bool:
    """Does the tree have what it must, and nothing that it must not?"""
    nodes = _nodes(tree)

    def there(start: int, end: int, *label: str) -> bool:
        return any(node[:2] == (start, end) and node[2] in (label or (node[2],)) for node in nodes)

    return (
        all(there(*span) for span in constraints.required)
        and not any(there(*span) for span in constraints.forbidden)
        and all(tree.tags[word] == tag for word, tag in (constraints.tags or {}).items())
    )


def _in_words(demands: Constraints | Arcs, tags: Mapping[int, str] | None = None) -> str:
    said = [f"{part} required" for part in demands.required]
    said += [f"{part} forbidden" for part in demands.forbidden]
    said += [f"word {word} tagged {tag}" for word, tag in (tags or {}).items()]
    return ", ".join(said)


def _nodes(tree: Tree) -> list[tuple[int, int, str]]:
    """Start, end and label of every node but the words, in preorder."""
    spans = tree.spans().tolist()
    inner = (node for node in range(tree.n_nodes) if tree.sizes[node] > 1)
    return [(*spans[node], tree.labels[node]) for node in inner]


def _spans(tree: Tree, parse: ConstParse) -> list[wire.SpanView]:
    inner = [node for node in range(tree.n_nodes) if tree.sizes[node] > 1]
    return [
        wire.SpanView(
            start=start,
            end=end,
            label=label,
            kind="tag" if tree.sizes[node] == 2 else "label",
            posterior=_posterior((start, end, label), parse),
        )
        for node, (start, end, label) in zip(inner, _nodes(tree), strict=True)
    ]


def _posterior(node: tuple[int, int, str], parse: ConstParse) -> float | None:
    p = parse.marginals.get(node)
    return None if p is None else round(min(1.0, max(0.0, p)), 6)


def _choice(
    rank: int,
    tree: Tree,
    scores: tuple[float, float],
    parse: ConstParse,
    best: Sequence[wire.SpanView],
    request: wire.ParseRequest,
    limits: ServiceSettings,
) -> wire.ConstituentChoice:
    spans = _spans(tree, parse)
    added, missing = _only_in(spans, best), _only_in(best, spans)
    inner = [node for node in range(tree.n_nodes) if tree.sizes[node] > 1]
    return wire.ConstituentChoice(
        rank=rank,
        log_score=finite(scores[0]),
        log_prob=finite(scores[1]),
        brackets=str(tree),
        spans=spans,
        added=[spans[k] for k in added],
        missing=[best[k] for k in missing],
        svg=_tree_drawing(tree, parse, request, limits, [inner[k] for k in added]),
    )


def _only_in(mine: Sequence[wire.SpanView], others: Sequence[wire.SpanView]) -> list[int]:
    """Places of what the others have not, or not so often."""
    left = Counter((span.start, span.end, span.label) for span in others)
    numbers = []
    for k, span in enumerate(mine):
        key = span.start, span.end, span.label
        if left[key]:
            left[key] -= 1
        else:
            numbers.append(k)
    return numbers


def _tree_drawing(
    tree: Tree,
    parse: ConstParse,
    request: wire.ParseRequest,
    limits: ServiceSettings,
    marked: Sequence[int],
) -> str | None:
    if tree.n_nodes > limits.max_drawn_nodes:
        return None
    colours = None
    if request.marginals:
        posteriors = iter([_posterior(node, parse) for node in _nodes(tree)])
        values = [next(posteriors) if size > 1 else None for size in tree.sizes.tolist()]
        colours = [nan if value is None else value for value in values]
    return tree_svg(
        tree,
        title="Constituents",
        colours=colours,
        legend=_MARGINALS["const"],
        marked=marked,
        marked_as="not in the best tree",
        data=True,
    )


# ---------------------------------------------------------------- dependencies


def _dependencies(
    model: DepModel,
    sentence: Input,
    number: int,
    demands: wire.SentenceConstraints,
    request: wire.ParseRequest,
) -> wire.DependenciesView:
    arcs = Arcs(
        [_arc(arc) for arc in demands.required_arcs], [_arc(arc) for arc in demands.forbidden_arcs]
    )
    trees = model.trees(sentence, number, k=request.kbest, marginals=request.marginals, arcs=arcs)
    best = trees.parses[0]
    chances: Sequence[float | None] | None = _arc_probabilities(best, trees.marginals)
    listed = list(enumerate(trees.parses, start=1)) if request.kbest > 1 else []
    if not all(_has(parse, arcs) for parse in trees.parses):
        raise SettingsError(f"no tree has all required and no forbidden arcs: {_in_words(arcs)}")
    return wire.DependenciesView(
        words=[
            wire.ParsedWord(
                id=number,
                form=form,
                lemma=lemma,
                upos=upos,
                xpos=xpos,
                feats=feats,
                head=head,
                relation=name or "",
                probability=p,
            )
            for form, (head, number, name), upos, xpos, feats, lemma, p in zip(
                sentence.words,
                best.tree.arcs,
                *trees.words[1:5],
                chances or [None] * len(sentence.words),
                strict=True,
            )
        ],
        score=finite(best.score),
        approximate=best.approximate,
        conllu=trees.conllu[0],
        svg=_arc_drawing(best, trees, None),
        kbest=[
            wire.DependencyChoice(
                rank=rank,
                score=finite(parse.score),
                heads=parse.tree.heads.tolist(),
                relations=list(parse.tree.relations or ("",) * len(sentence.words)),
                differs=_differing(parse, best),
                conllu=trees.conllu[rank - 1],
                svg=_arc_drawing(parse, trees, None if rank == 1 else best),
            )
            for rank, parse in listed
        ],
    )


def _arc(demand: wire.ArcAsked) -> Any:
    name = [demand.relation] if demand.relation is not None else []
    return (demand.head, demand.dependent, *name)


def _has(parse: DepParse, arcs: Arcs) -> bool:
    """Does the tree have all required and no forbidden arcs?"""
    there = {(head, word, name or "") for head, word, name in parse.tree.arcs}
    pairs = {arc[:2] for arc in there}

    def has(arc: Any) -> bool:
        return arc in there if len(arc) == 3 else arc in pairs

    return all(map(has, arcs.required)) and not any(map(has, arcs.forbidden))


def _differing(parse: DepParse, best: DepParse) -> list[int]:
    both = zip(parse.tree.arcs, best.tree.arcs, strict=True)
    return [word for word, (mine, other) in enumerate(both, start=1) if mine != other]


def _arc_probabilities(parse: DepParse, marginals: Any) -> list[float] | None:
    """That of the head of each word, in a matrix of head and word."""
    if marginals is None:
        return None
    return [
        round(min(1.0, max(0.0, float(marginals[head, word]))), 6)
        for word, head in enumerate(parse.tree.heads.tolist(), start=1)
    ]


def _arc_drawing(parse: DepParse, trees: ParsedTrees, best: DepParse | None) -> str:
    """The tree; beside a better one, with what differs in colour."""
    columns = (trees.words.upos, trees.words.xpos)
    return arcs_svg(
        parse.tree.forms,
        parse.tree.heads.tolist(),
        parse.tree.relations,
        title="Dependencies",
        against=None if best is None else best.tree.heads.tolist(),
        against_relations=None if best is None else best.tree.relations,
        names=("this tree", "the best tree"),
        tags=next((tags for tags in columns if set(tags) != {"_"}), None),  # below the words
        probabilities=_arc_probabilities(parse, trees.marginals),
        width=_WIDTH,
        legend=_MARGINALS["dep"],
        data=True,
    )
