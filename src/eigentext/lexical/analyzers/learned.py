"""An analyzer learned from a treebank alone, for languages that have no other.

1. Every training word gives a rule: an edit from form to lemma, tag and features.  Rules are
   counted under forms, and under the endings of distinct forms, split by the shape of the word.
2. A word's readings are those of its form, then those of its endings.  With c(e, r) the count of
   rule r under ending e, N(e) their sum and T(e) their number, longer endings refine shorter ones:
   p(r | e) = (c(e, r) + T(e) p(r | shorter e)) / (N(e) + T(e))          (Witten and Bell)
3. Where a language's settings say which letters follow others (vowel harmony), endings are also
   counted with these folded: a rule seen with front vowels then serves words with back vowels.
4. A reading whose lemma and part of speech are known belongs to a known paradigm, and counts more.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from eigentext.base import settings
from eigentext.base.fields import Ints, Pointers, Strings
from eigentext.base.model import Stored
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Called, Group
from eigentext.base.remembering import Remembering
from eigentext.base.values import Named, Packed, Text, Whole
from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import ConlluBlock, each_conllu
from eigentext.lexical.analysis import Analysis, RememberingAnalyzer, check_word
from eigentext.lexical.analyzers.edit_rules import EditRule, find_rule, fold, folds, lower, shape
from eigentext.lexical.settings import LearnedAnalyzerSettings

_LONGEST_ENDING = 8
_KEPT_ENDING = 3  # letters of endings whose shares are kept
_KEPT_SHARES = 1 << 18  # of rules under short endings that are remembered
_KEPT_RULES = 150  # of an ending, the most frequent ones
_KNOWN_PARADIGM = 20.0  # how much more a reading of a known lemma counts

_FOLDED = "f"  # the mark of endings with letters folded, whatever the shape
_FOLDED_COUNTS = 0.05  # how much less a reading by folded letters counts

_MOST_COUNTED = 10**12  # words

Table = dict[str, dict[int, int]]


class _Reading(NamedTuple):
    rule: EditRule
    tag: str
    features: tuple[tuple[str, str], ...]


def _flat(table: Table) -> SimpleNamespace:
    pairs = [pair for counts in table.values() for pair in counts.items()]
    return SimpleNamespace(
        keys=list(table),
        starts=pointers(map(len, table.values())),
        counts=np.array(pairs, np.int64).reshape(-1, 2),
    )


def _by_key(flat: SimpleNamespace) -> Table:
    if bool(np.any(flat.counts[:, 1] < 1)):
        raise ValueError("a count is below 1")
    starts, pairs = flat.starts.tolist(), flat.counts.tolist()
    keys = zip(flat.keys, starts[:-1], starts[1:], strict=True)
    return {key: dict(pairs[start:end]) for key, start, end in keys}


def _table(name: str) -> As:
    """Readings of keys with their counts."""
    parts = Group(
        keys=Called(name, Strings(name, distinct=True)),
        starts=Called(f"{name}_starts", Pointers(name, f"{name}_counts")),
        counts=Called(f"{name}_counts", Ints((f"{name}_counts", 2), low=0, below=_MOST_COUNTED)),
    )
    return As(parts, _flat, _by_key)


def _from_json(text: str) -> _Reading:
    lowered, front, new_front, back, new_back, tag, features = json.loads(text)
    texts = (front, new_front, back, new_back, tag, *(part for pair in features for part in pair))
    if not all(isinstance(piece, str) for piece in texts):
        raise ValueError(f"{text!r} is no reading")
    rule = EditRule(bool(lowered), front, new_front, back, new_back)
    return _Reading(rule, tag, tuple((name, value) for name, value in features))


class LearnedAnalyzer(RememberingAnalyzer, Stored):
    """Readings by rules learned from sentences with lemmas, tags and features.

    >>> from eigentext.language.formats.conllu import parse_sentence
    >>> row = "{}\\t{}\\t{}\\tNOUN\\t_\\tNumber={}\\t0\\troot\\t_\\t_"
    >>> rows = [row.format(1, "evler", "ev", "Plur"), row.format(2, "eller", "el", "Plur")]
    >>> text = "\\n".join(rows)
    >>> analyzer = LearnedAnalyzer.fit([parse_sentence(text)])
    >>> best = analyzer.analyse("diller")[0]
    >>> best.lemma, best.features["Number"], best.source
    ('dil', 'Plur', 'backoff')
    """

    name = "learned"
    KIND = "learned-analyzer"
    CONTENT = Group(
        forms=_table("forms"),
        endings=_table("endings"),
        readings=As(
            Strings("readings"),
            lambda readings: [
                json.dumps([*rule, tag, features], ensure_ascii=False)
                for rule, tag, features in readings
            ],
            lambda texts: list(map(_from_json, texts)),
        ),
    )
    SIZED_BY = Named({"language": Text(), "limit": Whole(1, 10**9)})

    def __init__(
        self,
        readings: list[_Reading],
        forms: Table,
        endings: Table,
        chosen: LearnedAnalyzerSettings,
    ) -> None:
        super().__init__()
        self.settings = chosen
        self._readings = readings
        self._forms = forms
        self._endings = endings
        self._language = language = chosen.language
        self._upos = [dict(reading.features).get("upos", "") for reading in readings]
        rules: dict[EditRule, int] = {}
        self._rule_of = [rules.setdefault(reading.rule, len(rules)) for reading in readings]
        self._rules = list(rules)
        self._folded_back = [
            fold(rule.back, language) if not rule.front and not rule.new_front else None
            for rule in rules
        ]
        self._longest_back = max((len(rule.back) for rule in rules), default=0)
        self._short = Remembering(self._shares, _KEPT_SHARES, len)
        paradigms = (
            (readings[number].rule.apply(form, language), self._upos[number])
            for form, counts in forms.items()
            for number in counts
        )
        self._known = {(lemma, upos) for lemma, upos in paradigms if lemma}
        self._total = sum(sum(counts.values()) for counts in forms.values())

    def __repr__(self) -> str:
        return f"<LearnedAnalyzer: {len(self._forms):,} forms, {len(self._rules):,} rules>"

    @classmethod
    def fit(cls, sentences: Iterable[ConlluBlock], **chosen: Any) -> LearnedAnalyzer:
        """Learn rules from sentences, with settings of :class:`LearnedAnalyzerSettings`."""
        options = LearnedAnalyzerSettings(**chosen)
        settings.check(options)
        language = options.language
        numbers: dict[_Reading, int] = {}
        forms: dict[str, Counter[int]] = defaultdict(Counter)
        for sentence in each_conllu(sentences):
            for token in sentence.words:
                features = tuple(sorted({"upos": token.upos, **token.features}.items()))
                lemma = token.lemma if token.lemma != "_" else token.form
                reading = _Reading(find_rule(token.form, lemma, language), token.xpos, features)
                forms[token.form][numbers.setdefault(reading, len(numbers))] += 1
        if not forms:
            raise SettingsError("no words to learn from")
        endings: dict[str, Counter[int]] = defaultdict(Counter)
        for form, counts in forms.items():
            for folded in (False, True):
                for key in _endings(form, language, folded=folded):
                    for number in counts:  # once a form: new words are like rare ones
                        endings[key][number] += 1
        pruned = {  # long endings that came once tell no more than shorter ones
            key: dict(sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:_KEPT_RULES])
            for key, counts in endings.items()
            if len(key) <= 7 or sum(counts.values()) > 1
        }
        counts_of = {form: dict(counts) for form, counts in forms.items()}
        return cls(list(numbers), counts_of, pruned, options)

    @property
    def known_forms(self) -> frozenset[str]:
        """The forms that training showed."""
        return frozenset(self._forms)

    def normalise(self, word: str) -> str:
        """The word in lower case, by the language's own rules."""
        return lower(check_word(word), self._language)

    def _read(self, word: str) -> tuple[Analysis, ...]:
        """Readings seen with the form, then those of its endings, likelier ones first."""
        analyses: dict[tuple[object, ...], Analysis] = {}
        lowered = lower(word, self._language)
        in_training = False
        for form in dict.fromkeys((word, lowered)):
            counts = self._forms.get(form, {})
            in_training = in_training or bool(counts)
            for number, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
                lemma = self._readings[number].rule.apply(form, self._language)
                if lemma is not None:
                    prior = math.log10(count / self._total)
                    self._add(analyses, form, lemma, number, prior, "learned")
        unknown = (Analysis.whole(word, "X", {"upos": "X"}),)
        if not in_training and len(word) > 100:
            return unknown
        room = self.settings.limit - len(analyses)  # how many more readings may be told
        for weight, number, lemma in self._by_endings(word, lowered):
            if room <= 0:
                break
            before = len(analyses)
            source = "learned" if in_training else "backoff"
            self._add(analyses, word, lemma, number, math.log10(weight) - 4.0, source)
            room -= len(analyses) - before
        return tuple(analyses.values()) or unknown

    def _add(
        self,
        analyses: dict[tuple[object, ...], Analysis],
        word: str,
        lemma: str,
        number: int,
        prior: float,
        source: str,
    ) -> None:
        reading = self._readings[number]
        key = (lemma, reading.tag, reading.features)
        if key in analyses:
            return
        features = dict(reading.features)
        back = len(reading.rule.back)
        tag = reading.tag if reading.tag != "_" else features.get("upos", "X")
        segments = [(word, tag)]
        if 0 < back < len(word):
            segments = [(word[:-back], tag), (word[-back:], "SUFFIX")]
        analyses[key] = Analysis(
            lemma, word, tuple(segments), reading.tag, features, prior=prior, source=source
        )

    def _by_endings(self, word: str, lowered: str) -> list[tuple[float, int, str]]:
        """Reading rules by p(r | longest ending), known paradigms first among equals."""
        share = self._shares(_ending(word, self._language))
        ends = {text: _ends(text, self._longest_back) for text in (word, lowered)}
        typed, small = ends[word], ends[lowered]
        lemmas: dict[int, str | None] = {}
        ranked = []
        for number, p in share.items():
            rule_id = self._rule_of[number]
            if rule_id in lemmas:  # many readings share a rule
                lemma = lemmas[rule_id]
            else:
                rule = self._rules[rule_id]
                fits = rule.back in (small if rule.lowered else typed)
                lemma = rule.apply(word, self._language) if fits else None
                lemmas[rule_id] = lemma
            if lemma is not None:
                ranked.append((self._weight(number, lemma, p), number, lemma))
        ranked += self._by_folded_endings(word, lowered, lemmas)
        return sorted(ranked, key=lambda item: (-item[0], item[1]))

    def _weight(self, number: int, lemma: str, p: float) -> float:
        """A reading of a known lemma belongs to a known paradigm."""
        return min(p * _KNOWN_PARADIGM if (lemma, self._upos[number]) in self._known else p, 1.0)

    def _by_folded_endings(
        self, word: str, lowered: str, exact: dict[int, str | None]
    ) -> list[tuple[float, int, str]]:
        """Readings of rules that fit but for letters that harmony changes, or for a capital."""
        key = _ending(word, self._language, folded=True)
        if not key:
            return []
        ends = _ends(fold(lowered, self._language), self._longest_back)
        ranked = []
        for number, p in self._shares(key).items():
            rule_id = self._rule_of[number]
            back = self._folded_back[rule_id]
            if back is None or back not in ends or exact.get(rule_id) is not None:
                continue
            rule = self._rules[rule_id]
            is_name = self._upos[number] == "PROPN" and not rule.lowered
            text = word if is_name else lowered
            lemma = text[: len(text) - len(back)] + rule.new_back  # the ending as long, folded
            if lemma:
                weight = self._weight(number, lemma, _FOLDED_COUNTS * p)
                ranked.append((weight, number, lemma))
        return ranked

    def _shares(self, key: str) -> dict[int, float]:
        """p(r | ending) of rules that its letters allow; that of short endings is kept."""
        before: dict[int, float] = {}
        if len(key) > 1:
            shorter = key[0] + key[2:]
            before = (
                self._short(shorter) if len(key) <= _KEPT_ENDING + 2 else self._shares(shorter)
            )
        counts = self._endings.get(key)
        if counts is None:
            return before
        total, kinds = sum(counts.values()), len(counts)
        weight = kinds / (total + kinds)  # T / (N + T), what the shorter ending keeps
        share = {number: p * weight for number, p in before.items()}
        for number, count in counts.items():
            share[number] = share.get(number, 0.0) + count / (total + kinds)  # + c / (N + T)
        if len(key) > _KEPT_ENDING + 1:
            return share
        return {number: p for number, p in share.items() if self._may_fit(number, key)}

    def _may_fit(self, number: int, key: str) -> bool:
        """Whether some word with this ending has what the rule cuts off."""
        back, ending = self._readings[number].rule.back, key[1:]
        if key[0] == _FOLDED:
            folded = self._folded_back[self._rule_of[number]]
            return folded is not None and (folded.endswith(ending) or ending.endswith(folded))
        if key[0] == "0" or back != lower(back, self._language):
            return True  # digits are alike in endings, and endings are in lower case
        return back.endswith(ending) or ending.endswith(back)

    def _pack(self) -> Packed:
        return self._packed(settings.values_of(self.settings))

    def _content(self) -> SimpleNamespace:
        return SimpleNamespace(forms=self._forms, endings=self._endings, readings=self._readings)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> LearnedAnalyzer:
        content = cls._unpacked(packed)
        for table in (content.forms, content.endings):
            if any(max(counts, default=0) >= len(content.readings) for counts in table.values()):
                raise ValueError("a count is of a reading that is not there")
        options = LearnedAnalyzerSettings(**{**packed.settings, **unstored})
        settings.check(options)
        return cls(content.readings, content.forms, content.endings, options)


def _ends(text: str, longest: int) -> set[str]:
    """The text's last letters, none to ``longest`` of them."""
    return {text[start:] for start in range(max(0, len(text) - longest), len(text) + 1)}


def _ending(word: str, language: str, *, folded: bool = False) -> str:
    """The word's longest ending, marked with the shape of the word; none if nothing is folded."""
    small, mark = lower(word, language), shape(word)
    if folded:
        if mark not in "aA" or not folds(language):
            return ""
        small, mark = fold(small, language), _FOLDED
    if mark == "0":
        small = "".join("0" if char.isdigit() else char for char in small)
    return mark + small[max(0, len(small) - _LONGEST_ENDING) :]


def _endings(word: str, language: str, *, folded: bool = False) -> list[str]:
    """All of the word's endings, shortest first."""
    longest = _ending(word, language, folded=folded)
    return [longest[0] + longest[start:] for start in range(len(longest), 0, -1)]
