"""Words and their candidates as arrays: documents in, units, rows and hashes out.

Every candidate is factored into targets: the whole label, each element, ``morph`` (all but the
lemma) and ``hard`` (the elements that readings of one word disagree on most).  Targets on which
all candidates of a word agree cannot change the ranking and are left out; each other value is one
unit of the word.  A row (word, candidate) points to its units.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.remembering import Remembered
from eigentext.errors import SettingsError
from eigentext.lexical.analysis import GUESSES
from eigentext.lexical.candidates import NO_PRIOR, LabelChoice, LabelSource
from eigentext.lexical.ranker.features import Forms, Hashes, Typed, hash64
from eigentext.lexical.ranker.records import CandidateRows, UnitTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.types import Bools, Float32s, Int32s, Int64s
    from eigentext.lexical.documents import LexDocument
    from eigentext.lexical.schemes.labels import Label, LabelScheme

NUMERIC = ("prior", "no prior", "guess", "only observed", "spelling")
"""What a row says by numbers."""
GUESS = NUMERIC.index("guess")


LABELS_KEPT = 1 << 15
"""How many labels' hashes are remembered: about 20 MB."""
ROWS_KEPT = 1 << 16
"""How many rows of the latest forms are remembered: some 8,000 words, about 60 MB."""


class Observed:
    """Labels seen with forms in training, each with the documents where it was.

    >>> seen = Observed()
    >>> seen.add("a", ("x",), 0); seen.add("a", ("y",), 1)
    >>> seen.labels("a", leave_out=0), seen.labels("a")
    ((('y',),), (('x',), ('y',)))
    """

    def __init__(self) -> None:
        self.documents: defaultdict[str, dict[Label, set[int]]] = defaultdict(dict)
        self.changes = 0

    def add(self, form: str, label: Label, document: int) -> None:
        """The form had the label in this document."""
        self.documents[form].setdefault(label, set()).add(document)
        self.changes += 1

    def labels(self, form: str, leave_out: int = -1) -> tuple[Label, ...]:
        """The form's labels in documents other than ``leave_out``."""
        by_label = self.documents.get(form)
        if not by_label:
            return ()
        if leave_out < 0:
            return tuple(by_label)
        return tuple(label for label, documents in by_label.items() if documents != {leave_out})


class Targets:
    """The parts of a label that are counted, as hashes.

    ``label`` is the whole, ``morph`` all but the lemma, ``hard`` some elements together;
    ``ending`` and ``shape`` are the last letters and the vowels of the lemma with the first of the
    other elements, ``tag`` what the analyzer calls the reading: these serve lemmas never seen.

    >>> from eigentext.lexical.schemes.labels import load_scheme
    >>> Targets(load_scheme("arabic14"), hard=("cas",)).names[:2]
    ('label', 'lemma')
    """

    def __init__(
        self, scheme: LabelScheme, *, hard: Sequence[str] = (), only: Sequence[str] | None = None
    ) -> None:
        index_of = {name: index for index, name in enumerate(scheme.elements)}
        every = tuple(index_of.values())
        # the elements of a label that each target joins
        parts: dict[str, tuple[int, ...]] = {"label": every}
        parts |= {name: (index,) for name, index in index_of.items()}
        parts["morph"] = tuple(index for name, index in index_of.items() if name != "lemma")
        if hard:
            parts["hard"] = tuple(sorted(index_of[name] for name in hard))
        parts |= dict.fromkeys(_EXTRA, ())
        if only is not None:
            unknown = [name for name in only if name not in parts]
            if unknown:
                raise SettingsError(f"no target {unknown[0]!r}; known: {', '.join(parts)}")
            parts = {name: indices for name, indices in parts.items() if name in only}
        self.names = tuple(parts)
        self._parts: list[tuple[str, tuple[int, ...]]] = [
            (f"target\x1f{name}\x1f", indices) for name, indices in parts.items() if indices
        ]
        self._extra = [name for name in _EXTRA if name in parts]
        self._hashed: Remembered[tuple[Label, str], Hashes] = Remembered(LABELS_KEPT)
        self._scheme = scheme
        self._lemma = index_of.get("lemma", 0)
        self._class = parts.get("morph", every)[:1] or (0,)

    def unknown(self, word: str) -> Label:
        """The label of a word of which nothing is known: its own lemma."""
        names = self._scheme.elements
        return tuple(word if name == "lemma" else self._scheme.missing for name in names)

    def hashes(self, label: Label, tags: str = "") -> Hashes:
        """One hash for each target; ``tags`` are those of the readings."""
        hashes = self._hashed.get((label, tags))
        if hashes is None:
            hashes = np.array(self._new_hashes(label, tags), np.uint64)
            self._hashed.put((label, tags), hashes)
        return hashes

    def _new_hashes(self, label: Label, tags: str) -> list[int]:
        hashes = []
        for head, indices in self._parts:
            hashes.append(hash64(head + "\x1f".join([label[p] for p in indices])))
        if self._extra:
            kind, lemma = label[self._class[0]], label[self._lemma]
            shape = _shape(lemma)
            extra = {
                "ending": f"{kind}\x1f{lemma[-3:]}",
                "shape": f"{kind}\x1f{shape}",
                "tag": tags,
            }
            hashes += [hash64(f"target\x1f{e}\x1f{extra[e]}") for e in self._extra]
        return hashes


