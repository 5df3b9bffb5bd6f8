"""Relations of arcs: a classifier for the second stage, after the heads are known.

A linear classifier per relation over shared features: where the right relation does not beat the
best other by ``margin``, both move by the least that makes it so, at most ``clip``; the mean over
all steps is kept.  The word below the root is ``root`` if all such words were in training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.averaging import Averaged
from eigentext.base.settings import check, setting
from eigentext.base.values import Real, Whole
from eigentext.dependency.graph.training import rounded, unit_of
from eigentext.features.attributes import AFFIXES, PARSED_BITS, PARSING
from eigentext.features.templates import TemplateGrammar, seeds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float32s, Int16s, Int32s, Int64s, UInt64s
    from eigentext.dependency.graph.encode import ArcBatch
    from eigentext.dependency.kernels.labels import LabelWeights

ROLES = "hdgabijcs"
LABEL_STEPS = 8  # whole numbers in the longest step of learning
_ATTRIBUTES = (*PARSING.names, "label", "far")  # and those that an arc has only in its tree
_GRAMMAR = TemplateGrammar("role.attribute", _ATTRIBUTES, ROLES, most=8, together=True, reach=2)
_NEIGHBOURS = (  # of which tags are looked at together
    "d-1 d d+1, h d-1 d, h d d+1, h-1 h d, h h+1 d, h-1 h h+1 d, h d-1 d d+1, g h d, h a d, "
    "h b d, h a d b, h d i, h d j, h d i j, h d c, h d s"
)


@dataclass(frozen=True)
class LabelSettings:
    """How relations are learned; see the module's docstring."""

    epochs: int = setting(5, Whole(1), "Passes over the trees.")
    margin: float = setting(1.0, Real(0), "By how much the right relation must win.")
    clip: float = setting(0.05, Real(0, open=True), "Longest step.")
    bits: int = setting(22, Whole(10, 30), "2**bits weights.")
    seed: int = setting(0, Whole(0), "Start of the shuffles.")

    def __post_init__(self) -> None:
        check(self)


@lru_cache(maxsize=32)
def compiled_labels(names: tuple[str, ...]) -> tuple[Int64s, UInt64s]:
    """(T, items, 3) role, attribute and offset of each item, and the seeds (T,).

    Attribute -1: there are no more items.

    >>> compiled_labels(("h.upos d+1.lower",))[0][0, :2].tolist()
    [[0, 0, 0], [1, 2, 1]]
    """
    templates = [_GRAMMAR.parse(name) for name in names]
    spec = np.full((len(names), _GRAMMAR.most, 3), -1, np.int64)
    for row, template in enumerate(templates):
        for column, (attribute, offset, role) in enumerate(template.items):
            spec[row, column] = ROLES.index(role), _GRAMMAR.attributes.index(attribute), offset
    seeds = seeds_of("label", templates)
    spec.flags.writeable = seeds.flags.writeable = False  # all who ask have the same
    return spec, seeds


