"""Grammars as parts of a model file, and back; a latent tagger keeps its grammars the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Shares, Strings
from eigentext.base.ragged import pointers
from eigentext.base.records import (
    Called,
    Each,
    FactsOf,
    Group,
    Numbers,
    OrNull,
    Record,
    When,
    stored,
)
from eigentext.base.values import Listed, Named, Real, Text, Whole
from eigentext.constituency.brackets import BITS, BracketModel
from eigentext.constituency.chart.coarse import CoarseGrammar
from eigentext.constituency.class_counts import ClassCounts
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.lexicon import Lexicon
from eigentext.constituency.lexicon_moments import MomentLexicon
from eigentext.constituency.low_rank import LowRank, n_numbers
from eigentext.constituency.params import LatentParams, RuleCounts, few_enough, tensor_layout
from eigentext.constituency.rerank import DECODER, Reranker
from eigentext.constituency.settings import Smoothing
from eigentext.features.signatures import LANGUAGES
from eigentext.features.spectrum import Spectra
from eigentext.features.word_classes import WordClasses
from eigentext.linear.lists import ListWeights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    import numpy.typing as npt

    from eigentext.base.types import Float32s, Float64s, Int64s
    from eigentext.constituency.model import LPCFG
    from eigentext.features.signatures import Language

MOST_MODELS = 1000
LANGUAGE = Text(LANGUAGES)
RULES = Ints(("rules", 3), low=0, below="labels")
_MOST_STATES = 10_000  # of one nonterminal
_MOST = 1e12  # words counted
_LARGE = 1e30
_STRENGTH = Real(0, 1e12)
_STRENGTHS = dict.fromkeys(("k_sig", "k_base", "k_state", "trust"), _STRENGTH)
_VECTOR_STRENGTHS = dict.fromkeys(("k_word", "k_shape"), _STRENGTH)
_LEXICON = Named(
    {
        **_STRENGTHS,
        "of_models": Listed(Named(_STRENGTHS, closed=True), MOST_MODELS),
        "classes": Named(
            {"sizes": Listed(Whole(1, 10**9), 100), "strength": Real(-100, 100)}, optional=True
        ),
        "vectors": Named(_VECTOR_STRENGTHS, closed=True, optional=True),
    },
    closed=True,
)


def _has_classes(values: Mapping[str, Any]) -> bool:
    return values["lexicon"].get("classes") is not None


def _numbers_narrow(size: str, below: str, **rules: Any) -> Ints:
    """Half as many bytes where the numbers fit."""
    return Ints((size,), ("int32", "int64"), 0, below, held="int64", **rules)


def _counts_narrow(size: str) -> Reals:
    """The same for numbers that single precision holds exactly."""
    return Reals((size,), ("float32", "float64"), 0, _MOST, held="float64")


_COUNTS = Record(
    RuleCounts,
    prefix="counts.",
    optional=True,
    places=_numbers_narrow("counts#", "tensor#", rising=True),
    numbers=Reals(("counts#",), ("float32",), 0, _MOST, held="float64"),
    states=Reals(("states#",), low=0, high=_MOST),
    rules=Reals(("rules",), low=0, high=_MOST),
    labels=Reals(("labels",), low=1e-30, high=_MOST),
    strengths=Numbers(Reals((3,), low=0, high=_MOST), tuple),
)
_LOW_RANK = Group(
    prefix="low.",
    optional=True,
    rank=Ints(("rules", 3), ("uint8",), held="int64"),
    values=Reals(("low#",), ("float16",), -65504, 65504),
    factor=Reals(("rules",), ("float32",), 0, _LARGE),
)
_LEXICON_COUNTS = Group(
    prefix="lexicon.",
    tags=Ints(("tags#",), low=0, below="labels", rising=True),
    tag_ptr=Pointers("tags#", "tag_states#"),
    base=Ints(("tags#",), low=0, below="tags#"),
    word_ptr=Pointers("words", "word_counts#"),
    word_ts=_numbers_narrow("word_counts#", "tag_states#"),
    word_n=_counts_narrow("word_counts#"),
    shape_ptr=Pointers("shapes", "shape_counts#"),
    shape_ts=_numbers_narrow("shape_counts#", "tag_states#"),
    shape_n=_counts_narrow("shape_counts#"),
    emits=Reals(("tag_states#",), low=0, high=_LARGE),
)
_VECTORS = Group(
    prefix="vectors.",
    optional=True,
    m=Ints(("tags#",), low=1, below=_MOST_STATES + 1),
    word_vector=Reals(("word_vectors#",), ("float32",), -_LARGE, _LARGE),
    shape_vector=Reals(("shape_vectors#",), ("float32",), -_LARGE, _LARGE),
    word_weight=Reals(("word_counts#",), low=0, high=_MOST),
    shape_weight=Reals(("shape_counts#",), low=0, high=_MOST),
    tag_mean=Reals(("vector_states#",), low=-_LARGE, high=_LARGE),
)
_SPECTRA = Record(
    Spectra,
    optional=True,
    ptr=Called("singular_ptr", Pointers("labels", "values#")),
    values=Called("singular_values", Reals(("values#",))),
    smallest=Reals(("labels",), optional=True),
)


def _few_counts(params: LatentParams) -> RuleCounts | None:
    counts = params.counts
    if counts is None or not few_enough(len(counts.places), len(params.tensor)):
        return None
    return counts


def _vectors(params: LatentParams) -> MomentLexicon | None:
    return params.lexicon if isinstance(params.lexicon, MomentLexicon) else None


@dataclass
class ModelContent:
    """One model; sizes of its own have its number behind them."""

    m: Int64s = stored(Ints(("labels",), low=1, below=_MOST_STATES + 1))
    rule_ptr: Int64s = stored(Pointers("rules", "tensor#"))
    root: Float64s = stored(Reals(("states#",), low=-_LARGE, high=_LARGE))
    counts: RuleCounts | None = stored(_COUNTS, of=_few_counts)
    low_rank: SimpleNamespace | None = stored(
        _LOW_RANK, of=lambda params: None if _few_counts(params) else params.low_rank
    )
    tensor: Float32s | None = stored(
        Reals(("tensor#",), ("float32",), -_LARGE, _LARGE, optional=True),
        of=lambda params: None if _few_counts(params) or params.low_rank else params.tensor,
    )
    lexicon: SimpleNamespace = stored(_LEXICON_COUNTS, of="lexicon.tag_level")
    class_counts: Float64s | None = stored(
        When(
            _has_classes,
            Reals(
                (lambda values: sum(values["lexicon"]["classes"]["sizes"]), "bases#"),
                low=0,
                high=_MOST,
            ),
        ),
        of=lambda params: getattr(params.lexicon.tag_level.by_class, "counts", None),
    )
    spectra: Spectra | None = stored(_SPECTRA)
    vectors: SimpleNamespace | None = stored(
        When(lambda values: bool(values["lexicon"].get("vectors")), _VECTORS), of=_vectors
    )

    def check(self, rules: Int64s, name: str) -> None:
        """Raise ValueError where layouts of tensors and states do not fit."""
        lexicon, vectors = self.lexicon, self.vectors
        of_tag = self.m[lexicon.tags]
        if not np.array_equal(self.rule_ptr, tensor_layout(rules, self.m)):
            raise ValueError(f"array '{name}rule_ptr' does not fit the rules and their states")
        _length(f"{name}root", self.root, int(self.m.sum()))
        self._check_tensors(rules, name)
        if vectors is not None:
            if not np.array_equal(vectors.m, of_tag):
                raise ValueError(f"array '{name}vectors.m' does not fit the states of the tags")
            for part, n_numbers_ in (
                ("word_vector", of_tag[lexicon.word_ts].sum()),
                ("shape_vector", of_tag[lexicon.shape_ts].sum()),
                ("tag_mean", of_tag.sum()),
            ):
                _length(f"{name}vectors.{part}", getattr(vectors, part), int(n_numbers_))
            of_tag = np.ones_like(of_tag)
        if not np.array_equal(np.diff(lexicon.tag_ptr), of_tag):
            raise ValueError(f"array '{name}lexicon.tag_ptr' does not fit the states of the tags")
        n = lexicon.word_n
        of_word = np.diff(np.concatenate([[0.0], np.cumsum(n)])[lexicon.word_ptr])
        if not len(lexicon.tags) or not len(n) or float(of_word.min()) <= 0:
            raise ValueError(f"array '{name}lexicon.word_n' has a word that was never seen")
        if self.class_counts is not None:
            bases = int(lexicon.base.max()) + 1
            if self.class_counts.shape[1] != bases:
                raise ValueError(f"array '{name}class_counts' does not fit {bases} base tags")

    def _check_tensors(self, rules: Int64s, name: str) -> None:
        """Tensors are there in one way, and no rank is larger than it can be."""
        ways = sum(way is not None for way in (self.counts, self.low_rank, self.tensor))
        if ways != 1:
            raise ValueError(f"arrays of '{name}' say rules in {ways} ways, expected one")
        n_cells = int(self.rule_ptr[-1])
        if self.tensor is not None:
            _length(f"{name}tensor", self.tensor, n_cells)
        elif self.counts is not None:
            if not few_enough(len(self.counts.places), n_cells):
                raise ValueError(
                    f"array '{name}counts.places' is too short for {n_cells:,} numbers"
                )
        elif self.low_rank is not None:
            shape, rank = self.m[rules], self.low_rank.rank
            none = rank == 0
            products = ~none[:, 0] & none[:, 1:].all(axis=1)  # as many as there are numbers for
            in_part = none.any(axis=1) != none.all(axis=1)
            too_large = (rank > shape).any(axis=1)
            if bool(np.any((too_large | in_part) & ~products)):
                raise ValueError(f"array '{name}low.rank' does not fit the states of the rules")
            n_values = int(n_numbers(shape, rank).sum())
            _length(f"{name}low.values", self.low_rank.values, n_values)

    def params(
        self, rules: Int64s, lexicon: Lexicon, strengths: Mapping[str, Any] | None
    ) -> LatentParams:
        """The model with these rules; ``strengths`` of the smoothing of vectors."""
        if self.vectors is not None and strengths is not None:
            signed = MomentLexicon(tag_level=lexicon, **vars(self.vectors), **strengths)
            lexicon = cast("Lexicon", signed)  # it answers like one
        low_rank, tensor = None, np.empty(0, np.float32) if self.tensor is None else self.tensor
        if self.low_rank is not None:
            ptr = pointers(n_numbers(self.m[rules], self.low_rank.rank))
            low_rank = LowRank(**vars(self.low_rank), ptr=ptr)
        if self.counts is not None:
            tensor = self.counts.smoothed(rules, self.m)
        others = self.spectra, low_rank, self.counts
        return LatentParams(self.m, rules, self.rule_ptr, tensor, self.root, lexicon, *others)


def _length(name: str, array: npt.NDArray[Any], expected: int) -> None:
    if len(array) != expected:
        raise ValueError(f"array {name!r} has {len(array)} numbers, expected {expected}")


def _first_lexicon(params: Sequence[LatentParams]) -> Lexicon:
    return params[0].lexicon.tag_level  # words and signatures are the same in every model


def _lexicon_numbers(params: Sequence[LatentParams]) -> dict[str, Any]:
    first = _first_lexicon(params)
    numbers: dict[str, Any] = _named(first, _STRENGTHS)
    # in a mixed ensemble they differ
    numbers["of_models"] = [_named(model.lexicon.tag_level, _STRENGTHS) for model in params]
    for vectors in map(_vectors, params):
        if vectors is not None:
            numbers["vectors"] = _named(vectors, _VECTOR_STRENGTHS)
    if first.by_class is not None:
        sizes, strength = first.by_class.classes.sizes, first.by_class.strength
        numbers["classes"] = {"sizes": sizes, "strength": strength}
    return numbers


def _named(record: object, names: Mapping[str, object]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


@dataclass
class ParamsContent:
    """All models of a file; their rules are left to the caller."""

    words: tuple[str, ...] = stored(
        Strings("words", distinct=True), of=lambda models: _first_lexicon(models).words
    )
    shapes: tuple[str, ...] = stored(
        Strings("shapes", distinct=True), of=lambda models: _first_lexicon(models).shapes
    )
    classes: SimpleNamespace | None = stored(
        When(
            _has_classes,
            Group(
                prefix="class_",
                words=Strings("class_words", distinct=True),
                numbers=Ints(
                    ("class_words", lambda values: len(values["lexicon"]["classes"]["sizes"])),
                    low=0,
                ),
            ),
        ),
        of=lambda models: getattr(_first_lexicon(models).by_class, "classes", None),
    )
    lexicon: dict[str, Any] = stored(_LEXICON, of=_lexicon_numbers)
    models: tuple[ModelContent, ...] = stored(
        Each(Record(ModelContent), "n_models", "model{}."), of=list
    )

    def params(self, rules: Int64s, language: Language) -> list[LatentParams]:
        """The models, once they are checked."""
        numbers, by_class = self.lexicon, self.lexicon.get("classes", {})
        if len(numbers["of_models"]) != len(self.models):
            raise ValueError(f"settings.lexicon.of_models are not {len(self.models)}")
        classes = None
        if self.classes is not None:
            classes = WordClasses(
                self.classes.words, self.classes.numbers, tuple(by_class["sizes"])
            )
            if bool(np.any(classes.numbers >= np.array(classes.sizes))):
                raise ValueError("array 'class_numbers' holds a class beyond the last")
        for number, model in enumerate(self.models):
            model.check(rules, f"model{number}.")
        params = []
        for model, strengths in zip(self.models, numbers["of_models"], strict=True):
            counts = None
            if classes is not None and model.class_counts is not None:
                counts = ClassCounts(classes, model.class_counts, by_class["strength"])
            lexicon = Lexicon(
                **vars(model.lexicon),
                **strengths,
                words=self.words,
                shapes=self.shapes,
                by_class=counts,
                language=language,
            )
            params.append(model.params(rules, lexicon, numbers.get("vectors")))
        return params


@dataclass
class ParserContent:
    """What the file of a parser holds; one without a reranker has none of its parts."""

    labels: tuple[str, ...] = stored(Strings("labels", distinct=True), of="grammar_.labels")
    coarse: CoarseGrammar = stored(
        Record(
            CoarseGrammar,
            rules=RULES,
            rule_p=Shares(("rules",)),
            root_p=Shares(("labels",)),
            prior=Shares(("labels",)),
            emits=Shares(("labels",)),
        ),
        of="grammar_.coarse",
    )
    params: ParamsContent = stored(Record(ParamsContent), of="grammar_.params")
    brackets: BracketModel | None = stored(
        Record(
            BracketModel,
            prefix="brackets.",
            optional=True,
            places=Ints(("brackets",), ("int32",), low=0, below=1 << BITS, rising=True),
            values=Reals(("brackets",), ("float16",), -65504, 65504),
        ),
        of="grammar_.brackets",
    )
    reranker: Any = stored(
        Group(
            optional=True,
            weights=Group(
                keys=Called(
                    "reranker.features", Ints(("rerank_features",), ("uint64",), rising=True)
                ),
                values=Called(
                    "reranker.weights", Reals(("rerank_features",), ("float32",), -1e6, 1e6)
                ),
            ),
            words=Called("reranker_words", Strings("rerank_words", distinct=True, optional=True)),
        ),
        of="reranker_",
    )
    wrapper: str | None = stored(OrNull(Text(optional=True)), of="grammar_.wrapper")
    smoothing: Smoothing = stored(FactsOf(Smoothing, Named({})), of="settings_.smoothing")

    def restore(self, parser: LPCFG) -> None:
        """Set what ``fit`` would have learned."""
        parser.smoothing, parser.semi_, parser.reranker_ = self.smoothing, None, None
        params = self.params.params(self.coarse.rules, parser.language)
        parser.grammar_ = Grammar(
            self.labels, self.wrapper, self.coarse, tuple(params), self.brackets
        )
        if self.reranker is not None:
            weights, words = self.reranker.weights, tuple(self.reranker.words or ())
            dense = ListWeights(weights.keys, weights.values, np.array(DECODER))
            parser.reranker_ = Reranker(words, dense, parser.language)
