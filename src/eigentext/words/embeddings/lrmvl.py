"""LR-MVL: word vectors by two CCAs over smoothed contexts (Dhillon, Foster and Ungar 2011).

1. :mod:`eigentext.counting.encoding` turns text into ids; -1 ends a sentence.
2. One round, with the word vectors U of the last one (random at first):

   * the words before a token, smoothed at each rate a: L_t = (1 - a) L_{t-1} + a U[w_{t-1}], and
     likewise the words after it, R; all rates side by side;
   * CCA of L against R gives projections A and B of ``n_components / 2`` columns each;
   * S = [L A, R B] is what both sides agree upon; CCA of the word itself (one-hot) against S gives
     the new U, whose rows are scaled to length 1.

   Only second moments are needed: L'L, R'R, L'R and the sums of L and R by word, all in one pass.
   L'L, R'R and L'R may be taken from a part of the text, spread evenly.
3. After the last round A and B are learned once more with the final U.
4. :class:`LRMVL` holds the vectors of words (``embeddings_``, context-oblivious) and gives those
   of tokens in their sentence: [U[w_t], L_t A, R_t B] (context-sensitive).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eigentext.base.fields import Reals
from eigentext.base.model import Model, Transformer
from eigentext.base.progress import Progress
from eigentext.base.records import learned
from eigentext.base.tokens import checked_tokens, each_sentence
from eigentext.base.types import Float32s, Float64s, Int32s
from eigentext.base.values import Whole
from eigentext.counting.encoding import EncodedText
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import RankError, SettingsError
from eigentext.linalg.cca import cca_from_moments
from eigentext.linalg.ties import random_block, single_threaded
from eigentext.words.embeddings.vectors import Embeddings, WordVectorModel, vectors_from
from eigentext.words.settings import LRMVLSettings

_NOISE = 1e-6  # a correlation of rounding in single precision
_BLOCK_TOKENS = 4096
_LONGEST_SENTENCE = 1 << 16  # a longer line is smoothed in pieces of this length


@dataclass(eq=False, repr=False)
class LRMVL(Transformer, WordVectorModel, Model, LRMVLSettings):
    """Word and token vectors by two CCAs over smoothed contexts.

    After ``fit``: ``embeddings_`` with the vectors of words, ``n_tokens_``, and ``left_`` and
    ``right_`` (rates * n_components, n_components / 2), the projections A and B of the two sides
    of a token.

    >>> sentences = [["a", "cat", "ran"], ["a", "dog", "ran"], ["the", "cat", "sat"],
    ...              ["the", "dog", "ran"]]
    >>> model = LRMVL(2, kappa=0.1).fit(sentences)
    >>> [tokens.shape for tokens in model.transform([["a", "cat"], ["the", "dog", "sat"]])]
    [(2, 4), (3, 4)]
    """

    KIND = "lrmvl"
    embeddings_: Embeddings = learned(Embeddings.stored("values"))
    n_tokens_: int = learned(Whole(0))
    left_: Float32s = learned(Reals(("smoothed", "half"), ("float32",), -1e6, 1e6))
    right_: Float32s = learned(Reals(("smoothed", "half"), ("float32",), -1e6, 1e6))

    def check(self) -> None:
        """Raise SettingsError; half of the dimensions are for each side."""
        super().check()
        if self.n_components % 2:
            raise SettingsError(
                f"n_components is {self.n_components}: LR-MVL needs an even number, half for "
                "each side"
            )
        if not self.rates or not all(self.rates):
            raise SettingsError(f"rates is {self.rates}, expected numbers above 0 and up to 1")

    def fit(
        self,
        X: Iterable[Sequence[str]] | EncodedText,
        y: object = None,
        *,
        progress: Progress | None = None,
    ) -> LRMVL:
        """Learn from sentences (lists of tokens), or from a text of ids; ``y`` is not used."""
        self.check()
        text = EncodedText.of(X, self.vocab_size, self.min_count)
        words, ids = text.vocabulary.words, text.ids
        counts = np.bincount(ids[ids >= 0], minlength=len(words)).astype(np.float64)
        n_types = int((counts > 0).sum())
        if not n_types:
            raise SettingsError("no tokens to learn from, expected text")
        if n_types < 2:
            raise SettingsError("a text of one word type has no contexts to tell words apart")
        if self.n_components > n_types:
            raise SettingsError(
                f"n_components is {self.n_components}, which is above the rank: there are only "
                f"{n_types} word types"
            )
        with single_threaded():
            U, correlations, A, B = _learn(ids, counts, self, progress)
        if not counts[-1] and words[-1] == UNKNOWN:
            words, U = words[:-1], U[:-1]
        self.embeddings_ = Embeddings(words, U, correlations)
        self.left_, self.right_ = A.astype(np.float32), B.astype(np.float32)
        self.n_tokens_ = int(counts.sum())
        return self

    def transform(self, X: Iterable[Sequence[str]]) -> list[Float32s]:
        """Context-sensitive vectors of each sentence's tokens: (tokens, 2 n_components) each."""
        self.check_fitted()
        return [self.token_vectors(sentence) for sentence in each_sentence(X)]

    def token_vectors(self, sentence: Sequence[str]) -> Float32s:
        """The context-sensitive vectors of a sentence: (tokens, 2 n_components).

        A word that is not known has the vector of ``<unk>``, or zeros where there is none.
        """
        from eigentext.words.kernels import lrmvl as kernels

        self.check_fitted()
        vectors = self.embeddings_.vectors
        U = np.concatenate([vectors, np.zeros((1, vectors.shape[1]), dtype=np.float32)])
        row_of = self.embeddings_.row_of
        unknown = row_of.get(UNKNOWN, len(U) - 1)
        tokens = checked_tokens(sentence)
        ids = np.array([row_of.get(token, unknown) for token in tokens], dtype=np.int32)
        rates = np.array(self.settings_.rates, dtype=np.float32)
        words, L, R = _allocated(len(ids), len(rates), U.shape[1])
        m = kernels.smooth(ids, 0, len(ids), U, rates, words, L, R)
        with single_threaded():
            parts = [L.reshape(m, -1) @ self.left_, R.reshape(m, -1) @ self.right_]
        return np.concatenate([U[ids], *parts], axis=1)

    def _restore(self, content: LRMVL) -> None:
        # the two sides of a token: one vector for every rate, taken to half a vector
        size, rates = self.embeddings_.vectors.shape[1], len(self.rates)
        if self.left_.shape != (rates * size, size // 2):
            raise ValueError(f"array 'left' does not fit {rates} rates and {size} numbers")


def _learn(
    ids: Int32s, counts: Float64s, settings: LRMVLSettings, progress: Progress | None
) -> tuple[Float32s, Float64s, Float64s, Float64s]:
    """U, its correlations, A and B."""
    blocks = list(_blocks(ids))
    rates = np.array(settings.rates, dtype=np.float32)
    size, n_iter = settings.n_components, settings.n_iter
    # vectors by chance, then in turn: contexts of these vectors, A and B of the contexts, vectors
    # by A and B; the last round gives A and B for the vectors that stay
    start = random_block(len(counts), size, seed=settings.seed, stream=11, dtype=np.float32)
    U = vectors_from(start, np.ones(size), 0.0)
    correlations = np.zeros(0)
    for round_ in range(n_iter + 1):
        last = round_ == n_iter
        moments = _moments(ids, blocks, U, rates, settings.covariance_tokens, by_word=not last)
        A, B = _sides(moments, settings)
        if not last:
            U, correlations = _words(moments, A, B, counts, settings)
        if progress is not None:
            progress(round_ + 1, n_iter + 1, "rounds")
    return U, correlations, A, B


@dataclass(frozen=True)
class _Moments:
    """L'L, R'R, L'R (c, c), brought to the size of the whole text; sums by word (n, c)."""

    LL: Float64s
    RR: Float64s
    LR: Float64s
    left: Float64s
    right: Float64s


def _blocks(ids: Int32s) -> Iterator[tuple[int, int]]:
    """Stretches of whole sentences, of about ``_BLOCK_TOKENS`` tokens."""
    ends = np.flatnonzero(ids < 0) + 1
    if not len(ends) or ends[-1] < len(ids):
        ends = np.append(ends, len(ids))
    begin = end = 0
    for stop in ends.tolist():
        if stop - begin > _BLOCK_TOKENS and end > begin:
            yield begin, end
            begin = end
        while stop - begin > _LONGEST_SENTENCE:
            yield begin, begin + _LONGEST_SENTENCE
            begin += _LONGEST_SENTENCE
        end = stop
    if end > begin:
        yield begin, end


def _allocated(n_tokens: int, n_rates: int, size: int) -> tuple[Int32s, Float32s, Float32s]:
    shape = (n_tokens, n_rates, size)
    words = np.empty(n_tokens, dtype=np.int32)
    return words, np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)


