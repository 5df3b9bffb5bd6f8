"""``SequenceTagger``: sentences and tags in, a tagger out; then tokens in, tags out.

1. ``fit`` checks the input, looks at the words, trains (``perceptron``) and keeps the average.
2. ``tag`` answers for one sentence, ``predict`` for many at once, ``n_best`` with scores.
3. ``save`` and ``load`` go through ``storage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.ner import evaluate
from eigentext.formats.columns import find_tag_fault
from eigentext.tagging import resources, selection
from eigentext.tagging.features import WordTable
from eigentext.tagging.perceptron import Learner, Model, search
from eigentext.tagging.schemes import TagSet, looks_like_entities, repaired
from eigentext.tagging.templates import Templates, default_templates

if TYPE_CHECKING:
    import os

__all__ = ["SequenceTagger", "Tagging"]

Sentences = Iterable[Sequence[str]]
_CHUNK = 512  # sentences tagged at a time


class Tagging(NamedTuple):
    """One answer for a sentence: its tags, their score, and its share among the n best.

    ``share`` is exp(score) / sum exp(score) over the answers given: a rough confidence.
    """

    tags: list[str]
    score: float
    share: float


class _Trained(NamedTuple):
    """What training with one margin gave."""

    model: Model
    beam: int
    epoch: int
    dev_scores: list[float]
    mistakes: list[int]


class SequenceTagger(BaseEstimator):  # type: ignore[misc]
    """Averaged perceptron for sequences of tags, greedy from left to right or with a beam.

    ``clusters``   a Brown paths file, or a mapping from words to bit strings
    ``vectors``    a word2vec file, or a mapping from words to vectors
    ``epochs``     passes over the data; with development data, at most so many
    ``scheme``     bio2 for entities, plain for other tags, auto to tell from the tags
    ``min_count``  features that training saw less often are left out
    ``margin``     the gold tag must win by so many features, in multiples of the number of
                   templates, or the weights are corrected
    ``entity_margin``  what is added to that for tags of entities: more recall
    ``beam``       tag sequences kept while tagging; 1 is greedy.  auto, for both: what suits these
                   entities best on development data, or else by cross-validation on the training
                   data (``selection``); other tags are tagged greedily
    ``templates``  None for the default ones, see ``templates``
    ``vector_scale, vector_reach``  every vector is scaled to this length; words so far around
    ``repair``     tags outside BIO2 are read as the CoNLL scorer reads them; else an error
    ``seed``       of the shuffles

    After ``fit``, ``entity_margin_`` and ``beam_`` are those in use, and ``tried_`` has the F1 of
    every pair that was tried.

    >>> X = [["Ada", "met", "Charles"], ["she", "met", "Ada"]] * 5
    >>> y = [["B-PER", "O", "B-PER"], ["O", "O", "B-PER"]] * 5
    >>> tagger = SequenceTagger(epochs=3).fit(X, y)
    >>> tagger.tag(["Charles", "met", "Ada"])
    ['B-PER', 'O', 'B-PER']
    """

    def __init__(
        self,
        *,
        clusters: str | os.PathLike[str] | Mapping[str, str] | None = None,
        vectors: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        epochs: int = 8,
        scheme: str = "auto",
        min_count: int = 1,
        margin: float = 0.2,
        entity_margin: float | Literal["auto"] = "auto",
        beam: int | Literal["auto"] = "auto",
        templates: Sequence[str] | None = None,
        vector_scale: float = 1.0,
        vector_reach: int = 1,
        repair: bool = False,
        seed: int = 0,
    ) -> None:
        self.clusters = clusters
        self.vectors = vectors
        self.epochs = epochs
        self.scheme = scheme
        self.min_count = min_count
        self.margin = margin
        self.entity_margin = entity_margin
        self.beam = beam
        self.templates = templates
        self.vector_scale = vector_scale
        self.vector_reach = vector_reach
        self.repair = repair
        self.seed = seed

    # ------------------------------------------------------------ training

    def fit(
        self,
        X: Sentences,
        y: Sentences,
        *,
        dev: tuple[Sentences, Sentences] | None = None,
        patience: int = 5,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> SequenceTagger:
        """Train on token lists and tag lists.

        With ``dev`` (tokens, tags) the epoch that scores best there is kept, and training stops
        after ``patience`` epochs without a better one; margin and beam are chosen there too.
        """
        self._check_settings()
        sentences, tags = _checked(X, y)
        if not any(sentences):
            raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
        scheme = self.scheme
        if scheme == "auto":
            told = looks_like_entities(tag for row in tags for tag in row)
            scheme = "bio2" if told else "plain"
        if scheme == "bio2":
            tags = self._as_bio2(tags)
        self.tag_set_ = TagSet.of(tags, scheme)  # type: ignore[arg-type]
        self.clusters_ = resources.clusters_of(self.clusters)
        self.vector_words_, self.vectors_ = resources.vectors_of(self.vectors, self.vector_scale)
        names = self.templates or default_templates(clusters=bool(self.clusters_))
        self.templates_ = Templates(names)
        self._prepare()
        batch, gold = self._words.batch(sentences), self.tag_set_.encode(tags)
        held_out = None if dev is None else _checked(*dev)
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
                self.tag_set_,
                self.vectors_,
                min_count=self.min_count,
                margins=self._margins(margin),
                seed=self.seed,
                reach=self.vector_reach,
            )
            found = self._train(learner, margin, beams, held_out, patience, progress)
            trained.append((margin, found))
        self.entity_margin_, best = max(trained, key=lambda one: max(one[1].dev_scores, default=0))
        self.model_, self.beam_, self.best_epoch_, self.dev_scores_, self.mistakes_ = best
        self.seen_ = frozenset(word for tokens in sentences for word in tokens)
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
        vectors = dict(zip(self.vector_words_, self.vectors_, strict=True)) or None
        settings |= {"clusters": self.clusters_, "vectors": vectors, "scheme": "bio2"}
        settings |= {"entity_margin": margin, "beam": 1, "epochs": (self.epochs + 1) // 2}
        return SequenceTagger(**settings)

    def _train(
        self,
        learner: Learner,
        margin: float,
        beams: Sequence[int],
        held_out: tuple[Sentences, Sentences] | None,
        patience: int,
        progress: Callable[[int, int, str], None] | None,
    ) -> _Trained:
        """Run the epochs; with development data the best of them, with the best of the beams."""
        dev_scores: list[float] = []
        mistakes: list[int] = []
        best: tuple[Model, int, int] | None = None
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

    def _check_settings(self) -> None:
        for name in ("epochs", "min_count", "beam"):
            if getattr(self, name) != "auto" and int(getattr(self, name)) < 1:
                raise SettingsError(f"{name} must be 1 or more, found {getattr(self, name)}")
        if self.entity_margin != "auto" and not self.entity_margin >= 0:
            raise SettingsError(
                f"entity_margin is {self.entity_margin}, expected 0 or more, or auto"
            )
        if self.scheme not in ("auto", "bio2", "plain"):
            raise SettingsError(f"scheme is auto, bio2 or plain, not {self.scheme!r}")
        if not self.margin >= 0 or not self.vector_scale > 0 or self.vector_reach < 0:
            raise SettingsError("margin, vector_scale and vector_reach must not be negative")
        if self.seed < 0:
            raise SettingsError(f"seed is {self.seed}, but a seed is a non-negative integer")

    def _margins(self, entity_margin: float) -> npt.NDArray[np.float64]:
        """What each tag must win by in training."""
        found = np.full(len(self.tag_set_.inside), self.margin)
        if self.tag_set_.scheme == "bio2":
            found[1:] += entity_margin  # all but O
        return found * len(self.templates_.all)

    def _as_bio2(self, tags: list[list[str]]) -> list[list[str]]:
        if self.repair:
            return [repaired(row) for row in tags]
        for number, row in enumerate(tags, start=1):
            fault = find_tag_fault(row, "bio2")
            if fault:
                raise DataError("<training tags>", number, f"token {fault[0] + 1}: {fault[1]}")
        return tags

    def _prepare(self) -> None:
        rows = {word: row for row, word in enumerate(self.vector_words_)}
        self._words = WordTable(self.clusters_, rows)

    # ------------------------------------------------------------ tagging

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence.

        >>> SequenceTagger(epochs=1).fit([["a", "b"]], [["X", "Y"]]).tag(["a"])
        ['X']
        """
        return self.predict([tokens])[0]

    def predict(self, X: Sentences) -> list[list[str]]:
        """The tags of sentences, in order."""
        return list(self.stream(X))

    def stream(self, X: Sentences) -> Iterator[list[str]]:
        """The same, sentence by sentence as they come; memory stays flat."""
        for answers in self.stream_n_best(X, 1):
            yield answers[0].tags if answers else []

    def n_best(self, tokens: Sequence[str], n: int = 5) -> list[Tagging]:
        """The n best tag sequences by a beam of at least n, best first.

        >>> tagger = SequenceTagger(epochs=1).fit([["a", "b"]], [["X", "Y"]])
        >>> [answer.tags for answer in tagger.n_best(["a"], 2)]
        [['X'], ['Y']]
        """
        return next(self.stream_n_best([tokens], n))

    def stream_n_best(self, X: Sentences, n: int) -> Iterator[list[Tagging]]:
        """The n best of each sentence; an empty sentence has none."""
        if n < 1:
            raise SettingsError(f"n must be 1 or more, found {n}")
        self._fitted()
        source = map(_token_list, X)
        while chunk := list(islice(source, _CHUNK)):
            batch = self._words.batch(chunk)
            tags, scores, found = search(
                self.model_,
                self._words,
                self.templates_,
                self.tag_set_,
                self.vectors_,
                batch,
                beam=self.beam_ if self.beam == "auto" else self.beam,
                n_best=n,
            )
            for s, count in enumerate(found.tolist()):
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

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise SettingsError("this tagger is not trained yet: call fit or load first")

    def score(self, X: Sentences, y: Sentences) -> float:
        """Percent: F1 of entities by the CoNLL (seqeval) rules, or accuracy of other tags."""
        sentences, tags = _checked(X, y)
        result = evaluate(tags, self.predict(sentences))
        return result.f1 if self.tag_set_.scheme == "bio2" else result.token_accuracy

    # ------------------------------------------------------------ storage

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        compact: bool = False,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Write a model file; ``compact`` keeps vectors and clusters of training words only."""
        from eigentext.tagging.storage import save_tagger

        self._fitted()
        save_tagger(self, path, compact=compact, data=data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SequenceTagger:
        """Read a model file that :meth:`save` wrote."""
        from eigentext.tagging.storage import load_tagger

        return load_tagger(cls, path)

    def _restore(
        self,
        tag_set: TagSet,
        templates: Templates,
        model: Model,
        clusters: dict[str, str],
        vectors: tuple[list[str], Any],
    ) -> None:
        self.tag_set_, self.templates_, self.model_ = tag_set, templates, model
        self.clusters_, (self.vector_words_, self.vectors_) = clusters, vectors
        self._prepare()


def _token_list(tokens: Sequence[str]) -> Sequence[str]:
    if isinstance(tokens, (str, bytes)):
        raise TypeError("a sentence is a list of tokens, not one str; did you mean text.split()?")
    for token in tokens:
        if not isinstance(token, str) or not token:
            raise TypeError(f"a token is a str with content, not {token!r}")
    return tokens


def _checked(X: Sentences, y: Sentences) -> tuple[list[Sequence[str]], list[list[str]]]:
    sentences = [_token_list(tokens) for tokens in X]
    tags = [list(_token_list(row)) for row in y]
    if len(sentences) != len(tags):
        raise DataError("<tags>", None, f"{len(tags)} sentences for {len(sentences)} of tokens")
    for number, (tokens, row) in enumerate(zip(sentences, tags, strict=True), start=1):
        if len(tokens) != len(row):
            raise DataError("<tags>", number, f"{len(row)} tags for {len(tokens)} tokens")
    return sentences, tags
