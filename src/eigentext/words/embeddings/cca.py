"""Word vectors in one step: counts of contexts -> scaled matrix -> SVD -> vectors.

1. :func:`context_counts` takes the (words x contexts) matrix C out of the counts; positions can
   be folded into a bag in which near words weigh more.
2. :func:`scaled_contexts` transforms and scales it.  With u, v the row and column totals of C and
   f the square root, log(1 + x) or nothing,

       Omega[w, c] = f(C[w, c]) / sqrt(f(u[w] + kappa) f(v[c] + kappa))  (Stratos et al. 2014)

   or the positive pointwise mutual information

       Omega[w, c] = max(0, log(C[w, c] N / ((u[w] + kappa) (v[c] + kappa))) - log shift)

   where N is the sum of u + kappa.  Context smoothing replaces v by N v^a / sum v^a.
3. :func:`cca_embeddings` takes the leading singular vectors of Omega ~ U diag(s) V'; the vectors
   are the rows of U diag(s)^exponent, scaled to length 1.
4. :class:`Embeddings` keeps them, as a model file or in word2vec's formats.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from eigentext.base.fields import Parts, Reals, Spec, Strings
from eigentext.corpus.contexts import Contexts, parse_contexts
from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.scaling import cca_scale, log_transform, ppmi, sqrt_transform
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import unit_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.corpus.counts import Counts

__all__ = [
    "EmbeddingSettings",
    "Embeddings",
    "cca_embeddings",
    "context_counts",
    "contexts_to_count",
    "fold_contexts",
    "scaled_contexts",
    "vectors_from",
]

KIND = "embeddings"
FORMAT_VERSION = 1
SPEC = Spec(
    {},
    Parts(
        {
            "vectors": Reals(("words", "size"), ("float32",), -1e6, 1e6),
            "singular_values": Reals(("values",)),
        },
        {"words": Strings("words", distinct=True)},
    ),
)

_KERNEL_NONZEROS = 300_000  # below this numba need not be loaded

Transform = Literal["sqrt", "log", "ppmi", "none"]
Weighting = Literal["flat", "linear", "harmonic"]
TRANSFORMS: tuple[Transform, ...] = get_args(Transform)
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)


@dataclass(frozen=True)
class EmbeddingSettings:
    """How counts become vectors; the defaults are the best found on text of 12M tokens.

    ``transform``  of the counts: sqrt, log, ppmi or none
    ``exponent``   on the singular values: 0 weighs all directions alike, 1 as they come
    ``kappa``      added to the totals of words and contexts; None: 0 for ppmi, 50 otherwise
    ``smoothing``  exponent on the totals of the contexts (word2vec's 0.75)
    ``shift``      the k of negative sampling, for ppmi
    ``weighting``  of a word at distance d in a bag of half-width w: flat 1, linear (w - d + 1) / w
                   (word2vec's dynamic window in the mean), harmonic 1 / d
    ``fold_case``  contexts that differ in case alone are one context
    ``overlap``    how near the true subspace the SVD must come (mean squared cosine)
    """

    size: int = 200
    transform: Transform = "ppmi"
    exponent: float = 0.25
    kappa: float | None = None
    smoothing: float = 1.0
    shift: float = 1.0
    weighting: Weighting = "linear"
    fold_case: bool = True
    overlap: float = 0.9

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or int(self.size) != self.size or self.size < 1:
            raise SettingsError(f"size {self.size!r}: expected a whole number of at least 1")
        for name, allowed in (("transform", TRANSFORMS), ("weighting", WEIGHTINGS)):
            if getattr(self, name) not in allowed:
                raise SettingsError(
                    f"{name} {getattr(self, name)!r}: expected {', '.join(allowed)}"
                )
        for name in ("kappa", "smoothing"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise SettingsError(f"{name} {value!r}: expected at least 0")
        if not np.isfinite(self.exponent):
            raise SettingsError(f"exponent {self.exponent!r}: expected a finite number")
        if not 0 < self.shift < np.inf:
            raise SettingsError(f"shift {self.shift!r}: expected a positive number")
        if not 0 < self.overlap < 1:
            raise SettingsError(f"overlap {self.overlap!r}: expected between 0 and 1")

    @property
    def used_kappa(self) -> float:
        """``kappa``, or the value that stands for None."""
        if self.kappa is not None:
            return self.kappa
        return 0.0 if self.transform == "ppmi" else 50.0


@dataclass(frozen=True)
class Embeddings:
    """``words`` and their ``vectors`` (n, d), rows of length 1; ``singular_values`` (d,).

    ``settings`` and ``data`` say how and from what they were made.
    """

    words: tuple[str, ...]
    vectors: npt.NDArray[np.float32]
    singular_values: npt.NDArray[np.float64]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None

    @property
    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, without the word itself."""
        from eigentext.words.embeddings.neighbours import nearest_words

        return nearest_words(self.words, self.vectors, [word], k)[0]

    def save(self, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None) -> None:
        """Write a model file of kind ``embeddings``; ``data`` names the text and its licence."""
        from eigentext.base import modelfile

        arrays: dict[str, npt.NDArray[Any]] = {
            "vectors": self.vectors,
            "singular_values": self.singular_values,
        }
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=self.settings,
            format_version=FORMAT_VERSION,
            strings={"words": self.words},
            seed=self.seed,
            data=data,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Embeddings:
        """Read a model file of kind ``embeddings``."""
        from eigentext.base import modelfile

        file = modelfile.load(path, KIND, {FORMAT_VERSION}, SPEC)
        words, arrays = tuple(file.strings["words"]), file.arrays
        values = arrays["singular_values"]
        return cls(words, arrays["vectors"], values, file.header.settings, file.header.seed)

    def export(self, path: str | os.PathLike[str], *, binary: bool | None = None) -> None:
        """Write word2vec's text or binary format; by default binary for ``.bin``."""
        from eigentext.base.files.archives import suffix_of
        from eigentext.formats.word2vec import write_vectors

        name = str(path)
        if binary is None:
            binary = name.removesuffix(suffix_of(name)).endswith(".bin")
        write_vectors(self.words, self.vectors, path, binary=binary)


def contexts_to_count(contexts: str | Contexts, weighting: Weighting) -> Contexts:
    """What must be counted for these contexts: positions, where a bag is to be weighted.

    >>> str(contexts_to_count("bag2", "linear")), str(contexts_to_count("bag2", "flat"))
    ('-2,-1,+1,+2', 'bag2')
    """
    wanted = parse_contexts(contexts)
    if not wanted.names:
        raise SettingsError("contexts: unigrams have none; expected such as bag5 or lr2")
    if wanted.bag > 1 and weighting != "flat":
        return parse_contexts(f"lr{wanted.bag}")
    return wanted


def context_counts(
    counts: Counts, contexts: str | Contexts | None = None, weighting: Weighting = "flat"
) -> Any:
    """The matrix of words and contexts, (n, n) for a bag, (n, k n) for k positions; CSR.

    Counts of positions -w to w can be read as a bag of any half-width up to w, with weights.
    """
    wanted = counts.contexts if contexts is None else parse_contexts(contexts)
    if wanted == counts.contexts and (not wanted.bag or weighting == "flat" or wanted.bag == 1):
        return counts.context_matrix()
    held = set(counts.contexts.positions)
    distances = range(1, wanted.bag + 1)
    if not wanted.bag or any(d not in held or -d not in held for d in distances):
        more = f" and {weighting} weighting" if wanted.bag and weighting != "flat" else ""
        needed = contexts_to_count(wanted, weighting)
        raise SettingsError(
            f"contexts {wanted}{more} cannot be had from counts of {counts.contexts}: "
            f"count with contexts {needed}"
        )
    by_distance = {
        near: half for (near, _), half in zip(counts.contexts.spans, counts.halves, strict=True)
    }
    before: Any = 0
    for distance in distances:
        weight = _weight(weighting, distance, wanted.bag)
        before = before + by_distance[distance] * np.float32(weight)
    return (before + before.T).tocsr()


def fold_contexts(matrix: Any, words: Sequence[str]) -> Any:
    """Add up the columns of context words that differ in case alone, position by position.

    >>> from scipy.sparse import csr_array
    >>> fold_contexts(csr_array(np.array([[1, 2, 3]])), ["The", "cat", "the"]).toarray().tolist()
    [[4, 2]]
    """
    from scipy.sparse import csr_array

    forms: dict[str, int] = {}
    column = np.array([forms.setdefault(word.lower(), len(forms)) for word in words])
    if len(forms) == len(words):
        return matrix
    n_positions = matrix.shape[1] // len(words)
    moved = np.concatenate([column + len(forms) * p for p in range(n_positions)])
    shape = (matrix.shape[0], n_positions * len(forms))
    columns = moved.astype(matrix.indices.dtype)[matrix.indices]
    folded = csr_array((matrix.data.copy(), columns, matrix.indptr.copy()), shape=shape)
    folded.sum_duplicates()
    return folded


def _weight(weighting: Weighting, distance: int, width: int) -> float:
    if weighting == "linear":
        return (width - distance + 1) / width
    return 1 / distance if weighting == "harmonic" else 1.0


def scaled_contexts(matrix: Any, settings: EmbeddingSettings) -> Any:
    """Omega, the transformed and scaled counts; float32 CSR.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[4, 1], [1, 9]]))
    >>> plain = EmbeddingSettings(transform="none", kappa=0.0)
    >>> scaled_contexts(pairs, plain).toarray().astype(float).round(3).tolist()
    [[0.8, 0.141], [0.141, 0.9]]
    """
    rows = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    columns = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    if settings.smoothing != 1.0 and columns.any():
        smoothed = np.where(columns > 0, columns, 1.0) ** settings.smoothing * (columns > 0)
        columns = smoothed * (columns.sum() / smoothed.sum())
    kappa = settings.used_kappa
    rows, columns = rows + kappa, columns + kappa
    if settings.transform == "ppmi":
        return _ppmi(matrix, rows, columns, settings.shift)
    if settings.transform == "sqrt":
        matrix, rows, columns = sqrt_transform(matrix), np.sqrt(rows), np.sqrt(columns)
    elif settings.transform == "log":
        matrix, rows, columns = log_transform(matrix), np.log1p(rows), np.log1p(columns)
    return cca_scale(matrix, rows, columns, dtype=np.float32)


def _ppmi(
    matrix: Any, rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64], shift: float
) -> Any:
    """As :func:`eigentext.linalg.scaling.ppmi`, in float32; large matrices in compiled code."""
    if matrix.nnz < _KERNEL_NONZEROS:
        return ppmi(matrix, rows, columns, shift=shift).astype(np.float32)
    from scipy.sparse import csr_array

    from eigentext.words.kernels import ppmi as kernels

    starts = np.empty_like(matrix.indptr)
    kept, values = np.empty_like(matrix.indices), np.empty(matrix.nnz, dtype=np.float32)
    with np.errstate(divide="ignore"):  # a total of 0 has no entries
        row_logs, column_logs = np.log(rows), np.log(columns)
        offset = float(np.log(rows.sum()) - np.log(shift))
    used = kernels.ppmi_rows(
        matrix.indptr,
        matrix.indices,
        matrix.data.astype(np.float64, copy=False),
        row_logs,
        column_logs,
        offset,
        starts,
        kept,
        values,
    )
    return csr_array((values[:used], kept[:used], starts), shape=matrix.shape)


def vectors_from(
    U: npt.NDArray[Any], S: npt.NDArray[Any], exponent: float
) -> npt.NDArray[np.float32]:
    """Rows of ``U diag(S)^exponent`` at length 1; rows of zeros stay zero.

    >>> vectors_from(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 1.0]), 0.5).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = U * (S.astype(np.float64) ** exponent).astype(U.dtype)
    return np.asarray(unit_rows(rows), dtype=np.float32)


def cca_embeddings(
    counts: Counts,
    rank: int | None = None,
    *,
    contexts: str | Contexts | None = None,
    settings: EmbeddingSettings | None = None,
    seed: int = 0,
    on_rank: Literal["error", "warn"] = "warn",
    progress: Callable[[int, int, str], None] | None = None,
    **changed: Any,
) -> Embeddings:
    """Word vectors from the context counts of a corpus.

    ``contexts`` may read counts of positions as a bag (see :func:`context_counts`).  Single
    settings may be given by name.  The word ``<unk>`` is left out when the vocabulary holds all.

    >>> from eigentext.corpus.counting import count
    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://embed-example.txt") as out:
    ...     _ = out.write(b"a cat ran\\na dog ran\\nthe cat sat\\nthe dog sat\\n" * 3)
    >>> found = cca_embeddings(count(["memory://embed-example.txt"], contexts="lr1"), 3)
    >>> found.neighbours("cat", 1)[0][0]
    'dog'
    """
    chosen = settings if settings is not None else EmbeddingSettings()
    chosen = replace(chosen, **changed)
    if rank is not None:
        chosen = replace(chosen, size=rank)
    if contexts is None and counts.contexts.bag and "weighting" not in changed:
        chosen = replace(chosen, weighting="flat")
    words = counts.words if counts.unigrams[-1] else counts.words[:-1]
    if len(words) < 2:
        raise SettingsError(
            f"a text of one word type ({words[0]!r}) has no contexts to tell words apart"
        )
    with single_threaded():
        matrix = context_counts(counts, contexts, chosen.weighting)[: len(words)]
        if chosen.fold_case:
            matrix = fold_contexts(matrix, counts.words)
        Omega = scaled_contexts(matrix, chosen)  # (words, contexts)
        found = truncated_svd(
            Omega,
            chosen.size,
            dtype=np.float32,
            overlap=chosen.overlap,
            seed=seed,
            symbol="Omega",
            on_rank=on_rank,
            progress=progress,
        )
        vectors = vectors_from(found.U, found.S, chosen.exponent)
    about = asdict(chosen) | {
        "method": "cca",
        "kappa": chosen.used_kappa,
        "contexts": str(counts.contexts if contexts is None else parse_contexts(contexts)),
        "n_tokens": counts.n_tokens,
    }
    return Embeddings(words, vectors, found.S.astype(np.float64), about, seed)
