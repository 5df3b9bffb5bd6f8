"""Words in numbers: what is known of each by itself, and the tags it may have.

:class:`FormLexicon` holds the forms of the training text with the counts of their tags; from these
come counts of tags by level, from coarse to fine (``levels.py``), which say what tags a word may
have, known or not.  :class:`MorphTable` has a row for each word met: keys of its attributes, and
its candidates.  In training a row belongs to a form with its gold tag, which is held out of all
counts once: so training sees words as unknown as those of new text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

import numpy as np

from eigentext.base.hashing import key_of
from eigentext.base.ragged import pointers
from eigentext.features.attributes import MORPHOLOGY, N_BEGINNINGS, N_ENDINGS, KeyedWord
from eigentext.features.signatures import case_of, lowered
from eigentext.features.symbols import KnownWords, looked_up
from eigentext.language.formats.conllu import parse_pairs
from eigentext.tagging.morphology.levels import (
    LONGEST_ENDING,
    Edges,
    Levels,
    empty_lists,
    mixed_keys,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.base.types import Int32s, Int64s
    from eigentext.lexical.analysis import Analyzer
    from eigentext.tagging.morphology.kernels.words import Lists
    from eigentext.tagging.morphology.lemmas import Lemmatiser
    from eigentext.tagging.morphology.levels import Keys
    from eigentext.tagging.morphology.tags import MorphTagSet

MOST_CANDIDATES = 12
LEAST_SHARE = 3e-4  # of the best candidate's
LIKELY = -3.0  # log share, less the best one's, of tags that make a word ambiguous
KNOWN = 2  # a form seen so often is a feature
KNOWN_KEYS = [key_of(f"lemma\t{n}") for n in range(3)]  # by what is known of a lemma
_MOST_WORDS = 3 << 13  # then the table starts anew: memory stays flat on endless input
_BEFORE, _AFTER = "\n<", "\n>"  # no token holds a line end
_N_TYPE_LEVELS = 1 + LONGEST_ENDING + 2  # case, endings, a whole short word, its analyses


@dataclass(frozen=True, eq=False)
class FormLexicon:
    """Forms of the training text: form k has ``tags[ptr[k] : ptr[k + 1]]`` with ``counts``."""

    forms: tuple[str, ...]
    ptr: Int64s
    tags: Int32s
    counts: Int32s

    @classmethod
    def counted(cls, pairs: Mapping[tuple[str, int], int]) -> FormLexicon:
        """Of counts by form and tag."""
        items = sorted(pairs.items())
        sizes: dict[str, int] = {}
        for (form, _), _ in items:
            sizes[form] = sizes.get(form, 0) + 1
        tags = np.array([tag for (_, tag), _ in items], np.int32)
        counts = np.array([count for _, count in items], np.int32)
        return cls(tuple(sizes), pointers(sizes.values()), tags, counts)

    @cached_property
    def entry(self) -> dict[tuple[str, int], int]:
        """Where each form stands with each of its tags."""
        forms = np.repeat(np.arange(len(self.forms)), np.diff(self.ptr)).tolist()
        pairs = zip(forms, self.tags.tolist(), strict=True)
        return {(self.forms[form], tag): at for at, (form, tag) in enumerate(pairs)}

    @cached_property
    def form_counts(self) -> dict[str, int]:
        """How often each form was seen."""
        totals = np.diff(np.concatenate([[0], np.cumsum(self.counts)])[self.ptr])
        return dict(zip(self.forms, totals.tolist(), strict=True))

    @cached_property
    def known_words(self) -> KnownWords:
        """Is a word among them?"""
        return KnownWords(self.form_counts)

    @cached_property
    def lower_counts(self) -> dict[str, int]:
        """The same in lower case."""
        counts: dict[str, int] = {}
        for form, count in self.form_counts.items():
            lower = lowered(form)
            counts[lower] = counts.get(lower, 0) + count
        return counts

    def levels(self, n_tags: int, analyzer: Analyzer | None) -> Levels:
        """Counts of tags by case, ending, analyses, lower case and form."""
        lower = [lowered(form) for form in self.forms]
        keys = _level_keys(self.forms, lower, Edges.of(lower), analyzer)
        rows = np.repeat(np.arange(len(self.forms)), np.diff(self.ptr))
        weight = np.ones((len(rows), keys.shape[1]))
        weight[:, _N_TYPE_LEVELS:] = self.counts[:, None]
        return Levels.counted(keys[rows], self.tags.astype(np.int64), weight, n_tags)


def analysis_of(analyzer: Analyzer | None, word: str) -> int:
    """What an analyzer says of a word, as a key: its tags and features; 0 where it knows nothing.

    >>> analysis_of(None, "word")
    0
    """
    if analyzer is None:
        return 0
    readings = {
        f"{reading.tag}\t{sorted(reading.features.items())}"
        for reading in analyzer.analyse(word)
        if not reading.is_guess
    }
    return key_of("\n".join(sorted(readings))) if readings else 0


def _level_keys(
    forms: Sequence[str], lower: Sequence[str], edges: Edges, analyzer: Analyzer | None
) -> Keys:
    """(words, levels) keys of the levels of words, coarse to fine; 0 for none."""
    case = np.array([key_of(f"case\t{case_of(form)}") for form in forms], np.uint64)
    keys = np.zeros((len(forms), _N_TYPE_LEVELS + 2), np.uint64)
    keys[:, 0] = case  # the coarsest level
    keys[:, 1 : LONGEST_ENDING + 2] = mixed_keys(edges.endings, case[:, None])
    keys[:, -3] = [analysis_of(analyzer, form) for form in forms]
    keys[:, -2] = [key_of(f"lower\t{text}") for text in lower]
    keys[:, -1] = [key_of(f"word\t{form}") for form in forms]
    return keys


class MorphTable:
    """Rows of words met so far: ``keys`` (rows, attributes), 0 and 1 stand around a sentence."""

    def __init__(
        self,
        lexicon: FormLexicon,
        tags: MorphTagSet,
        clusters: Mapping[str, str],
        near: Mapping[str, str],
        lemmatiser: Lemmatiser,
        analyzer: Analyzer | None = None,
    ) -> None:
        self._lexicon, self._tags, self._lemmatiser = lexicon, tags, lemmatiser
        self._clusters, self._near = clusters, near
        self._analyzer = analyzer
        self._levels = lexicon.levels(len(tags), analyzer)
        self._start()

    def _start(self) -> None:
        self._row_of: dict[str, int] = {}
        self.keys = np.zeros((1024, len(MORPHOLOGY)), np.uint64)
        self.lists = empty_lists(1024, MOST_CANDIDATES)
        self.lists.n[:] = 1
        self._n_rows = 2
        for row, text in enumerate((_BEFORE, _AFTER)):
            self.keys[row] = key_of(text)

    def rows(self, forms: Sequence[str]) -> Int64s:
        """The row of each word of a text; new words are added."""
        if len(self._row_of) > _MOST_WORDS:
            self._start()
        row_of = self._row_of
        new = [form for form in dict.fromkeys(forms) if form not in row_of]
        if new:
            first = self._append(new, [-1] * len(new))
            row_of.update(zip(new, range(first, first + len(new)), strict=True))
        return np.array([row_of[form] for form in forms], np.int64)

    def training_rows(self, forms: Sequence[str], tags: Int64s) -> Int64s:
        """The same of the text that the lexicon counted: its tags are held out of the counts."""
        pairs = list(zip(forms, tags.tolist(), strict=True))
        new = list(dict.fromkeys(pairs))
        first = self._append([form for form, _ in new], [tag for _, tag in new])
        row_of = dict(zip(new, range(first, first + len(new)), strict=True))
        return np.array([row_of[pair] for pair in pairs], np.int64)

    def _append(self, forms: Sequence[str], gold: Sequence[int]) -> int:
        """Add words, each with a tag that is held out, -1 for none; returns the first row."""
        counted = self._lexicon.form_counts
        texts = [form if form in counted else normalize("NFC", form) for form in forms]
        lower = [lowered(text) for text in texts]
        edges = Edges.of(lower)
        levels = _level_keys(texts, lower, edges, self._analyzer)
        entry, counts = self._lexicon.entry, self._lexicon.counts
        pairs = list(zip(forms, gold, strict=True))
        # the only word of its form and tag: held out of the counts of types too
        alone = [pair[1] >= 0 and counts[entry[pair]] == 1 for pair in pairs]
        lists = self._levels.lists(
            levels,
            MOST_CANDIDATES,
            least=LEAST_SHARE,
            held=np.array(gold, np.int64),
            own_last=np.array(alone, np.bool_),
            n_types=_N_TYPE_LEVELS,
        )
        # what is known of the lemma of each candidate
        which, column = np.nonzero(np.arange(MOST_CANDIDATES) < lists.n[:, None])
        held = np.array(
            [entry[pair] if is_alone else -1 for pair, is_alone in zip(pairs, alone, strict=True)],
            np.int64,
        )
        tags = lists.tags[which, column].astype(np.int64)
        _, flags = self._lemmatiser.chosen(texts, which, tags, held[which])
        lists.keys[which, column] = np.array(KNOWN_KEYS, np.uint64)[flags]
        first, last = self._n_rows, self._n_rows + len(forms)
        while last > len(self.keys):
            self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
            doubled = (np.concatenate([part, np.zeros_like(part)]) for part in self.lists)
            self.lists = type(self.lists)(*doubled)
        self.keys[first:last] = self._attributes(texts, lower, edges, levels, lists)
        for name in lists._fields:
            getattr(self.lists, name)[first:last] = getattr(lists, name)
        self._n_rows = last
        return first

    def _attributes(
        self, texts: Sequence[str], lower: Sequence[str], edges: Edges, levels: Keys, lists: Lists
    ) -> Keys:
        """(words, attributes) keys; 0 for what a word has not."""
        from eigentext.tagging.morphology.kernels.words import class_keys

        at = MORPHOLOGY.column
        words = (
            KeyedWord(text, bits=looked_up(self._clusters, text), near=looked_up(self._near, text))
            for text in texts
        )
        keys = np.array([MORPHOLOGY.keys(word) for word in words], np.uint64).reshape(-1, len(at))
        form_counts, lower_counts = self._lexicon.form_counts, self._lexicon.lower_counts
        is_known = [form_counts.get(text, 0) >= KNOWN for text in texts]
        keys[:, at["word"]] = np.where(is_known, levels[:, -1], 0)
        is_known = [lower_counts.get(text, 0) >= KNOWN for text in lower]
        keys[:, at["lower"]] = np.where(is_known, levels[:, -2], 0)
        keys[:, at["analysis"]] = levels[:, -3]
        keys[:, at["ending1"] : at["ending1"] + N_ENDINGS] = edges.endings[:, :N_ENDINGS]
        keys[:, at["beginning1"] : at["beginning1"] + N_BEGINNINGS] = edges.beginnings
        classes = [np.zeros(len(texts), np.uint64) for _ in range(3)]
        arrays = self._tags.arrays
        class_keys(lists, arrays.upos, arrays.keys, LIKELY, *classes)
        keys[:, at["ambiguity"]], keys[:, at["best"]], keys[:, at["upos"]] = classes
        return keys


COLUMNS = ("upos", "xpos", "feats")
_LEFT_OUT = ((), ("feats",), ("xpos",), ("feats", "xpos"))


class DecidedRows(NamedTuple):
    """A table with a row more for each decided word; ``followed``: which of them a tag fits."""

    keys: Keys
    lists: Lists
    rows: Int64s
    followed: dict[int, bool]


def restricted(
    table: MorphTable,
    tags: MorphTagSet,
    lexicon: FormLexicon,
    lemmatiser: Lemmatiser,
    forms: Sequence[str],
    rows: Int64s,
    decided: Mapping[int, Mapping[str, str]],
) -> DecidedRows:
    """The table in which word i of ``rows`` may only be what ``decided[i]`` says.

    ``decided`` has any of :data:`COLUMNS` for some words.  A word that no tag fits stays open.
    """
    if table.lists.tags.shape[0] == 0 or not decided:
        return DecidedRows(table.keys, table.lists, rows, {})
    frequent = np.argsort(-np.bincount(lexicon.tags, lexicon.counts, len(tags)), kind="stable")
    keys = np.concatenate([table.keys, table.keys[rows[list(decided)]]])
    lists = type(table.lists)(
        *(np.concatenate([part, part[rows[list(decided)]]]) for part in table.lists)
    )
    new_rows, followed = rows.copy(), {}
    for at, (word, values) in enumerate(decided.items(), start=len(table.keys)):
        old = int(rows[word])
        candidates = lists.tags[old, : lists.n[old]].tolist()
        chosen, whole = _agreeing(tags, values, candidates, frequent.tolist())
        followed[word] = whole
        if not chosen:
            continue
        new_rows[word] = at
        column_of = {tag: c for c, tag in enumerate(candidates)}
        lists.n[at] = len(chosen)
        for c, tag in enumerate(chosen):
            lists.tags[at, c] = tag
            if tag in column_of:
                lists.shares[at, c] = table.lists.shares[old, column_of[tag]]
                lists.keys[at, c] = table.lists.keys[old, column_of[tag]]
            else:
                _, flags = lemmatiser.chosen([forms[word]], np.zeros(1, np.int64), np.array([tag]))
                lists.shares[at, c] = 0.0
                lists.keys[at, c] = KNOWN_KEYS[int(flags[0])]
    return DecidedRows(keys, lists, new_rows, followed)


def _agreeing(
    tags: MorphTagSet,
    values: Mapping[str, str],
    candidates: Sequence[int],
    frequent: Sequence[int],
) -> tuple[list[int], bool]:
    """Tags that agree, and whether with all that was decided."""
    for left_out in _LEFT_OUT:
        demands = {name: value for name, value in values.items() if name not in left_out}
        if "xpos" in demands and set(tags.columns[1]) == {"_"}:
            del demands["xpos"]  # it is no part of tags here, but told by the form
        if not demands and left_out:
            return [], False
        for among in (candidates, frequent):
            chosen = [tag for tag in among if _agrees(tags.triples[tag], demands)]
            if chosen:
                return chosen[:MOST_CANDIDATES], not left_out
    return [], False


def _agrees(triple: tuple[str, str, str], demands: Mapping[str, str]) -> bool:
    columns = dict(zip(COLUMNS, triple, strict=True))
    return all(
        parse_pairs(columns[name]) == parse_pairs(value)
        if name == "feats"
        else columns[name] == value
        for name, value in demands.items()
    )
