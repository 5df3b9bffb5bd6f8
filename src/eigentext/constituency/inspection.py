"""What a trained grammar has learned, in words: rules, nonterminals and their latent states.

Typical of the state of a tag are the words with the largest p(w, h | a) P(h | a, w), of that of an
inner nonterminal the rules with the largest such product (frequent, and pointing to this state
rather than to another), and of its contexts the rules that have it among their children.

Of an ensemble the first model is shown.  What is absent is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from eigentext.base.types import Float64s, Int64s
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.lexicon_moments import MomentLexicon
from eigentext.constituency.transform import user_labels
from eigentext.errors import SettingsError


class RuleSummary(NamedTuple):
    """A binary rule of the plain PCFG."""

    p: float
    parent: str
    left: str
    right: str


class Inventory(NamedTuple):
    """The labels of constituents and the tags of words that trees of a grammar may have."""

    labels: tuple[str, ...]
    tags: tuple[str, ...]


def inventory(grammar: Grammar) -> Inventory:
    """The user's labels and tags, each sorted."""
    over_words = set(grammar.params[0].lexicon.tags.tolist())
    labels: set[str] = set()
    tags: set[str] = set()
    for number, label in enumerate(grammar.labels):
        chain = user_labels(label)
        if number in over_words and chain:
            tags.add(chain[-1])
            chain = chain[:-1]
        labels.update(chain)
    return Inventory(tuple(sorted(labels)), tuple(sorted(tags)))


class NonterminalSummary(NamedTuple):
    """A nonterminal: its latent states, its share of all nodes, and whether it is over words."""

    label: str
    states: int
    share: float
    over_words: bool


class StateSummary(NamedTuple):
    """A latent state: its weight among the states, and (name, P(state | name)) of typical ones.

    A context is a rule with ``_`` for the child in question: ``S -> _ VP``.
    """

    label: str
    state: int
    weight: float
    words: tuple[tuple[str, float], ...]
    rules: tuple[tuple[str, float], ...]
    contexts: tuple[tuple[str, float], ...] = ()


def rules_by_probability(
    grammar: Grammar, *, label: str | None = None, top: int | None = None
) -> Iterator[RuleSummary]:
    """Rules grouped by their parent, the most frequent parent first, then by probability."""
    coarse, names = grammar.coarse, grammar.labels
    parent = None if label is None else _number(grammar, label)
    order = np.lexsort(
        (-coarse.rule_p, coarse.rules[:, 0], -coarse.prior[coarse.rules[:, 0]])
    ).tolist()
    shown = 0
    for number in order:
        a, b, c = coarse.rules[number].tolist()
        if parent is not None and a != parent:
            continue
        if shown == top:
            return
        shown += 1
        yield RuleSummary(float(coarse.rule_p[number]), names[a], names[b], names[c])


def nonterminals(grammar: Grammar) -> Iterator[NonterminalSummary]:
    """All nonterminals, the most frequent first."""
    m, tags = grammar.params[0].m, set(grammar.params[0].lexicon.tags.tolist())
    for a in np.argsort(-grammar.coarse.prior, kind="stable").tolist():
        yield NonterminalSummary(
            grammar.labels[a], int(m[a]), float(grammar.coarse.prior[a]), a in tags
        )


def states_of(grammar: Grammar, label: str, *, top: int = 8) -> Iterator[StateSummary]:
    """The latent states of one nonterminal, with their typical words and rules."""
    a = _number(grammar, label)
    if isinstance(grammar.params[0].lexicon, MomentLexicon):
        raise SettingsError("the moments estimator has directions, not states: nothing to show")
    m = int(grammar.params[0].m[a])
    words, word_names = _word_counts(grammar, a, m)
    numbers, p_rule_given_state, p_state = _state_shares(grammar, a)
    rules = p_rule_given_state * p_state  # (rules, m) P(rule, h | a) of those with this parent
    of_rules = grammar.params[0].rules[numbers, 1:].tolist()
    rule_names = [" ".join(grammar.labels[x] for x in children) for children in of_rules]
    contexts, context_names = _context_counts(grammar, a, m)
    weight = words.sum(axis=0) + rules.sum(axis=0)
    weight = weight / max(float(weight.sum()), 1e-30)
    for state in np.argsort(-weight, kind="stable").tolist():
        yield StateSummary(
            label,
            state,
            float(weight[state]),
            _typical(words, word_names, state, top),
            _typical(rules, rule_names, state, top),
            _typical(contexts, context_names, state, top),
        )


