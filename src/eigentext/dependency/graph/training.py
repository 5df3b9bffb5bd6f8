"""Arrays in, weights out: the first- and second-order parser without any text.

The learners, with f(x, y) the features of tree y, y* the gold tree and L the wrong heads of y:

    perceptron   w <- w + f(x, y*) - f(x, y)              y best under w
    MIRA         w <- w + t (f(x, y*) - f(x, y))          y best under w + L
                 t = min(clip, (L(y) - w.(f(x, y*) - f(x, y))) / |f(x, y*) - f(x, y)|^2)

and the answer is the mean of w over all steps.  A few sentences at a time (LOCK_STEP) look for
their y under the same w, by as many threads as there are; then each moves w in its turn, so that
the answer hangs on the order of the sentences, and not on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.averaging import Averaged
from eigentext.base.cores import each, row_blocks
from eigentext.base.settings import check, setting
from eigentext.base.types import Float32s, Float64s, Int16s, Int32s, Int64s
from eigentext.base.values import Flag, Real, Text, Whole
from eigentext.dependency.graph.templates import FeatureArrays, coarse_templates, compiled
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.dependency.decoding.search import Search
    from eigentext.dependency.graph.encode import ArcBatch
    from eigentext.dependency.kernels.features import LinearModel, Sentence, Sentences
    from eigentext.dependency.kernels.train import Decoder

Scores = Float64s
_LARGEST = (1 << 15) - 1  # whole number in a table of weights
_ROWS_OF_A_BLOCK = 1 << 18
COARSE_EPOCHS, COARSE_BITS, COARSE_RATE = 2, 18, 0.05
MORE_MARGIN = 1.0  # of arcs that are looked at while weights are learned
LOCK_STEP = 8  # sentences that are held against the same weights
ARC_STEPS = 2  # whole numbers in the longest step of learning


def unit_of(weights: npt.NDArray[np.number], most: float) -> float:
    """What 1 is worth: ``most``, or less, so that the largest weight is at least 63.

    >>> unit_of(np.array([0.1, -1.26]), 0.5), unit_of(np.array([0.1, -1.26]), 0.01)
    (0.02, 0.01)
    """
    top = max(float(weights.max(initial=0.0)), -float(weights.min(initial=0.0)))
    return min(most, top / 63) if top > 0 else most


def rounded(weights: npt.NDArray[np.number], scale: float) -> Int16s:
    """Weights as whole numbers of this size: exact sums in any order, in half the memory.

    A step of learning is at most ``clip`` long, and most weights of the mean are a few such steps
    or next to nothing.  So w becomes round(w / scale), scale a part of ``clip``, or less where all
    weights are small.

    >>> rounded(np.array([0.5, -1.0, 0.001]), 0.01).tolist()
    [50, -100, 0]
    """
    whole = np.empty(weights.shape, np.int16)
    for at in range(0, len(whole), _ROWS_OF_A_BLOCK):  # by blocks, since tables are large
        block = slice(at, at + _ROWS_OF_A_BLOCK)
        whole[block] = np.clip(np.rint(weights[block] / scale), -_LARGEST, _LARGEST)
    return whole


@dataclass(frozen=True)
class ArcSettings:
    """What is learned and how."""

    order: int = setting(1, Whole(1, 2), "1: arcs; 2: arcs and neighbouring siblings.")
    learner: str = setting("mira", Text(("mira", "perceptron")), "How weights are moved.")
    projective: bool = setting(
        True,
        Flag(),
        "Decode projective trees only, in training too; otherwise arcs may cross, and order 2 "
        "rearranges its best projective tree, in training too.",
    )
    epochs: int = setting(7, Whole(1), "Passes over the sentences.")
    clip: float = setting(0.01, Real(0, open=True), "Longest step of MIRA.")
    coarse_margin: float | None = setting(
        4.0,
        Real(0, open=True, optional=True),
        "Order 2 scores only arcs whose score in the coarse model is at most so much below that "
        "of the best head of the word, while learning a little more; None: all; there is no such "
        "model.",
    )
    margin: float | None = setting(
        None,
        Real(0, open=True),
        "Order 2 looks only at arcs whose own score is at most so much below that of the best "
        "head of the word; None: at all that are scored.",
    )
    charge: float = setting(
        0.0, Real(0), "Order 2 with crossing arcs: what each costs a tree, when decoding."
    )
    heat: float = setting(
        1.0, Real(0, open=True), "Probabilities go by exp of scores over it (``projectivity``)."
    )
    grandparents: bool = setting(
        False, Flag(), "Order 2 scores a modifier with its head and the head's head, too."
    )
    bits: int = setting(24, Whole(10, 30), "2**bits weights.")
    seed: int = setting(0, Whole(0), "Start of the shuffles.")

    def __post_init__(self) -> None:
        check(self)
        if self.grandparents and self.order != 2:
            raise SettingsError("grandparents need order 2")


@dataclass(frozen=True, eq=False)
class ArcModel:
    """Weights of arcs and siblings with the templates they belong to."""

    settings: ArcSettings
    arc_names: tuple[str, ...]
    sib_names: tuple[str, ...]
    n_tags: int
    weights: Int16s | Float32s  # (2^bits,) whole numbers, numbers while they are learned
    grand_names: tuple[str, ...] = ()
    scale: float = 1.0  # what 1 in the table is worth
    coarse: ArcModel | None = None  # order 2: a model of few templates says which arcs are scored

    def __post_init__(self) -> None:
        names = self.sib_names if self.settings.order == 2 else ()
        grand = self.grand_names if self.settings.grandparents else ()
        object.__setattr__(self, "_arrays", compiled(self.arc_names, names, grand))

    @property
    def arrays(self) -> FeatureArrays:
        """The templates as the kernels read them."""
        arrays: FeatureArrays = self.__dict__["_arrays"]
        return arrays

    @property
    def shift(self) -> np.uint64:
        """Bits dropped from a 64-bit hash."""
        return np.uint64(64 - self.settings.bits)

    def decode(self, batch: ArcBatch) -> Int32s:
        """(rows,): the best heads of all sentences; -1 in the roots' rows."""
        heads: Int32s = self.decode_charged(batch, [self.settings.charge])[0]
        return heads

    def decode_charged(self, batch: ArcBatch, charges: Sequence[float]) -> Int32s:
        """(charges, rows): the same for several charges of order 2; infinity: projective trees."""
        from eigentext.dependency.kernels.train import decode_all

        heads = np.full((len(charges), len(batch.keys)), -1, np.int32)
        decode_all(self.sentences(batch), self.linear(), self.decoder(charges), heads)
        return heads

    def linear(self) -> LinearModel:
        """Templates and weights as the kernels take them."""
        from eigentext.dependency.kernels.features import LinearModel

        return LinearModel(self.arrays, self.weights, self.shift, self.scale)

    def decoder(self, charges: Sequence[float]) -> Decoder:
        """How trees are found, as the kernels take it."""
        from eigentext.dependency.kernels.train import Decoder

        chosen, costs = self.settings, np.array(charges, np.float64)
        linear = (NO_COARSE if self.coarse is None else self.coarse).linear()
        margin = _or_all(chosen.margin)
        within = _or_all(None if self.coarse is None else chosen.coarse_margin)
        return Decoder(chosen.order, chosen.projective, margin, costs, linear, within)

    def rounded(self, most: float) -> ArcModel:
        """The same with whole numbers, of which 1 is worth this much at most."""
        scale = unit_of(self.weights, most)
        return replace(self, weights=rounded(self.weights, scale), scale=scale)

    def sentences(self, batch: ArcBatch) -> Sentences:
        """The words of a batch as the kernels take them."""
        from eigentext.dependency.kernels.features import Sentences

        return Sentences(batch.starts, batch.keys, batch.tags, self.n_tags)

    def sentence(self, batch: ArcBatch, number: int) -> Sentence:
        """Those of one sentence."""
        from eigentext.dependency.kernels.features import Sentence

        rows = slice(batch.starts[number], batch.starts[number + 1])
        return Sentence(batch.keys[rows], batch.tags[rows], self.n_tags)

    def scores(
        self, batch: ArcBatch, number: int, *, pruned: bool = True
    ) -> tuple[Scores, Scores | None]:
        """``arc`` and, for order 2, ``sib`` of sentence ``number``.

        For order 2 arcs that ``decode`` does not look at are -inf, unless not ``pruned``.
        """
        from eigentext.dependency.kernels.features import all_arcs, arc_scores, sibling_scores
        from eigentext.dependency.kernels.grandparents import list_governors
        from eigentext.dependency.kernels.train import candidates, prune

        sentence, model = self.sentence(batch, number), self.linear()
        n = len(sentence.keys) - 1
        nobody = np.empty(0, np.int32)  # no gold heads are known
        arc, keep = np.empty((n + 1, n + 1)), all_arcs(n)
        if pruned:
            candidates(sentence, self.decoder([0.0]), nobody, keep)
        arc_scores(sentence, model, keep, arc)
        if self.settings.order == 1:
            return arc, None
        # sib[h, s, d] is 0 where it is not filled: arcs that are ruled out are -inf anyhow
        sib = np.zeros((n + 1, n + 1, n + 1))
        if pruned:
            prune(arc, nobody, _or_all(self.settings.margin), keep)
        sibling_scores(sentence, model, list_governors(keep), sib)
        return arc, sib

    def search(
        self,
        batch: ArcBatch,
        number: int,
        required: Sequence[tuple[int, int]] = (),
        forbidden: Sequence[tuple[int, int]] = (),
    ) -> Search:
        """The trees of sentence ``number`` that have the required arcs and no forbidden ones."""
        from eigentext.dependency.decoding.search import Search

        chosen = self.settings
        # an arc asked for may be one that pruning takes away
        arc, sib = self.scores(batch, number, pruned=not (required or forbidden))
        grand = Grandparents(self, batch, number) if chosen.grandparents else None
        limits = chosen.projective, required, forbidden
        return Search(arc, sib, *limits, grand, chosen.charge, chosen.heat)

    def tree_score(self, batch: ArcBatch, number: int, heads: Int32s) -> float:
        """What any tree of sentence ``number`` scores, also with arcs that no search looks at."""
        from eigentext.dependency.kernels.eisner import siblings_score
        from eigentext.dependency.kernels.mst import tree_score
        from eigentext.dependency.kernels.rearrange import crossing_arcs

        arc, sib = self.scores(batch, number, pruned=False)
        if sib is None:
            return float(tree_score(arc, heads))
        score = siblings_score(arc, sib, heads) - self.settings.charge * crossing_arcs(heads)
        if self.settings.grandparents:
            score += float(Grandparents(self, batch, number).totals(heads[None])[0])
        return float(score)


