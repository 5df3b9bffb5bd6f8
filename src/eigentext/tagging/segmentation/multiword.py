"""Third stage: which tokens stand for several words, and for which.

A multiword token and its words are written as one rule,

    front + middle + back   ->   before,  new_front + middle + new_back,  after

such as Portuguese ``da -> de, a`` as d + *a* -> (de), *a*, and Spanish ``decirlo -> decir, lo``
as *decir* + lo -> *decir*, (lo): of all ways to write it the one that spells out the fewest
letters, so that it holds for as many other forms as possible.

1. A form that the treebank always splits alike, or never, is a matter of memory.
2. Any other form has candidates: the rules that it was split by, or if it is
   new all that fit and were met with two forms or more; and not to split it.  A linear model
   chooses, p(rule | token) = softmax of the sum of the weights of its features: beginning and end
   of the form, whether the stem is a word or a lemma of the treebank, the tokens on both sides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

import numpy as np

from eigentext.base.hashing import mixed, text_key
from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.base.types import Int8s
from eigentext.tagging.segmentation.kernels import multiword as kernel
from eigentext.tagging.segmentation.tables import quantised, started
from eigentext.tagging.settings import SegmenterSettings


def small_letters(text: str) -> str:
    """Lower case that keeps the length: a letter that would become two stays.

    >>> small_letters("ÀB"), len(small_letters("İ"))
    ('àb', 1)
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


class SplitRule(NamedTuple):
    """A way to split; see the module.  Without a stem, the words are ``before`` alone.

    Rules are in lower case; a capital of the form goes to the first word, and words are in
    capitals where the form is.

    >>> rule = SplitRule.of("nas", ("em", "as"))
    >>> rule.apply("Naquela"), rule.apply("dele")
    (('Em', 'aquela'), None)
    """

    front: str
    before: tuple[str, ...]
    new_front: str
    new_back: str
    after: tuple[str, ...]
    back: str
    has_stem: bool

    @classmethod
    def of(cls, form: str, words: tuple[str, ...]) -> SplitRule:
        """The rule that makes these words of this form."""
        form, words = small_letters(form), tuple(map(small_letters, words))
        best = cls(form, words, "", "", (), "", False)
        cost = (2 * len(form) + sum(map(len, words)), 2, 0)
        for number, word in enumerate(words):
            for at, at_word, length in _common(form, word):
                front, back = form[:at], form[at + length :]
                new_front, new_back = word[:at_word], word[at_word + length :]
                anchored = not (front or new_front) or not (back or new_back)
                spelt = len(front) + len(back) + len(new_front) + len(new_back)
                if (spelt, not anchored, number) < cost:
                    cost = (spelt, not anchored, number)
                    best = cls(
                        front, words[:number], new_front, new_back, words[number + 1 :], back, True
                    )
        return best

    def fits(self, small: str) -> bool:
        """Whether the rule holds for a form in small letters."""
        if not self.has_stem:
            return small == self.front
        spelt = len(self.front) + len(self.back)
        return len(small) > spelt and small.startswith(self.front) and small.endswith(self.back)

    def stem(self, form: str) -> str:
        """The word that keeps the middle of the form."""
        middle = form[len(self.front) : len(form) - len(self.back)]
        return self.new_front + middle + self.new_back

    def apply(self, form: str) -> tuple[str, ...] | None:
        """The words of a form; None where the rule does not fit."""
        if not self.fits(small_letters(form)):
            return None
        before, new_front, new_back, after = self[1:5]
        middle = form[len(self.front) : len(form) - len(self.back)]
        stem = (new_front + middle + new_back,) if self.has_stem else ()
        words = (*before, *stem, *after)
        if form.isupper() and sum(map(str.isalpha, form)) > 1:
            return tuple(map(str.upper, words))
        if form[:1].isupper() and words:
            return (words[0][:1].upper() + words[0][1:], *words[1:])
        return words


def _common(form: str, word: str) -> Iterator[tuple[int, int, int]]:
    """(place in the form, place in the word, length) of long pieces that both have."""
    length = 0
    while length < min(len(form), len(word)) and form[length] == word[length]:
        length += 1
    if length:
        yield 0, 0, length
    length = 0
    while length < min(len(form), len(word)) and form[-1 - length] == word[-1 - length]:
        length += 1
    if length:
        yield len(form) - length, len(word) - length, length
    for size in range(min(len(form), len(word)), 0, -1):
        for at_word in range(len(word) - size + 1):
            at = form.find(word[at_word : at_word + size])
            if at >= 0:
                yield at, at_word, size
                return


