"""What symbols look like, for estimators that know contexts alone.

1. :func:`small_forms`: a capital that a word has at the beginnings of sentences says nothing of
   its part of speech, so *The* is counted as *the*.
2. :func:`marks`: what has neither letters nor digits is punctuation, whatever stands beside it.
3. :func:`drawn_together`: vectors of rare symbols are drawn towards those of symbols that look
   alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.features.signatures import Language, signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Bools, Float64s, Int64s

_MOSTLY = 0.5  # share of a word's tokens that begin a sentence, for its capital to say nothing
_MARKS = frozenset({"<none-sign>", "<none-dash>", "<none-dash-sign>"})


def small_forms(names: Sequence[str], first: Float64s, counts: Float64s) -> Int64s:
    """(V,) the symbol as which each one counts: itself, or the same word in small letters.

    That is for words which begin a sequence in half of their ``counts`` or more (``first``).

    >>> names = ["the", "The", "Rome", "rome", "A"]
    >>> first = np.array([0.0, 5.0, 2.0, 0.0, 9.0])
    >>> small_forms(names, first, np.array([30.0, 6.0, 7.0, 1.0, 9.0])).tolist()
    [0, 0, 2, 3, 4]
    """
    number = {name: at for at, name in enumerate(names)}
    return np.array(
        [
            _small_form(name, number) if first[at] >= _MOSTLY * counts[at] > 0 else at
            for at, name in enumerate(names)
        ],
        np.int64,
    )


def _small_form(name: str, number: dict[str, int]) -> int:
    """The number of a word in small letters, or its own.

    Of the small letters of I and İ those of most languages come first, then those of Turkish.

    >>> _small_form("İçin", {"için": 0, "İçin": 1}), _small_form("Isı", {"ısı": 0, "Isı": 1})
    (0, 0)
    """
    small = name.lower()
    for form in (small, small.replace("\u0307", ""), name.replace("I", "ı").lower()):
        if form in number:
            return number[form]
    return number[name]


def marks(names: Sequence[str], language: Language) -> Bools:
    """(V,) has a symbol neither letters nor digits?  Classes of such rare symbols count, too.

    >>> marks([",", "...", "5%", "a.", "<none-sign>", ""], "generic").tolist()
    [True, True, False, False, True, False]
    """
    return np.array([chain[0] in _MARKS for chain in _chains(names, language)], np.bool_)


def drawn_together(
    v: Float64s, counts: Float64s, names: Sequence[str], language: Language, prior: float
) -> Float64s:
    """Vectors drawn towards those of symbols that look alike.

    With m_s the mean of a signature s and s' the next coarser one::

        v_x <- (n_x v_x + prior m_s(x)) / (n_x + prior)
        m_s  = (sum_x w_x v_x + prior m_s') / (sum_x w_x + prior),  w_x = prior n_x / (n_x + prior)

    so that frequent words, of which many belong to small closed classes, have no large say.
    """
    from scipy.sparse import csr_array

    chains = _chains(names, language)
    ids: dict[str, int] = {}
    coarser: dict[str, str] = {}
    for chain in chains:
        for s, next_ in zip(chain, (*chain[1:], ""), strict=True):
            ids.setdefault(s, len(ids))
            coarser[s] = next_
    at = np.array([ids[s] for chain in chains for s in chain])
    ptr = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])])
    member = csr_array((np.ones(len(at)), at, ptr), shape=(len(chains), len(ids)))
    w = prior * counts / (counts + prior)
    sums, weights = np.asarray(member.T @ (w[:, None] * v)), np.asarray(member.T @ w)
    mean = (w @ v) / w.sum()
    means: dict[str, Float64s] = {"": mean}
    for s in sorted(ids, key=lambda s: (_depth(s, coarser), ids[s])):  # from coarse to fine
        own = ids[s]
        means[s] = (sums[own] + prior * means[coarser[s]]) / (weights[own] + prior)
    looks = np.array([means[chain[0]] for chain in chains])
    n = counts[:, None]
    return np.asarray((n * v + prior * looks) / (n + prior))


def _chains(names: Sequence[str], language: Language) -> list[tuple[str, ...]]:
    """The signatures of each symbol, from fine to coarse; a class is one itself."""
    own = [signatures(name, language=language) if name else ("<unk>",) for name in names]
    below: dict[str, tuple[str, ...]] = {}
    for chain in own:
        for at, s in enumerate(chain):
            below.setdefault(s, chain[at:])
    return [below.get(name, chain) for name, chain in zip(names, own, strict=True)]


def _depth(s: str, coarser: dict[str, str]) -> int:
    depth = 0
    while s:
        s, depth = coarser[s], depth + 1
    return depth
