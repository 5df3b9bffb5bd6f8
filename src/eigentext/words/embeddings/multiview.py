"""Word vectors from several views of a word, by generalised CCA (MAXVAR; Rastogi et al. 2015).

1. Text becomes ids (:mod:`eigentext.counting.encoding`); each view becomes a matrix of words and
   what they were seen with, scaled (ppmi) and reduced to ``U_v diag(S_v)``.
2. :func:`eigentext.linalg.cca.generalised_cca` finds the consensus G of the views X_v,

       min sum_v w_v |K_v (G - X_v P_v)|^2   with  G' D G = I,  D = sum_v w_v K_v / sum_v w_v,

   where the diagonal K_v has 1 for the words that have the view: a word that lacks one is judged
   by the others.  The eigenvalue of a direction is the share of the views that agree on it.
3. The vectors are the rows of G times the eigenvalues to the ``exponent``, at length 1.
4. Where characters are a view, a linear map from characters to vectors is learned and kept: words
   outside the vocabulary have vectors too (:mod:`.characters`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigentext.base.files.opening import OnError, Source, numbered_lines, raise_or_tell
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import Record, learned
from eigentext.base.tokens import checked_tokens
from eigentext.base.types import Bools, Float32s, Float64s, Numbers, Sparse
from eigentext.base.values import Real, Whole
from eigentext.counting.encoding import EncodedText
from eigentext.counting.runs import count_pairs
from eigentext.errors import DataError, RankWarning, SettingsError
from eigentext.linalg.cca import generalised_cca
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import TIE, single_threaded
from eigentext.words.embeddings.cca import fold_contexts, scaled_contexts
from eigentext.words.embeddings.characters import (
    CharacterMap,
    common_features,
    feature_matrix,
    fit_character_map,
)
from eigentext.words.embeddings.vectors import Embeddings, SentenceVectors, WordSpace, vectors_from
from eigentext.words.settings import CCASettings, MultiviewSettings

WordPair = tuple[str, str, float]


@dataclass(frozen=True)
class ReducedView:
    """``U`` (words, k) and ``S`` (k,) of a scaled view; ``present``: the words that have it."""

    U: Float32s
    S: Float64s
    present: Bools

    def scaled(self) -> Float64s:
        """``U diag(S)`` with second moments of mean 1, so that a ridge means the same for all."""
        S = self.S / np.sqrt(np.square(self.S).mean())  # mean square 1
        return np.asarray(self.U * (S * np.sqrt(len(self.U))), dtype=np.float64)


def words_after(text: EncodedText, window: int) -> Sparse:
    """Which words stand after which, up to ``window`` words away; CSR, ``<unk>`` included.

    One at distance d weighs (window - d + 1) / window.
    """
    from scipy.sparse import csr_array

    ids, n = text.ids, len(text.vocabulary)
    after = csr_array((n, n))
    for distance in range(1, window + 1):
        run = count_pairs(ids, 0, len(ids), (distance, distance), n)
        starts, columns, data = run.rows(0, n)
        weight = (window - distance + 1) / window  # near words weigh more
        after = after + csr_array((data * weight, columns, starts), shape=(n, n))
    return after


def neighbour_view(after: Sparse, side: str, words: Sequence[str]) -> Sparse:
    """Words before (``left``), after (``right``) or on both sides (``bag``) of all but ``<unk>``.

    Neighbours that differ in case alone are one.
    """
    if side != "right":
        after = after.T if side == "left" else after + after.T
    return fold_contexts(after.tocsr()[: len(words) - 1], words)


def document_view(text: EncodedText, sentences: int) -> Sparse:
    """How often a word stands in each stretch of so many sentences."""
    ends = text.ids < 0
    document = np.cumsum(ends) // sentences  # number of the stretch
    in_vocabulary = ~ends & (text.ids < len(text.vocabulary) - 1)
    return _table(text.ids[in_vocabulary], document[in_vocabulary], None, len(text.vocabulary) - 1)


def pair_view(pairs: Iterable[WordPair], row_of: Mapping[str, int]) -> Sparse:
    """Words of another language with their counts."""
    aligned = [(row_of[word], other, n) for word, other, n in pairs if word in row_of]
    names = sorted({other for _, other, _ in aligned})
    column_of = {name: column for column, name in enumerate(names)}
    rows = np.array([row for row, _, _ in aligned], dtype=np.int64)
    columns = np.array([column_of[other] for _, other, _ in aligned], dtype=np.int64)
    return _table(rows, columns, [n for _, _, n in aligned], len(row_of))


def read_word_pairs(source: Source, *, on_error: OnError | None = None) -> list[WordPair]:
    r"""Lines ``word TAB foreign word``, with a count after another TAB or without (then it is 1).

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/aligned.tsv", ["dog\tchien\t3", "cat\tchat"])
    >>> read_word_pairs("memory://doc/aligned.tsv")
    [('dog', 'chien', 3.0), ('cat', 'chat', 1.0)]
    """
    path = os.fspath(source)
    pairs: list[WordPair] = []
    for number, line in numbered_lines(path, on_error=on_error):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        count = _count(fields[2]) if len(fields) == 3 else 1.0
        if len(fields) not in (2, 3):
            why = f"{len(fields)} columns, expected word, foreign word and a count, by tabs"
        elif not all(fields):
            empty = fields.index("") + 1
            why = f"column {empty} is empty, expected word, foreign word and a count"
        elif count is None:
            why = f"count {fields[2][:40]!r}, expected a number above 0"
        else:
            pairs.append((fields[0], fields[1], count))
            continue
        raise_or_tell(DataError(path, number, why), on_error)
    if not pairs:
        raise DataError(path, None, "no word pairs in this file")
    return pairs


def _count(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if 0 < value < 1e15 and "_" not in field else None


def reduced(matrix: Sparse, rank: int, *, overlap: float, seed: int, name: str) -> ReducedView:
    """The leading singular vectors of the scaled matrix, as many as there are up to ``rank``."""
    if not matrix.nnz:
        raise DataError(f"the view {name}", None, "it has no word of the vocabulary")
    Omega = scaled_contexts(matrix, CCASettings())
    Omega.data[np.abs(Omega.data) < TIE["d"]] = 0.0  # logarithms of what is 1 but for rounding
    Omega.eliminate_zeros()
    present = np.diff(Omega.indptr) > 0
    if not present.any():
        raise DataError(
            f"the view {name}",
            None,
            "it tells no word from another: every count is the one that chance gives",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # a small view has fewer dimensions
        svd = truncated_svd(
            Omega,
            min(rank, *Omega.shape),
            dtype=np.float32,
            overlap=overlap,
            seed=seed,
            symbol=f"the view {name}",
            on_rank="warn",
            sides="left",
        )
    return ReducedView(svd.U, svd.S.astype(np.float64), present)


def _table(rows: Numbers, columns: Numbers, counts: Sequence[float] | None, n_rows: int) -> Sparse:
    """Counts of (row, column); CSR."""
    from scipy.sparse import coo_array

    n_columns = int(columns.max()) + 1 if len(columns) else 1
    data = np.ones(len(rows)) if counts is None else np.asarray(counts, dtype=np.float64)
    return coo_array((data, (rows, columns)), shape=(n_rows, n_columns)).tocsr()


def consensus(
    views: Sequence[ReducedView],
    n_components: int,
    *,
    weights: Sequence[float] = (),
    ridge: float = 0.0,
    seed: int = 0,
) -> tuple[Numbers, Float64s]:
    """G (words, n_components), in which the views agree most, and its eigenvalues (0 to 1)."""
    result = generalised_cca(
        [view.scaled() for view in views],
        n_components,
        weights=weights or None,
        present=[view.present for view in views],
        ridge=ridge,
        dtype=np.float32,
        seed=seed,
    )
    return np.asarray(result.consensus), result.correlations


@dataclass(eq=False, repr=False)
class MultiviewEmbedding(SentenceVectors, Model, MultiviewSettings):
    """Word vectors from several views of a word, and from characters for unknown words.

    After ``fit``: ``embeddings_`` (words, vectors, eigenvalues), ``characters_`` (the map from
    characters to vectors, None without that view) with its ``ridge_``, ``n_tokens_``.

    >>> text = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat",
    ...                             "cats ran", "dogs ran", "cats sat", "dogs sat"]]
    >>> model = MultiviewEmbedding(3, views=("left", "right", "characters")).fit(text)
    >>> model.vectors(["cat", "dogcat"]).shape
    (2, 3)
    """

    KIND = "multiview"
    _COLUMN = "view"
    embeddings_: Embeddings = learned(Embeddings.stored())
    characters_: CharacterMap | None = learned(Record(CharacterMap, optional=True))
    ridge_: float = learned(Real(0), "character_ridge")
    n_tokens_: int = learned(Whole(0))

    def check(self) -> None:
        """Raise SettingsError; two or more different views, and a weight for each or none."""
        super().check()
        if len(self.views) < 2 or len(set(self.views)) < len(self.views):
            raise SettingsError(
                f"views is {', '.join(self.views) or 'empty'}: expected two or more different ones"
            )
        if self.view_weights and len(self.view_weights) != len(self.views):
            raise SettingsError(
                f"view_weights has {len(self.view_weights)} numbers for {len(self.views)} views"
            )

    def fit(
        self,
        X: Iterable[Sequence[str]] | EncodedText,
        y: object = None,
        *,
        pairs: Iterable[WordPair] | None = None,
        progress: Progress | None = None,
    ) -> MultiviewEmbedding:
        """Learn from sentences (lists of tokens), or from a text of ids; ``y`` is not used.

        The view ``translations`` needs ``pairs``, (word, foreign word, count).
        """
        self.check()
        if ("translations" in self.views) != (pairs is not None):
            raise SettingsError(
                "the view translations and pairs of words (--pairs) go together: expected both"
            )
        text = EncodedText.of(X, self.vocab_size, self.min_count)
        words = text.vocabulary.words[:-1]  # without <unk>, which is no word
        if len(words) < 2:
            raise SettingsError("a text of fewer than two word types has nothing to tell apart")
        rank = self.view_rank or -(-3 * self.n_components // 2)
        views = []
        with single_threaded():
            for name, table in self._tables(text, words, pairs):
                views.append(reduced(table, rank, overlap=self.overlap, seed=self.seed, name=name))
                if progress is not None:
                    progress(len(views), len(self.views) + 1, "views")
            G, values = consensus(
                views,
                self.n_components,
                weights=self.view_weights,
                ridge=self.ridge,
                seed=self.seed,
            )
        self.embeddings_ = Embeddings(words, vectors_from(G, values, self.exponent), values)
        self.characters_ = None
        self.ridge_ = 0.0
        if "characters" in self.views:
            self.characters_, self.ridge_ = fit_character_map(words, self.embeddings_.vectors)
        self.n_tokens_ = int((text.ids >= 0).sum())
        return self

    def _tables(
        self, text: EncodedText, words: Sequence[str], pairs: Iterable[WordPair] | None
    ) -> Iterator[tuple[str, Sparse]]:
        """The matrix of each view."""
        row_of = {word: row for row, word in enumerate(words)}
        after = None
        for name in self.views:
            if name in ("left", "right", "bag"):
                if after is None:
                    after = words_after(text, self.window)
                yield name, neighbour_view(after, name, text.vocabulary.words)
            elif name == "document":
                yield name, document_view(text, self.document_sentences)
            elif name == "translations":
                yield name, pair_view(pairs or (), row_of)
            else:  # n-grams, shape and case
                column_of = {feature: at for at, feature in enumerate(common_features(words))}
                yield name, feature_matrix(words, column_of).astype(np.float64)

    def space(self) -> WordSpace:
        """The words with their vectors, ready for many questions, about unknown words too."""
        self.check_fitted()
        unknown = None if self.characters_ is None else self.characters_.vectors
        return WordSpace(self.embeddings_.words, self.embeddings_.vectors, unknown)

    def vectors(self, words: Sequence[str]) -> Float32s:
        """The vectors of words, (words, n_components): by characters for those not known.

        A word of which nothing is known has zeros.
        """
        self.check_fitted()
        words = checked_tokens(words)
        row_of, size = self.embeddings_.row_of, self.embeddings_.vectors.shape[1]
        answer = np.zeros((len(words), size), dtype=np.float32)
        rows = np.array([row_of.get(word, -1) for word in words], dtype=np.int64)
        answer[rows >= 0] = self.embeddings_.vectors[rows[rows >= 0]]
        unknown = np.flatnonzero(rows < 0)
        if len(unknown) and self.characters_ is not None:
            answer[unknown] = self.characters_.vectors([words[at] for at in unknown.tolist()])
        return answer

    def _of_words(self, words: list[str]) -> Float32s:
        vectors = self.vectors(words)
        return vectors[vectors.any(axis=1)]

    def _summary(self) -> str:
        return f"{super()._summary()}, {len(self.settings_.views)} views"
