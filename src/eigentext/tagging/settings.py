"""Settings of the taggers and the segmenter, for Python and the commands alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, get_args

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Auto, Flag, Listed, Real, Text, Whole

Scheme = Literal["auto", "bio2", "plain"]


@dataclass
class WordClassSettings:
    """What a tagger knows of words from text without annotation."""

    clusters: str | PathLike[str] | Mapping[str, str] | None = usual(
        None, Anything(), "Brown clusters: bits TAB word TAB count.", path=True, kept=True
    )
    vectors: str | PathLike[str] | Mapping[str, Any] | None = usual(
        None, Anything(), "Word vectors, word2vec text or binary.", path=True, kept=True
    )


@dataclass
class TaggerSettings(WordClassSettings):
    """Settings of a tagger."""

    epochs: int = usual(
        8, Whole(1), "Passes over the data; with development data, the most there are."
    )
    scheme: Scheme = usual(
        "auto", Text(get_args(Scheme)), "bio2 for entities; plain for other tags."
    )
    min_count: int = setting(1, Whole(1), "Leave out features seen less often.")
    margin: float = setting(
        0.2,
        Real(0),
        "The lead that the gold tag must have, in multiples of the number of templates; with "
        "less, the weights are corrected.",
    )
    entity_margin: float | Literal["auto"] = usual(
        "auto",
        Auto(Real(0)),
        "Added to the margin of entities: more finds more of them; auto: the best on development "
        "data, or by cross-validation on the training data.",
    )
    beam: int | Literal["auto"] = usual(
        "auto",
        Auto(Whole(1, 10_000)),
        "Tag sequences kept; 1 is greedy; auto: chosen with the entity margin, 1 for other tags.",
        answering=True,
    )
    templates: Sequence[str] | None = setting(
        None,
        Listed(Text()),
        "Names of feature templates (docs/guide/tagging.md), to try others than the default ones.",
        flag=False,
    )
    vector_scale: float = setting(
        1.0, Real(0, open=True), "Every vector is scaled to this length: 1 is as one feature."
    )
    repair: bool = setting(
        False, Flag(), "Read tags outside BIO2 as the CoNLL scorer does; else they are an error."
    )
    compact: bool = expert(
        False, Flag(), "Keep clusters and vectors of training words only: a smaller file."
    )
    seed: int = expert(0, Whole(0), "Start of every random choice.")


@dataclass
class MorphTaggerSettings(WordClassSettings):
    """Settings of a morphological tagger."""

    epochs: int = setting(6, Whole(1), "Passes over the data.")
    rate: float = setting(0.04, Real(0, open=True), "Length of the first step of a weight.")
    bits: int = setting(21, Whole(10, 26), "The table of weights has 2^bits entries.")
    seed: int = setting(0, Whole(0), "Start of every random choice.")


@dataclass
class SegmenterSettings:
    """Settings of a segmenter."""

    epochs: int = setting(8, Whole(1, 1000), "Passes over the training text.")
    bits: int = setting(
        18,
        Whole(8, 24),
        "The weights of each stage lie in a table of 2 to this power.",
        flag=False,
    )
    seed: int = setting(0, Whole(0), "Start of every random choice.")
