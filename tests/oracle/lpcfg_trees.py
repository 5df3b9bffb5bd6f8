"""All trees of a short sentence under a tiny latent-variable grammar, one by one.

Nothing clever: every binary tree over every choice of rules and tags is listed, its weight summed
(or maximised) over every assignment of states.  What the chart computes must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import numpy as np

from eigentext.constituency.chart.coarse import CoarseGrammar
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.params import LatentParams, tensor_layout
from eigentext.language.trees.constituent import Tree

LABELS = ("S", "A", "@>S|A", "A>T", "T", "U", "B")
ROOTS, TAGS = (0, 1, 6), (3, 4, 5)


@dataclass(frozen=True)
class Node:
    label: int
    start: int
    end: int
    rule: int = -1
    children: tuple[Node, ...] = ()

    def nodes(self):
        yield self
        for child in self.children:
            yield from child.nodes()

    def applications(self):
        for node in self.nodes():
            if node.children:
                yield node.rule, node.start, node.children[0].end, node.end

    def items(self):
        return [(node.label, node.start, node.end) for node in self.nodes()]

    def nested(self, labels, words):
        below = (
            [child.nested(labels, words) for child in self.children]
            if self.children
            else [words[self.start]]
        )
        return (labels[self.label], *below)

    def tree(self, labels, words):
        return Tree.from_nested(self.nested(labels, words))


def tiny_grammar(seed, n, *, most_states=2, n_rules=13, decades=0.0):
    """A grammar with random weights, and what the words of a sentence may be.

    With ``decades`` the coarse weights are spread over so many powers of ten more.
    """
    rng = np.random.default_rng(seed)
    triples = {(0, 1, 2), (2, 1, 4), (0, 4, 4), (1, 4, 3), (6, 5, 1)}
    while len(triples) < 5 + n_rules:
        triples.add(
            (int(rng.choice((0, 1, 2, 6))), int(rng.integers(0, 7)), int(rng.integers(0, 7)))
        )
    rules = np.array(sorted(triples))
    m = rng.integers(1, most_states + 1, len(LABELS))
    rule_ptr = tensor_layout(rules, m)
    label_ptr = np.concatenate([[0], np.cumsum(m)])
    root = np.zeros(int(m.sum()))
    root_p = np.zeros(len(LABELS))
    for a in ROOTS:
        root[label_ptr[a] : label_ptr[a + 1]] = rng.uniform(0.1, 1.0, m[a])
        root_p[a] = rng.uniform(0.1, 1.0)
    tags = np.array(TAGS)
    lexicon = SimpleNamespace(tags=tags, tag_ptr=np.concatenate([[0], np.cumsum(m[tags])]))
    tensor = rng.uniform(0.01, 1.0, int(rule_ptr[-1])).astype(np.float32)
    params = LatentParams(m, rules, rule_ptr, tensor, root, lexicon)
    coarse = CoarseGrammar(
        rules=rules,
        rule_p=rng.uniform(0.01, 1.0, len(rules)) * 10.0 ** -rng.uniform(0, decades, len(rules)),
        root_p=root_p,
        prior=rng.dirichlet(np.ones(len(LABELS))),
        emits=rng.uniform(0.5, 1.0, len(LABELS)),
    )
    emissions = []
    for _ in range(n):
        kept = np.flatnonzero(rng.random(len(tags)) < 0.8)
        if not len(kept):
            kept = np.array([1])
        states = rng.uniform(0.05, 2.0, int(lexicon.tag_ptr[-1])).astype(np.float32)
        scores = rng.uniform(0.05, 2.0, len(kept)) * 10.0 ** -rng.uniform(0, decades, len(kept))
        emissions.append(Emission(kept, scores, states))
    return coarse, params, emissions


def all_trees(coarse, lexicon, emissions):
    """Every tree with a root that the coarse grammar knows."""
    n = len(emissions)
    cells = {}
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            end = start + width
            found = []
            if width == 1:
                found = [Node(int(lexicon.tags[t]), start, end) for t in emissions[start].tags]
            for cut in range(start + 1, end):
                for number, (a, b, c) in enumerate(coarse.rules.tolist()):
                    found += [
                        Node(a, start, end, number, (one, two))
                        for one in cells[start, cut]
                        if one.label == b
                        for two in cells[cut, end]
                        if two.label == c
                    ]
            cells[start, end] = found
    return [tree for tree in cells[0, n] if coarse.root_p[tree.label] > 0]


def coarse_weight(tree, coarse, lexicon, emissions):
    """Product of rule probabilities, tag scores and the root's probability."""
    weight = coarse.root_p[tree.label]
    for node in tree.nodes():
        if node.children:
            weight *= coarse.rule_p[node.rule]
        else:
            emission = emissions[node.start]
            place = np.flatnonzero(lexicon.tags[emission.tags] == node.label)[0]
            weight *= emission.scores[place] * coarse.emits[node.label]
    return weight


def state_weights(tree, params, emissions):
    """The weight of the tree for every assignment of states to its nodes."""
    nodes = list(tree.nodes())
    place = {id(node): at for at, node in enumerate(nodes)}
    label_ptr = np.concatenate([[0], np.cumsum(params.m)])
    found = []
    for states in product(*(range(params.m[node.label]) for node in nodes)):
        weight = params.root[label_ptr[tree.label] + states[0]]
        for node, state in zip(nodes, states, strict=True):
            if node.children:
                a, b, c = params.rules[node.rule]
                tensor = params.whole_tensor[params.rule_ptr[node.rule] :][
                    : params.m[a] * params.m[b] * params.m[c]
                ].reshape(params.m[a], params.m[b], params.m[c])
                one, two = (states[place[id(child)]] for child in node.children)
                weight *= float(tensor[state, one, two])
            else:
                t = int(np.searchsorted(params.lexicon.tags, node.label))
                states_of_tag = emissions[node.start].states[params.lexicon.tag_ptr[t] :]
                weight *= float(states_of_tag[state])
        found.append(weight)
    return np.array(found)


def posteriors(trees, weights):
    """Posteriors of (rule, start, cut, end) and of (label, start, end)."""
    total = sum(weights)
    of_application: dict = {}
    of_item: dict = {}
    for tree, weight in zip(trees, weights, strict=True):
        for key in tree.applications():
            of_application[key] = of_application.get(key, 0.0) + weight / total
        for key in tree.items():
            of_item[key] = of_item.get(key, 0.0) + weight / total
    return of_application, of_item