_RATE = 0.2
_REMEMBERED = 200_000  # forms
_TOKENS_OF_A_FORM = 4  # in training, of a form that is always treated alike
_KEEP = 0  # the rule that leaves a token as it is


class _Form(NamedTuple):
    """A form with its candidates."""

    fixed: tuple[str, ...]  # its words where nothing is to be chosen
    rules: tuple[int, ...]  # candidates
    codes: tuple[int, int, int, int]  # of the form, its first three, last three, last two letters
    base: list[int]  # features of the form
    keys: list[int]  # of the rules
    counts: list[tuple[int, ...]]  # for each candidate, see _counts
    is_known: bool


_Choice = tuple[_Form, tuple[int, ...]]  # a token with a choice, and the codes of its neighbours


@dataclass
class MultiwordStage:
    """What was learned of multiword tokens."""

    rules: list[SplitRule]  # all ways to split; number 0 is to leave the token as it is
    general: int  # how many of them, from 1 on, are for forms that were never seen
    # rules by key of a form in small letters; of forms never split those that some rule would fit
    forms: dict[int, tuple[int, ...]]
    words: dict[int, int]  # key of a word, or of a lemma (_lemma) -> how often it was seen
    weights: Int8s
    _memory: Remembered[str, _Form] = field(
        default_factory=lambda: Remembered(_REMEMBERED), repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._by_ends: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number in range(1, self.general + 1):
            rule = self.rules[number]
            self._by_ends[rule.front, rule.back].append(number)
        self._fronts = {front for front, _ in self._by_ends}
        self._backs = {back for _, back in self._by_ends}
        self._longest_front = max(map(len, self._fronts), default=0)
        self._longest_back = max(map(len, self._backs), default=0)
        self._rule_keys = [
            mixed(number, [text_key("\t".join(map(str, rule)))])
            for number, rule in enumerate(self.rules)
        ]

    @classmethod
    def learn(
        cls,
        forms: Sequence[str],
        words: Sequence[tuple[str, ...]],
        lemmas: Sequence[tuple[str, ...]],
        ends: Sequence[int],
        settings: SegmenterSettings,
    ) -> MultiwordStage:
        """Learn from the tokens of sentences and their words, none for an ordinary token.

        ``lemmas`` are those of the words of each token, of an ordinary one its own.
        """
        small = list(map(small_letters, forms))
        splits = [
            (form, tuple(map(small_letters, parts))) if parts else None
            for form, parts in zip(small, words, strict=True)
        ]
        rule_of = {pair: SplitRule.of(*pair) for pair in dict.fromkeys(splits) if pair}
        met_with: dict[SplitRule, set[str]] = defaultdict(set)
        for (form, _), rule in rule_of.items():
            met_with[rule].add(form)
        order = sorted(met_with, key=lambda rule: (-len(met_with[rule]), rule))
        general = sum(len(met_with[rule]) > 1 and rule.has_stem for rule in order)
        order.sort(key=lambda rule: not (len(met_with[rule]) > 1 and rule.has_stem))
        rules = [SplitRule("", (), "", "", (), "", False), *order]
        numbers = {rule: number for number, rule in enumerate(rules)}
        gold = [numbers[rule_of[pair]] if pair else _KEEP for pair in splits]
        rules_of_form: dict[str, Counter[int]] = defaultdict(Counter)
        words_of_form: dict[str, Counter[int]] = defaultdict(Counter)  # seen in its tokens
        for form, number, pair, names in zip(small, gold, splits, lemmas, strict=True):
            rules_of_form[form][number] += 1
            words_of_form[form].update(map(_code, pair[1] if pair else (form,)))
            words_of_form[form].update(_lemma(small_letters(name)) for name in names)
        bits = min(settings.bits, 17)
        stage = cls(rules, general, {}, {}, np.zeros(1 << bits, np.int8))
        if len(rules) == 1:
            stage.weights = np.zeros(8, np.int8)
            return stage
        total: Counter[int] = Counter()
        for counts in words_of_form.values():
            total.update(counts)
        stage.words = {key: min(count, 255) for key, count in total.items()}
        for form, counts in rules_of_form.items():
            if len(counts) > 1 or _KEEP not in counts or stage._general_rules(form):
                stage.forms[_code(form)] = tuple(sorted(counts, key=lambda n: (-counts[n], n)))
        instances = stage._instances(forms, small, gold, rules_of_form, words_of_form, ends)
        stage._train(instances, settings, bits)
        return stage

    def _instances(
        self,
        forms: Sequence[str],
        small: Sequence[str],
        gold: Sequence[int],
        rules_of_form: Mapping[str, Counter[int]],
        words_of_form: Mapping[str, Counter[int]],
        ends: Sequence[int],
    ) -> list[tuple[_Choice, int]]:
        """Tokens with a choice: of ambiguous forms all, of others some as if they were new."""
        is_first = {0, len(small), *ends}
        taken: Counter[str] = Counter()
        new: dict[str, _Form] = {}
        ambiguous: dict[str, _Form] = {}
        instances = []
        for at, form in enumerate(small):
            counts = rules_of_form[form]
            entries = []
            if len(counts) > 1:
                if form not in ambiguous:
                    ambiguous[form] = self._analysed(forms[at], tuple(sorted(counts)), {}, True)
                entries.append(ambiguous[form])
            if taken[form] < _TOKENS_OF_A_FORM:
                taken[form] += 1
                if form not in new:
                    rules = (_KEEP, *self._general_rules(form))
                    new[form] = self._analysed(forms[at], rules, words_of_form[form], False)
                if gold[at] in new[form].rules:
                    entries.append(new[form])
            for entry in entries:
                if len(entry.rules) > 1:
                    before = _codes(small[at - 1]) if at not in is_first else _NOBODY
                    behind = _codes(small[at + 1]) if at + 1 not in is_first else _NOBODY
                    choice = entry, _sides(before, behind)
                    instances.append((choice, entry.rules.index(gold[at])))
        return instances

    def _train(
        self, instances: list[tuple[_Choice, int]], settings: SegmenterSettings, bits: int
    ) -> None:
        if not instances:
            return
        base, starts, keys, counts = _joined([choice for choice, _ in instances])
        gold = np.array([number for _, number in instances], np.int64)
        weights, squares, orders = started(settings, len(instances), bits)
        shift = 64 - bits
        for order in orders:
            kernel.train(base, starts, keys, counts, gold, order, weights, squares, shift, _RATE)
        self.weights = quantised(weights)[0]

    def answer(self, forms: Sequence[str], ends: Iterable[int]) -> list[tuple[str, ...]]:
        """The words of each token, none of an ordinary one; ``ends``: where sentences end."""
        if len(self.rules) == 1:
            return [()] * len(forms)
        get, put = self._memory.get, self._memory.put
        entries = []
        for form in forms:
            entry = get(form)
            if entry is None:
                entry = put(form, self._look_at(form))
            entries.append(entry)
        answers = [entry.fixed for entry in entries]
        choices = [at for at, entry in enumerate(entries) if len(entry.rules) > 1]
        if choices:
            is_first = {0, len(forms), *ends}
            contexts = []
            for at in choices:
                before = entries[at - 1].codes if at not in is_first else _NOBODY
                behind = entries[at + 1].codes if at + 1 not in is_first else _NOBODY
                contexts.append((entries[at], _sides(before, behind)))
            shift = 64 - (len(self.weights).bit_length() - 1)
            base, starts, keys, counts = _joined(contexts)
            chosen = kernel.choose(base, starts, keys, counts, self.weights, shift)
            for at, number in zip(choices, chosen.tolist(), strict=True):
                rule = entries[at].rules[number]
                answers[at] = (self.rules[rule].apply(forms[at]) or ()) if rule else ()
        return answers

    def _look_at(self, form: str) -> _Form:
        small = small_letters(form)
        rules_seen = self.forms.get(_code(small))
        if rules_seen is None:
            rules: tuple[int, ...] = (_KEEP, *self._general_rules(small))
            return self._analysed(form, rules, {}, False)
        # a hash may be that of another form
        fitting = tuple(n for n in rules_seen if not n or self.rules[n].fits(small)) or (_KEEP,)
        return self._analysed(form, tuple(sorted(fitting)), {}, True)

    def _general_rules(self, small: str) -> list[int]:
        """Rules for new forms that fit, in order."""
        n_fronts, n_backs = (
            min(longest, len(small) - 1) + 1
            for longest in (self._longest_front, self._longest_back)
        )
        fronts = [small[:n] for n in range(n_fronts) if small[:n] in self._fronts]
        ends = [small[len(small) - n :] for n in range(n_backs)]
        backs = [end for end in ends if end in self._backs]
        rules: list[int] = []
        for front in fronts:
            for back in backs:
                if len(front) + len(back) < len(small):
                    rules += self._by_ends.get((front, back), ())
        return sorted(rules)

    def _analysed(
        self, form: str, rules: tuple[int, ...], own_words: Mapping[int, int], is_known: bool
    ) -> _Form:
        """The form with its candidates; ``own_words`` are left out of what is known of words."""
        small = small_letters(form)
        codes = _codes(small)
        if len(rules) == 1:
            fixed = (self.rules[rules[0]].apply(form) or ()) if rules[0] else ()
            return _Form(fixed, rules, codes, [], [], [], is_known)
        keys = [self._rule_keys[number] for number in rules]
        counts = [_NO_COUNTS] * len(rules) if is_known else self._counts(small, rules, own_words)
        return _Form((), rules, codes, _base(form, small, is_known), keys, counts, is_known)

    def _counts(
        self, small: str, rules: tuple[int, ...], own_words: Mapping[int, int]
    ) -> list[tuple[int, ...]]:
        """A row a rule: kind, counts of stem and form, the stem's length, its count as a lemma."""

        def count(key: int, most: int = 7) -> int:
            times = self.words.get(key, 0) - own_words.get(key, 0)
            return min(times.bit_length(), most) if times > 0 else 0

        whole = count(_code(small))
        counts: list[tuple[int, ...]] = []
        best = best_lemma = 0
        for number in rules:
            if number == _KEEP:
                continue
            rule = self.rules[number]
            stem = rule.stem(small)
            is_word, lemma = count(_code(stem)), count(_lemma(stem), 3)
            best, best_lemma = max(best, is_word), max(best_lemma, lemma)
            kind = 1 + len(rule.before) + 4 * len(rule.after)
            counts.append((kind, is_word, whole, min(len(stem), 6), lemma))
        if rules[0] != _KEEP:
            return counts
        # to keep the token is no rule of a kind: the best of the others is what counts
        return [(1, best, whole, 0, best_lemma + 4 * count(_lemma(small), 3)), *counts]


_NO_COUNTS: tuple[int, ...] = (0, 0, 0, 0, 0)
_NOBODY = (1, 1, 1, 1)  # the neighbour of a token at the end of a sentence


def _code(piece: str) -> int:
    """A number of 32 bits for a piece of text, never 0."""
    return crc32(piece.encode("utf-8", "surrogatepass")) or 1


def _lemma(piece: str) -> int:
    """The same for a lemma; no word begins with a line break."""
    return _code(f"\n{piece}")


def _codes(small: str) -> tuple[int, int, int, int]:
    return _code(small), _code(small[:3]), _code(small[-3:]), _code(small[-2:])


def _base(form: str, small: str, is_known: bool) -> list[int]:
    """Features of a form by itself; for a known one it is enough."""
    if is_known:
        pieces = [f"={small}", f"={small}\t{form[:1].isupper()}", *[""] * 10]
    else:
        shape = "A" if form.isupper() else "Aa" if form[:1].isupper() else "a"
        pieces = ["*", f"s{shape}{form.isalpha()}", f"l{min(len(small), 10)}"]
        pieces += [f"<{small[:n]}" if len(small) >= n else "" for n in range(1, 5)]
        pieces += [f">{small[-n:]}" if len(small) >= n else "" for n in range(1, 6)]
    return [_code(piece) if piece else 0 for piece in pieces]


def _sides(before: tuple[int, ...], behind: tuple[int, ...]) -> tuple[int, ...]:
    """What is looked at of the tokens on both sides."""
    return before[0], behind[0], before[2], behind[1], behind[2], behind[3]


def _joined(choices: Sequence[_Choice]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the loops take: base features, candidates of each token, their keys and counts."""
    base = np.array([entry.base for entry, _ in choices], np.uint64)
    sides = np.array([sides for _, sides in choices], np.uint64)
    forms = np.array([entry.codes[0] if entry.is_known else 0 for entry, _ in choices], np.uint64)
    starts = pointers([len(entry.rules) for entry, _ in choices])
    keys = np.array([key for entry, _ in choices for key in entry.keys], np.uint64)
    counts = np.array([counts for entry, _ in choices for counts in entry.counts], np.int64)
    return kernel.with_sides(base, sides, forms), starts, keys, counts
