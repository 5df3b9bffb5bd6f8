"""Reranking: the best tree of a list is not always the first.

Lists of the training sentences come by cross-validation (``lists``), and experts have not seen the
fold they judge (``experts``); then they are learned again from all sentences.  Features are those
of labelled trees (``tree_features``, ``linear.lists``), or the tag templates of Dhillon et al.
2012 (``features``, ``learners``).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.fields import Bits, Ints, Reals, Strings
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import Each, FactsOf, Record, When, stored
from eigentext.base.tokens import checked_item
from eigentext.base.types import Float32s, Float64s, Int64s, UInt8s, UInt64s
from eigentext.base.values import Listed, Named, Packed, Text, Whole
from eigentext.dependency.graph.answer import Parse
from eigentext.dependency.graph.parser import DependencyParser
from eigentext.dependency.graph.tags import jackknifed, with_tags
from eigentext.dependency.long_sentences import MOST_WORDS
from eigentext.dependency.rerank import experts
from eigentext.dependency.rerank.features import Expert, TagCodes, TagTable, expert_column
from eigentext.dependency.rerank.learners import (
    HeldOut,
    TagWeights,
    checked_right,
    choose,
    held_out_words,
    log_linear,
    perceptron,
)
from eigentext.dependency.rerank.lists import KBestLists, Relations, cross_validated, tagged_lists
from eigentext.dependency.rerank.tree_features import COLUMNS, TreeFeatures, TreeTable
from eigentext.dependency.sentence import TaggedSentence
from eigentext.dependency.settings import EXPERTS, RerankerSettings
from eigentext.errors import SettingsError
from eigentext.features.word_classes import clusters_of, vector_bits
from eigentext.language.formats.conllu import ConlluBlock, each_conllu
from eigentext.linear.lists import ListWeights, learn_weights


def _of_trees(values: Mapping[str, object]) -> bool:
    """Files made before there was a choice have features of tags."""
    return bool(values.get("features", "tags") == "trees")


class _OfTrees(NamedTuple):
    """Weights by key of a feature of trees."""

    features: UInt64s
    weights: Float32s
    fine: Sequence[str] | None


class _OfTags(NamedTuple):
    """Weights by code of a template of tags."""

    codes: Int64s
    templates: Float32s
    tags: tuple[str, ...]


@dataclass
class _Content:
    """What a file holds."""

    dense: Float64s = stored(
        Reals((lambda v: (len(COLUMNS) if _of_trees(v) else 1) + len(v["experts"]),))
    )
    experts: dict[str, UInt8s] = stored(
        Each(Bits(), lambda values: values["experts"], "expert.{}")
    )
    of_trees: _OfTrees | None = stored(
        When(
            _of_trees,
            Record(
                _OfTrees,
                features=Ints(("features",), ("uint64",), rising=True),
                weights=Reals(("features",), ("float32",), -1e6, 1e6),
                fine=Strings("fine", distinct=True, optional=True),
            ),
        )
    )
    of_tags: _OfTags | None = stored(
        When(
            lambda values: not _of_trees(values),
            Record(
                _OfTags,
                codes=Ints(("codes",), low=0),
                templates=Reals(("codes",), ("float32",), -1e9, 1e9),
                tags=Strings("tags", distinct=True),
            ),
        )
    )
    held_out: HeldOut | None = stored(
        FactsOf(
            HeldOut, Named(dict.fromkeys(HeldOut._fields, Whole(0)), closed=True, optional=True)
        )
    )


_TREES_L2, _TAGS_L2 = 100.0, 3.0  # penalties, unless told
_TURNS = 60  # of L-BFGS
_MOST_BYTES = 1 << 28  # of one expert
_AT_ONCE = 64  # sentences whose lists are in memory together


@dataclass(eq=False, repr=False)
class Reranker(Model, RerankerSettings):
    """Base score, features of trees and experts, weighted (after Dhillon et al. 2012).

    After ``fit``: ``weights_``, ``trees_`` (with features of trees) or ``templates_`` (of tags),
    ``experts_`` by name, and ``held_out_``, what was measured, or None.
    """

    KIND = "dependency-reranker"
    CONTENT = _Content
    SIZED_BY = Named({"experts": Listed(Text(EXPERTS), len(EXPERTS))})

    def check(self) -> None:
        """Raise SettingsError for settings that no reranker can have."""
        super().check()
        if len(set(self.experts)) < len(self.experts):
            raise SettingsError(f"experts are {', '.join(self.experts)}: one of them twice")
        if self.features == "trees" and self.learner == "perceptron":
            raise SettingsError("the perceptron learns tag templates alone: set features to tags")
        experts.check_settings("latent", self._settings_of("latent"))
        experts.check_settings("generative", self._settings_of("generative"))

    def _settings_of(self, expert: str) -> dict[str, Any]:
        if expert == "latent":
            states = {} if self.n_states is None else {"n_states": self.n_states}
            return {**states, **(self.latent or {})}
        return dict(self.generative or {}) if expert == "generative" else {}

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        sentences: Sequence[ConlluBlock],
        base: DependencyParser | None = None,
        *,
        lists: KBestLists | None = None,
        folder: str | os.PathLike[str] | None = None,
        measure: bool = False,
        progress: Progress | None = None,
    ) -> Reranker:
        """Learn from sentences with heads.

        ``base``    an untrained (or trained) parser whose settings the fold parsers take; one with
                    taggers of its own: tags are those of taggers that have not seen the sentence
        ``lists``   cross-validated lists of these sentences, when they are there already
        ``folder``  where lists are kept, so that a run that was stopped goes on
        ``measure`` count right words, with and without, by weights of the other folds:
                    ``held_out_``
        """
        self.check()
        sentences = _tagged(list(each_conllu(sentences)), base)
        if lists is None:
            if base is None:
                raise SettingsError("give a base parser, or lists of its trees")
            lists = cross_validated(
                _untrained(base, labels=base.labels and self.features == "trees"),
                sentences,
                k=self.kbest,
                folds=self.folds,
                folder=folder,
                progress=progress,
            )
        tagged = [TaggedSentence.from_conllu(sentence) for sentence in sentences]
        columns = {}
        self.experts_: dict[str, Expert] = {}
        for name in self.experts:

            def fit_one(those: Sequence[ConlluBlock], name: str = name) -> Expert:
                return experts.fit_expert(name, those, seed=self.seed, **self._settings_of(name))

            columns[name] = experts.jackknifed(
                fit_one, sentences, lists, folds=self.folds, progress=progress
            )
            self.experts_[name] = fit_one(sentences)
        relations = [sentence.column("deprel") for sentence in sentences]
        if self.features == "trees":
            self.trees_ = TreeFeatures.of(tagged, relations)
        else:
            self.templates_ = TagCodes.of(tagged)
        gold = [sentence.heads or () for sentence in sentences]
        table = self._table(tagged, lists, columns, list(zip(gold, relations, strict=True)))
        self.weights_ = self.weights_from(table)
        self.held_out_ = held_out_words(table, self.weights_from, self.folds) if measure else None
        return self

    def weights_from(self, table: Any) -> Any:
        """Weights from a table of features."""
        self.check_fitted()
        if isinstance(table, TreeTable):
            checked_right(table)
            first = [float(name == "base") for name in table.names]
            l2 = _TREES_L2 if self.l2 is None else self.l2
            return learn_weights(table.lists(), first, target="best", l2=l2, n_iter=_TURNS)
        size = self.templates_.size
        if self.learner == "perceptron":
            return perceptron(table, size, seed=self.seed)
        return log_linear(table, size, l2=_TAGS_L2 if self.l2 is None else self.l2)

    def _table(
        self,
        sentences: Sequence[TaggedSentence],
        lists: KBestLists,
        columns: Mapping[str, npt.ArrayLike],
        gold: Sequence[tuple[Sequence[int], Sequence[str]]] | None = None,
    ) -> TreeTable | TagTable:
        """Features of all trees; ``columns`` are the experts'."""
        if self.settings_.features == "trees":
            return TreeTable.of(sentences, lists, self.trees_, columns, gold)
        heads = None if gold is None else [heads for heads, _ in gold]
        return TagTable.of(sentences, lists, self.templates_, columns, heads)

    # ---------------------------------------------------------------- answers

    def choose(
        self, sentence: ConlluBlock | TaggedSentence, parses: Sequence[Parse]
    ) -> list[Parse]:
        """The trees of one sentence, best first, with the reranker's scores."""
        self.check_fitted()
        if not parses:
            return []
        if not isinstance(sentence, TaggedSentence):
            checked_item(ConlluBlock, sentence, "a CoNLL-U sentence")
            sentence = TaggedSentence.from_conllu(sentence)
        heads = np.array([parse.tree.heads for parse in parses])
        if heads.shape[1] != len(sentence.forms):
            raise ValueError(f"trees of {heads.shape[1]} words for {len(sentence.forms)} words")
        scores = self._asked([sentence], _as_lists(heads, parses)).scores(self.weights_)
        order = np.argsort(-scores, kind="stable")
        return [replace(parses[at], score=float(scores[at])) for at in order]

    def trees(
        self, parser: DependencyParser, sentences: Sequence[TaggedSentence]
    ) -> tuple[list[list[int]], list[list[str]]]:
        """Heads and relations of sentences, as ``parser.trees`` gives them: the best of its lists.

        The lists have as many trees as those that were learned from.  What is too long to be
        parsed whole has one tree, the parser's.
        """
        self.check_fitted()
        heads: list[list[int]] = []
        relations: list[list[str]] = []
        for _, together in groupby(sentences, lambda item: len(item.forms) > MOST_WORDS):
            part = list(together)
            if len(part[0].forms) > MOST_WORDS:
                parses = [parser.trees(part)]
            else:
                groups = range(0, len(part), _AT_ONCE)
                parses = [self._best(parser, part[at : at + _AT_ONCE]) for at in groups]
            for some_heads, some_relations in parses:
                heads += some_heads
                relations += some_relations
        return heads, relations

    def _best(
        self, parser: DependencyParser, sentences: Sequence[TaggedSentence]
    ) -> tuple[list[list[int]], list[list[str]]]:
        """The same for few sentences that are not too long."""
        lists = tagged_lists(parser, sentences, k=self.settings_.kbest)
        table = self._asked(sentences, lists)
        best = choose(table, table.scores(self.weights_)).tolist()
        heads = [lists[number].heads[tree].tolist() for number, tree in enumerate(best)]
        if lists.relations is None:
            return heads, [["_"] * len(sentence.forms) for sentence in sentences]
        names = lists.relations.names
        return heads, [
            [names[relation] for relation in lists.relations_of(number)[tree].tolist()]
            for number, tree in enumerate(best)
        ]

    def _asked(
        self, sentences: Sequence[TaggedSentence], lists: KBestLists
    ) -> TreeTable | TagTable:
        """The table of lists that are to be put in order."""
        columns = {
            name: expert_column(expert, sentences, lists) for name, expert in self.experts_.items()
        }
        return self._table(sentences, lists, columns)

    # ---------------------------------------------------------------- storage

    def _content(self) -> _Content:
        weights, packed_experts, of_trees, of_tags = self.weights_, {}, None, None
        if self.settings_.features == "trees":
            of_trees = _OfTrees(weights.keys, weights.values, self.trees_.fine)
        else:
            used, tags = np.flatnonzero(weights.templates), self.templates_.tags
            of_tags = _OfTags(used, weights.templates[used], tags)
        for name, expert in self.experts_.items():
            raw = experts.expert_to_bytes(name, expert)
            # most of an expert is zeros
            packed_experts[name] = np.frombuffer(zlib.compress(raw) if of_trees else raw, np.uint8)
        return _Content(weights.dense, packed_experts, of_trees, of_tags, self.held_out_)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> Reranker:
        # a file without the setting was made before there was a choice
        settings = {"features": "tags", **packed.settings}
        return super()._unpack(replace(packed, settings=settings), **unstored)

    def _restore(self, content: _Content) -> None:
        experts_bytes = {name: raw.tobytes() for name, raw in content.experts.items()}
        if content.of_trees is not None:
            keys, values, fine = content.of_trees
            self.trees_ = TreeFeatures(fine)
            self.weights_ = ListWeights(keys, values, content.dense)
            experts_bytes = {name: _unpacked(name, raw) for name, raw in experts_bytes.items()}
        elif content.of_tags is not None:
            codes, weights, tags = content.of_tags
            self.templates_ = TagCodes(tags)
            full = np.zeros(self.templates_.size, np.float32)
            full[codes] = weights
            self.weights_ = TagWeights(("base", *self.experts), content.dense, full)
        self.held_out_ = content.held_out
        self.experts_ = {
            name: experts.expert_from_bytes(name, raw) for name, raw in experts_bytes.items()
        }

    def _summary(self) -> str:
        return f"{self.n_features:,} features"

    @property
    def n_features(self) -> int:
        """Features of trees, or templates of tags, that have a weight."""
        self.check_fitted()
        weights = self.weights_
        values = weights.values if self.settings_.features == "trees" else weights.templates
        return int(np.count_nonzero(values))

    @property
    def dense_weights(self) -> dict[str, float]:
        """The weight of each dense column, by its name."""
        self.check_fitted()
        of_trees = self.settings_.features == "trees"
        names = (*(COLUMNS if of_trees else COLUMNS[:1]), *self.settings_.experts)
        return dict(zip(names, self.weights_.dense.tolist(), strict=True))


