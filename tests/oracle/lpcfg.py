"""A small latent-variable PCFG by the book: brute-force probabilities, exact moments, all trees.

Everything here follows the definitions of Cohen et al. 2012 (sections 4 and 6) word for word and
knows nothing of the package.  The grammars have no cycle among their nonterminals, so their trees
can be listed to the last one, and they are drawn without left/right symmetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np


@dataclass(frozen=True)
class OracleLPCFG:
    """q, s, t and pi of section 4, as arrays.

    ``rules``    list of (a, b, c); ``q_rule[r]`` (m,);  ``s[r]``, ``t[r]`` (m, m) indexed [h', h]
    ``q_word``   {tag: (words, m)};  ``pi`` {root: (m,)}, summing to 1 over all roots and states
    """

    m: int
    n_labels: int
    n_words: int
    rules: list
    q_rule: list
    s: list
    t: list
    q_word: dict
    pi: dict

    @cached_property
    def number(self):
        return {rule: r for r, rule in enumerate(self.rules)}

    # -- probabilities -------------------------------------------------------------------------

    def tree_probability(self, tree):
        """Equation 1 summed over every assignment of states: exponential, and plainly right."""
        nodes = []  # (rule or None, label, word, parent, side)

        def walk(node, parent, side):
            me = len(nodes)
            if len(node) == 2:
                nodes.append((None, node[0], node[1], parent, side))
                return
            rule = self.number.get((node[0], node[1][0], node[2][0]))
            nodes.append((rule, node[0], None, parent, side))
            walk(node[1], me, 0)
            walk(node[2], me, 1)

        walk(tree, -1, -1)
        if any(rule is None and word is None for rule, _, word, _, _ in nodes):
            return 0.0
        total = 0.0
        for states in product(range(self.m), repeat=len(nodes)):
            p = 1.0
            for (rule, label, word, parent, side), h in zip(nodes, states, strict=True):
                if parent < 0:
                    p *= self.pi[label][h] if label in self.pi else 0.0
                else:
                    step = (self.s, self.t)[side][nodes[parent][0]]
                    p *= step[h, states[parent]]
                p *= self.q_word[label][word, h] if rule is None else self.q_rule[rule][h]
            total += p
        return total

    def skeletons(self, label):
        """All trees under a nonterminal, words left open (None)."""
        if label in self.q_word:
            return [(label, None)]
        return [
            (label, left, right)
            for a, b, c in self.rules
            if a == label
            for left in self.skeletons(b)
            for right in self.skeletons(c)
        ]

    def trees_over(self, words):
        """All trees of a sentence."""
        return [
            fill(skeleton, iter(words))
            for root in self.pi
            for skeleton in self.skeletons(root)
            if n_leaves(skeleton) == len(words)
        ]

    def marginals(self, words):
        """mu(a, i, j) by listing trees; the sum over all is p(sentence)."""
        mu, z = {}, 0.0
        for tree in self.trees_over(words):
            p = self.tree_probability(tree)
            z += p
            for key in spans(tree):
                mu[key] = mu.get(key, 0.0) + p
        return mu, z

    # -- exact moments -------------------------------------------------------------------------

    @cached_property
    def expected_nodes(self):
        """(labels, m) expected number of nodes a(h) in a tree, from the parents down."""
        e = np.zeros((self.n_labels, self.m))
        for a, p in self.pi.items():
            e[a] += p
        for a in self.topological:
            for r, (parent, b, c) in enumerate(self.rules):
                if parent == a:
                    used = e[a] * self.q_rule[r]
                    e[b] += self.s[r] @ used
                    e[c] += self.t[r] @ used
        return e

    @cached_property
    def topological(self):
        """Nonterminals, parents before children."""
        order, seen = [], set()

        def visit(a):
            if a in seen:
                return
            seen.add(a)
            for parent, b, c in self.rules:
                if parent == a:
                    visit(b)
                    visit(c)
            order.append(a)

        for a in range(self.n_labels):
            visit(a)
        return order[::-1]

    @cached_property
    def gamma(self):
        """P(h | a) when every node of every tree is as likely as any other."""
        return self.expected_nodes / self.expected_nodes.sum(axis=1, keepdims=True)

    def random_features(self, rng, d):
        """I^a and J^a of definition 2, drawn directly: full rank, no particular features."""
        shape = (self.n_labels, d, self.m)
        return rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)

    def rule_features(self):
        """I^a and J^a of real features: the rule (or word), and the rule above with the side."""
        d_in = len(self.rules) + self.n_words
        inside = np.zeros((self.n_labels, d_in, self.m))
        outside = np.zeros((self.n_labels, 2 * len(self.rules) + 1, self.m))
        for r, (a, b, c) in enumerate(self.rules):
            inside[a, r] = self.q_rule[r]
            used = self.expected_nodes[a] * self.q_rule[r]
            outside[b, 2 * r] += self.s[r] @ used
            outside[c, 2 * r + 1] += self.t[r] @ used
        for a, q in self.q_word.items():
            inside[a, len(self.rules) :] = q
        for a, p in self.pi.items():
            outside[a, -1] += p
        return inside, outside / self.expected_nodes[:, None, :]

    def omega(self, inside, outside):
        """Equation 5: Omega^a = I^a diag(gamma^a) J^a'."""
        return [inside[a] @ np.diag(self.gamma[a]) @ outside[a].T for a in range(self.n_labels)]

    def moments(self, inside, outside, U, V):
        """Sigma, D (the paper's axes: right, outside, left), d_inf and c_1, in closed form."""
        G = [U[a].T @ inside[a] for a in range(self.n_labels)]
        K = [V[a].T @ outside[a] for a in range(self.n_labels)]
        sigma = [G[a] @ np.diag(self.gamma[a]) @ K[a].T for a in range(self.n_labels)]
        D = [
            np.einsum(
                "h,jh,kh,lh->jkl",
                self.gamma[a] * self.q_rule[r],
                G[c] @ self.t[r],
                K[a],
                G[b] @ self.s[r],
            )
            for r, (a, b, c) in enumerate(self.rules)
        ]
        d_inf = {
            (a, x): (q[x] * self.gamma[a]) @ K[a].T
            for a, q in self.q_word.items()
            for x in range(self.n_words)
        }
        c_one = [G[a] @ self.pi.get(a, np.zeros(self.m)) for a in range(self.n_labels)]
        return sigma, D, d_inf, c_one

    # -- all trees -----------------------------------------------------------------------------

    def inside(self, tree):
        """(m,) P(tree | h at its root): the textbook recursion, fast enough for every tree."""
        if len(tree) == 2:
            return self.q_word[tree[0]][tree[1]]
        r = self.number[tree[0], tree[1][0], tree[2][0]]
        left, right = self.inside(tree[1]), self.inside(tree[2])
        return self.q_rule[r] * (left @ self.s[r]) * (right @ self.t[r])

    def all_trees(self):
        """Every tree of the grammar and its probability; they sum to 1."""
        trees = [
            fill(skeleton, iter(words))
            for root in self.pi
            for skeleton in self.skeletons(root)
            for words in product(range(self.n_words), repeat=n_leaves(skeleton))
        ]
        return trees, np.array([self.pi[tree[0]] @ self.inside(tree) for tree in trees])


def draw(rng, *, m=2, n_words=3, same_size=False):
    """Three levels: roots 0 and 1, then 2 and 3, then the tags 4, 5 and 6.

    With ``same_size`` every tree has seven nodes; otherwise a root may have a tag for a child.
    """
    middle = [(a, b, c) for a in (2, 3) for b, c in ((4, 5), (5, 4), (6, 4), (5, 6))]
    top = [(0, 2, 3), (0, 3, 2), (0, 2, 2), (1, 3, 3), (1, 2, 3), (1, 3, 2)]
    if not same_size:
        top += [(0, 4, 2), (1, 3, 5), (0, 6, 5), (1, 5, 6)]
    rules = top + middle

    def columns(rows, strength=0.6):
        return rng.dirichlet(np.full(rows, strength), size=m).T

    q_rule = [None] * len(rules)
    for a in (0, 1, 2, 3):
        mine = [r for r, rule in enumerate(rules) if rule[0] == a]
        q = 0.05 / len(mine) + 0.95 * columns(len(mine))
        for r, row in zip(mine, q, strict=True):
            q_rule[r] = row
    return OracleLPCFG(
        m=m,
        n_labels=7,
        n_words=n_words,
        rules=rules,
        q_rule=q_rule,
        s=[columns(m) for _ in rules],
        t=[columns(m) for _ in rules],
        q_word={a: 0.1 / n_words + 0.9 * columns(n_words) for a in (4, 5, 6)},
        pi=dict(zip((0, 1), rng.dirichlet(np.full(2 * m, 2.0)).reshape(2, m), strict=True)),
    )


def n_leaves(tree):
    """Number of words."""
    return 1 if len(tree) == 2 else n_leaves(tree[1]) + n_leaves(tree[2])


def n_nodes(tree):
    """Number of nonterminal nodes."""
    return 1 if len(tree) == 2 else 1 + n_nodes(tree[1]) + n_nodes(tree[2])


def fill(skeleton, words):
    """The tree with its open places taken by the words in turn."""
    if len(skeleton) == 2:
        return (skeleton[0], next(words))
    return (skeleton[0], fill(skeleton[1], words), fill(skeleton[2], words))


def spans(tree, start=0):
    """(label, start, end) of every node."""
    if len(tree) == 2:
        return [(tree[0], start, start + 1)]
    left = spans(tree[1], start)
    right = spans(tree[2], left[0][2])
    return [(tree[0], start, right[0][2]), *left, *right]