_EXTRA = ("ending", "shape", "tag")


@lru_cache(maxsize=1 << 14)
def _shape(lemma: str) -> str:
    """The lemma's marks, every other letter alike."""
    return "".join(c if unicodedata.category(c) == "Mn" else "C" for c in lemma[:40])


def tags_of(candidate: LabelChoice) -> str:
    """What the analyzer calls the readings of a candidate."""
    tags = {analysis.tag for analysis in candidate.analyses}
    return "|".join(sorted(tags)[:3]) if len(tags) > 1 else next(iter(tags), "")


def hard_elements(
    scheme: LabelScheme, candidates: LabelSource, words: Iterable[str], how_many: int = 4
) -> tuple[str, ...]:
    """The elements, other than the lemma, that readings of one word disagree on most."""
    doubt: defaultdict[str, float] = defaultdict(float)
    for word, times in Counter(words).items():
        labels = [candidate.label for candidate in candidates(word)]
        for index, name in enumerate(scheme.elements):
            values = len({label[index] for label in labels})
            if name != "lemma" and values > 1:
                doubt[name] += times * (values - 1) / values
    order = sorted(scheme.elements, key=lambda name: (-doubt[name], name))
    return tuple(name for name in order[:how_many] if name != "lemma")


@dataclass
class WordArrays:
    """Words as arrays; the shapes: n words, R rows, U units, T targets, K numbers."""

    words: list[str]
    typed: Typed  # [n] forms, and their hashes
    sentence_of: Int64s  # [n]
    document_of: Int64s  # [n]
    first: Int64s  # [n + 1] rows of each word
    unit_first: Int64s  # [n + 1]
    unit_hash: Hashes  # [U]
    unit_target: Int32s  # [U]
    row_units: Int32s  # [R, T]: -1 where the word's candidates agree
    row_hash: Hashes  # [R, T]
    numeric: Float32s  # [R, K]
    gold_hash: Hashes  # [n, T]: zeros where there is no gold
    gold_row: Int64s  # [n]: -1 where gold is not among the candidates
    scored: Bools  # [n]: who counts in figures; all with gold are learned from
    class_hash: Hashes  # [n]: what the candidates leave open
    candidates: list[list[LabelChoice]]

    @property
    def learnable(self) -> Int64s:
        """Words from which weights can be learned: gold among two or more rows."""
        several = np.diff(self.first) > 1
        return np.flatnonzero((self.gold_row >= 0) & several)

    def feature_table(self, atoms: Hashes, used: Bools) -> UnitTable:
        """Features of the words beside their units, for compiled loops."""
        return UnitTable(atoms, used, self.unit_first, self.unit_hash, self.unit_target)

    @property
    def rows(self) -> CandidateRows:
        """The candidates, for compiled loops."""
        return CandidateRows(self.first, self.row_units, self.numeric)

    @property
    def countable(self) -> Int64s:
        """Words that are counted: those with gold."""
        return np.flatnonzero(self.gold_hash[:, 0] != 0)


