"""Models as parts of a file, and back; a latent tagger keeps its grammars the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.constituency import lexicon_moments
from eigentext.constituency.class_counts import ClassCounts
from eigentext.constituency.lexicon import Lexicon
from eigentext.constituency.low_rank import LowRank, n_numbers
from eigentext.constituency.params import LatentParams, RuleCounts, few_enough
from eigentext.features.spectrum import Spectra
from eigentext.features.word_classes import WordClasses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.features.signatures import Language

__all__ = ["PackedParams", "pack_params", "unpack_params"]

_LEXICON_ARRAYS = (
    "tags",
    "tag_ptr",
    "base",
    "word_ptr",
    "word_ts",
    "word_n",
    "shape_ptr",
    "shape_ts",
    "shape_n",
    "emits",
)
_LEXICON_STATES, _LEXICON_COUNTS = ("word_ts", "shape_ts"), ("word_n", "shape_n")
_LEXICON_NUMBERS = ("k_sig", "k_base", "k_state", "trust")


class PackedParams(NamedTuple):
    """Models as named arrays, lists of strings and numbers: parts of a model file."""

    arrays: Mapping[str, npt.NDArray[Any]]
    strings: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Any]


def pack_params(params: Sequence[LatentParams]) -> PackedParams:
    """The parts of all models that a file keeps; their rules are left to the caller."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    strings: dict[str, Sequence[str]] = {}
    for number, model in enumerate(params):
        prefix = f"model{number}."
        arrays[prefix + "m"] = model.m
        arrays[prefix + "rule_ptr"] = model.rule_ptr
        known = model.counts
        if known is not None and few_enough(len(known.places), len(model.tensor)):
            arrays |= {
                f"{prefix}counts.{name}": np.asarray(v) for name, v in known._asdict().items()
            }
            arrays[prefix + "counts.places"] = _narrow(known.places)
            arrays[prefix + "counts.numbers"] = known.numbers.astype(np.float32)
        elif model.low_rank is None:
            arrays[prefix + "tensor"] = model.tensor
        else:
            arrays[prefix + "low.rank"] = model.low_rank.rank.astype(np.uint8)
            arrays[prefix + "low.values"] = model.low_rank.values
            arrays[prefix + "low.factor"] = model.low_rank.factor
        arrays[prefix + "root"] = model.root
        lexicon = model.lexicon.tag_level
        for name in _LEXICON_ARRAYS:
            arrays[f"{prefix}lexicon.{name}"] = getattr(lexicon, name)
        for name in _LEXICON_STATES:
            arrays[f"{prefix}lexicon.{name}"] = _narrow(getattr(lexicon, name))
        for name in _LEXICON_COUNTS:
            arrays[f"{prefix}lexicon.{name}"] = _single(getattr(lexicon, name))
        if lexicon.by_class is not None:
            arrays[f"{prefix}class_counts"] = lexicon.by_class.counts
        if model.spectra is not None:
            arrays[f"{prefix}singular_values"] = model.spectra.values
            arrays[f"{prefix}singular_ptr"] = model.spectra.ptr
            if model.spectra.smallest is not None:
                arrays[f"{prefix}smallest"] = model.spectra.smallest
        if isinstance(model.lexicon, lexicon_moments.MomentLexicon):
            for name in lexicon_moments.ARRAYS:
                arrays[f"{prefix}vectors.{name}"] = getattr(model.lexicon, name)
    lexicon = params[0].lexicon.tag_level  # words and signatures are the same in every model
    strings["words"], strings["shapes"] = lexicon.words, lexicon.shapes
    numbers = {name: getattr(lexicon, name) for name in _LEXICON_NUMBERS}
    if lexicon.by_class is not None:
        classes = lexicon.by_class.classes
        strings["class_words"], arrays["class_numbers"] = classes.words, classes.numbers
        numbers["classes"] = {"sizes": classes.sizes, "strength": lexicon.by_class.strength}
    # in a mixed ensemble they differ
    numbers["of_models"] = [
        {name: getattr(model.lexicon.tag_level, name) for name in _LEXICON_NUMBERS}
        for model in params
    ]
    for model in params:
        if isinstance(model.lexicon, lexicon_moments.MomentLexicon):
            numbers["vectors"] = {
                name: getattr(model.lexicon, name) for name in lexicon_moments.NUMBERS
            }
    return PackedParams(arrays, strings, numbers)


