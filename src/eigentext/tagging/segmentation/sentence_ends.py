"""Second stage: which tokens end a sentence, by a linear model over the places behind tokens.

A sentence is right if both its ends are, so the probability above which it pays to end one need
not be one half.  It is chosen: stretches of the treebank are held out, a model of the others
scores their places, and the log odds that give the best F1 of sentences are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eigentext.base.folds import held_out
from eigentext.base.types import Bools, Float64s, Int8s, Int64s
from eigentext.tagging.segmentation.characters import Squeezed
from eigentext.tagging.segmentation.kernels import boundaries
from eigentext.tagging.segmentation.kernels import sentence_ends as kernel
from eigentext.tagging.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.tagging.segmentation.tables import HashedCounts, quantised, shortened, started
from eigentext.tagging.settings import SegmenterSettings

_RATE = 0.2
_FOLDS, _JUDGED = 4, 1500  # stretches; sentences that are enough to judge by
_ODDS = np.arange(-12, 7) / 4  # log odds that are tried
_AS_GOOD = 0.005  # of F1: less is chance
_UPPER, _LOWER, _LAST_LETTER = 3, 4, 10  # classes of letters
_OPEN, _UNTOLD = np.empty(0, np.int8), np.empty(0)  # nothing is decided; no odds are asked for


@dataclass
class SentenceStage:
    """What was learned of the ends of sentences."""

    weights: Int8s  # as small numbers
    threshold: int  # a sentence ends where their sum is above it
    habits: HashedCounts  # of a word: written small or with a capital, where in a sentence

    @classmethod
    def learn(
        cls,
        text: Squeezed,
        starts: Int64s,
        ends: Int64s,
        sentence_ends: Int64s,
        settings: SegmenterSettings,
        progress: Callable[[int], None],
    ) -> SentenceStage:
        """Learn from tokens, of which ``sentence_ends`` are the last ones of sentences."""
        habits, of_tokens = _habits(text, starts, ends, sentence_ends)
        tokens = _described(text, starts, ends, of_tokens)
        lasts = np.flatnonzero(tokens.gaps == 3)
        shift = 64 - settings.bits

        def learned(sentences: Int64s, progress: Callable[[int], None]) -> tuple[Int8s, float]:
            weights, squares, orders = started(settings, len(sentences))
            for epoch, order in enumerate(orders, start=1):
                examples = sentences[order]
                kernel.train(
                    tokens, lasts, sentence_ends, examples, weights, squares, shift, _RATE
                )
                progress(epoch)
            return quantised(weights)

        n = len(sentence_ends)
        right, guessed = np.zeros(len(_ODDS), np.int64), np.zeros(len(_ODDS), np.int64)
        judged = 0
        for others, fold in _stretches(n):
            if judged >= _JUDGED:
                break
            judged += len(fold)
            weights, unit = learned(others, lambda _: None)
            for k, odds in enumerate(_ODDS):
                least = round(odds / unit)  # the threshold in steps of the weights
                is_end = kernel.answer(tokens, lasts, weights, shift, least, _OPEN, _UNTOLD)
                hits, guesses = _hits(is_end, sentence_ends, fold)
                right[k] += hits
                guessed[k] += guesses
        weights, unit = learned(np.arange(n), progress)
        odds = _ODDS[_best(2 * right / np.maximum(guessed + judged, 1))] if judged else 0.0
        return cls(weights, round(odds / unit), habits)

    def answer(
        self,
        text: Squeezed,
        starts: Int64s,
        ends: Int64s,
        decided: Int8s | None = None,
        odds: Float64s | None = None,
    ) -> tuple[Bools, Bools]:
        """For each token whether a sentence ends with it, and whether a paragraph does.

        ``decided`` (tokens,) 1 where a sentence must end, -1 where none may; ``odds`` (tokens,)
        gets the scores of the others: above 0 a sentence ends.
        """
        habits = kernel.habits_of(text.chars, starts, ends, *self.habits.table)
        tokens = _described(text, starts, ends, habits)
        lasts = np.flatnonzero(tokens.gaps == 3)
        shift = 64 - (len(self.weights).bit_length() - 1)
        is_end = kernel.answer(
            tokens,
            lasts,
            self.weights,
            shift,
            self.threshold,
            _OPEN if decided is None else decided,
            _UNTOLD if odds is None else odds,
        )
        return is_end, tokens.gaps == 3


def _stretches(n: int) -> Iterator[tuple[Int64s, Int64s]]:
    """Sentences to learn from and to judge by, of n: the quarters of a treebank in turn.

    Of a large treebank the beginnings of all quarters are judged together, since its genres may
    stand one behind the other.
    """
    if n >= _FOLDS * _JUDGED:
        quarters = np.array_split(np.arange(n), _FOLDS)
        fold = np.concatenate([quarter[: _JUDGED // _FOLDS] for quarter in quarters])
        yield np.setdiff1d(np.arange(n), fold), fold
    elif n >= _FOLDS:
        yield from held_out(n, _FOLDS)


def _hits(is_end: Bools, sentence_ends: Int64s, fold: Int64s) -> tuple[int, int]:
    """How many of these sentences are cut out right, and how many ends were found in them.

    >>> is_end = np.array([0, 1, 0, 1, 1], bool)
    >>> _hits(is_end, np.array([1, 2, 4]), np.arange(3))
    (1, 3)
    """
    up_to = np.append(0, np.cumsum(is_end))  # ends before each token
    starts = np.append(0, sentence_ends[:-1] + 1)[fold]
    ends = sentence_ends[fold]
    begun = (starts == 0) | is_end[starts - 1]
    right = begun & is_end[ends] & (up_to[ends] == up_to[starts])
    return int(right.sum()), int((up_to[ends + 1] - up_to[starts]).sum())


def _best(scores: Float64s) -> int:
    """Nearest to even odds among those whose F1, smoothed over three, is next to the best."""
    smooth = np.convolve(np.pad(scores, 1, mode="edge"), np.ones(3) / 3, mode="valid")
    good = np.flatnonzero(smooth >= smooth.max() - _AS_GOOD)
    return int(good[np.argmin(np.abs(_ODDS[good]))])


def _described(
    text: Squeezed, starts: Int64s, ends: Int64s, habits: npt.NDArray[np.uint16]
) -> kernel.Tokens:
    tokens: kernel.Tokens = kernel.describe(
        text.chars, text.classes, starts, ends, habits, LINE_BREAK
    )
    return tokens


def _habits(
    text: Squeezed, starts: Int64s, ends: Int64s, sentence_ends: Int64s
) -> tuple[HashedCounts, npt.NDArray[np.uint16]]:
    """Habits of every word, and for each token those of its word elsewhere, without this token."""
    keys = shortened(boundaries.token_keys(text.chars, starts, ends))
    kinds = text.classes[starts]
    is_first = np.zeros(len(starts), bool)
    is_first[np.append(0, sentence_ends[:-1] + 1)] = True
    is_word = (kinds >= _UPPER) & (kinds <= _LAST_LETTER)
    # the last word of a sentence: the last token with a letter in front
    sentence_of = np.cumsum(is_first) - 1
    last = np.full(len(sentence_ends), -1)
    np.maximum.at(last, sentence_of[is_word], np.flatnonzero(is_word))
    is_final = np.zeros(len(starts), bool)
    is_final[last[last >= 0]] = True
    is_low, is_high = kinds == _LOWER, (kinds == _UPPER) & ~is_first
    marks = np.stack([is_low, is_high, is_first, is_final, np.ones(len(starts), bool)])
    distinct, number = np.unique(keys, return_inverse=True)
    counts = np.stack([np.bincount(number[mark], minlength=len(distinct)) for mark in marks])
    return HashedCounts.of(distinct, _codes(counts)), _codes(counts[:, number] - marks)


def _codes(counts: Int64s) -> npt.NDArray[np.uint16]:
    """Small numbers for counts (written small, capital inside, first, final, all) of words."""
    low, high, first, final, every = counts
    steps = np.array([1, 2, 4, 8])
    case = np.digitize(low, steps) + 5 * _share(high, low + high)
    begin = np.digitize(first, steps) + 5 * _share(first, first + high)
    end = np.digitize(every, np.array([1, 2, 4, 16])) + 5 * np.where(
        every > 0, np.digitize(final / np.maximum(every, 1), [0.001, 0.05, 0.2, 0.5]), 0
    )
    return np.asarray(case + 32 * begin + 1024 * end, np.uint16)


def _share(part: Int64s, whole: Int64s) -> Int64s:
    return np.digitize(part / np.maximum(whole, 1), [0.001, 0.3, 0.7, 0.999])
