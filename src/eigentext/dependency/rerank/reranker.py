"""Reranking: the best tree of a list is not always the first.

1. ``fit``: lists of the training sentences by cross-validation (``lists``), experts that
   have not seen the fold they judge (``experts``), features (``features``), weights
   (``learners``).  Then the experts are learned again from all sentences.
2. ``choose`` puts the trees of one list into the new order, with the new scores; ``trees`` has
   the best trees of many sentences, of lists that it asks a parser for.
3. The model file holds the weights, and the experts with their own files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from eigentext.base.fields import (
    Bits,
    Ints,
    Listed,
    Named,
    Parts,
    Reals,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.base.model import Model, Packed
from eigentext.base.tokens import checked_item
from eigentext.dependency.graph.tags import jackknifed, with_tags
from eigentext.dependency.long_sentences import MOST_WORDS
from eigentext.dependency.rerank import experts
from eigentext.dependency.rerank.features import (
    Expert,
    FeatureTable,
    Templates,
    expert_column,
)
from eigentext.dependency.rerank.learners import (
    HeldOut,
    Weights,
    choose,
    held_out_heads,
    log_linear,
    perceptron,
    tree_scores,
)
from eigentext.dependency.rerank.lists import KBestLists, cross_validated
from eigentext.dependency.sentence import TaggedSentence
from eigentext.dependency.settings import EXPERTS, RerankerSettings
from eigentext.errors import SettingsError
from eigentext.formats.conllu import Sentence, each_conllu
from eigentext.lexicon.word_classes import clusters_of, vector_bits

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.dependency.graph.answer import Parse
    from eigentext.dependency.graph.parser import DependencyParser

__all__ = ["Reranker"]


def _parts(settings: dict[str, Any]) -> Parts:
    names = settings["experts"]
    return Parts(
        {
            "dense": Reals((1 + len(names),)),
            "codes": Ints(("codes",), low=0),
            "templates": Reals(("codes",), ("float32",), -1e9, 1e9),
            **{f"expert.{name}": Bits((f"{name}_bytes",)) for name in names},
        },
        {"tags": Strings("tags", distinct=True)},
    )


_SPEC = Spec(
    {
        "experts": Listed(Text(EXPERTS), len(EXPERTS)),
        "held_out": Named(dict.fromkeys(HeldOut._fields, Whole(0)), closed=True, optional=True),
    },
    _parts,
)
_AT_ONCE = 64  # sentences whose lists are in memory together


@dataclass(eq=False, repr=False)
class Reranker(Model, RerankerSettings):
    """Base score, tag templates and experts, weighted (Dhillon et al. 2012).

    After ``fit``: ``weights_``, ``templates_``, ``experts_`` by name, and ``held_out_``, what was
    measured, or None.
    """

    KIND = "dependency-reranker"
    SPEC = _SPEC

    def check(self) -> None:
        """Raise SettingsError for settings that no reranker can have."""
        super().check()
        if len(set(self.experts)) < len(self.experts):
            raise SettingsError(f"experts are {', '.join(self.experts)}: one of them twice")
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
        sentences: Sequence[Sentence],
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
        ``measure`` count right heads, with and without, by weights of the other folds:
                    ``held_out_``
        """
        self.check()
        sentences = _tagged(list(each_conllu(sentences)), base)
        if lists is None:
            if base is None:
                raise SettingsError("give a base parser, or lists of its trees")
            lists = cross_validated(
                _untrained(base),
                sentences,
                k=self.kbest,
                folds=self.folds,
                folder=folder,
                progress=progress,
            )
        tagged = [TaggedSentence.from_conllu(sentence) for sentence in sentences]
        gold = [sentence.heads or () for sentence in sentences]
        columns = {}
        self.experts_: dict[str, Expert] = {}
        for name in self.experts:

            def fit_one(those: Sequence[Sentence], name: str = name) -> Expert:
                return experts.fit_expert(name, those, seed=self.seed, **self._settings_of(name))

            columns[name] = experts.jackknifed(
                fit_one, sentences, lists, folds=self.folds, progress=progress
            )
            self.experts_[name] = fit_one(sentences)
        self.templates_ = Templates.of(tagged)
        table = FeatureTable.of(tagged, lists, self.templates_, columns, gold)
        self.weights_ = self.weights_from(table)
        self.held_out_ = held_out_heads(table, self.weights_from, self.folds) if measure else None
        return self

    def weights_from(self, table: FeatureTable) -> Weights:
        """Weights from a table of features."""
        self.check_fitted()
        size = self.templates_.size
        if self.learner == "perceptron":
            return perceptron(table, size, seed=self.seed)
        return log_linear(table, size, l2=self.l2)

    # ---------------------------------------------------------------- answers

    def choose(self, sentence: Sentence | TaggedSentence, parses: Sequence[Parse]) -> list[Parse]:
        """The trees of one sentence, best first, with the reranker's scores."""
        self.check_fitted()
        if not parses:
            return []
        if not isinstance(sentence, TaggedSentence):
            checked_item(Sentence, sentence, "a CoNLL-U sentence")
            sentence = TaggedSentence.from_conllu(sentence)
        heads = np.array([parse.tree.heads for parse in parses])
        if heads.shape[1] != len(sentence.forms):
            raise ValueError(f"trees of {heads.shape[1]} words for {len(sentence.forms)} words")
        lists = KBestLists.of([(heads, [parse.score for parse in parses])])
        table = self._table([sentence], lists)
        scores = tree_scores(table, self.weights_)
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
        for _, together in groupby(sentences, lambda one: len(one.forms) > MOST_WORDS):
            part = list(together)
            if len(part[0].forms) > MOST_WORDS:
                found = [parser.trees(part)]
            else:
                groups = range(0, len(part), _AT_ONCE)
                found = [self._best(parser, part[at : at + _AT_ONCE]) for at in groups]
            for some_heads, some_relations in found:
                heads += some_heads
                relations += some_relations
        return heads, relations

    def _best(
        self, parser: DependencyParser, sentences: Sequence[TaggedSentence]
    ) -> tuple[list[list[int]], list[list[str]]]:
        """The same for few sentences that are not too long."""
        batch = parser.encoder_.batch(sentences)
        k = self.settings_.kbest
        lists = KBestLists.of(
            parser.arcs_.search(batch, number).kbest(k) for number in range(len(sentences))
        )
        table = self._table(sentences, lists)
        best = choose(table, tree_scores(table, self.weights_))
        cut = batch.starts.tolist()
        flat = np.full(cut[-1], -1, np.int32)
        for number, place in enumerate(best.tolist()):
            flat[cut[number] + 1 : cut[number + 1]] = lists[number].heads[place]
        names = [["_"] * len(sentence.forms) for sentence in sentences]
        if parser.relations_ is not None:
            known = parser.relations_.relations
            numbers = parser.relations_.label(batch, flat).tolist()
            names = [
                [known[number] for number in numbers[begin + 1 : end]]
                for begin, end in pairwise(cut)
            ]
        every = flat.tolist()
        return [every[begin + 1 : end] for begin, end in pairwise(cut)], names

    def _table(self, sentences: Sequence[TaggedSentence], lists: KBestLists) -> FeatureTable:
        columns = {
            name: expert_column(expert, sentences, lists) for name, expert in self.experts_.items()
        }
        return FeatureTable.of(sentences, lists, self.templates_, columns)

    # ---------------------------------------------------------------- storage

    def _pack_learned(self) -> Packed:
        used = np.flatnonzero(self.weights_.templates)
        arrays: dict[str, npt.NDArray[Any]] = {
            "dense": self.weights_.dense,
            "codes": used,
            "templates": self.weights_.templates[used],
        }
        for name, expert in self.experts_.items():
            raw = experts.expert_to_bytes(name, expert)
            arrays[f"expert.{name}"] = np.frombuffer(raw, np.uint8)
        measured = {} if self.held_out_ is None else {"held_out": self.held_out_._asdict()}
        return Packed(arrays, {"tags": self.templates_.tags}, measured)

    def _restore(self, packed: Packed) -> None:
        arrays = packed.arrays
        self.templates_ = Templates(tuple(packed.strings["tags"]))
        full = np.zeros(self.templates_.size, np.float32)
        full[arrays["codes"]] = arrays["templates"]
        self.weights_ = Weights(("base", *self.experts), arrays["dense"], full)
        measured = packed.facts.get("held_out")
        self.held_out_ = None if measured is None else HeldOut(**measured)
        self.experts_ = {
            name: experts.expert_from_bytes(name, arrays[f"expert.{name}"].tobytes())
            for name in self.experts
        }

    def _summary(self) -> str:
        return f"{np.count_nonzero(self.weights_.templates):,} templates"


def _untrained(base: DependencyParser) -> DependencyParser:
    """A new parser with the settings of this one, without relations and taggers."""
    parser: DependencyParser = clone(base).set_params(labels=False, tags="gold")
    if hasattr(base, "arcs_"):  # what it has chosen, it need not choose again
        chosen = base.arcs_.settings
        parser.set_params(projective=chosen.projective, bits=chosen.bits)
    return parser


def _tagged(sentences: list[Sentence], base: DependencyParser | None) -> list[Sentence]:
    """The sentences as they are, or with the tags that such a parser will see."""
    if base is None or base.tags != "own":
        return sentences
    tagged = jackknifed(
        sentences,
        clusters=clusters_of(base.clusters) or None,
        vectors=vector_bits(base.vectors) or None,
        seed=base.seed,
    )
    return list(map(with_tags, sentences, tagged))