class Grandparents:
    """The grandparents' share in the scores of the trees of one sentence."""

    def __init__(self, model: ArcModel, batch: ArcBatch, number: int) -> None:
        self._settings, self._n_templates = model.settings, len(model.grand_names)
        self._model, self._sentence = model.linear(), model.sentence(batch, number)

    def best(self, arc: Scores, sib: Scores) -> tuple[Int32s, float]:
        """The best projective tree, rearranged if arcs may cross.

        Arcs of -inf are left out, and those far below the best.
        """
        from eigentext.dependency.kernels.features import grand_scores
        from eigentext.dependency.kernels.grandparents import grand_kernel, list_governors
        from eigentext.dependency.kernels.mst import mst_kernel
        from eigentext.dependency.kernels.rearrange import rearrange_kernel
        from eigentext.dependency.kernels.train import prune

        settings = self._settings
        arc, keep = arc.copy(), np.zeros(arc.shape, np.bool_)
        prune(arc, np.empty(0, np.int32), _or_all(settings.margin), keep)
        governors = list_governors(keep)
        grand = grand_scores(self._sentence, self._model, governors)
        heads = np.empty(len(arc) - 1, np.int32)
        score = grand_kernel(arc, sib, grand, governors, heads)
        if not settings.projective:
            if score == -np.inf:  # the arcs asked for leave none that is projective
                mst_kernel(arc, heads)
            score = rearrange_kernel(arc, sib, grand, governors.number_of, settings.charge, heads)
        return heads, float(score)

    def totals(self, heads: Int32s) -> Scores:
        """(K,) what grandparents add to the scores of trees (K, n)."""
        from eigentext.dependency.kernels.features import grand_totals

        totals_of = np.empty(len(heads))
        grand_totals(self._sentence, self._model, np.ascontiguousarray(heads, np.int32), totals_of)
        return totals_of

    def in_tree(self, h: int, d: int, heads: Int32s) -> float:
        """What the grandparent would add to the arc from h to d in the place of d's own."""
        # If h is below d in the tree, it takes d's place.
        from eigentext.dependency.kernels.features import grand_slots

        if h == 0:
            return 0.0
        g = int(heads[h - 1])
        g = int(heads[d - 1]) if g == d else g
        slots = np.empty(2 * max(self._n_templates, 1), np.int64)
        end = grand_slots(self._sentence, self._model, g, h, d, slots, 0)
        return float(self._model.weights[slots[:end]].sum(dtype=np.float64) * self._model.scale)


