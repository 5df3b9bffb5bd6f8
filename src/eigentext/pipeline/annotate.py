"""Drafts filled by the stages: morphology, then trees, then what else the pipeline has.

All sentences of all Docs go through a stage together, so that its compiled loops see long batches.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.dependency.long_sentences import MOST_WORDS
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.language.formats.ptb import escape, format_tree
from eigentext.language.sentence import Alternatives, TreeReading
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from eigentext.dependency import DependencyParser, Parse, Reranker
    from eigentext.language.doc import Doc
    from eigentext.language.sentence import Sentence
    from eigentext.pipeline.model import Pipeline
    from eigentext.tagging.morphology import MorphTagger

ROOT = "root"
_sorted: dict[str, str] = {"_": "_"}  # FEATS as they came -> in the order that UD asks for
_MOST_SORTED = 1 << 16


class AnswerOptions(NamedTuple):
    """What the answers hold besides the best ones."""

    keep_tags: bool = False  # UPOS, XPOS, FEATS and LEMMA are given
    top: int = 0  # so many readings of each word and trees of each sentence; 0: none
    probabilities: bool = False  # of the tags and heads that are given


def sorted_feats(feats: str) -> str:
    """Features in the order that Universal Dependencies asks for.

    >>> sorted_feats("Number=Sing|Case=Nom")
    'Case=Nom|Number=Sing'
    """
    ordered = _sorted.get(feats)
    if ordered is None:
        if len(_sorted) >= _MOST_SORTED:
            _sorted.clear()
        items = feats.split("|")
        ordered = "|".join(sorted(items, key=lambda item: (item.partition("=")[0].lower(), item)))
        _sorted[feats] = ordered
    return ordered


def filled(pipeline: Pipeline, docs: Sequence[Doc], options: AnswerOptions) -> list[Doc]:
    """The Docs with all that the stages know."""
    sentences = [sentence for doc in docs for sentence in doc.sentences]
    if not sentences:
        return list(docs)
    others: list[tuple[str, ...]] = [()] * len(sentences)
    if pipeline.morphology_ is not None and not options.keep_tags:
        sentences, others = _tagged(pipeline.morphology_, sentences)
    if pipeline.parser_ is not None:
        tagged = list(map(tagged_sentence, sentences, others))
        parser, reranker = pipeline.parser_, pipeline.reranker_
        parses = reranker.trees(parser, tagged) if reranker else parser.trees(tagged)
        sentences = _parsed(sentences, *parses, pipeline.universal_)
    if pipeline.const_ is not None:
        trees = pipeline.const_.predict([_bracketable(s.columns.forms) for s in sentences])
        sentences = [
            replace(sentence, brackets=format_tree(tree))
            for sentence, tree in zip(sentences, trees, strict=True)
        ]
    if pipeline.ner_ is not None:
        tags = pipeline.ner_.predict([sentence.columns.forms for sentence in sentences])
        sentences = [
            sentence.with_columns(entities=entities)
            for sentence, entities in zip(sentences, tags, strict=True)
        ]
    if options.top or options.probabilities:
        sentences = [
            replace(sentence, alternatives=alternatives(pipeline, sentence, options))
            for sentence in sentences
        ]
    answers, at = [], 0
    for doc in docs:
        n = len(doc.sentences)
        answers.append(replace(doc, sentences=tuple(sentences[at : at + n])))
        at += n
    return answers


def _bracketable(forms: Sequence[str]) -> list[str]:
    """Words as brackets can hold them: no parentheses, no white space.

    >>> _bracketable(["(", "10 000"])
    ['-LRB-', '10_000']
    """
    return ["_".join(escape(form).split()) for form in forms]


def _tagged(
    morphology: MorphTagger, sentences: Sequence[Sentence]
) -> tuple[list[Sentence], list[tuple[str, ...]]]:
    """The sentences with their morphology, and the second-best upos of their words."""
    analyses = morphology.tag([sentence.columns.forms for sentence in sentences])
    tagged = [
        sentence.with_columns(
            lemmas=lemmas, upos=upos, xpos=xpos, feats=list(map(sorted_feats, feats))
        )
        for sentence, (upos, xpos, feats, lemmas, _) in zip(sentences, analyses, strict=True)
    ]
    return tagged, [morphology_of.others for morphology_of in analyses]


def _parsed(
    sentences: Sequence[Sentence], heads: list[list[int]], labels: list[list[str]], universal: bool
) -> list[Sentence]:
    mended = map(with_one_root, heads, labels) if universal else labels
    return [
        replace(sentence.with_columns(heads=tree, deprels=names, deps=None), empty_nodes=())
        for sentence, tree, names in zip(sentences, heads, mended, strict=True)
    ]


def tagged_sentence(sentence: Sentence, others: Sequence[str] = ()) -> TaggedSentence:
    """What the parser goes by; ``others`` is the second-best upos of each word."""
    columns = sentence.columns
    blank = ("_",) * len(columns.forms)
    tags = columns.upos, columns.xpos, columns.feats, columns.lemmas
    upos, xpos, feats, lemmas = (column or blank for column in tags)
    return TaggedSentence(columns.forms, upos, xpos, feats, lemmas, others)


def with_one_root(heads: Sequence[int], relations: list[str]) -> list[str]:
    """Relations in which ``root`` is the root's, and no other word's.

    >>> with_one_root([2, 0, 2], ["det", "dep", "root"])
    ['det', 'root', 'dep']
    """
    top = heads.index(0)
    if relations[top] == ROOT and relations.count(ROOT) == 1:
        return relations
    names = ["dep" if name == ROOT else name for name in relations]
    names[top] = ROOT
    return names


def alternatives(pipeline: Pipeline, sentence: Sentence, options: AnswerOptions) -> Alternatives:
    """Readings of words and trees with probabilities, and those of what was answered."""
    readings = trees = tags_p = arcs_p = None
    columns = sentence.columns
    others: tuple[str, ...] = ()
    if pipeline.morphology_ is not None and not options.keep_tags:
        others = pipeline.morphology_.tag([columns.forms])[0].others
        analyses = pipeline.morphology_.nbest(columns.forms, max(options.top, _LOOKED_AT))
        if options.probabilities and columns.upos is not None:
            tags_p = [
                sum(
                    reading.probability
                    for reading in word
                    if (reading.upos, reading.xpos, sorted_feats(reading.feats)) == mine
                )
                for word, mine in zip(
                    analyses,
                    zip(columns.upos, columns.xpos or (), columns.feats or (), strict=True),
                    strict=True,
                )
            ]
        if options.top:
            readings = [
                [r._replace(feats=sorted_feats(r.feats)) for r in word[: options.top]]
                for word in analyses
            ]
    if pipeline.parser_ is not None:
        tagged = tagged_sentence(sentence, others)
        if len(columns.forms) <= MOST_WORDS:
            if options.probabilities and columns.heads is not None:
                chances = pipeline.parser_.marginals(tagged)
                arcs_p = [
                    float(chances[head, word]) for word, head in enumerate(columns.heads, start=1)
                ]
            if options.top:
                found_trees = _listed(pipeline.parser_, pipeline.reranker_, tagged, options.top)
                reranked = pipeline.reranker_ is not None
                heat = 1.0 if reranked else pipeline.parser_.arcs_.settings.heat
                trees = _trees(found_trees, heat, pipeline.universal_)
    return Alternatives(readings, trees, tags_p, arcs_p)


_LOOKED_AT = 5  # readings among which the one that was chosen is sought


def listed_parses(pipeline: Pipeline, sentence: Sentence, k: int, **arcs: Any) -> list[Parse]:
    """The k best trees of a sentence with its tags; ``arcs`` are those required and forbidden."""
    parser = _parser_of(pipeline)
    tagged = tagged_sentence(sentence, _others(pipeline, sentence))
    if k == 1 and pipeline.reranker_ is None:
        parses = [parser.parse(tagged, **arcs)]
    else:
        parses = _listed(parser, pipeline.reranker_, tagged, k, **arcs)
    return [_mended(parse) for parse in parses] if pipeline.universal_ else parses


def arc_marginals(pipeline: Pipeline, sentence: Sentence, **arcs: Any) -> npt.NDArray[np.float64]:
    """(n + 1, n + 1) probability of each arc [head, word]."""
    tagged = tagged_sentence(sentence, _others(pipeline, sentence))
    return _parser_of(pipeline).marginals(tagged, **arcs)


def _parser_of(pipeline: Pipeline) -> DependencyParser:
    if pipeline.parser_ is None:
        raise SettingsError("this pipeline has no parser")
    return pipeline.parser_


def _others(pipeline: Pipeline, sentence: Sentence) -> tuple[str, ...]:
    """The second-best upos of each word, where the pipeline has a tagger."""
    if pipeline.morphology_ is None:
        return ()
    return pipeline.morphology_.tag([sentence.columns.forms])[0].others


def _mended(parse: Parse) -> Parse:
    """The tree with one root, as Universal Dependencies ask for."""
    tree = parse.tree
    heads = tree.heads.tolist()
    names = with_one_root(heads, list(tree.relations or ("_",) * len(heads)))
    return replace(parse, tree=DependencyTree(tree.forms, heads, names, tree.tags))


def _listed(
    parser: DependencyParser, reranker: Reranker | None, words: TaggedSentence, k: int, **arcs: Any
) -> list[Parse]:
    """The k best trees; with a reranker those of its list, so that its choice comes first."""
    if reranker is None:
        return parser.kbest(words, k=k, **arcs)
    listed = parser.kbest(words, k=reranker.settings_.kbest, **arcs)
    return reranker.choose(words, listed)[:k]


def _trees(parses: Sequence[Parse], heat: float, universal: bool) -> list[TreeReading]:
    """Trees with their shares by exp of their scores over heat."""
    best = max(parse.score for parse in parses)
    weights = [math.exp((parse.score - best) / heat) for parse in parses]
    trees = []
    for parse, weight in zip(parses, weights, strict=True):
        heads = parse.tree.heads.tolist()
        names = list(parse.tree.relations or ("_",) * len(heads))
        names = with_one_root(heads, names) if universal else names
        share = weight / sum(weights)
        trees.append(TreeReading(tuple(heads), tuple(names), float(parse.score), share))
    return trees
