"""Lemmas of tagged words: seen ones from a table, others by edit rules learned from the treebank.

1. Every training word gives a :class:`LemmaRule` from its form to its lemma.
2. A form seen with a tag keeps its most frequent rule under that tag.
3. For others, rules are counted under part of speech, tag and ending; longer endings refine
   shorter ones as in ``kernels/words.py``, and the likeliest rule that fits the form is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.remembering import Remembered
from eigentext.lexical.analyzers.edit_rules import EditRule, find_rule
from eigentext.lexicon.shapes import lowered
from eigentext.morphology.levels import Edges, Levels, key_of, mixed_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.morphology.levels import Keys
    from eigentext.morphology.tags import TagSet
    from eigentext.morphology.words import Lexicon

__all__ = ["CASES", "LemmaRule", "Lemmatiser", "rule_between"]

_MOST_RULES = 12
_MOST_REMEMBERED = 1 << 18  # lemmas
CASES = ("keep", "lower", "title")


class LemmaRule(NamedTuple):
    """Bring the form to a case, then cut ``front`` and ``back`` off and put others there.

    >>> LemmaRule("lower", "", "", "es", "").apply("Boxes")
    'box'
    """

    case: str
    front: str
    new_front: str
    back: str
    new_back: str

    def apply(self, form: str) -> str | None:
        """The lemma, or None where the form does not begin and end as the rule asks."""
        return EditRule(False, *self[1:]).apply(_cased(form, self.case))


def _cased(form: str, case: str) -> str:
    if case == "lower":
        return form.lower()
    return form[:1].upper() + form[1:].lower() if case == "title" else form


def rule_between(form: str, lemma: str) -> LemmaRule:
    """The rule that makes this lemma of this form: the one that keeps most letters of it.

    >>> rule_between("Boxes", "box")
    LemmaRule(case='lower', front='', new_front='', back='es', new_back='')
    >>> rule_between("LONDON", "London").case
    'title'
    """
    best, fewest = None, -1
    for case in CASES:
        rule = find_rule(_cased(form, case), lemma)
        if rule.lowered:
            continue
        changed = sum(map(len, rule[1:]))
        if best is None or changed < fewest:
            best, fewest = LemmaRule(case, *rule[1:]), changed
    return best or LemmaRule("keep", "", "", form, lemma)


class Lemmatiser:
    """Lemmas by form and tag; see the module.

    ``rules``    all rules
    ``rule_of``  (entries,) the rule of each entry of the lexicon, a form with a tag
    """

    def __init__(
        self, lexicon: Lexicon, tags: TagSet, rules: Sequence[LemmaRule], rule_of: Sequence[int]
    ) -> None:
        self.rules, self.rule_of = tuple(rules), tuple(rule_of)
        self._lexicon, self._tags = lexicon, tags
        forms, own = zip(*lexicon.entry, strict=True)
        keys = self._keys(forms, own)
        outcomes = np.array(rule_of, np.int64)
        self._levels = Levels.counted(keys, outcomes, np.ones(keys.shape), len(self.rules))
        self._lemmas: Remembered[tuple[str, int], str] = Remembered(_MOST_REMEMBERED)

    @classmethod
    def learned(
        cls, lexicon: Lexicon, tags: TagSet, counts: Mapping[tuple[str, int, str], int]
    ) -> Lemmatiser:
        """From counts of (form, tag, lemma)."""
        best: dict[tuple[str, int], tuple[int, str]] = {}
        for (form, tag, lemma), count in sorted(counts.items()):
            if (form, tag) not in best or count > best[form, tag][0]:
                best[form, tag] = count, lemma
        rules: dict[LemmaRule, int] = {}
        rule_of = [
            rules.setdefault(rule_between(form, best[form, tag][1]), len(rules))
            for form, tag in lexicon.entry
        ]
        return cls(lexicon, tags, list(rules), rule_of)

    def _keys(self, forms: Sequence[str], tags: Sequence[int]) -> Keys:
        """(words, levels) keys, coarse to fine: part of speech, tag, both with endings."""
        endings = Edges.of([lowered(form) for form in forms]).endings
        triples = self._tags.triples
        upos = np.array([key_of(f"lemma\t{triples[tag][0]}") for tag in tags], np.uint64)
        tag = np.array([key_of("lemma\t" + "\t".join(triples[tag])) for tag in tags], np.uint64)
        keys = np.zeros((len(forms), 2 + 2 * endings.shape[1]), np.uint64)
        keys[:, 0], keys[:, 1] = upos, tag
        keys[:, 2::2] = mixed_keys(endings, upos[:, None])
        keys[:, 3::2] = mixed_keys(endings, tag[:, None])
        return keys

    def lemmas(self, forms: Sequence[str], tags: Sequence[int]) -> list[str]:
        """The lemmas of words with these tags."""
        pairs = list(zip(forms, tags, strict=True))
        found = list(map(self._lemmas.get, pairs))
        new = list(
            dict.fromkeys(pair for pair, one in zip(pairs, found, strict=True) if one is None)
        )
        made = dict(zip(new, self._found(new), strict=True)) if new else {}
        for pair, lemma in made.items():
            self._lemmas.put(pair, lemma)
        return [
            made[pair] if lemma is None else lemma
            for pair, lemma in zip(pairs, found, strict=True)
        ]

    def _found(self, pairs: Sequence[tuple[str, int]]) -> list[str]:
        keys = self._keys([form for form, _ in pairs], [tag for _, tag in pairs])
        lists = self._levels.lists(keys, _MOST_RULES, least=0.0)
        lemmas = []
        for row, pair in enumerate(pairs):
            entry = self._lexicon.entry.get(pair)
            likely = lists.tags[row, : lists.n[row]].tolist()
            numbers = likely if entry is None else [self.rule_of[entry]]
            made = (self.rules[number].apply(pair[0]) for number in numbers)
            lemmas.append(next((lemma for lemma in made if lemma), pair[0]))
        return lemmas
