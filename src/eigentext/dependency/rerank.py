"""Reranking: the best tree of a list is not always the first.

1. ``fit``: lists of the training sentences by cross-validation (``kbest_lists``), experts that
   have not seen the fold they judge (``rerank_experts``), features (``rerank_features``), weights
   (``rerank_learners``).  Then the experts are learned again from all sentences.
2. ``choose`` puts the trees of one list into the new order, with the new scores.
3. ``save`` and ``load_reranker``: one model file with the weights and the experts in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eigentext.base import modelfile
from eigentext.base.fields import Bits, Ints, Listed, Named, Parts, Reals, Spec, Strings, Text
from eigentext.dependency import rerank_experts as experts
from eigentext.dependency.answer import columns_of
from eigentext.dependency.kbest_lists import KBestLists, cross_validated
from eigentext.dependency.rerank_features import (
    Expert,
    FeatureTable,
    Known,
    Templates,
    expert_column,
    known_of,
)
from eigentext.dependency.rerank_learners import Weights, log_linear, perceptron, tree_scores
from eigentext.dependency.tags import jackknifed
from eigentext.errors import SettingsError
from eigentext.tagging.resources import clusters_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from eigentext.dependency.answer import Parse
    from eigentext.dependency.parser import GraphParser
    from eigentext.formats.conllu import Sentence

    Progress = Callable[[int, int, str], None]

__all__ = ["Reranker", "load_reranker"]

KIND, VERSION = "dependency-reranker", 1


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


SPEC = Spec(
    {
        "experts": Listed(Text(experts.EXPERTS), len(experts.EXPERTS)),
        "latent": Named({"column": Text(optional=True)}),
        "generative": Named({}),
    },
    _parts,
)


class Reranker:
    """Base score, tag templates and experts, weighted.

    ``learner``   ``log-linear``, or ``perceptron`` (averaged, as in Dhillon et al. 2012)
    ``experts``   names of :data:`~eigentext.dependency.rerank_experts.EXPERTS`
    ``k, folds``  length of the lists, and folds of the cross-validation
    ``l2``        penalty of the log-linear weights
    ``latent``    settings of the latent tree model, e.g. ``{"k": 40}``; ``generative`` likewise
    """

    def __init__(
        self,
        *,
        learner: Literal["log-linear", "perceptron"] = "log-linear",
        experts: Sequence[str] = ("latent",),
        k: int = 50,
        folds: int = 3,
        l2: float = 3.0,
        latent: dict[str, Any] | None = None,
        generative: dict[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        if learner not in ("log-linear", "perceptron"):
            raise SettingsError(f"learner is {learner!r}, expected log-linear or perceptron")
        if isinstance(experts, str):
            raise TypeError("experts is a sequence of names, not one str")
        if k < 2 or folds < 2 or not l2 > 0:
            raise SettingsError(
                f"k={k}, folds={folds}, l2={l2}: expected 2 or more, 2 or more, above 0"
            )
        self.learner, self.experts, self.k, self.folds = learner, tuple(experts), k, folds
        self.l2, self.seed = l2, seed
        self.latent, self.generative = dict(latent or {}), dict(generative or {})

    def _settings_of(self, name: str) -> dict[str, Any]:
        return {"latent": self.latent, "generative": self.generative}.get(name, {})

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        sentences: Sequence[Sentence],
        base: GraphParser | Callable[[], GraphParser] | None = None,
        *,
        lists: KBestLists | None = None,
        folder: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Reranker:
        """Learn from sentences with heads.

        ``base``    an untrained (or trained) parser whose settings the fold parsers take; one with
                    taggers of its own: tags are those of taggers that have not seen the sentence
        ``lists``   cross-validated lists of these sentences, when they are there already
        ``folder``  where lists are kept, so that a run that was stopped goes on
        """
        sentences = _tagged(list(sentences), base)
        if lists is None:
            if base is None:
                raise SettingsError("give a base parser, or lists of its trees")
            lists = cross_validated(
                _maker(base),
                sentences,
                k=self.k,
                folds=self.folds,
                folder=folder,
                progress=progress,
            )
        known = [known_of(sentence) for sentence in sentences]
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
        self.templates_ = Templates.of(known)
        table = FeatureTable.of(known, lists, self.templates_, columns, gold)
        self.weights_ = self.weights_from(table)
        return self

    def weights_from(self, table: FeatureTable) -> Weights:
        """Weights from a table of features."""
        size = self.templates_.size
        if self.learner == "perceptron":
            return perceptron(table, size, seed=self.seed)
        return log_linear(table, size, l2=self.l2)

    # ---------------------------------------------------------------- answers

    def _fitted(self) -> None:
        if not hasattr(self, "weights_"):
            raise SettingsError("this reranker is not trained yet: call fit or load first")

    def choose(self, sentence: Sentence | Known, parses: Sequence[Parse]) -> list[Parse]:
        """The trees of one sentence, best first, with the reranker's scores."""
        if not parses:
            return []
        self._fitted()
        known = sentence if isinstance(sentence, Known) else known_of(sentence)
        heads = np.array([parse.tree.heads for parse in parses])
        if heads.shape[1] != len(known.forms):
            raise ValueError(f"trees of {heads.shape[1]} words for {len(known.forms)} words")
        lists = KBestLists.of([(heads, [parse.score for parse in parses])])
        columns = {
            name: expert_column(expert, [known], lists) for name, expert in self.experts_.items()
        }
        table = FeatureTable.of([known], lists, self.templates_, columns)
        scores = tree_scores(table, self.weights_)
        order = np.argsort(-scores, kind="stable")
        return [replace(parses[at], score=float(scores[at])) for at in order]

    # ---------------------------------------------------------------- storage

    def save(self, path: str | os.PathLike[str], *, data: dict[str, Any] | None = None) -> None:
        """Write one model file, experts included."""
        self._fitted()
        settings = {
            "learner": self.learner,
            "experts": list(self.experts),
            "k": self.k,
            "folds": self.folds,
            "l2": self.l2,
            "latent": self.latent,
            "generative": self.generative,
            "seed": self.seed,
        }
        used = np.flatnonzero(self.weights_.templates)
        arrays: dict[str, npt.NDArray[Any]] = {
            "dense": self.weights_.dense,
            "codes": used,
            "templates": self.weights_.templates[used],
        }
        for name, expert in self.experts_.items():
            arrays.update(experts.to_bytes(name, expert))
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=settings,
            format_version=VERSION,
            strings={"tags": self.templates_.tags},
            seed=self.seed,
            data=data,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reranker:
        """Read a model file that :meth:`save` wrote."""
        file = modelfile.load(path, KIND, {VERSION}, SPEC)
        with file.fitting():
            made = cls(**file.header.settings)
            made.templates_ = Templates(tuple(file.strings["tags"]))
            full = np.zeros(made.templates_.size, np.float32)
            full[file.arrays["codes"]] = file.arrays["templates"]
            made.weights_ = Weights(("base", *made.experts), file.arrays["dense"], full)
            tags = {name: made._settings_of(name).get("column", "coarse") for name in made.experts}
            made.experts_ = experts.experts_from_bytes(made.experts, file.arrays, tags)
        return made


def load_reranker(path: str | os.PathLike[str]) -> Reranker:
    """A stored reranker, for ``dep parse --rerank``."""
    return Reranker.load(path)


def _maker(base: GraphParser | Callable[[], GraphParser]) -> Callable[[], GraphParser]:
    """New untrained parsers with the settings of this one, without relations."""
    from eigentext.dependency.parser import GraphParser

    if not isinstance(base, GraphParser):
        return base
    settings = {**base.get_params(), "labels": False, "tagger": None}
    if hasattr(base, "arcs_"):
        settings["projective"] = base.arcs_.settings.projective
    return lambda: GraphParser(**settings)


def _tagged(sentences: list[Sentence], base: Any) -> list[Sentence]:
    """The sentences as they are, or with the tags that such a parser will see."""
    if getattr(base, "tagger", None) != "own":
        return sentences
    given = [columns_of(sentence) for sentence in sentences]
    found = jackknifed(given, clusters=clusters_of(base.clusters) or None, seed=base.seed)
    return [
        sentence.with_columns(upos=one.upos, xpos=one.xpos, feats=one.feats)
        for sentence, one in zip(sentences, found, strict=True)
    ]
