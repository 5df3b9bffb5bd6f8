"""Dictionaries of latent tree operators from running text (Dhillon et al. 2012, section 4.2).

Vectors of words, by SVD of bigrams, one-step CCA or LR-MVL, are looked up for each observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from eigentext.dependency.latent.moments import TreeDictionary
from eigentext.dependency.latent.observations import Observations
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.features.symbols import UNKNOWN
from eigentext.linalg.svd import truncated_svd


def text_dictionary(
    observations: Observations,
    words: Sequence[str],
    vectors: npt.NDArray[np.floating],
    *,
    k: int | None = None,
) -> TreeDictionary:
    """Vectors of words, however made, as a dictionary of the first channel's observations.

    ``k`` keeps the first so many columns.  A name is looked up as it stands, in small letters,
    and without its tag; a signature takes ``<unk>``, and what is not found zeros.
    """
    row_of = {word: at for at, word in enumerate(words)}
    array = np.asarray(vectors, np.float64)
    if array.ndim != 2 or len(array) != len(words):
        raise DataError("vectors", None, f"{len(words)} words, but vectors {array.shape}")
    if k is not None:
        if k > array.shape[1]:
            raise RankError("the matrix of word vectors", rank=k, got=array.shape[1])
        array = array[:, :k]
    U = np.zeros((observations.sizes[0], array.shape[1]))
    pairs = observations.channels[0] == "word|tag"
    for at, name in enumerate(observations.names[0]):
        # "dog|NOUN" is looked up as dog: texts have no tags
        form = name.rpartition("|")[0] if pairs and "|" in name else name
        row = next((row_of[x] for x in (form, form.capitalize()) if x in row_of), None)
        if row is None:
            row = row_of.get(UNKNOWN)
        if row is not None:
            U[at] = array[row]
    return TreeDictionary(U, "other")


def learn_text_dictionary(
    sentences: Iterable[Sequence[str]],
    observations: Observations,
    k: int,
    *,
    method: Literal["svd", "cca", "lrmvl"] = "lrmvl",
    min_count: int = 5,
    seed: int = 0,
) -> TreeDictionary:
    """Learn word vectors from sentences and look them up: bigram SVD, one-step CCA or LR-MVL.

    ``svd`` takes the left singular vectors of ``P[i, j] = p(next word i | word j)``; words are
    counted in small letters where the observations are.
    """
    from eigentext.counting.counting import count_sentences
    from eigentext.words import LRMVL, CCAEmbedding

    if observations.lower:
        sentences = [[word.lower() for word in sentence] for sentence in sentences]
    else:
        sentences = list(sentences)
    if method == "lrmvl":
        model = LRMVL(k + k % 2, min_count=min_count, seed=seed).fit(sentences)
        embeddings = model.embeddings_
        return text_dictionary(observations, embeddings.words, embeddings.vectors, k=k)
    if method == "cca":
        cca = CCAEmbedding(k, contexts="lr1", scaling="sqrt", min_count=min_count, seed=seed)
        embeddings = cca.fit(sentences).embeddings_
        return text_dictionary(observations, embeddings.words, embeddings.vectors, k=k)
    if method != "svd":
        raise SettingsError(f"method {method!r}: expected svd, cca or lrmvl")
    counts = count_sentences(sentences, contexts="-1", min_count=min_count)
    pairs = counts.matrix("-1")
    before = np.maximum(np.asarray(pairs.sum(axis=0)).ravel(), 1)
    from scipy.sparse import diags_array

    scaled = (pairs @ diags_array(1.0 / before)).tocsr()
    U = truncated_svd(scaled, k, seed=seed, symbol="the matrix of bigrams").U
    return text_dictionary(observations, counts.words, U)
