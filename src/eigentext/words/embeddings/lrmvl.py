"""LR-MVL: word vectors by two CCAs over smoothed contexts (Dhillon, Foster and Ungar 2011).

1. :func:`token_ids` turns text into ids; -1 ends a sentence.
2. One round, with the word vectors U of the last one (random at first):

   * the words before a token, smoothed at each rate a: L_t = (1 - a) L_{t-1} + a U[w_{t-1}], and
     likewise the words after it, R; all rates side by side;
   * CCA of L against R gives projections A and B of ``size / 2`` columns each;
   * S = [L A, R B] is what both sides agree upon; CCA of the word itself (one-hot) against S gives
     the new U, whose rows are scaled to length 1.

   Only second moments are needed: L'L, R'R, L'R and the sums of L and R by word, all in one pass.
   L'L, R'R and L'R may be taken from a part of the text, spread evenly.
3. After the last round A and B are learned once more with the final U.
4. :class:`LRMVLModel` holds the vectors of words (``embeddings``, context-oblivious) and gives
   those of tokens in their sentence: [U[w_t], L_t A, R_t B] (context-sensitive).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.base.fields import Parts, Reals, Spec, Strings
from eigentext.corpus.vocabulary import UNKNOWN, Vocabulary
from eigentext.errors import SettingsError
from eigentext.linalg.cca import cca_from_moments
from eigentext.linalg.determinism import random_block, single_threaded
from eigentext.words.embeddings.cca import Embeddings, vectors_from

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eigentext.errors import DataError

    Progress = Callable[[int, int, str], None]

__all__ = ["LRMVLModel", "LRMVLSettings", "fit_lrmvl", "token_ids"]

KIND = "lrmvl"
FORMAT_VERSION = 1

Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]


def _projections_fit(arrays: Mapping[str, npt.NDArray[Any]], *_: object) -> None:
    """The two sides of a token: one vector for every rate, taken to half a vector."""
    size, rates = arrays["vectors"].shape[1], len(arrays["rates"])
    if arrays["left"].shape != (rates * size, size // 2):
        raise ValueError(f"array 'left' has the wrong shape for {rates} rates and {size} numbers")


SPEC = Spec(
    {},
    Parts(
        {
            "vectors": Reals(("words", "size"), ("float32",), -1e6, 1e6),
            "singular_values": Reals(("values",)),
            "rates": Reals(("rates",), ("float32",), 0, 1),
            "left": Reals(("smoothed", "half"), ("float32",), -1e6, 1e6),
            "right": Reals(("smoothed", "half"), ("float32",), -1e6, 1e6),
        },
        {"words": Strings("words", distinct=True)},
    ),
    _projections_fit,
)
_BLOCK_TOKENS = 4096
_LONGEST_SENTENCE = 1 << 16  # a longer line is smoothed in pieces of this length


@dataclass(frozen=True)
class LRMVLSettings:
    """``size`` of a word's vector (even); smoothing ``rates``; ``iterations`` (rounds).

    ``kappa``              added to the counts of words and to the variances of contexts
    ``exponent``           on the canonical correlations, which weigh the directions of U
    ``covariance_tokens``  so many tokens for L'L, R'R and L'R; None takes all
    """

    size: int = 50
    rates: tuple[float, ...] = (0.1, 0.5, 0.9)
    iterations: int = 6
    kappa: float = 20.0
    exponent: float = 0.0
    covariance_tokens: int | None = 1_000_000

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2:
            raise SettingsError(
                f"size {self.size}: LR-MVL needs an even number, half for each side"
            )
        if not self.rates or not all(0 < rate <= 1 for rate in self.rates):
            raise SettingsError(f"rates {self.rates}: expected numbers above 0 and up to 1")
        if self.iterations < 1:
            raise SettingsError(f"iterations {self.iterations}: expected at least 1")
        if not np.isfinite(self.exponent):
            raise SettingsError(f"exponent {self.exponent}: expected a finite number")
        if not 0 <= self.kappa < np.inf:
            raise SettingsError(f"kappa {self.kappa}: expected at least 0")
        if self.covariance_tokens is not None and self.covariance_tokens < 1:
            raise SettingsError(f"covariance_tokens {self.covariance_tokens}: expected 1 or more")


@dataclass(frozen=True)
class LRMVLModel:
    """Word vectors, and projections (r * size, size / 2) of the two sides of a token."""

    embeddings: Embeddings
    left: Float32s
    right: Float32s
    rates: Float32s

    def token_vectors(self, sentence: Sequence[str]) -> Float32s:
        """The context-sensitive vectors of a sentence: (tokens, 2 size).

        A word that is not known has the vector of ``<unk>``, or zeros where there is none.
        """
        if isinstance(sentence, str):
            raise TypeError("a sentence is a list of tokens, not one str: use text.split()")
        from eigentext.words.kernels import lrmvl as kernels

        U = self._vectors_and_zero
        places = self.embeddings.places
        unknown = places.get(UNKNOWN, len(U) - 1)
        ids = np.array([places.get(token, unknown) for token in sentence], dtype=np.int32)
        words, L, R = _room(len(ids), len(self.rates), U.shape[1])
        m = kernels.smooth(ids, 0, len(ids), U, self.rates, words, L, R)
        with single_threaded():
            parts = [L.reshape(m, -1) @ self.left, R.reshape(m, -1) @ self.right]
        return np.concatenate([U[ids], *parts], axis=1)

    @property
    def _vectors_and_zero(self) -> Float32s:
        vectors = self.embeddings.vectors
        return np.concatenate([vectors, np.zeros((1, vectors.shape[1]), dtype=np.float32)])

    def save(self, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None) -> None:
        """Write a model file of kind ``lrmvl``."""
        from eigentext.base import modelfile

        found = self.embeddings
        arrays: dict[str, npt.NDArray[Any]] = {
            "vectors": found.vectors,
            "singular_values": found.singular_values,
            "left": self.left,
            "right": self.right,
            "rates": self.rates,
        }
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=found.settings,
            format_version=FORMAT_VERSION,
            strings={"words": found.words},
            seed=found.seed,
            data=data,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LRMVLModel:
        """Read a model file of kind ``lrmvl``."""
        from eigentext.base import modelfile

        file = modelfile.load(path, KIND, {FORMAT_VERSION}, SPEC)
        words, a = tuple(file.strings["words"]), file.arrays
        found = Embeddings(
            words, a["vectors"], a["singular_values"], file.header.settings, file.header.seed
        )
        return cls(found, a["left"], a["right"], a["rates"])

    def export(self, path: str | os.PathLike[str], *, binary: bool | None = None) -> None:
        """Write the vectors of words in word2vec's text or binary format."""
        self.embeddings.export(path, binary=binary)


