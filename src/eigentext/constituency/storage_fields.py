"""What a model file of a grammar must hold; a latent tagger keeps its grammars the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Ints,
    Listed,
    Named,
    Parts,
    Pointers,
    Real,
    Reals,
    Shares,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.constituency.brackets import BITS
from eigentext.constituency.low_rank import n_numbers
from eigentext.constituency.params import RuleCounts, few_enough, tensor_layout
from eigentext.constituency.rerank.storage import RERANKER_ARRAYS, RERANKER_STRINGS
from eigentext.features.signatures import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

__all__ = ["LANGUAGE", "LEXICON", "MOST_MODELS", "SPEC", "params_fields", "params_fit"]

MOST_MODELS = 1000
LANGUAGE = Text(LANGUAGES)
_MOST_STATES = 10_000  # of one nonterminal
_MOST = 1e12  # words counted
_INTS, _REALS = ("int64", "int32"), ("float64", "float32")
_STRENGTH = Real(0, 1e12)
_STRENGTHS = dict.fromkeys(("k_sig", "k_base", "k_state", "trust"), _STRENGTH)
LEXICON = Named(
    {
        **_STRENGTHS,
        "of_models": Listed(Named(_STRENGTHS, closed=True), MOST_MODELS),
        "classes": Named(
            {"sizes": Listed(Whole(1, 10**9), 100), "strength": Real(-100, 100)}, optional=True
        ),
        "vectors": Named({"k_word": _STRENGTH, "k_shape": _STRENGTH}, closed=True, optional=True),
    },
    closed=True,
)


def params_fields(
    numbers: dict[str, Any], n_models: int
) -> tuple[dict[str, Array | Pointers], dict[str, Strings]]:
    """The arrays and lists of strings of ``storage.pack_params``."""
    arrays: dict[str, Array | Pointers] = {}
    strings = {
        "words": Strings("words", distinct=True),
        "shapes": Strings("shapes", distinct=True),
    }
    classes = numbers.get("classes")
    if classes is not None:
        strings["class_words"] = Strings("class_words", distinct=True)
        arrays["class_numbers"] = Ints(("class_words", len(classes["sizes"])), low=0)
    for number in range(n_models):
        arrays |= _model_fields(number, classes, with_vectors=bool(numbers.get("vectors")))
    return arrays, strings


def _model_fields(
    number: int, classes: dict[str, Any] | None, *, with_vectors: bool
) -> dict[str, Array | Pointers]:
    """One model; sizes of its own have its number behind them."""

    def own(name: str) -> str:
        return f"{name}{number}"

    tags, ts = own("tags"), own("tag_states")
    of_words, of_shapes = own("word_counts"), own("shape_counts")
    fields: dict[str, Array | Pointers] = {
        "m": Ints(("labels",), low=1, below=_MOST_STATES + 1),
        "rule_ptr": Pointers("rules", own("tensor")),
        "tensor": Reals((own("tensor"),), ("float32",), -1e30, 1e30, optional=True),
        "low.rank": Ints(("rules", 3), ("uint8",), optional=True),
        "low.values": Reals((own("low"),), ("float16",), -65504, 65504, optional=True),
        "low.factor": Reals(("rules",), ("float32",), 0, 1e30, optional=True),
        "counts.places": Ints(
            (own("counts"),), _INTS, 0, own("tensor"), rising=True, optional=True
        ),
        "counts.numbers": Reals((own("counts"),), ("float32",), 0, _MOST, optional=True),
        "counts.states": Reals((own("states"),), low=0, high=_MOST, optional=True),
        "counts.rules": Reals(("rules",), low=0, high=_MOST, optional=True),
        "counts.labels": Reals(("labels",), low=1e-30, high=_MOST, optional=True),
        "counts.strengths": Reals((3,), low=0, high=_MOST, optional=True),
        "root": Reals((own("states"),), low=-1e30, high=1e30),
        "lexicon.tags": Ints((tags,), low=0, below="labels", rising=True),
        "lexicon.tag_ptr": Pointers(tags, ts),
        "lexicon.base": Ints((tags,), low=0, below=tags),
        "lexicon.word_ptr": Pointers("words", of_words),
        "lexicon.word_ts": Ints((of_words,), _INTS, 0, ts),
        "lexicon.word_n": Reals((of_words,), _REALS, 0, _MOST),
        "lexicon.shape_ptr": Pointers("shapes", of_shapes),
        "lexicon.shape_ts": Ints((of_shapes,), _INTS, 0, ts),
        "lexicon.shape_n": Reals((of_shapes,), _REALS, 0, _MOST),
        "lexicon.emits": Reals((ts,), low=0, high=1e30),
        "singular_ptr": Pointers("labels", own("values"), optional=True),
        "singular_values": Reals((own("values"),), optional=True),
        "smallest": Reals(("labels",), optional=True),
    }
    if classes is not None:
        rows = sum(classes["sizes"])
        fields["class_counts"] = Reals((rows, own("bases")), low=0, high=_MOST)
    if with_vectors:
        few: dict[str, Any] = {"low": -1e30, "high": 1e30, "optional": True}
        fields |= {
            "vectors.m": Ints((tags,), low=1, below=_MOST_STATES + 1, optional=True),
            "vectors.word_vector": Reals((own("word_vectors"),), ("float32",), **few),
            "vectors.shape_vector": Reals((own("shape_vectors"),), ("float32",), **few),
            "vectors.word_weight": Reals((of_words,), low=0, high=_MOST, optional=True),
            "vectors.shape_weight": Reals((of_shapes,), low=0, high=_MOST, optional=True),
            "vectors.tag_mean": Reals((own("vector_states"),), **few),
        }
    return {f"model{number}.{name}": field for name, field in fields.items()}


def params_fit(a: Mapping[str, npt.NDArray[Any]], numbers: dict[str, Any], n_models: int) -> None:
    """What no array says alone: the layout of tensors and of states."""
    if len(numbers["of_models"]) != n_models:
        raise ValueError(f"settings.lexicon.of_models are not {n_models}")
    if numbers.get("classes") is not None:
        sizes = np.array(numbers["classes"]["sizes"])
        if bool(np.any(a["class_numbers"] >= sizes)):
            raise ValueError("array 'class_numbers' holds a class beyond the last")
    for number in range(n_models):
        prefix = f"model{number}."
        m, tags = a[prefix + "m"], a[prefix + "lexicon.tags"]
        tag_ptr = a[prefix + "lexicon.tag_ptr"]
        of_tag = m[tags]
        if not np.array_equal(a[prefix + "rule_ptr"], tensor_layout(a["rules"], m)):
            raise ValueError(f"array '{prefix}rule_ptr' does not fit the rules and their states")
        _length(a, prefix + "root", int(m.sum()))
        _check_tensors(a, prefix)
        if prefix + "vectors.m" in a:
            if not np.array_equal(a[prefix + "vectors.m"], of_tag):
                raise ValueError(f"array '{prefix}vectors.m' does not fit the states of the tags")
            words, shapes = a[prefix + "lexicon.word_ts"], a[prefix + "lexicon.shape_ts"]
            _length(a, prefix + "vectors.word_vector", int(of_tag[words].sum()))
            _length(a, prefix + "vectors.shape_vector", int(of_tag[shapes].sum()))
            _length(a, prefix + "vectors.tag_mean", int(of_tag.sum()))
            of_tag = np.ones_like(of_tag)
        if not np.array_equal(np.diff(tag_ptr), of_tag):
            raise ValueError(
                f"array '{prefix}lexicon.tag_ptr' does not fit the states of the tags"
            )
        ptr, n = a[prefix + "lexicon.word_ptr"], a[prefix + "lexicon.word_n"]
        seen = np.diff(np.concatenate([[0.0], np.cumsum(n, dtype=np.float64)])[ptr])
        if not len(tags) or not len(n) or float(seen.min()) <= 0:
            raise ValueError(f"array '{prefix}lexicon.word_n' has a word that was never seen")
        if prefix + "class_counts" in a:
            bases = int(a[prefix + "lexicon.base"].max()) + 1
            if a[prefix + "class_counts"].shape[1] != bases:
                raise ValueError(f"array '{prefix}class_counts' does not fit {bases} base tags")


def _check_tensors(a: Mapping[str, npt.NDArray[Any]], prefix: str) -> None:
    """Tensors are there, as counts, whole or in low rank, and no rank is larger than it can be."""
    forms = {
        "counts": [f"{prefix}counts.{name}" for name in RuleCounts._fields],
        "low": [f"{prefix}low.{name}" for name in ("rank", "values", "factor")],
        "tensor": [f"{prefix}tensor"],
    }
    there = [form for form, names in forms.items() if any(name in a for name in names)]
    if len(there) != 1:
        raise ValueError(f"arrays of '{prefix}' say rules in {len(there)} ways, expected one")
    for name in forms[there[0]]:
        if name not in a:
            raise ValueError(f"array {name!r} is missing")
    if there == ["counts"]:
        n_cells, n_counts = int(a[prefix + "rule_ptr"][-1]), len(a[prefix + "counts.places"])
        if not few_enough(n_counts, n_cells):
            raise ValueError(f"array '{prefix}counts.places' is too short for {n_cells:,} numbers")
        return
    if prefix + "low.rank" not in a:
        _length(a, prefix + "tensor", int(a[prefix + "rule_ptr"][-1]))
        return
    shape = a[prefix + "m"][a["rules"]]
    rank = a[prefix + "low.rank"].astype(np.int64)
    none = rank == 0
    products = ~none[:, 0] & none[:, 1:].all(axis=1)  # as many as there are numbers for
    in_part = none.any(axis=1) != none.all(axis=1)
    if bool(np.any((rank > shape).any(axis=1) & ~products)) or bool(np.any(in_part & ~products)):
        raise ValueError(f"array '{prefix}low.rank' does not fit the states of the rules")
    _length(a, prefix + "low.values", int(n_numbers(shape, rank).sum()))
    _length(a, prefix + "low.factor", len(rank))


def _length(a: Mapping[str, npt.NDArray[Any]], name: str, expected: int) -> None:
    if name not in a or len(a[name]) != expected:
        length = len(a[name]) if name in a else "no"
        raise ValueError(f"array {name!r} has {length} numbers, expected {expected}")


def _parts(settings: dict[str, Any]) -> Parts:
    arrays, strings = params_fields(settings["lexicon"], settings["n_models"])
    return Parts(
        {
            "rules": Ints(("rules", 3), low=0, below="labels"),
            "rule_p": Shares(("rules",)),
            "root_p": Shares(("labels",)),
            "prior": Shares(("labels",)),
            "emits": Shares(("labels",)),
            "brackets.places": Ints(
                ("brackets",), ("int32",), low=0, below=1 << BITS, rising=True, optional=True
            ),
            "brackets.values": Reals(("brackets",), ("float16",), -65504, 65504, optional=True),
            **arrays,
            **RERANKER_ARRAYS,
        },
        {"labels": Strings("labels", distinct=True), **strings, **RERANKER_STRINGS},
    )


SPEC = Spec(
    {
        "n_models": Whole(1, MOST_MODELS),
        "wrapper": Text(optional=True),
        "lexicon": LEXICON,
        "smoothing": Named({}),
    },
    _parts,
    lambda a, strings, settings: params_fit(a, settings["lexicon"], settings["n_models"]),
)
