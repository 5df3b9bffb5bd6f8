"""Word vectors from several views of a word, by generalised CCA (MAXVAR; Rastogi et al. 2015).

1. Text becomes ids (:mod:`eigentext.counting.encoding`); each view becomes a matrix of words and
   what they were seen with, scaled and reduced to ``U_v diag(S_v)`` (:mod:`.views`).
2. :func:`eigentext.linalg.cca.generalised_cca` finds the consensus G of the views X_v,

       min sum_v w_v |K_v (G - X_v P_v)|^2   with  G' D G = I,  D = sum_v w_v K_v / sum_v w_v,

   where the diagonal K_v has 1 for the words that have the view: a word that lacks one is judged
   by the others.  The eigenvalue of a direction is the share of the views that agree on it.
3. The vectors are the rows of G times the eigenvalues to the ``exponent``, at length 1.
4. Where characters are a view, a linear map from characters to vectors is learned and kept: words
   outside the vocabulary have vectors too (:mod:`.characters`).
5. :class:`MultiviewEmbedding` is the estimator, kept as a model file of kind ``multiview``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.estimator import TableTransformer
from eigentext.base.model import Model
from eigentext.base.records import Record, learned
from eigentext.base.tokens import checked_tokens, each_sentence
from eigentext.base.values import Real, Whole
from eigentext.counting.counts import Counts
from eigentext.counting.encoding import EncodedText, encode_sentences
from eigentext.errors import SettingsError
from eigentext.linalg.cca import generalised_cca
from eigentext.linalg.determinism import single_threaded
from eigentext.words.embeddings import views as tables
from eigentext.words.embeddings.characters import CharacterMap, fit_character_map
from eigentext.words.embeddings.neighbours import WordSpace
from eigentext.words.embeddings.vectors import Embeddings, vectors_from
from eigentext.words.settings import MultiviewSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float32s, Float64s
    from eigentext.words.embeddings.views import ReducedView, WordPair


def consensus(
    views: Sequence[ReducedView],
    n_components: int,
    *,
    weights: Sequence[float] = (),
    ridge: float = 0.0,
    seed: int = 0,
) -> tuple[npt.NDArray[Any], Float64s]:
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
class MultiviewEmbedding(TableTransformer, Model, MultiviewSettings):
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
        if isinstance(X, Counts):
            raise SettingsError("several views go along the text: sentences are meant, not counts")
        if isinstance(X, EncodedText):
            text = X
        else:
            text = encode_sentences(X, vocab_size=self.vocab_size, min_count=self.min_count)
        words = text.vocabulary.words[:-1]  # without <unk>, which is no word
        if len(words) < 2:
            raise SettingsError("a text of fewer than two word types has nothing to tell apart")
        rank = self.view_rank or -(-3 * self.n_components // 2)
        found = []
        with single_threaded():
            for name, table in self._tables(text, words, pairs):
                found.append(
                    tables.reduced(table, rank, overlap=self.overlap, seed=self.seed, name=name)
                )
                if progress is not None:
                    progress(len(found), len(self.views) + 1, "views")
            G, values = consensus(
                found,
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
    ) -> Iterator[tuple[str, Any]]:
        """The matrix of each view."""
        row_of = {word: row for row, word in enumerate(words)}
        after = None
        for name in self.views:
            if name in ("left", "right", "bag"):
                if after is None:
                    after = tables.words_after(text, self.window)
                yield name, tables.neighbour_view(after, name, text.vocabulary.words)
            elif name == "document":
                yield name, tables.document_view(text, self.document_sentences)
            elif name == "translations":
                yield name, tables.pair_view(pairs or (), row_of)
            else:
                yield name, tables.character_view(words)

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

    def transform(self, X: Any) -> Any:
        """The mean of the vectors of each sentence's words: (sentences, n_components)."""
        self.check_fitted()
        size = self.embeddings_.vectors.shape[1]
        rows = []
        for sentence in each_sentence(X):
            vectors = self.vectors(list(sentence))
            vectors = vectors[vectors.any(axis=1)]
            rows.append(vectors.mean(axis=0) if len(vectors) else np.zeros(size, np.float32))
        return self._table(np.array(rows, dtype=np.float32).reshape(-1, size))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Names of the columns of ``transform``: ``view0``, ``view1``, ..."""
        self.check_fitted()
        n_columns = self.embeddings_.vectors.shape[1]
        return np.array([f"view{i}" for i in range(n_columns)], dtype=object)

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, or the answers to an analogy ``a:b::c``."""
        return self.space().nearest([word], k)[0]

    def _summary(self) -> str:
        n_words, n_columns = self.embeddings_.vectors.shape
        return f"{n_words:,} words, {n_columns} dimensions, {len(self.settings_.views)} views"