class LabelledList(NamedTuple):
    """Relations (K, n) of the trees of a sentence.

    ``margins`` (K, n): by how much each beats the best other, in units of the model; 0 where
    there is no choice
    """

    relations: Int32s
    margins: Int32s

    def columns(self) -> Float32s:
        """(K, 2): the sum of each tree's margins, and that of their signed logarithms.

        The sum is mostly of words whose relation is sure, the logarithms tell of the others.

        >>> (tree,) = LabelledList(np.array([[0, 0]]), np.array([[0, 100]])).columns()
        >>> [f"{value:.2f}" for value in tree]
        ['1.00', '4.62']
        """
        logs = np.copysign(np.log1p(np.abs(self.margins)), self.margins)
        return np.stack([self.margins.sum(1) / 100, logs.sum(1)], axis=1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class LabelModel:
    """Relations by number, templates, weights."""

    settings: LabelSettings
    names: tuple[str, ...]
    relations: tuple[str, ...]
    root: int  # the number of the relation that the root's word always has, -1 if it varies
    # (2^bits + relations,) whole numbers; only the order of sums counts, so no scale
    weights: Int16s

    def label(self, batch: ArcBatch, heads: Int32s) -> Int32s:
        """(rows,): numbers of the relations under these heads (rows,); -1 in the roots' rows."""
        from eigentext.dependency.kernels.labels import Trees, label_all

        trees = Trees(batch.starts, batch.keys, np.ascontiguousarray(heads, np.int32))
        labels = np.full(len(batch.keys), -1, np.int32)
        label_all(trees, self.arrays(), labels)
        return labels

    def label_list(
        self,
        keys: UInt64s,
        heads: Int32s,
        relations: Int32s | None = None,
        demands: Int64s | None = None,
    ) -> LabelledList:
        """Relations of the trees (K, n) of one sentence, whose keys have the root's in front.

        ``relations``: the relations are these, and only the margins are asked for.
        ``demands``: what some arcs must or must not be, see ``demands.Demands.relations``.
        """
        from eigentext.dependency.kernels.labels import label_list

        heads = np.ascontiguousarray(heads, np.int32)
        labels = np.empty_like(heads) if relations is None else relations.astype(np.int32)
        margins = np.empty(heads.shape, np.int32)
        rows = np.zeros((0, 4), np.int64) if demands is None else demands
        label_list(keys, heads, self.arrays(), relations is not None, rows, labels, margins)
        return LabelledList(labels, margins)

    def arrays(self) -> LabelWeights:
        """The classifier as the kernels take it."""
        from eigentext.dependency.kernels.labels import LabelWeights

        return LabelWeights(
            *compiled_labels(self.names),
            self.weights,
            np.uint64(64 - self.settings.bits),
            len(self.relations),
            self.root,
        )


def train_labels(
    batch: ArcBatch,
    relations: Sequence[str],
    names: Sequence[str],
    settings: LabelSettings,
    *,
    sentences: Int64s | None = None,
    progress: Progress | None = None,
) -> LabelModel:
    """Learn from the gold heads and labels of a batch (``sentences``: of these numbers alone)."""
    from eigentext.dependency.kernels.labels import LabelLearner, Trees, label_pass

    chosen = np.arange(len(batch)) if sentences is None else np.asarray(sentences, np.int64)
    top = np.unique(batch.labels[batch.heads == 0])
    # is there one relation that the root's words have, and no other word?
    root = -1
    if len(top) == 1 and not np.any(batch.labels[batch.heads > 0] == top[0]):
        root = int(top[0])
    # a feature's weights are the numbers from its slot on: room for those of the last slot
    size = (1 << settings.bits) + len(relations)
    learned, time = Averaged.zeros(size), 0
    weights: Any = learned.weights  # whole numbers when all is learned
    model = LabelModel(settings, tuple(names), tuple(relations), root, weights)
    trees = Trees(batch.starts, batch.keys, batch.heads)
    learner = LabelLearner(settings.margin, settings.clip, learned.sums)
    if len(relations) > 1:
        for epoch in range(settings.epochs):
            rng = np.random.default_rng([settings.seed, epoch])
            wrong = np.zeros(1, np.int64)
            order = chosen[rng.permutation(len(chosen))]
            time = label_pass(order, trees, batch.labels, model.arrays(), learner, time, wrong)
            if progress is not None:
                progress(epoch + 1, settings.epochs, "training relations")
    mean = learned.mean(time)
    return replace(model, weights=rounded(mean, unit_of(mean, settings.clip / LABEL_STEPS)))


def label_templates(
    *, clusters: bool = False, vectors: bool = False, others: bool = False
) -> tuple[str, ...]:
    """The templates used unless others are given."""
    names = []
    for role in "hd":
        names += [f"{role}.{name}" for name in ("lower", "form", "upos", "xpos", "feats", "end")]
    names += ["d.upos d.far", "h.upos d.upos d.far", "h.xpos d.xpos d.far", "d.lower d.far"]
    names += ["h.upos d.lower d.far", "h.lower h.xpos d.lower d.xpos", "h.lower d.lower"]
    names += ["h.xpos d.lower d.xpos", "h.lower h.xpos d.xpos", "h.xpos d.xpos", "h.upos d.upos"]
    names += ["h.upos d.lower", "h.lower d.upos", "h.lower d.xpos", "h.xpos d.lower"]
    names += ["h.feats d.feats", "h.upos d.upos d.feats", "h.upos h.feats d.upos"]
    names += ["h.upos d.end d.upos", "h.end h.upos d.upos"]
    for affix in AFFIXES:
        names += [f"h.{affix}", f"d.{affix}", f"h.upos d.upos d.{affix}"]
    names += ["h.upos h.end2 d.upos", "h.upos h.end4 d.upos", "h.end2 d.end2", "h.end4 d.end4"]
    names += ["d-1.end2 d.end2", "d.end2 d+1.end2", "h.upos d.end2 d.far", "d.upos c.end2"]
    names += ["h.upos d.upos s.end2", "h.label d.end2", "s.label d.end2"]
    for tag in ("upos", "xpos"):
        for text in _NEIGHBOURS.split(","):
            names.append(" ".join(f"{role}.{tag}" for role in text.split()))
    names += ["d-1.lower d.upos", "d.upos d+1.lower", "d-1.lower d.lower", "d.lower d+1.lower"]
    names += ["h.upos d.upos d-1.lower", "h.upos d.upos d+1.lower", "h.upos d.upos c.lower"]
    names += ["h.upos d.upos s.lower", "h.lower d.upos c.lower", "h.lower d.upos s.upos"]
    names += ["d.lower c.lower", "h.upos d.lower s.upos", "h.upos d.upos i.lower"]
    names += ["h.upos d.upos j.lower", "h.lower d.upos i.lower", "h.upos d.upos c.feats"]
    names += ["h.upos d.upos s.feats", "h.label d.upos", "h.label h.upos d.upos"]
    names += ["h.label d.xpos", "h.label d.lower", "h.label h.lower d.upos"]
    names += ["h.label g.upos h.upos d.upos", "a.label h.upos d.upos", "a.label d.xpos"]
    names += ["a.label h.lower d.upos", "s.label h.upos d.upos", "s.label d.xpos"]
    names += ["s.label h.lower d.upos", "h.label a.label d.upos"]
    names += ["g.lower h.upos d.upos", "g.upos h.lower d.upos", "g.upos h.upos d.lower"]
    names += ["h.lemma", "d.lemma", "d.lemma d.xpos", "h.lemma d.upos", "h.upos d.lemma"]
    names += ["h.lemma d.lemma", "h.lemma d.upos d.morph", "h.upos d.upos d.morph"]
    names += ["h.upos h.morph d.upos d.morph", "d.upos d.morph c.lemma", "h.lemma c.lemma"]
    names += ["a.label d.upos d.morph", "s.label d.upos d.morph", "h.label d.upos d.morph"]
    if others:
        names += [f"{role}.{name}" for role in "hd" for name in ("other", "either")]
        names += ["h.either d.either", "h.either d.upos", "h.upos d.either", "h.other d.upos"]
        names += ["h.upos d.other", "h.lower d.other", "h.label d.other"]
    for used, depths in zip((clusters, vectors), PARSED_BITS, strict=True):
        for bits in depths if used else ():
            names += [f"h.{bits}", f"d.{bits}", f"h.{bits} d.{bits}", f"h.{bits} d.upos"]
            names += [f"h.upos d.{bits}", f"h.upos d.upos c.{bits}"]
    return tuple(names)
