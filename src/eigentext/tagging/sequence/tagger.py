"""``SequenceTagger``: sentences and tags in, a tagger out; then tokens in, tags out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from eigentext.base.fields import Array, Ints, Reals, Sparse, Strings
from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.records import BitsOfWords, stored
from eigentext.base.tokens import checked_tagged, checked_words, each_sentence
from eigentext.base.values import Named, Real, Text, Whole
from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.ner import evaluate
from eigentext.features.word_classes import VectorTable, clusters_of, vectors_of
from eigentext.language.formats.columns import find_tag_fault
from eigentext.tagging.sequence import selection
from eigentext.tagging.sequence.features import (
    KeyNumbers,
    TagTemplates,
    WordRows,
    default_templates,
)
from eigentext.tagging.sequence.perceptron import N_OFFSETS, Learner, LinearModel, search
from eigentext.tagging.sequence.reading import tagged_of
from eigentext.tagging.sequence.schemes import TagSet, looks_like_entities, repaired
from eigentext.tagging.settings import TaggerSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from eigentext.base.files.opening import Source
    from eigentext.base.progress import Progress
    from eigentext.base.types import Bools, Float32s, Float64s, Int32s, Int64s, UInt64s
    from eigentext.language.doc import Doc


Sentences = Iterable[Sequence[str]]
_CHUNK = 512  # sentences tagged at a time


def _rows(tagger: SequenceTagger) -> tuple[Int32s, Int32s]:
    """Rows of weights of features without tags, and of cells of those with tags."""
    n_static = len(tagger.model_.table.keys)
    return tagger.model_.row_of[:n_static], tagger.model_.row_of[n_static:]


def _cells(tagger: SequenceTagger) -> Int64s:
    return np.flatnonzero(_rows(tagger)[1] >= 0)


def _first(tagger: SequenceTagger) -> Int64s:
    return tagger.model_.first - len(tagger.model_.table.keys)


@dataclass
class TaggerContent:
    """What a file holds."""

    tags: tuple[str, ...] = stored(Strings("tags", distinct=True), of="tag_set_.inside")
    templates: Sequence[str] = stored(Strings("templates"), of="templates_.names")
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    vector_words: Sequence[str] = stored(
        Strings("vector_words", distinct=True), of="vector_words_"
    )
    vectors_: Float32s = stored(Reals(("vector_words", "size"), ("float32",), -1e6, 1e6))
    keys: UInt64s = stored(Array(("static",), ("uint64",)), of="model_.table.keys")
    base_keys: UInt64s = stored(Array(("bases",), ("uint64",)), of="model_.bases.keys")
    base_first: Int64s = stored(Ints(("bases",), low=0, below=1 << 40), of=_first)
    n_cells: int = stored(
        Ints((), low=0, below=1 << 40),
        of=lambda tagger: 1 + max(_first(tagger).max(initial=-1), _cells(tagger).max(initial=-1)),
    )
    weights: csr_array = stored(
        Sparse(("rows", "tags"), ("float32",), -1e9, 1e9), of="model_.weights"
    )
    static_rows: Int32s = stored(
        Ints(("static",), ("int32",), -1, "rows"), of=lambda tagger: _rows(tagger)[0]
    )
    cells: Int64s = stored(Ints(("cells",), low=0, below=1 << 40), of=_cells)
    cell_rows: Int32s = stored(
        Ints(("cells",), ("int32",), 0, "rows"), of=lambda tagger: _rows(tagger)[1][_cells(tagger)]
    )
    dense: Float32s = stored(
        Reals(("places", "tags", "size"), ("float32",), -1e9, 1e9), of="model_.dense"
    )
    chosen: dict[str, float] = stored(
        Named({"entity_margin": Real(), "beam": Whole(1, 10_000)}),
        of=lambda tagger: {"entity_margin": tagger.entity_margin_, "beam": tagger.beam_},
    )
    best_epoch_: int = stored(Whole(0))
    tag_scheme: Literal["bio2", "plain"] = stored(Text(("bio2", "plain")), of="tag_set_.scheme")

    def _holds(self) -> None:
        if not self.tags:
            raise ValueError("strings 'tags' are none, expected some")
        if self.tag_scheme == "bio2":
            for tag in self.tags:
                if tag != "O" and (tag[:1] not in tuple("BILU") or tag[1:2] != "-"):
                    raise ValueError(f"strings 'tags' hold {tag!r}, expected O, B-, I-, L- or U-")
        expected = N_OFFSETS if self.vectors_.shape[1] else 0
        if len(self.dense) != expected:
            raise ValueError(f"array 'dense' is of {len(self.dense)} places, expected {expected}")

    def restore(self, tagger: SequenceTagger) -> None:
        """Set what ``fit`` would have learned."""
        tagger.entity_margin_ = float(self.chosen["entity_margin"])
        tagger.beam_ = int(self.chosen["beam"])
        tagger.tag_set_ = TagSet(self.tags, self.tag_scheme)
        tagger.templates_ = templates = TagTemplates(self.templates)
        # a template with tags has a cell for each tag, or pair of tags, that may come before
        most = (len(self.tags) + 1) ** int(templates.n_tags.max(initial=0))
        n_keys = len(self.base_keys)
        if self.n_cells > n_keys * most or bool(np.any(self.base_first >= self.n_cells)):
            raise ValueError(f"{self.n_cells} cells for {n_keys} keys")
        cells = np.full(self.n_cells + most, -1, np.int32)  # whatever template meets the last key
        cells[self.cells] = self.cell_rows
        tagger.model_ = LinearModel(
            KeyNumbers(self.keys),
            KeyNumbers(self.base_keys),
            self.base_first + len(self.keys),
            np.concatenate([self.static_rows, cells]),
            np.ascontiguousarray(self.weights.toarray()),
            self.dense,
        )
        tagger.vector_words_ = list(self.vector_words)
        # settings as well, so that a tagger of the same settings can be trained
        tagger.clusters = self.clusters_ or None
        tagger.vectors = VectorTable(tagger.vector_words_, self.vectors_) or None
        tagger._prepare()


class Tagging(NamedTuple):
    """One answer for a sentence: its tags and their score."""

    tags: list[str]
    score: float
    share: float  # exp(score) / sum exp(score) over the answers: a rough confidence


class _Trained(NamedTuple):
    """What training with one margin gave."""

    model: LinearModel
    beam: int
    epoch: int
    dev_scores: list[float]
    mistakes: list[int]


@dataclass(eq=False, repr=False)
class SequenceTagger(Model, TaggerSettings):
    """Averaged perceptron for sequences of tags, greedy from left to right or with a beam.

    Settings: :class:`TaggerSettings`.  After ``fit``, ``entity_margin_`` and ``beam_`` are those
    in use, and ``tried_`` has the F1 of every pair that was tried.

    >>> X = [["Ada", "met", "Charles"], ["she", "met", "Ada"]] * 5
    >>> y = [["B-PER", "O", "B-PER"], ["O", "O", "B-PER"]] * 5
    >>> tagger = SequenceTagger(epochs=3).fit(X, y)
    >>> tagger.tag(["Charles", "met", "Ada"])
    ['B-PER', 'O', 'B-PER']
    """

    KIND = "tagger"
    CONTENT = TaggerContent

    def fit(
        self,
        X: Sentences | Source | Doc,
        y: Sentences | None = None,
        *,
        dev: tuple[Sentences, Sentences] | Source | Doc | None = None,
        patience: int = 5,
        progress: Progress | None = None,
    ) -> SequenceTagger:
        """Train on token lists and tag lists, or on a file or a Doc that has both.

        With ``dev`` (tokens, tags) the epoch that scores best there is kept, and training stops
        after ``patience`` epochs without a better one; margin and beam are chosen there too.
        """
        self.check()
        sentences, tags = tagged_of(X) if y is None else checked_tagged(X, y)
        if not any(sentences):
            raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
        scheme = self.scheme
        if scheme == "auto":
            is_entities = looks_like_entities(tag for row in tags for tag in row)
            scheme = "bio2" if is_entities else "plain"
        if scheme == "bio2":
            tags = self._as_bio2(tags)
        self.tag_set_ = TagSet.of(tags, scheme)
        self.clusters_ = clusters_of(self.clusters)
        self.vector_words_, self.vectors_ = vectors_of(self.vectors, self.vector_scale)
        names = self.templates or default_templates(clusters=bool(self.clusters_))
        self.templates_ = TagTemplates(names)
        self._prepare()
        batch, gold = self._words.batch(sentences), self.tag_set_.encode(tags)
        held_out = None
        if dev is not None:
            held_out = checked_tagged(*dev) if isinstance(dev, (tuple, list)) else tagged_of(dev)
        margins, beams = self._candidates()
        self.tried_: dict[tuple[float, int], float] = {}
        if held_out is None and len(margins) * len(beams) > 1:
            self.tried_ = selection.cross_validated(
                self._quick, sentences, tags, margins, beams, progress=progress
            )
            margin, beam = selection.best_pair(self.tried_)
            margins = [margin] if len(margins) > 1 else margins
            beams = [beam] if len(beams) > 1 else beams
        trained: list[tuple[float, _Trained]] = []
        for margin in margins:
            learner = Learner(
                self._words,
                self.templates_,
                batch,
                gold,
                self.vectors_,
                min_count=self.min_count,
                margins=self._margins(margin),
                seed=self.seed,
            )
            model = self._train(learner, margin, beams, held_out, patience, progress)
            trained.append((margin, model))
        self.entity_margin_, best = max(trained, key=lambda t: max(t[1].dev_scores, default=0))
        self.model_, self.beam_, self.best_epoch_, self.dev_scores_, self.mistakes_ = best
        if self.compact:
            self._forget({word for tokens in sentences for word in tokens})
        return self

    def _candidates(self) -> tuple[list[float], list[int]]:
        """The margins and beams to choose from; one of each where it is told, or of no matter."""
        entities = self.tag_set_.scheme == "bio2"
        margins = list(selection.MARGINS) if entities else [0.0]
        beams = list(selection.BEAMS) if entities else [1]
        return (
            margins if self.entity_margin == "auto" else [float(self.entity_margin)],
            beams if self.beam == "auto" else [int(self.beam)],
        )

    def _quick(self, margin: float) -> SequenceTagger:
        """An untrained copy with a margin, for half as many passes."""
        settings = self.get_params(deep=False)
        vectors = VectorTable(self.vector_words_, self.vectors_) or None
        settings |= {"clusters": self.clusters_, "vectors": vectors, "scheme": "bio2"}
        settings |= {
            "entity_margin": margin,
            "beam": 1,
            "compact": False,
            "epochs": (self.epochs + 1) // 2,
        }
        return SequenceTagger(**settings)

    def _train(
        self,
        learner: Learner,
        margin: float,
        beams: Sequence[int],
        held_out: tuple[Sentences, Sentences] | None,
        patience: int,
        progress: Progress | None,
    ) -> _Trained:
        """Run the epochs; with development data the best of them, with the best of the beams."""
        dev_scores: list[float] = []
        mistakes: list[int] = []
        best: tuple[LinearModel, int, int] | None = None
        for epoch in range(1, self.epochs + 1):
            mistakes.append(learner.run_epoch())
            if progress is not None:
                progress(epoch, self.epochs, "training")
            if held_out is None:
                continue
            self.model_ = learner.average()
            of_beam: dict[int, float] = {}
            for self.beam_ in beams:
                of_beam[self.beam_] = self.score(*held_out)
                pair = margin, self.beam_
                self.tried_[pair] = max(of_beam[self.beam_], self.tried_.get(pair, 0.0))
            beam = max(beams, key=of_beam.__getitem__)
            if of_beam[beam] > max(dev_scores, default=-1.0):
                best = self.model_, beam, epoch
            dev_scores.append(of_beam[beam])
            if best is not None and epoch - best[2] >= patience:
                break
        model, beam, epoch = best or (learner.average(), beams[0], self.epochs)
        return _Trained(model, beam, epoch, dev_scores, mistakes)

    def _margins(self, entity_margin: float) -> Float64s:
        """What each tag must win by in training."""
        margins = np.full(len(self.tag_set_.inside), self.margin)
        if self.tag_set_.scheme == "bio2":
            margins[1:] += entity_margin  # all but O
        return margins * len(self.templates_.all)

    def _as_bio2(self, tags: list[list[str]]) -> list[list[str]]:
        if self.repair:
            return [repaired(row) for row in tags]
        for number, row in enumerate(tags, start=1):
            fault = find_tag_fault(row, "bio2")
            if fault:
                raise DataError("<training tags>", number, f"token {fault[0] + 1}: {fault[1]}")
        return tags

    def _forget(self, words: set[str]) -> None:
        """Keep clusters and vectors of these words, and of their small letters, alone."""
        words |= {word.lower() for word in words}
        self.clusters_ = {word: bits for word, bits in self.clusters_.items() if word in words}
        rows = [row for row, word in enumerate(self.vector_words_) if word in words]
        if self.vector_words_:
            self.vectors_ = self.vectors_[np.array(rows, np.int64)]
            self.vector_words_ = [self.vector_words_[row] for row in rows]
        self._prepare()

    def _prepare(self) -> None:
        rows = {word: row for row, word in enumerate(self.vector_words_)}
        self._words = WordRows(self.clusters_, rows)

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence.

        >>> SequenceTagger(epochs=1).fit([["a", "b"]], [["X", "Y"]]).tag(["a"])
        ['X']
        """
        return self.predict([tokens])[0]

    def predict(self, X: Sentences, *, jobs: int = 1) -> list[list[str]]:
        """The tags of sentences, in order; they do not depend on ``jobs``, the processes."""
        return list(self.stream(X, jobs=jobs))

    def stream(self, X: Sentences, *, jobs: int = 1) -> Iterator[list[str]]:
        """The same, sentence by sentence as they come; memory stays flat."""
        for answers in self.stream_kbest(X, 1, jobs=jobs):
            yield answers[0].tags if answers else []

    def kbest(
        self,
        tokens: Sequence[str],
        k: int = 5,
        *,
        allowed: Mapping[int, Collection[str]] | None = None,
    ) -> list[Tagging]:
        """The k best tag sequences by a beam of at least k, best first.

        ``allowed`` says which tags some of the tokens may have, by their numbers from 0 on: what
        a person decided, and the others are chosen given that.  There may be no such sequence.

        >>> tagger = SequenceTagger(epochs=1).fit([["a", "b"]], [["X", "Y"]])
        >>> [answer.tags for answer in tagger.kbest(["a"], 2)]
        [['X'], ['Y']]
        >>> [answer.tags for answer in tagger.kbest(["a"], 2, allowed={0: ["Y"]})]
        [['Y']]
        """
        if not allowed:
            return next(self.stream_kbest([tokens], k))
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        self.check_fitted()
        words = checked_words(tokens)
        for token in allowed:
            if not 0 <= token < len(words):
                raise SettingsError(f"allowed: no token {token} among {len(words)}")
        mask = self.tag_set_.allowed(len(words), allowed)
        return next(self._kbest_of([words], k, mask))

    def stream_kbest(self, X: Sentences, k: int, *, jobs: int = 1) -> Iterator[list[Tagging]]:
        """The k best of each sentence; an empty sentence has none."""
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        self.check_fitted()
        sentences = map(checked_words, each_sentence(X))
        work = in_order(_tag_chunk, sentences, state=(self, k), jobs=jobs, chunk=_CHUNK)
        for _, answers in work:
            yield answers

    def _kbest_of(
        self, sentences: Sequence[Sequence[str]], k: int, allowed: Bools | None = None
    ) -> Iterator[list[Tagging]]:
        batch = self._words.batch(sentences)
        tags, scores, counts = search(
            self.model_,
            self._words,
            self.templates_,
            self.tag_set_,
            self.vectors_,
            batch,
            beam=self.beam_ if self.beam == "auto" else self.beam,
            kbest=k,
            allowed=allowed,
        )
        for s, count in enumerate(counts.tolist()):
            begin, end = batch.starts[s], batch.starts[s + 1]
            values = scores[:count, s]
            shares = np.exp(values - values.max()) if count else values
            yield [
                Tagging(
                    self.tag_set_.decode(tags[b, begin:end].tolist()),
                    float(values[b]),
                    float(shares[b] / shares.sum()),
                )
                for b in range(count)
            ]

    def score(self, X: Sentences, y: Sentences) -> float:
        """From 0 to 1: F1 of entities by the CoNLL (seqeval) rules, or accuracy of other tags."""
        sentences, tags = checked_tagged(X, y)
        if not any(sentences):
            raise DataError("<sentences>", None, "no tokens to score")
        result = evaluate(tags, self.predict(sentences))
        entities = self.tag_set_.scheme == "bio2"
        return (result.f1 if entities else result.token_accuracy) / 100

    def _not_kept(self) -> list[str]:
        # compact: the file has no clusters and vectors but those of training words
        names = ("clusters", "vectors") if self.compact else ()
        return super()._not_kept() + [name for name in names if getattr(self, name) is not None]

    def _summary(self) -> str:
        return f"{len(self.tag_set_.inside)} tags, {len(self.model_.weights):,} features"


def _tag_chunk(
    state: tuple[SequenceTagger, int], sentences: list[list[str]]
) -> list[list[Tagging]]:
    """What a worker process does."""
    tagger, k = state
    return list(tagger._kbest_of(sentences, k))
