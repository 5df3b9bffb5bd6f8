"""Theorem 3 of Cohen et al. 2012 on a trained grammar: sigma_a, Lambda_a, and what they ask for.

* ``sigma_a``   the m_a-th singular value of Omega_a; sigma is the smallest of all
* ``Lambda_a``  the smallest absolute value in c_1, d_inf, D and the inverse of Sigma of a; Lambda
                is the smallest of all.  Sigma is diagonal in the bases that come from the same
                sample, so zeros beside its diagonal are left out
* the number of nodes of each nonterminal with which p(tree) is within 1 +- eps (theorem 3)

Singular values are kept with the model by the estimators that compute them (clustering, also when
EM follows, and moments); Lambda only by moments, since the others have no observable
representation.  :func:`theorem_3` says None for what is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s
    from eigentext.constituency.grammar import Grammar
    from eigentext.constituency.learn.moments import Coordinates
    from eigentext.constituency.lexicon import WordIndex
    from eigentext.constituency.treebank import Treebank


class NonterminalBound(NamedTuple):
    """One nonterminal: its states, singular values (falling), sigma_a and Lambda_a."""

    label: str
    states: int
    singular_values: tuple[float, ...]
    sigma: float | None
    Lambda: float | None


class TheoremThree(NamedTuple):
    """All nonterminals, the most frequent first, and the smallest sigma and Lambda of all.

    ``nodes_needed``  theorem 3's number of nodes of each nonterminal for a tree of ``tree_size``
                      nodes, eps and delta; None where sigma or Lambda is absent
    """

    nonterminals: list[NonterminalBound]
    sigma: float | None
    Lambda: float | None
    nodes_needed: float | None


def smallest_elements(
    bank: Treebank,
    index: WordIndex,
    coordinates: Sequence[Coordinates],
    weights: Float64s,
    smallest_of_rule: Float64s,
    c_one: Sequence[Float64s],
) -> Float64s:
    """(labels,) Lambda_a of every nonterminal from the moments of figure 4, step 2.

    ``smallest_of_rule``  (R,) the smallest absolute value in each rule's D
    """
    word_of_token = np.zeros(len(bank.words), np.int64)
    word_of_token[bank.token[bank.token >= 0]] = index.type_word[index.type_of]
    smallest = np.full(len(bank.labels), np.inf)
    for a, c in enumerate(coordinates):
        smallest[a] = np.abs(np.diag(c.inverse)).min()
        if np.any(c_one[a]):
            smallest[a] = min(smallest[a], np.abs(c_one[a]).min())
        token = bank.token[c.rows]
        over_word = np.flatnonzero((token >= 0) & (weights[c.rows] > 0))
        if len(over_word):
            n = weights[c.rows].sum()
            word = word_of_token[token[over_word]]
            order = np.argsort(word, kind="stable")
            first = np.unique(word[order], return_index=True)[1]
            weighted = (c.Z[over_word] * weights[c.rows][over_word, None])[order]
            d_inf = np.add.reduceat(weighted, first, axis=0) / n
            smallest[a] = min(smallest[a], np.abs(d_inf).min())
    np.minimum.at(smallest, bank.rules[:, 0], smallest_of_rule)
    return smallest


def theorem_3(
    grammar: Grammar, *, tree_size: int = 39, eps: float = 0.5, delta: float = 0.1
) -> TheoremThree:
    """Sigma and Lambda of the first model of an ensemble; 39 nodes is a sentence of 20 words.

    >>> from eigentext.constituency import LPCFG
    >>> from eigentext.language.trees.constituent import Tree
    >>> parser = LPCFG(n_states=1).fit([Tree.from_brackets("(S (A x) (B y))")])
    >>> theorem_3(parser.grammar_).sigma is None
    True
    """
    params = grammar.params[0]
    spectra = params.spectra
    bounds = []
    for a in np.argsort(-grammar.coarse.prior, kind="stable").tolist():
        m = int(params.m[a])
        values = () if spectra is None else tuple(spectra.at(a).tolist())
        smallest = None if spectra is None else spectra.smallest
        sigma = None
        if values and m > 1:
            # moments keep just what they use, and their constant coordinate has no value
            last = len(values) if smallest is not None else m
            sigma = values[last - 1] if last <= len(values) else 0.0
        Lambda = None if smallest is None else float(smallest[a])
        bounds.append(NonterminalBound(grammar.labels[a], m, values, sigma, Lambda))
    sigmas = [bound.sigma for bound in bounds if bound.sigma is not None]
    Lambdas = [bound.Lambda for bound in bounds if bound.Lambda is not None]
    needed = None
    if sigmas and Lambdas:
        needed = nodes_needed(
            m=int(params.m.max()),
            n_rules=len(params.rules) + len(params.lexicon.tag_level.word_ts),
            tree_size=tree_size,
            Lambda=min(Lambdas),
            sigma=min(sigmas),
            eps=eps,
            delta=delta,
        )
    return TheoremThree(
        bounds, min(sigmas) if sigmas else None, min(Lambdas) if Lambdas else None, needed
    )


def nodes_needed(
    *, m: int, n_rules: int, tree_size: int, Lambda: float, sigma: float, eps: float, delta: float
) -> float:
    """Theorem 3: so many nodes of each nonterminal, drawn independently, bound the error.

    With probability 1 - delta, p^ / p of a tree of ``tree_size`` nodes is then within 1 +- eps.
    ``sigma`` is the smallest m-th singular value of any Omega; ``n_rules`` counts a -> b c and
    a -> x.  The root in the formula is the (2N + 1)-th.

    >>> f"{nodes_needed(m=2, n_rules=20, tree_size=7, Lambda=.1, sigma=.1, eps=.5, delta=.1):.0e}"
    '5e+12'
    """
    if Lambda == 0 or sigma == 0:
        return float("inf")
    slack = (1 + eps) ** (1 / (2 * tree_size + 1)) - 1
    bound = 128 * m**2 / (slack**2 * Lambda**2 * sigma**4) * np.log(2 * m * n_rules / delta)
    return float(bound)