def token_ids(
    sources: Iterable[str],
    *,
    vocab_size: int | None = None,
    min_count: int = 1,
    jobs: int = 1,
    memory: str = "2GB",
    tokeniser: str | None = None,
    newlines: str = "auto",
    progress: Progress | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> tuple[Vocabulary, Int32s]:
    """The vocabulary of a text, and the text as ids with -1 after each sentence.

    With a ``tokeniser`` the text is raw.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/ids.txt", ["a cat sat", "a dog"])
    >>> vocabulary, ids = token_ids(["memory://doc/ids.txt"], vocab_size=2)
    >>> vocabulary.words, ids.tolist()
    (('a', 'cat', '<unk>'), [0, 1, 2, -1, 0, 2, -1])
    """
    from eigentext.base.files.opening import expand
    from eigentext.base.files.scratch import scratch_folder
    from eigentext.corpus.counting import count
    from eigentext.corpus.memory import Budget
    from eigentext.corpus.raw_text import tokenised_files
    from eigentext.corpus.shards import ShardErrors, plan_shards, read_segments

    names = expand(sources)
    if "-" in names:
        raise SettingsError("LR-MVL reads the text twice: expected files, not standard input")
    if tokeniser is not None:
        with scratch_folder() as folder:
            texts = tokenised_files(names, tokeniser, folder, newlines=newlines, on_error=on_error)
            return token_ids(
                texts,
                vocab_size=vocab_size,
                min_count=min_count,
                jobs=jobs,
                memory=memory,
                progress=progress,
            )
    vocabulary = count(
        names,
        contexts="unigrams",
        vocab_size=vocab_size,
        min_count=min_count,
        jobs=jobs,
        memory=memory,
        progress=progress,
        on_error=on_error,
    ).vocabulary
    budget = Budget.share_out(memory, 1)
    pieces: list[Int32s] = []
    for shard in plan_shards(names, 1, budget.shard_bytes):
        errors = None if on_error is None else ShardErrors()  # told of in the first reading
        for segment in read_segments(shard, budget, errors=errors):
            of_type = np.append(vocabulary.mapping(segment.types), np.int32(-1))
            pieces.extend(of_type[ids] for ids in segment.ids)  # the id -1 is the last entry
        pieces.append(np.array([-1], dtype=np.int32))
    return vocabulary, _without_empty_sentences(np.concatenate(pieces))


def _without_empty_sentences(ids: Int32s) -> Int32s:
    ends = ids < 0
    again = ends & np.append(True, ends[:-1])
    return np.asarray(ids[~again])


def fit_lrmvl(
    ids: Int32s,
    words: Sequence[str],
    settings: LRMVLSettings | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> LRMVLModel:
    """Learn from a text of ids (-1 ends a sentence) over ``words``.

    >>> ids = np.array([0, 2, 4, -1, 1, 2, 4, -1, 0, 3, 4, -1, 1, 3, 4, -1], dtype=np.int32)
    >>> words = ["a", "the", "cat", "dog", "sat"]
    >>> model = fit_lrmvl(ids, words, LRMVLSettings(size=2, kappa=0.1))
    >>> model.embeddings.vectors.shape, model.token_vectors(["a", "dog"]).shape
    ((5, 2), (2, 4))
    """
    chosen = settings if settings is not None else LRMVLSettings()
    counts = np.bincount(ids[ids >= 0], minlength=len(words)).astype(np.float64)
    n_tokens = int(counts.sum())
    if not n_tokens:
        raise SettingsError("no tokens to learn from, expected text")
    if (counts > 0).sum() < 2:
        raise SettingsError("a text of one word type has no contexts to tell words apart")
    n_types = int((counts > 0).sum())
    if chosen.size > n_types:
        raise SettingsError(
            f"size {chosen.size} is above the rank: there are only {n_types} word types"
        )
    blocks = list(_blocks(ids))
    rates = np.array(chosen.rates, dtype=np.float32)
    start = random_block(len(words), chosen.size, seed=seed, stream=11, dtype=np.float32)
    U = vectors_from(start, np.ones(chosen.size), 0.0)
    correlations = np.zeros(0)
    with single_threaded():
        for round_ in range(chosen.iterations + 1):
            last = round_ == chosen.iterations
            moments = _moments(ids, blocks, U, rates, chosen.covariance_tokens, by_word=not last)
            A, B = _sides(moments, chosen, seed)
            if not last:
                U, correlations = _words(moments, A, B, counts, chosen, seed)
            if progress is not None:
                progress(round_ + 1, chosen.iterations + 1, "rounds")
    about = {
        "method": "lrmvl",
        "size": chosen.size,
        "rates": list(chosen.rates),
        "iterations": chosen.iterations,
        "kappa": chosen.kappa,
        "exponent": chosen.exponent,
        "covariance_tokens": chosen.covariance_tokens,
        "n_tokens": n_tokens,
    }
    known = counts > 0
    if not known[-1] and words[-1] == UNKNOWN:
        words, U = words[:-1], U[:-1]
    found = Embeddings(tuple(words), U, correlations, about, seed)
    return LRMVLModel(found, A.astype(np.float32), B.astype(np.float32), rates)


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


def _room(n_tokens: int, n_rates: int, size: int) -> tuple[Int32s, Float32s, Float32s]:
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
    words, L, R = _room(max(end - begin for begin, end in blocks), len(rates), U.shape[1])
    LL, RR, LR = np.zeros((3, c, c))
    left, right = np.zeros((2, len(U) if by_word else 0, c))
    share = 1.0 if covariance_tokens is None else min(1.0, covariance_tokens / len(ids))
    seen = taken = 0
    for number, (begin, end) in enumerate(blocks):
        # evenly spread: a block is taken when the share of those so far grows past a whole number
        take = int((number + 1) * share) > int(number * share) or (not taken and begin == 0)
        if not take and not by_word:
            continue
        m = kernels.smooth(ids, begin, end, U, rates, words, L, R)
        flat_left, flat_right = L[:m].reshape(m, c), R[:m].reshape(m, c)
        seen += m
        if take:
            taken += m
            LL += flat_left.T @ flat_left
            RR += flat_right.T @ flat_right
            LR += flat_left.T @ flat_right
        if by_word:
            kernels.add_by_word(words, m, flat_left, left)
            kernels.add_by_word(words, m, flat_right, right)
    n_tokens = int((ids >= 0).sum()) if not by_word else seen
    scale = n_tokens / max(taken, 1)
    return _Moments(LL * scale, RR * scale, LR * scale, left, right)


def _sides(moments: _Moments, settings: LRMVLSettings, seed: int) -> tuple[Float64s, Float64s]:
    """CCA of the words before against the words after."""
    found = cca_from_moments(
        moments.LR, moments.LL, moments.RR, settings.size // 2, ridge=settings.kappa, seed=seed
    )
    return found.projections[0], found.projections[1]


def _words(
    moments: _Moments,
    A: Float64s,
    B: Float64s,
    counts: Float64s,
    settings: LRMVLSettings,
    seed: int,
) -> tuple[Float32s, Float64s]:
    """CCA of the word against S = [L A, R B]."""
    across = A.T @ moments.LR @ B
    SS = np.block([[A.T @ moments.LL @ A, across], [across.T, B.T @ moments.RR @ B]])
    WS = np.concatenate([moments.left @ A, moments.right @ B], axis=1)
    scale = np.diag(SS).mean()  # S has no unit of its own: kappa is about counts of words
    found = cca_from_moments(
        WS / np.sqrt(scale / counts.sum()),
        counts,
        SS * (counts.sum() / scale),
        settings.size,
        ridge=settings.kappa,
        seed=seed,
    )
    U = vectors_from(found.projections[0], found.correlations, settings.exponent)
    return U, found.correlations
