"""Lemmas of tagged words: seen ones from a table, others by rules learned from the treebank.

For others, the rules that fit are those that cut off one of the word's endings under its tag; a
log-linear model chooses among them (``kernels/lemmas.py``).  In training a form is held out of
what is known of its lemma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.hashing import key_of
from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.features.signatures import case_of, lowered
from eigentext.lexical.analyzers.edit_rules import EditRule, find_rule
from eigentext.tagging.morphology.learn import ByteWeights
from eigentext.tagging.morphology.levels import Edges, mixed_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.base.types import Int64s, UInt32s
    from eigentext.tagging.morphology.kernels.lemmas import Index, Rules, Words
    from eigentext.tagging.morphology.levels import Keys
    from eigentext.tagging.morphology.tags import MorphTagSet
    from eigentext.tagging.morphology.words import FormLexicon

LEMMA_BITS = 18
EPOCHS, RATE = 5, 0.2
MOST_OF_NODE = 8  # rules
_N_ENDINGS, _N_BEGINNINGS = 6, 2
_MOST_REMEMBERED = 1 << 15  # lemmas
CASES = ("lower", "keep", "title")


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
    rules = []
    for case in CASES:
        rule = find_rule(_cased(form, case), lemma)
        if not rule.lowered:
            rules.append(LemmaRule(case, *rule[1:]))
        if not any(rule):
            break
    return min(rules, key=lambda rule: sum(map(len, rule[1:])))


class Lemmatiser:
    """Lemmas by form and tag; ``rule_of`` (entries,): the rule of each entry of the lexicon."""

    def __init__(
        self,
        lexicon: FormLexicon,
        tags: MorphTagSet,
        rules: Sequence[LemmaRule],
        rule_of: Sequence[int],
        weights: ByteWeights | None = None,
    ) -> None:
        self.rules, self.rule_of = tuple(rules), tuple(rule_of)
        self._lexicon, self._tags = lexicon, tags
        self._lemmas: Remembered[tuple[str, int], str] = Remembered(_MOST_REMEMBERED)
        self._index()
        self.weights = weights or self._trained()

    @classmethod
    def learned(
        cls, lexicon: FormLexicon, tags: MorphTagSet, counts: Mapping[tuple[str, int, str], int]
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

    def _index(self) -> None:
        """Rules as arrays, and what is known of them and of lemmas."""
        from eigentext.tagging.morphology.kernels.lemmas import Index, Rules

        pieces = [piece for rule in self.rules for piece in rule[1:]]
        at = pointers(map(len, pieces))
        keys = [key_of("\t".join(("rule", *rule))) for rule in self.rules]
        self._rules: Rules = Rules(
            np.array([CASES.index(rule.case) for rule in self.rules], np.int64),
            np.stack([at[:-1].reshape(-1, 4)[:, k] for k in range(4)] + [at[4::4]], axis=1),
            _codes("".join(pieces)),
            np.array(keys, np.uint64),
        )
        self._entries = self._words(self._lexicon.forms)
        sizes = np.diff(self._lexicon.ptr)
        self._entry_forms = np.repeat(np.arange(len(sizes)), sizes)
        rule_numbers = np.array(self.rule_of, np.int64)
        tags = self._lexicon.tags.astype(np.int64)
        # rules by ending and tag, and by ending and part of speech
        backs = Edges.of([lowered(rule.back) for rule in self.rules]).endings
        length = np.array([len(lowered(rule.back)) for rule in self.rules])
        fits = length <= backs.shape[1]
        rows = np.arange(len(backs))  # the key of what each rule cuts off; 1: nothing
        back = np.where(length == 0, 1, backs[rows, np.clip(length, 1, backs.shape[1]) - 1])
        used = fits[rule_numbers]
        cut = back.astype(np.uint64)[rule_numbers][used]
        nodes = np.concatenate(
            [
                mixed_keys(keys_of[tags][used][:, None], cut[:, None])[:, 0]
                for keys_of in (self._tags.arrays.keys, self._tags.arrays.upos)
            ]
        )
        which = np.tile(rule_numbers[used], 2)
        pairs, counts = np.unique(
            np.stack([nodes, which.astype(np.uint64)], axis=1), axis=0, return_counts=True
        )
        node, rule = pairs[:, 0], pairs[:, 1].astype(np.int64)
        order = np.lexsort((rule, -counts, node))  # by node, the most frequent rule first
        node, rule = node[order], rule[order]
        first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
        rank = np.arange(len(node)) - np.repeat(first, np.diff([*first.tolist(), len(node)]))
        node, rule = node[rank < MOST_OF_NODE], rule[rank < MOST_OF_NODE]
        distinct, size = np.unique(node, return_counts=True)
        # lemmas, with their part of speech and alone
        self._gold = self._lemma_keys(self._entries, self._entry_forms, rule_numbers)
        self._upos = self._tags.arrays.upos[tags]
        with_upos = mixed_keys(self._gold[:, None], self._upos[:, None])[:, 0]
        both = np.concatenate([with_upos, self._gold])
        lemmas, times = np.unique(both, return_counts=True)
        self._known: Index = Index(distinct, pointers(size), rule, lemmas, times)

    def _lemma_keys(self, words: Words, which: Int64s, rules: Int64s) -> Keys:
        from eigentext.tagging.morphology.kernels.lemmas import lemma_keys

        out = np.zeros(len(which), np.uint64)
        lemma_keys(words, which, self._rules, rules, out)
        return out

    @staticmethod
    def _words(forms: Sequence[str]) -> Words:
        """Words for the kernels."""
        from eigentext.tagging.morphology.kernels.lemmas import Words

        cased = [_cased(form, case) for case in CASES for form in forms]
        at = pointers(map(len, cased))
        shape = len(CASES), len(forms)
        edges = Edges.of([lowered(form) for form in forms])
        case = [key_of(f"case\t{case_of(form)}") for form in forms]
        features = np.zeros((len(forms), _N_ENDINGS + _N_BEGINNINGS + 1), np.uint64)
        features[:, :_N_ENDINGS] = edges.endings[:, :_N_ENDINGS]
        features[:, _N_ENDINGS:-1] = edges.beginnings[:, :_N_BEGINNINGS]
        features[:, -1] = case
        return Words(
            _codes("".join(cased)),
            at[:-1].reshape(shape),
            np.diff(at).reshape(shape),
            edges.endings,
            features,
        )

    def _trained(self) -> ByteWeights:
        from eigentext.tagging.morphology.kernels.lemmas import Rows, train_rules

        table = np.zeros(1 << LEMMA_BITS, np.float32)
        squares = np.ones(1 << LEMMA_BITS, np.float32)
        total = np.zeros(1 << LEMMA_BITS)
        tags = self._lexicon.tags.astype(np.int64)
        keys = self._tags.arrays.keys[tags], self._tags.arrays.upos[tags]
        rows = Rows(self._entry_forms, *keys, self._gold, self._upos)
        for epoch in range(EPOCHS):
            order = np.random.default_rng(epoch).permutation(len(tags))
            train_rules(order, rows, self._entries, self._rules, self._known, table, squares, RATE)
            if epoch:  # the mean is over all passes but the first
                total += table
        return ByteWeights.rounded(total / (EPOCHS - 1))

    def chosen(
        self, forms: Sequence[str], which: Int64s, tags: Int64s, held: Int64s | None = None
    ) -> tuple[Int64s, Int64s]:
        """The best rule (rows,) of forms with each tag, without entries ``held`` (-1: none)."""
        from eigentext.tagging.morphology.kernels.lemmas import Rows, choose_rules

        gold, upos = np.zeros((2, len(which)), np.uint64)  # 0: nothing is held out
        if held is not None:
            gold[held >= 0] = self._gold[held[held >= 0]]
            upos[held >= 0] = self._upos[held[held >= 0]]
        best, flags = np.zeros(len(which), np.int64), np.zeros(len(which), np.int64)
        arrays = self._tags.arrays
        choose_rules(
            Rows(which, arrays.keys[tags], arrays.upos[tags], gold, upos),
            self._words(forms),
            self._rules,
            self._known,
            self.weights.table,
            self.weights.scale,
            best,
            flags,
        )
        return best, flags

    def lemmas(self, forms: Sequence[str], tags: Sequence[int]) -> list[str]:
        """The lemmas of words with these tags."""
        pairs = list(zip(forms, tags, strict=True))
        remembered = list(map(self._lemmas.get, pairs))
        new = list(
            dict.fromkeys(
                pair for pair, text in zip(pairs, remembered, strict=True) if text is None
            )
        )
        new_lemmas = dict(zip(new, self._new_lemmas(new), strict=True)) if new else {}
        for pair, lemma in new_lemmas.items():
            self._lemmas.put(pair, lemma)
        return [
            new_lemmas[pair] if lemma is None else lemma
            for pair, lemma in zip(pairs, remembered, strict=True)
        ]

    def _new_lemmas(self, pairs: Sequence[tuple[str, int]]) -> list[str]:
        entry = self._lexicon.entry
        unseen = [pair for pair in pairs if pair not in entry]
        numbers: dict[tuple[str, int], int] = {}
        if unseen:
            tags = np.array([tag for _, tag in unseen], np.int64)
            best, _ = self.chosen([form for form, _ in unseen], np.arange(len(unseen)), tags)
            numbers = dict(zip(unseen, best.tolist(), strict=True))
        lemmas = []
        for pair in pairs:
            number = numbers[pair] if pair in numbers else self.rule_of[entry[pair]]
            lemma = self.rules[number].apply(pair[0]) if number >= 0 else None
            lemmas.append(lemma or pair[0])
        return lemmas


def _codes(text: str) -> UInt32s:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