def _narrow(numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Half as many bytes where they do."""
    fits = not len(numbers) or int(numbers.max()) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fits else numbers


def _single(numbers: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """The same for numbers that single precision holds exactly."""
    narrow = numbers.astype(np.float32)
    return narrow if np.array_equal(narrow, numbers) else numbers


def unpack_params(
    packed: PackedParams, rules: npt.NDArray[Any], n_models: int, language: Language
) -> list[LatentParams]:
    """What :func:`pack_params` packed."""
    a, numbers = packed.arrays, dict(packed.numbers)
    vectors, of_models = numbers.pop("vectors", None), numbers["of_models"]
    of_classes, classes = numbers.pop("classes", None), None
    if of_classes is not None:
        sizes = tuple(of_classes["sizes"])
        classes = WordClasses(tuple(packed.strings["class_words"]), a["class_numbers"], sizes)
    words, shapes = tuple(packed.strings["words"]), tuple(packed.strings["shapes"])
    params = []
    for number in range(n_models):
        prefix = f"model{number}."
        fields: dict[str, Any] = {name: a[f"{prefix}lexicon.{name}"] for name in _LEXICON_ARRAYS}
        fields |= {name: fields[name].astype(np.int64) for name in _LEXICON_STATES}
        fields |= {name: fields[name].astype(np.float64) for name in _LEXICON_COUNTS}
        fields.update(of_models[number], words=words, shapes=shapes)
        if classes is not None:
            of_class = a[f"{prefix}class_counts"]
            fields["by_class"] = ClassCounts(classes, of_class, of_classes["strength"])
        lexicon = Lexicon(**fields, language=language)
        if vectors is not None and f"{prefix}vectors.m" in a:
            more: dict[str, Any] = {
                name: a[f"{prefix}vectors.{name}"] for name in lexicon_moments.ARRAYS
            }
            signed = lexicon_moments.MomentLexicon(tag_level=lexicon, **more, **vectors)
            lexicon = cast("Lexicon", signed)  # it answers like one
        spectra = None
        if f"{prefix}singular_ptr" in a:
            smallest = a.get(f"{prefix}smallest")
            spectra = Spectra(a[f"{prefix}singular_values"], a[f"{prefix}singular_ptr"], smallest)
        low = None
        if f"{prefix}low.rank" in a:
            rank = a[f"{prefix}low.rank"].astype(np.int64)
            ptr = pointers(n_numbers(a[prefix + "m"][rules], rank))
            low = LowRank(rank, ptr, a[f"{prefix}low.values"], a[f"{prefix}low.factor"])
        counts: RuleCounts | None = None
        tensor = a.get(prefix + "tensor", np.empty(0, np.float32))
        if f"{prefix}counts.places" in a:
            first, second, third = a[f"{prefix}counts.strengths"].tolist()
            counts = RuleCounts(
                a[f"{prefix}counts.places"].astype(np.int64),
                a[f"{prefix}counts.numbers"].astype(np.float64),
                a[f"{prefix}counts.states"],
                a[f"{prefix}counts.rules"],
                a[f"{prefix}counts.labels"],
                (first, second, third),
            )
            tensor = counts.smoothed(rules, a[prefix + "m"])
        params.append(
            LatentParams(
                a[prefix + "m"],
                rules,
                a[prefix + "rule_ptr"],
                tensor,
                a[prefix + "root"],
                lexicon,
                spectra,
                low,
                counts,
            )
        )
    return params
