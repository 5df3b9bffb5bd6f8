"""The kernels of ``parse.cu`` on a graphics card, by CuPy, and the arrays that they take.

The grammar goes to the card once; of sentences the processor makes what needs strings, and
remembers it for each word.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.hashing import MIXER
from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembering
from eigentext.constituency.brackets import BITS, PAD, BracketKeys
from eigentext.constituency.chart.coarse import beam_for
from eigentext.constituency.forms import capitals_tell
from eigentext.constituency.low_rank import LowRank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from eigentext.base.types import AnyArray, Float32s, Float64s, Int32s, Int64s, Numbers, UInt64s
    from eigentext.constituency.grammar import Grammar

    Arrays = dict[str, Any]

_MOST_WORDS = 50_000  # of the latest words


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


class _Emission(NamedTuple):
    """What the kernels know of a word: labels over it, their scores, and those of their states."""

    label: Int32s
    score: Float64s
    n_states: Int64s
    states: Float32s


class EmissionTable:
    """Emissions of words, as short as can be, and the bracket model's keys."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.lexicon = grammar.params[0].lexicon
        self.keys = BracketKeys(self.lexicon.tag_level)
        self._n_states = np.diff(self.lexicon.tag_ptr)
        #: of a word, whether it is the first, and whether capitals say nothing: its emissions
        self.row = Remembering(self._row, _MOST_WORDS)

    def _row(self, key: tuple[str, bool, bool]) -> _Emission:
        lexicon, (word, first, folded) = self.lexicon, key
        emission = lexicon.emission(word, first=first, folded=folded)
        label = lexicon.tags[emission.tags]
        n_states = self._n_states[emission.tags]
        before = np.cumsum(n_states) - n_states
        at = np.repeat(lexicon.tag_ptr[emission.tags] - before, n_states)
        at += np.arange(len(at))
        score = emission.scores * self.grammar.coarse.emits[label]
        return _Emission(label.astype(np.int32), score, n_states, emission.states[at])


def sentence_arrays(
    table: EmissionTable, sentences: Sequence[Sequence[str]], beam: float
) -> Arrays:
    """Sentences in the treebank's forms of their words, as the kernels take them."""
    n = np.array([len(words) for words in sentences])
    first_word = pointers(n)
    numbers: dict[tuple[str, bool, bool], int] = {}
    row = np.empty(int(first_word[-1]), np.int32)
    keys = np.zeros((2, len(row) + 2 * PAD * len(n)), np.uint64)
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
            into = at + 2 * PAD * b
            keys[0, into : into + len(of.word)], keys[1, into : into + len(of.tag)] = of[:2]
            marks[at + b : at + b + len(of.marks)] = of.marks
    rows = [table.row(key) for key in numbers]
    n_tags = [len(emission.label) for emission in rows]
    return {
        "first_word": first_word,
        "first_span": pointers(n * (n + 1) // 2),
        "row": row,
        "row_tags": pointers(n_tags),
        "tag_label": np.concatenate([emission.label for emission in rows]),
        "tag_score": np.concatenate([emission.score for emission in rows]),
        "tag_states": pointers(np.concatenate([emission.n_states for emission in rows])),
        "states": np.concatenate([emission.states for emission in rows]),
        "key_word": keys[0],
        "key_tag": keys[1],
        "marks": marks,
        "beam": np.array([beam_for(beam, len(words)) for words in sentences]),
    }


SOURCE = Path(__file__).with_name("parse.cu")
DEFINES = (f"-DMIXER={MIXER}ULL",)
_TYPES = {
    "int": np.int32,
    "float": np.float32,
    "double": np.float64,
    "u64": np.uint64,
    "unsigned char": np.uint8,
    "ll": np.int64,
}


@cache
def fields() -> dict[str, tuple[Any, bool]]:
    """Fields of ``struct Job`` in their order: type, and whether it is an array.

    >>> fields()["first_word"], fields()["threshold"]
    ((<class 'numpy.int32'>, True), (<class 'numpy.float64'>, False))
    """
    text = re.sub(r"//[^\n]*", "", SOURCE.read_text(encoding="utf-8"))
    body = text.split("struct Job {")[1].split("};")[0]
    types = {}
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind, names = re.fullmatch(r"(?:const )?(unsigned char|\w+) (.*)", line, re.S).groups()  # type: ignore[union-attr]
        for name in names.split(","):
            types[name.strip(" *\n")] = _TYPES[kind], "*" in name
    return types


class CardJob:
    """Arrays and numbers by the names of ``struct Job``; a name that it lacks is an error."""

    def __init__(self, **values: object) -> None:
        self.values: dict[str, Any] = {}
        self.add(**values)

    def add(self, **values: Any) -> None:
        """Fill in fields."""
        for name, value in values.items():
            dtype, is_array = fields()[name]
            if is_array and value.dtype != dtype:
                raise TypeError(f"{name} has type {value.dtype}, expected {np.dtype(dtype)}")
            self.values[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def table(self, address: Any) -> UInt64s:
        """(fields,) addresses of arrays, by ``address``, and the bits of numbers."""
        bits = np.zeros(len(fields()), np.uint64)
        for at, (name, (dtype, is_array)) in enumerate(fields().items()):
            if name not in self.values:
                continue
            value = self.values[name]
            bits[at] = address(value) if is_array else np.array(value, dtype).view(np.uint64)
        return bits


class Card:
    """A graphics card, by CuPy."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy

    @cached_property
    def _kernels(self) -> Any:
        code = SOURCE.read_text(encoding="utf-8")
        return self.cupy.RawModule(code=code, options=("-std=c++17", *DEFINES))

    def put(self, array: Numbers) -> AnyArray:
        """The array on the card."""
        return self.cupy.asarray(array)

    def zeros(self, n: int, dtype: DTypeLike) -> AnyArray:
        """Zeros on the card."""
        return self.cupy.zeros(n, dtype)

    def offsets(self, counts: AnyArray) -> tuple[AnyArray, int]:
        """(n + 1,) int32 where each of n groups of these sizes begins, and their sum."""
        ends = self.cupy.zeros(len(counts) + 1, np.int32)
        ends[1:] = self.cupy.cumsum(counts)
        return ends, int(ends[-1])

    def get(self, array: AnyArray) -> Numbers:
        """The array, in the memory of the processor."""
        return np.asarray(self.cupy.asnumpy(array))

    def launch(self, kernel: str, n_blocks: int, job: CardJob, *, warps: int, shared: int) -> None:
        """Run a kernel for every sentence; it has not ended when this returns.

        ``shared`` is the memory of a block in bytes.
        """
        function = self._kernels.get_function(kernel)
        if shared > 48 << 10:
            function.max_dynamic_shared_size_bytes = shared
        table = self.put(job.table(lambda array: array.data.ptr))
        function((n_blocks,), (32 * warps,), (table,), shared_mem=shared)
