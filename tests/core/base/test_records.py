"""Parts of a model file: a declaration packs, unpacks and checks; what does not fit is refused."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from eigentext.base.fields import Array, Contents, Ints, Pointers, Reals, Sparse, Strings
from eigentext.base.records import (
    As,
    BitsOfWords,
    Called,
    Each,
    FactsOf,
    Group,
    Numbers,
    OrNull,
    Record,
    RecordColumns,
    When,
    learned,
    stored,
)
from eigentext.base.values import Flag, Listed, Named, Packed, Part, Real, Whole


class Rule(NamedTuple):
    front: str
    weight: float


@dataclass
class Limits:
    low: int
    high: int


def packed_and_back(part: Part, value: Any, **settings: Any) -> tuple[Packed, Any]:
    packed = Packed(settings=settings)
    part.pack("", value, packed)
    Contents(part, Named(dict.fromkeys(settings, Whole()))).check(packed)
    return packed, part.unpack("", packed)


@dataclass
class Table:
    """A record that declares its parts."""

    words: tuple[str, ...] = stored(Strings("words", distinct=True))
    counts: np.ndarray = stored(Ints(("words",), low=1), "n")
    total: int = stored(Whole(0), of=lambda table: int(table.counts.sum()))
    first: str = stored(
        As(Strings(1), lambda word: [word], lambda words: words[0]), of="best.front"
    )
    comment: str = "not in the file"

    def _holds(self) -> None:
        if self.total != self.counts.sum():
            raise ValueError("the total does not fit")


def test_a_record_goes_and_comes_by_its_declaration() -> None:
    there = SimpleNamespace(words=("a", "b"), counts=np.array([3, 1]), best=Rule("a", 1.0))
    packed, back = packed_and_back(Record(Table, prefix="t."), there)
    assert list(packed.arrays) == ["t.n"]
    assert packed.strings == {"t.words": ("a", "b"), "t.first": ["a"]}
    assert packed.facts == {"t.total": 4}
    assert (back.words, back.counts.tolist(), back.total, back.first) == (
        ("a", "b"),
        [3, 1],
        4,
        "a",
    )
    packed.facts["t.total"] = 5
    with pytest.raises(ValueError, match="the total does not fit"):
        Record(Table, prefix="t.").unpack("", packed)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (Group(a=Ints(())), {"a": 7}),
        (Group(a=Flag(), b=As(Listed(Whole(0)), list, list)), {"a": True, "b": [1, 2]}),
        (Group(a=Numbers(Reals((3,)), tuple)), {"a": (0.5, 1.0, 2.0)}),
        (
            Group(a=RecordColumns(Rule, front=Strings("n"), weight=Reals(("n",)))),
            {"a": (Rule("x", 2.0),)},
        ),
        (Group(a=FactsOf(Limits, Named({"low": Whole(), "high": Whole()}))), {"a": Limits(1, 2)}),
        (Group(a=BitsOfWords("cluster")), {"a": {"cat": "01", "dog": ""}}),
        (Group(a=OrNull(Real(optional=True))), {"a": None}),
        (Group(a=Real(optional=True), b=Strings("n", optional=True)), {"a": None, "b": None}),
        (Group(a=Each(Strings("n#"), "k", "names{}")), {"a": (("x",), ("y", "z"))}),
        (
            Group(a=Each(Numbers(Ints(("n#",))), lambda v: ["p", "q"], "m.{}")),
            {"a": {"p": [], "q": [1]}},
        ),
        (Group(a=When(lambda v: v["k"] > 2, Numbers(Ints((2,))))), {"a": None}),
        (Group(a=When(lambda v: v["k"] > 1, Numbers(Ints(("k",))))), {"a": [1, 2]}),
        (Group(a=Group(optional=True, b=Ints(()), c=Strings("n"))), {"a": None}),
    ],
)
def test_values_come_back(part: Record, value: dict[str, Any]) -> None:
    assert vars(packed_and_back(part, SimpleNamespace(**value), k=2)[1]) == value


def test_sizes_are_of_each_part_by_itself_or_of_all() -> None:
    each = Group(
        a=Each(Group(x=Array(("n#",), ("int64",)), y=Array(("n",), ("int64",))), "k", "{}.")
    )
    parts = [SimpleNamespace(x=np.zeros(n, int), y=np.zeros(2, int)) for n in (1, 3)]
    packed, _ = packed_and_back(each, SimpleNamespace(a=parts), k=2)
    packed.arrays["1.y"] = np.zeros(3, int)
    with pytest.raises(ValueError, match=r"array '1.y' has length 3, expected 2 \(n\)"):
        Contents(each, Named({"k": Whole()})).check(packed)


def test_a_number_is_as_narrow_as_it_can_be() -> None:
    part = Ints(("n",), ("int32", "int64"), held="int64")
    for number, kind in ((5, "int32"), (1 << 40, "int64")):
        packed, back = packed_and_back(Group(a=part), SimpleNamespace(a=np.array([number])))
        assert packed.arrays["a"].dtype == kind
        assert back.a.dtype == "int64"
        assert back.a.tolist() == [number]


def test_sparse_matrices_and_pointers() -> None:
    part = Group(
        m=Sparse(("rows", "columns")), p=Pointers("rows", "cells", ("int32",), held="int64")
    )
    value = SimpleNamespace(m=csr_array([[0, 2], [1, 0]]), p=np.array([0, 1, 5]))
    packed, back = packed_and_back(part, value)
    assert sorted(packed.arrays) == ["m/data", "m/indices", "m/indptr", "m/shape", "p"]
    assert back.m.toarray().tolist() == [[0, 2], [1, 0]]
    assert (packed.arrays["p"].dtype, back.p.dtype) == ("int32", "int64")


@pytest.mark.parametrize("missing", ["x", "y"])
def test_an_optional_record_is_there_as_a_whole(missing: str) -> None:
    part = Group(a=Group(optional=True, x=Ints(()), y=Real(), z=Strings("n", optional=True)))
    packed, back = packed_and_back(part, SimpleNamespace(a=SimpleNamespace(x=1, y=0.5, z=None)))
    assert vars(back.a) == {"x": 1, "y": 0.5, "z": None}
    del (packed.arrays if missing == "x" else packed.facts)[missing]
    with pytest.raises(ValueError, match="of 'x', 'y' some are there, some missing"):
        part.unpack("", packed)


def test_null_is_in_the_file_where_a_declaration_says_so() -> None:
    part = Group(a=OrNull(Real(optional=True)), b=Real(optional=True))
    packed, _ = packed_and_back(part, SimpleNamespace(a=None, b=None))
    assert packed.facts == {"a": None}


def test_what_is_not_there_by_the_settings_does_not_belong() -> None:
    part = Group(a=When(lambda values: values["k"] > 2, Ints(())))
    with pytest.raises(ValueError, match="array 'a' does not belong"):
        packed_and_back(part, SimpleNamespace(a=1), k=2)


def test_sizes_are_of_facts_and_of_settings_that_are_checked_alone() -> None:
    content = Group(a=Ints(("passes",)), b=Ints(("n",)), n=Whole(0))
    value = SimpleNamespace(a=np.zeros(3, int), b=np.zeros(2, int), n=2)
    packed = Packed(settings={"passes": 7})
    content.pack("", value, packed)
    Contents(content).check(packed)
    with pytest.raises(ValueError, match=r"'a' has length 3, expected 7 \(passes\)"):
        Contents(content, Named({"passes": Whole()})).check(packed)


def test_learned_attributes_are_no_arguments() -> None:
    @dataclass
    class Model:
        power: int = 2
        mean_: float = learned(Real())

    assert not hasattr(Model(3), "mean_")
    with pytest.raises(TypeError):
        Model(3, mean_=0.5)  # type: ignore[call-arg]
    assert list(Record(Model).parts) == ["mean_"]
    assert Record(Model).parts["mean_"][0] == "mean"
    assert Record(Model, m=Called("x", Real())).parts == {"m": ("x", Real())}