def _moments(
    ids: Int32s,
    blocks: Sequence[tuple[int, int]],
    U: Float32s,
    rates: Float32s,
    covariance_tokens: int | None,
    *,
    by_word: bool,
) -> _Moments:
    from eigentext.words.kernels import lrmvl as kernels

    c = len(rates) * U.shape[1]
    words, L, R = _allocated(max(end - begin for begin, end in blocks), len(rates), U.shape[1])
    LL, RR, LR = np.zeros((3, c, c))
    left, right = np.zeros((2, len(U) if by_word else 0, c))
    share = 1.0 if covariance_tokens is None else min(1.0, covariance_tokens / len(ids))
    n_smoothed = taken = 0
    for number, (begin, end) in enumerate(blocks):
        # evenly spread: a block is taken when the share of those so far grows past a whole number
        take = int((number + 1) * share) > int(number * share) or (not taken and begin == 0)
        if not take and not by_word:
            continue
        m = kernels.smooth(ids, begin, end, U, rates, words, L, R)
        flat_left, flat_right = L[:m].reshape(m, c), R[:m].reshape(m, c)
        n_smoothed += m
        if take:
            taken += m
            LL += flat_left.T @ flat_left  # L'L
            RR += flat_right.T @ flat_right
            LR += flat_left.T @ flat_right
        if by_word:
            kernels.add_by_word(words, m, flat_left, left)
            kernels.add_by_word(words, m, flat_right, right)
    n_tokens = int((ids >= 0).sum()) if not by_word else n_smoothed
    # covariances of some blocks stand for all; the sums by word are of all tokens
    scale = n_tokens / max(taken, 1)
    return _Moments(LL * scale, RR * scale, LR * scale, left, right)