def _unpacked(name: str, raw: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        unpacked = reader.decompress(raw, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"array 'expert.{name}' cannot be unpacked: {error}") from None
    if not reader.eof or reader.unused_data:
        raise ValueError(f"array 'expert.{name}' is cut off, or more than an expert")
    return unpacked


def _as_lists(heads: npt.NDArray[np.integer], parses: Sequence[Parse]) -> KBestLists:
    names = list(dict.fromkeys(name for parse in parses for name in parse.tree.relations or "_"))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = [
        [number_of[name] for name in parse.tree.relations or "_" * heads.shape[1]]
        for parse in parses
    ]
    relations = Relations(
        tuple(names),
        np.array(numbers, np.int16).ravel(),
        np.array([parse.margins for parse in parses], np.float32),
    )
    plain = KBestLists.of([(heads, [parse.score for parse in parses])])
    plain.relations = relations
    return plain


def _untrained(base: DependencyParser, *, labels: bool) -> DependencyParser:
    """A new parser with the settings of this one, without taggers."""
    from sklearn.base import clone

    parser: DependencyParser = clone(base).set_params(labels=labels, tags="gold")
    if hasattr(base, "arcs_"):  # what it has chosen, it need not choose again
        chosen = base.arcs_.settings
        parser.set_params(projective=chosen.projective, bits=chosen.bits)
    return parser


def _tagged(sentences: list[ConlluBlock], base: DependencyParser | None) -> list[ConlluBlock]:
    if base is None or base.tags != "own":
        return sentences
    tagged = jackknifed(
        sentences,
        clusters=clusters_of(base.clusters) or None,
        vectors=vector_bits(base.vectors) or None,
        seed=base.seed,
    )
    return list(map(with_tags, sentences, tagged))