class _Entry(NamedTuple):
    candidates: list[LabelChoice]
    row_of: dict[Label, int]
    unit_hash: Hashes
    unit_target: Int32s
    row_units: Int32s
    row_hash: Hashes
    numeric: Float32s
    open_values: int


def _rows(entry: _Entry) -> int:
    return len(entry.candidates)


class WordEncoder:
    """Turns documents into :class:`WordArrays`, remembering what the latest forms gave."""

    def __init__(
        self, candidates: LabelSource, targets: Targets, clusters: Mapping[str, str] | None = None
    ) -> None:
        self.targets = targets
        self.forms = Forms(candidates.analyzer.normalise, clusters)
        self._analyzer_only = candidates
        self._of_form: Remembered[str, _Entry] = Remembered(ROWS_KEPT, _rows)  # whole: for ranking
        self._state: tuple[int, int] = (0, 0)

    def __call__(
        self,
        documents: Sequence[LexDocument],
        observed: Observed,
        *,
        training: Mapping[str, int] | None = None,
        out_of_sample: Mapping[str, LabelSource] | None = None,
    ) -> WordArrays:
        """Arrays of the documents' words.

        ``training`` gives the numbers under which documents stand in ``observed``; what only such
        a document showed is not among the candidates of its own words.  ``out_of_sample`` gives
        documents candidates of their own, by an analyzer that has not learned from them.
        """
        words: list[str] = []
        sentence_of: list[int] = []
        document_of: list[int] = []
        entries: list[_Entry] = []
        gold: list[Label | None] = []
        scored: list[bool] = []
        in_training: dict[tuple[LabelSource, str, tuple[Label, ...]], _Entry] = {}
        sentence = 0
        for number, document in enumerate(documents):
            leave_out = -1 if training is None else training.get(document.id, -1)
            source = (out_of_sample or {}).get(document.id, self._analyzer_only)
            whole = leave_out < 0 and source is self._analyzer_only
            state = (id(observed), observed.changes)
            if state != self._state:  # entries of forms hold as long as nothing more is observed
                self._of_form.clear()
                self._state = state
            for line in document.sentences:
                for word in line:
                    words.append(word.form)
                    sentence_of.append(sentence)
                    document_of.append(number)
                    entry = self._of_form.get(word.form) if whole else None
                    if entry is None:
                        observed_labels = observed.labels(word.form, leave_out)
                        key = source, word.form, observed_labels
                        entry = None if whole else in_training.get(key)
                        if entry is None:
                            entry = self._entry(word.form, observed_labels, source)
                        if whole:
                            self._of_form.put(word.form, entry)
                        else:
                            in_training[key] = entry
                    entries.append(entry)
                    gold.append(word.label)
                    scored.append(word.scored and word.label is not None)
                sentence += 1
        return self._joined(words, sentence_of, document_of, entries, gold, scored)

    def _entry(self, word: str, observed_labels: tuple[Label, ...], source: LabelSource) -> _Entry:
        source.observed = {word: observed_labels}
        candidates = source(word)
        if not candidates:
            candidates = [LabelChoice(self.targets.unknown(word), (), NO_PRIOR, "backoff")]
        return self._new_entry(candidates)

    def _new_entry(self, candidates: list[LabelChoice]) -> _Entry:
        from eigentext.lexical.ranker.kernels import counting

        n, n_targets = len(candidates), len(self.targets.names)
        row_hash = np.zeros((n, n_targets), np.uint64)
        for row, candidate in enumerate(candidates):
            row_hash[row] = self.targets.hashes(candidate.label, tags_of(candidate))
        row_units = np.empty((n, n_targets), np.int32)
        unit_hash = np.empty(n * n_targets, np.uint64)
        unit_target = np.empty(n * n_targets, np.int32)
        units = counting.factored(row_hash, row_units, unit_hash, unit_target)
        names = self.targets.names  # the last field: a hash of the set of hard values
        hard = names.index("hard") if "hard" in names else 0
        return _Entry(
            candidates,
            {candidate.label: row for row, candidate in enumerate(candidates)},
            unit_hash[:units].copy(),
            unit_target[:units].copy(),
            row_units,
            row_hash,
            np.array([_numbers(candidate) for candidate in candidates], np.float32).reshape(
                n, len(NUMERIC)
            ),
            hash64(",".join(map(str, sorted(set(row_hash[:, hard].tolist()))))),
        )

    def _joined(
        self,
        words: list[str],
        sentence_of: list[int],
        document_of: list[int],
        entries: list[_Entry],
        gold: list[Label | None],
        scored: list[bool],
    ) -> WordArrays:
        n, n_targets = len(words), len(self.targets.names)
        first = np.zeros(n + 1, np.int64)
        unit_first = np.zeros(n + 1, np.int64)
        np.cumsum([len(entry.candidates) for entry in entries], out=first[1:])
        np.cumsum([len(entry.unit_hash) for entry in entries], out=unit_first[1:])
        gold_hash = np.zeros((n, n_targets), np.uint64)
        gold_row = np.full(n, -1, np.int64)
        for token, label in enumerate(gold):
            if label is not None:
                row = entries[token].row_of.get(label)
                if row is None:
                    gold_hash[token] = self.targets.hashes(label)
                else:
                    gold_hash[token] = entries[token].row_hash[row]
                    gold_row[token] = first[token] + row
        row_units = _stacked([entry.row_units for entry in entries], (0, n_targets), np.int32)
        row_units += np.where(
            row_units >= 0, np.repeat(unit_first[:-1], np.diff(first))[:, None], 0
        ).astype(np.int32)
        return WordArrays(
            words=words,
            typed=self.forms(words),
            sentence_of=np.array(sentence_of, np.int64),
            document_of=np.array(document_of, np.int64),
            first=first,
            unit_first=unit_first,
            unit_hash=_stacked([entry.unit_hash for entry in entries], (0,), np.uint64),
            unit_target=_stacked([entry.unit_target for entry in entries], (0,), np.int32),
            row_units=row_units,
            row_hash=_stacked([entry.row_hash for entry in entries], (0, n_targets), np.uint64),
            numeric=_stacked([entry.numeric for entry in entries], (0, len(NUMERIC)), np.float32),
            gold_hash=gold_hash,
            gold_row=gold_row,
            scored=np.array(scored, np.bool_),
            class_hash=np.array([entry.open_values for entry in entries], np.uint64),
            candidates=[entry.candidates for entry in entries],
        )


def _stacked(
    arrays: list[npt.NDArray[np.generic]], shape: tuple[int, ...], kind: type
) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(shape, kind)


def _numbers(candidate: LabelChoice) -> tuple[float, float, float, float, float]:
    priors = [a.prior for a in candidate.analyses if a.prior is not None]
    spelling = [int(a.features.get("spelling", 0)) for a in candidate.analyses]
    return (
        max(priors) / 2.0 if priors else 0.0,
        0.0 if priors else 1.0,
        1.0 if candidate.source in GUESSES else 0.0,
        0.0 if candidate.analyses else 1.0,
        float(min(spelling)) if spelling else 0.0,
    )
