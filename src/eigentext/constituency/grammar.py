"""What a parser has learned: the plain PCFG and the latent-variable grammars over its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from eigentext.base.types import Int64s
from eigentext.constituency.brackets import BracketModel
from eigentext.constituency.chart.coarse import CoarseGrammar
from eigentext.constituency.chart.decode import Chains
from eigentext.constituency.forms import treebank_forms
from eigentext.constituency.lexicon import Lexicon
from eigentext.constituency.lexicon_moments import MomentLexicon
from eigentext.constituency.params import LatentParams
from eigentext.constituency.transform import user_labels


class RuleNumbers(NamedTuple):
    """Names to numbers: label -> number, (parent, left, right) numbers -> rule."""

    labels: dict[str, int]
    rules: dict[tuple[int, int, int], int]

    @classmethod
    def of(cls, labels: Sequence[str], rules: Int64s) -> RuleNumbers:
        """The numbers of a grammar."""
        triples = {(a, b, c): number for number, (a, b, c) in enumerate(rules.tolist())}
        return cls({label: number for number, label in enumerate(labels)}, triples)


@dataclass(frozen=True, eq=False)
class Grammar:
    """One set of rules with several sets of parameters."""

    labels: tuple[str, ...]  # names of the nonterminals, as ``transform`` makes them
    # label on top of every tree, such as TOP, that is no part of the grammar; or None
    wrapper: str | None
    coarse: CoarseGrammar  # the plain PCFG, which prunes
    params: tuple[LatentParams, ...]  # the models: one, or several whose posteriors are multiplied
    # the bracket model, which closes spans and weighs the others; or None
    brackets: BracketModel | None = None

    @cached_property
    def rule_numbers(self) -> RuleNumbers:
        """Names of labels and rules to numbers."""
        return RuleNumbers.of(self.labels, self.coarse.rules)

    @cached_property
    def chains(self) -> Chains:
        """The constituents that its labels stand for."""
        return Chains.of(self.labels)

    @cached_property
    def roots(self) -> list[str]:
        """The user's labels for the top of a tree, the most frequent first."""
        share: Counter[str] = Counter()
        for label, p, emits in zip(
            self.labels, self.coarse.root_p.tolist(), self.coarse.emits.tolist(), strict=True
        ):
            chain = user_labels(label)
            if len(chain) > 1 or (chain and emits < 1):
                share[chain[0]] += p
        return sorted(share, key=lambda label: (-share[label], label)) or ["X"]

    @property
    def lexicon(self) -> Lexicon:
        """Counts of words and their tags, the same in every model."""
        return self.params[0].lexicon.tag_level

    @property
    def signed(self) -> bool:
        """Are its numbers scores of the moments estimator, which has no states?"""
        return any(isinstance(model.lexicon, MomentLexicon) for model in self.params)

    def forms(self, tokens: Sequence[str]) -> list[str]:
        """The treebank's way to write each token: ``(`` is ``-LRB-`` in most of them."""
        return treebank_forms(tokens, self.lexicon.seen)
