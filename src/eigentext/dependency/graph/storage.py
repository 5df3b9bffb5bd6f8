"""A parser as a model file of kind ``graph-parser``, and back.

The file holds the weights (whole numbers, packed), the templates, the relations, the words and
tags that have numbers, the bits of clusters and vectors that new text needs, and the model files
of the tagger, if any.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.fields import Bits, Strings
from eigentext.base.records import (
    As,
    BitsOfWords,
    Called,
    FactsOf,
    Group,
    Inner,
    Record,
    When,
    stored,
)
from eigentext.base.values import Flag, Named, Real, Text, Whole
from eigentext.dependency.graph.encode import TokenEncoder
from eigentext.dependency.graph.labels import LabelModel, LabelSettings, compiled_labels
from eigentext.dependency.graph.projectivity import Projectivity
from eigentext.dependency.graph.tags import OwnTags
from eigentext.dependency.graph.training import ArcModel, ArcSettings
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.base.types import Int16s, UInt8s
    from eigentext.dependency.graph.parser import DependencyParser

_HASHED = Named({"bits": Whole(10, 30), "epochs": Whole(1), "seed": Whole(0)})
# a second for four million weights, and a training asks several times for the same
_compressed = lru_cache(maxsize=4)(zlib.compress)
_TAGGERS: dict[str, Any] = {  # by name in a file
    "upos": Inner("tagger", optional=True),
    "xpos": Inner("tagger", optional=True),
    "morphology": Inner("morph-tagger", optional=True),
    "morphology_of_xpos": Inner("morph-tagger", optional=True),
}


def packed(weights: Int16s) -> UInt8s:
    """Bytes for a file: lower ones before upper ones, most of which are the same, by zlib."""
    pairs = weights.astype("<i2").view(np.uint8).reshape(-1, 2)
    return np.frombuffer(_compressed(pairs.T.tobytes(), 9), np.uint8)


def unpacked(raw: UInt8s, size: int) -> Int16s:
    """The other way; ValueError if it is not a table of so many weights.

    >>> unpacked(packed(np.array([3, 0, -1000], np.int16)), 3).tolist()
    [3, 0, -1000]
    """
    reader, rest = zlib.decompressobj(), raw.tobytes()
    weights = np.empty(size, "<i2")
    halves = weights.view(np.uint8).reshape(size, 2)
    try:
        for column in range(2):  # lower bytes, upper bytes
            half = b""
            if size:  # no more than 0 bytes would mean any number of them
                half, rest = reader.decompress(rest, size), reader.unconsumed_tail
            if len(half) != size:
                raise ValueError(f"packed weights are not {size}")
            halves[:, column] = np.frombuffer(half, np.uint8)
        more = reader.decompress(rest, 1)
    except zlib.error as error:
        raise ValueError(f"weights cannot be unpacked: {error}") from None
    if more or not reader.eof or reader.unused_data:
        raise ValueError(f"packed weights are not {size}")
    return weights.astype(np.int16, copy=False)


def _labels(
    settings: LabelSettings,
    root: int,
    names: tuple[str, ...],
    relations: tuple[str, ...],
    weights: UInt8s,
) -> LabelModel:
    if not relations:
        raise ValueError("strings 'relations' are none, expected some")
    Whole(-1, len(relations) - 1).check("settings.root_relation", root)
    compiled_labels(names)  # refuses what is no template
    table = unpacked(weights, (1 << settings.bits) + len(relations))
    return LabelModel(settings, names, relations, root, table)


class _Coarse(NamedTuple):
    settings: ArcSettings
    scale: float


@dataclass
class ArcParserFile:
    """What a file holds; weights are packed bytes."""

    arc_templates: tuple[str, ...] = stored(Strings("arc_templates"), of="arcs_.arc_names")
    sibling_templates: tuple[str, ...] = stored(Strings("sibling_templates"), of="arcs_.sib_names")
    grandparent_templates: tuple[str, ...] = stored(
        Strings("grandparent_templates"), of="arcs_.grand_names"
    )
    arc_weights: UInt8s = stored(Bits(), of=lambda parser: packed(_whole(parser.arcs_)))
    arcs: ArcSettings = stored(
        FactsOf(
            ArcSettings,
            Named({**_HASHED.fields, "charge": Real(low=0), "heat": Real(low=0, open=True)}),
        ),
        of="arcs_.settings",
    )
    arc_scale: float = stored(Real(low=0, open=True), of="arcs_.scale")
    # the first-order model that says which arcs are scored; none: no templates and weights
    coarse_templates: tuple[str, ...] = stored(
        Strings("coarse_templates"),
        of=lambda parser: getattr(parser.arcs_.coarse, "arc_names", ()),
    )
    coarse_weights: UInt8s = stored(Bits(), of=lambda parser: packed(_whole(parser.arcs_.coarse)))
    coarse: _Coarse | None = stored(
        Record(
            _Coarse,
            optional=True,
            settings=Called("coarse", FactsOf(ArcSettings, _HASHED)),
            scale=Called("coarse_scale", Real(low=0, open=True)),
        ),
        of="arcs_.coarse",
    )
    upos: tuple[str, ...] = stored(Strings("upos", distinct=True), of="encoder_.upos")
    xpos: tuple[str, ...] = stored(Strings("xpos", distinct=True), of="encoder_.xpos")
    fine_tags: bool = stored(Flag(), of=lambda parser: parser.encoder_.fine is not None)
    fine: tuple[str, ...] = stored(
        Strings("fine", distinct=True), of=lambda parser: parser.encoder_.fine or ()
    )
    vocabulary: tuple[str, ...] = stored(
        Strings("known", distinct=True),
        "known",
        of=lambda parser: sorted(parser.encoder_.vocabulary or ()),
    )
    # files made before have them not
    xpos_known: tuple[str, ...] | None = stored(
        Strings("xpos_known", distinct=True, optional=True),
        of=lambda parser: list(parser.encoder_.upos_of) or None,
    )
    upos_of_xpos: tuple[str, ...] | None = stored(
        Strings("xpos_known", optional=True),
        of=lambda parser: list(parser.encoder_.upos_of.values()) or None,
    )
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    near_: dict[str, str] = stored(BitsOfWords("vector"))
    relations_: LabelModel | None = stored(
        Record(
            _labels,
            optional=True,
            settings=Called("relations", FactsOf(LabelSettings, _HASHED)),
            root=Called("root_relation", Whole(-1)),
            names=Called("label_templates", Strings("label_templates")),
            relations=Strings("relations", distinct=True),
            weights=Called("label_weights", As(Bits(), packed, lambda raw: raw)),
        )
    )
    # files made before there was one of morphology have the first two
    taggers: Mapping[str, Any] | None = stored(
        When(
            lambda values: values["tags"] == "own",
            As(
                Group(prefix="tagger_", **_TAGGERS),
                lambda tags: SimpleNamespace(**dict.fromkeys(_TAGGERS) | tags.by_name()),
                vars,
            ),
        ),
        of="own_tags_",
    )
    tagged_: bool = stored(Flag())
    projectivity_: Projectivity = stored(
        FactsOf(
            Projectivity,
            Named(
                {
                    "projective": Flag(),
                    "why": Text(),
                    "charge": Real(low=0),
                    "heat": Real(low=0, open=True),
                    "words": Whole(0),
                    "projective_uas": Real(low=0, high=100, optional=True),
                    "crossing_uas": Real(low=0, high=100, optional=True),
                },
                closed=True,
            ),
        )
    )

    def restore(self, parser: DependencyParser) -> None:
        """Set what ``fit`` would have learned."""
        # settings as well, so that a parser of the same settings can be trained
        parser.clusters, parser.vectors = self.clusters_ or None, self.near_ or None
        parser.encoder_ = TokenEncoder(
            vocabulary=frozenset(self.vocabulary),
            clusters=self.clusters_,
            near=self.near_,
            upos=self.upos,
            xpos=self.xpos,
            fine=self.fine if self.fine_tags else None,
            upos_of=dict(zip(self.xpos_known or (), self.upos_of_xpos or (), strict=True)),
        )
        n_tags, coarse = parser.encoder_.n_tags, None
        if self.coarse is not None:
            settings, scale = self.coarse
            weights = unpacked(self.coarse_weights, 1 << settings.bits)
            coarse = ArcModel(settings, self.coarse_templates, (), n_tags, weights, scale=scale)
        parser.arcs_ = ArcModel(
            self.arcs,
            self.arc_templates,
            self.sibling_templates,
            n_tags,
            unpacked(self.arc_weights, 1 << self.arcs.bits),
            self.grandparent_templates,
            self.arc_scale,
            coarse,
        )
        parser.own_tags_ = None
        if parser.tags == "own":
            parser.own_tags_ = OwnTags.of(self.taggers or {})


def _whole(model: ArcModel | None) -> Int16s:
    if model is None:
        return np.empty(0, np.int16)
    if model.weights.dtype != np.int16:
        raise SettingsError("weights that are still learned cannot be stored")
    return model.weights.astype(np.int16, copy=False)