def _or_all(margin: float | None) -> float:
    return np.inf if margin is None else float(margin)


NO_COARSE = ArcModel(ArcSettings(bits=10), ("h.upos d.upos",), (), 1, np.zeros(1 << 10, np.int16))


def train_coarse(
    batch: ArcBatch, n_tags: int, settings: ArcSettings, *, sentences: Int64s | None = None
) -> ArcModel:
    """The model that says which arcs of order 2 are scored: few templates, few passes."""
    from eigentext.dependency.kernels.train import coarse_pass

    chosen = np.arange(len(batch)) if sentences is None else np.asarray(sentences, np.int64)
    few = ArcSettings(bits=min(COARSE_BITS, settings.bits), seed=settings.seed)
    weights = np.zeros(1 << few.bits, np.float32)
    model = ArcModel(few, coarse_templates(), (), n_tags, weights)
    squares = np.full(len(weights), 0.1)
    for epoch in range(COARSE_EPOCHS):
        order = chosen[np.random.default_rng([few.seed, epoch]).permutation(len(chosen))]
        coarse_pass(
            order, model.sentences(batch), batch.heads, model.linear(), COARSE_RATE, squares
        )
    return model.rounded(COARSE_RATE / ARC_STEPS)


def train_arcs(
    batch: ArcBatch,
    arc_names: Sequence[str],
    sib_names: Sequence[str],
    n_tags: int,
    settings: ArcSettings,
    *,
    grand_names: Sequence[str] = (),
    coarse: ArcModel | None = None,
    sentences: Int64s | None = None,
    after_pass: Callable[[ArcModel], bool] | None = None,
    progress: Progress | None = None,
) -> ArcModel:
    """Learn from the sentences of these numbers (None: all) of a batch with gold heads."""
    # ``after_pass`` gets the mean so far after every pass; if it answers True, training stops.
    from eigentext.dependency.kernels.train import Learner, move_weights, rival_tree

    chosen = np.arange(len(batch)) if sentences is None else np.asarray(sentences, np.int64)
    size = 1 << settings.bits
    learned = Averaged.zeros(size)
    if coarse is None and settings.order == 2 and settings.coarse_margin is not None:
        coarse = train_coarse(batch, n_tags, settings, sentences=sentences)
    names, grand = (tuple(arc_names), tuple(sib_names)), tuple(grand_names)
    model = ArcModel(settings, *names, n_tags, learned.weights, grand, coarse=coarse)
    mira = settings.learner == "mira"
    text, linear, lengths = model.sentences(batch), model.linear(), np.diff(batch.starts)
    learner = Learner(mira, settings.clip, learned.sums)
    # weights are to know what lies beyond the margin; a crossing arc costs nothing while we learn
    wider = settings
    if settings.coarse_margin is not None:
        wider = replace(settings, coarse_margin=settings.coarse_margin + MORE_MARGIN)
    decoder = replace(model, settings=wider).decoder([0.0])
    time = 0

    def rival(k: int) -> Any:
        return rival_tree(k, text, batch.heads, linear, decoder, mira)

    def mean(*, last: bool = False) -> ArcModel:
        means = learned.mean(time, last=last)
        return replace(model, weights=means).rounded(settings.clip / ARC_STEPS)

    for epoch in range(settings.epochs):
        # a shuffle of its own for each pass, so that fewer passes are the start of more
        order = chosen[np.random.default_rng([settings.seed, epoch]).permutation(len(chosen))]
        for block in row_blocks(len(order), LOCK_STEP):
            # the longest first: nobody waits for one that was begun last
            together = order[block][np.argsort(-lengths[order[block]], kind="stable")]
            for better in each(rival, together):
                time += 1
                move_weights(better, learned.weights, learner, time)
            if progress is not None and time // 500 > (time - LOCK_STEP) // 500:
                progress(time, settings.epochs * len(chosen), "training arcs")
        if after_pass is not None and after_pass(mean()):
            break
    return mean(last=True)  # tables are large, and there is no next pass