def _number(grammar: Grammar, label: str) -> int:
    number = grammar.rule_numbers.labels.get(label)
    if number is None:
        raise SettingsError(f"the grammar has no nonterminal {label!r}")
    return number


def _word_counts(grammar: Grammar, a: int, m: int) -> tuple[Float64s, list[str]]:
    """(words, m) how often each word had the tag with each state."""
    lexicon = grammar.params[0].lexicon
    t = int(np.searchsorted(lexicon.tags, a))
    if t == len(lexicon.tags) or lexicon.tags[t] != a:
        return np.zeros((0, m)), []
    first, last = int(lexicon.tag_ptr[t]), int(lexicon.tag_ptr[t + 1])
    at = np.flatnonzero((lexicon.word_ts >= first) & (lexicon.word_ts < last))
    row = np.searchsorted(lexicon.word_ptr, at, side="right") - 1
    word_ids, row_of = np.unique(row, return_inverse=True)
    counts = np.zeros((len(word_ids), m))
    counts[row_of.reshape(-1), lexicon.word_ts[at] - first] = lexicon.word_n[at]
    return counts, [lexicon.words[w] for w in word_ids.tolist()]


def _state_shares(grammar: Grammar, a: int) -> tuple[Int64s, Float64s, Float64s]:
    """Rules with parent a, (rules, m) P(rule | a, h), and (m,) P(h | a)."""
    params = grammar.params[0]
    m = int(params.m[a])
    numbers = np.flatnonzero(params.rules[:, 0] == a)
    p_rule_given_state = np.array(
        [
            params.whole_tensor[params.rule_ptr[r] : params.rule_ptr[r + 1]]
            .reshape(m, -1)
            .sum(axis=1)
            for r in numbers.tolist()
        ]
    ).reshape(-1, m)
    # P(h | a) is not stored: the one that gives back p(rule | a), by EM with P(rule | a, h) fixed
    p_state = np.full(m, 1.0 / m)
    p_rule = grammar.coarse.rule_p[numbers]
    for _ in range(50 if len(numbers) and m > 1 else 0):
        joint = p_rule_given_state * p_state
        shares = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-30)
        p_state = (shares * p_rule[:, None]).sum(axis=0)
        p_state = p_state / max(float(p_state.sum()), 1e-30)
    return numbers, p_rule_given_state, p_state


def _context_counts(grammar: Grammar, a: int, m: int) -> tuple[Float64s, list[str]]:
    """(contexts, m) share of all nodes that stand in this place of this rule with this state."""
    params, names, prior = grammar.params[0], grammar.labels, grammar.coarse.prior
    shares: dict[int, Float64s] = {}
    shares_of_contexts, labels = [], []
    for side in (1, 2):
        for r in np.flatnonzero(params.rules[:, side] == a).tolist():
            parent, left, right = params.rules[r].tolist()
            if parent not in shares:
                shares[parent] = _state_shares(grammar, parent)[2]
            tensor = params.whole_tensor[params.rule_ptr[r] : params.rule_ptr[r + 1]]
            shape = (int(params.m[parent]), int(params.m[left]), int(params.m[right]))
            # axes: parent, left, right
            of_child = np.tensordot(shares[parent], tensor.reshape(shape), axes=1).sum(2 - side)
            shares_of_contexts.append(prior[parent] * of_child)
            sibling = names[right] if side == 1 else names[left]
            context = f"_ {sibling}" if side == 1 else f"{sibling} _"
            labels.append(f"{names[parent]} -> {context}")
    return np.array(shares_of_contexts).reshape(-1, m), labels


def _typical(
    counts: Float64s, names: list[str], state: int, top: int
) -> tuple[tuple[str, float], ...]:
    """Names by count times P(state | name), with P(state | name)."""
    if not names:
        return ()
    share = counts[:, state] / np.maximum(counts.sum(axis=1), 1e-30)
    order = np.argsort(-counts[:, state] * share, kind="stable")[:top].tolist()
    return tuple((names[i], float(share[i])) for i in order if counts[i, state] > 0)


class NonterminalBound(NamedTuple):
    """One nonterminal: its states, singular values (falling), sigma_a and Lambda_a."""

    label: str
    states: int
    singular_values: tuple[float, ...]
    sigma: float | None
    Lambda: float | None


class TheoremThree(NamedTuple):
    """All nonterminals, the most frequent first, and the smallest sigma and Lambda of all."""

    nonterminals: list[NonterminalBound]
    sigma: float | None
    Lambda: float | None
    # theorem 3's number of nodes of each nonterminal for a tree of ``tree_size`` nodes, eps and
    # delta; None where sigma or Lambda is absent
    nodes_needed: float | None


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