def _sides(moments: _Moments, settings: LRMVLSettings) -> tuple[Float64s, Float64s]:
    """CCA of the words before against the words after.

    Contexts are sums in single precision: a smaller correlation than ``_NOISE`` is of rounding,
    and its direction would be another one on another processor.
    """
    half = settings.n_components // 2
    result = cca_from_moments(
        moments.LR, moments.LL, moments.RR, half, ridge=settings.kappa, seed=settings.seed
    )
    above = int((result.correlations > _NOISE).sum())
    if above < half:
        raise RankError("the correlation of the words before and after", rank=half, got=above)
    return result.projections[0], result.projections[1]


def _words(
    moments: _Moments, A: Float64s, B: Float64s, counts: Float64s, settings: LRMVLSettings
) -> tuple[Float32s, Float64s]:
    """CCA of the word against S = [L A, R B]."""
    across = A.T @ moments.LR @ B  # S_L' S_R
    SS = np.block([[A.T @ moments.LL @ A, across], [across.T, B.T @ moments.RR @ B]])
    WS = np.concatenate([moments.left @ A, moments.right @ B], axis=1)  # sums of S by word
    scale = np.diag(SS).mean()  # S has no unit of its own: kappa is about counts of words
    result = cca_from_moments(
        WS / np.sqrt(scale / counts.sum()),
        counts,
        SS * (counts.sum() / scale),
        settings.n_components,
        ridge=settings.kappa,
        seed=settings.seed,
    )
    U = vectors_from(result.projections[0], result.correlations, settings.exponent)
    return U, result.correlations
