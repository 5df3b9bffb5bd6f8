"""From a grammar and sentences to the arrays that the kernels of ``parse.cu`` take.

The grammar goes to the card once (:func:`grammar_arrays`).  Of sentences the processor makes what
needs strings: the rows of their words in a table of emissions, and the bracket model's keys
(:class:`WordTable`, :func:`sentence_arrays`); both are remembered for each word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.constituency.brackets import BITS, WordKeys
from eigentext.constituency.chart.coarse import beam_for
from eigentext.constituency.forms import capitals_tell
from eigentext.constituency.low_rank import LowRank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float32s, Float64s, Int32s, Int64s
    from eigentext.constituency.grammar import Grammar

    Arrays = dict[str, Any]

_MOST_WORDS = 50_000  # of the latest words
_PAD = 2  # places before and behind a sentence, as in the bracket model's kernels


def grammar_arrays(grammar: Grammar) -> Arrays:
    """What stays the same from batch to batch; the grammar has one model."""
    coarse, params = grammar.coarse, grammar.params[0]
    by_left, low = coarse.by_left, params.low_rank
    if low is None or low.has_products:  # tensors as they are have rank 0
        n_rules = len(params.rules)
        rank, factor = np.zeros((n_rules, 3), np.int64), np.ones(n_rules, np.float32)
        low = LowRank(rank, params.rule_ptr, params.whole_tensor, factor)
    table = np.zeros(1, np.float32) if grammar.brackets is None else grammar.brackets.weights
    return {
        "bracket_table": table,
        "bracket_bits": 0 if grammar.brackets is None else BITS,
        "n_labels": len(grammar.labels),
        "pair": by_left.pair.ravel(),
        "parent_of": by_left.parent,
        "rule_number": by_left.rule,
        "rule_p": by_left.p,
        "prior": coarse.prior,
        "root_p": coarse.root_p,
        "rules": params.rules.ravel(),
        "m": params.m,
        "label_ptr": params.label_ptr,
        "rank": low.rank.ravel(),
        "low_ptr": low.ptr,
        "low_values": low.values,
        "low_factor": low.factor,
        "root": params.root,
        "most_states": int(params.m.max()),
        "chain_ptr": grammar.chains.ptr,
        "chain_number": grammar.chains.number,
    }


class _Row(NamedTuple):
    """What the kernels know of a word: labels over it, their scores, and those of their states."""

    label: Int32s
    score: Float64s
    n_states: Int64s
    states: Float32s


class WordTable:
    """Emissions of words, as short as can be, and the bracket model's keys."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.lexicon = grammar.params[0].lexicon
        self.keys = WordKeys(self.lexicon.tag_level)
        self._n_states = np.diff(self.lexicon.tag_ptr)
        self._known: Remembered[tuple[str, bool, bool], _Row] = Remembered(_MOST_WORDS)

    def row(self, key: tuple[str, bool, bool]) -> _Row:
        """The word, whether it is the first, and whether capitals say nothing: its emissions."""
        known = self._known.get(key)
        return self._known.put(key, self._row(*key)) if known is None else known

    def _row(self, word: str, first: bool, folded: bool) -> _Row:
        lexicon = self.lexicon
        emission = lexicon.emission(word, first=first, folded=folded)
        label = lexicon.tags[emission.tags]
        n_states = self._n_states[emission.tags]
        before = np.cumsum(n_states) - n_states
        at = np.repeat(lexicon.tag_ptr[emission.tags] - before, n_states)
        at += np.arange(len(at))
        score = emission.scores * self.grammar.coarse.emits[label]
        return _Row(label.astype(np.int32), score, n_states, emission.states[at])


def sentence_arrays(table: WordTable, sentences: Sequence[Sequence[str]], beam: float) -> Arrays:
    """Sentences in the treebank's forms of their words, as the kernels take them."""
    n = np.array([len(words) for words in sentences])
    first_word = pointers(n)
    numbers: dict[tuple[str, bool, bool], int] = {}
    row = np.empty(int(first_word[-1]), np.int32)
    keys = np.zeros((2, len(row) + 2 * _PAD * len(n)), np.uint64)
    marks = np.zeros(len(row) + len(n), np.int64)
    of_brackets = table.grammar.brackets is not None
    for b, (words, at) in enumerate(zip(sentences, first_word.tolist(), strict=False)):
        folded = not capitals_tell(words, table.lexicon.tag_level.seen)
        row[at : at + len(words)] = [
            numbers.setdefault((word, i == 0, folded), len(numbers))
            for i, word in enumerate(words)
        ]
        if of_brackets and len(words) > 2:
            of = table.keys.of_sentence(words, folded=folded)
            into = at + 2 * _PAD * b
            keys[0, into : into + len(of.word)], keys[1, into : into + len(of.tag)] = of[:2]
            marks[at + b : at + b + len(of.marks)] = of.marks
    rows = [table.row(key) for key in numbers]
    n_tags = [len(known.label) for known in rows]
    return {
        "first_word": first_word,
        "first_span": pointers(n * (n + 1) // 2),
        "row": row,
        "row_tags": pointers(n_tags),
        "tag_label": np.concatenate([known.label for known in rows]),
        "tag_score": np.concatenate([known.score for known in rows]),
        "tag_states": pointers(np.concatenate([known.n_states for known in rows])),
        "states": np.concatenate([known.states for known in rows]),
        "key_word": keys[0],
        "key_tag": keys[1],
        "marks": marks,
        "beam": np.array([beam_for(beam, len(words)) for words in sentences]),
    }
