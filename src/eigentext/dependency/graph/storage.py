"""A parser as a model file of kind ``graph-parser``, and back.

The file holds the weights (whole numbers, packed), the templates, the relations, the words and
tags that have numbers, the bits of clusters and vectors that new text needs, and the model files
of the tagger, if any.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.fields import Bits, Strings
from eigentext.base.records import (
    As,
    BitsOfWords,
    Called,
    Facts,
    Group,
    Inner,
    Record,
    When,
    stored,
)
from eigentext.base.values import Flag, Named, Real, Text, Whole
from eigentext.dependency.graph.encode import Encoder
from eigentext.dependency.graph.labels import LabelModel, LabelSettings, compiled_labels
from eigentext.dependency.graph.projectivity import Projectivity
from eigentext.dependency.graph.rounding import packed, unpacked
from eigentext.dependency.graph.tags import OwnTags
from eigentext.dependency.graph.training import ArcModel, ArcSettings
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.dependency.graph.parser import DependencyParser

    Bytes = npt.NDArray[np.uint8]

__all__ = ["Content"]

_HASHED = Named({"bits": Whole(10, 30), "epochs": Whole(1), "seed": Whole(0)})


_TAGGERS: dict[str, Any] = {  # by name in a file
    "upos": Inner("tagger", optional=True),
    "xpos": Inner("tagger", optional=True),
    "morphology": Inner("morph-tagger", optional=True),
    "morphology_of_xpos": Inner("morph-tagger", optional=True),
}


def _labels(
    settings: LabelSettings,
    root: int,
    names: tuple[str, ...],
    relations: tuple[str, ...],
    weights: Bytes,
) -> LabelModel:
    if not relations:
        raise ValueError("strings 'relations' are none, expected some")
    Whole(-1, len(relations) - 1).check("settings.root_relation", root)
    compiled_labels(names)  # refuses what is no template
    table = unpacked(weights, (1 << settings.bits) + len(relations))
    return LabelModel(settings, names, relations, root, table)


def _has_own_tags(values: Mapping[str, Any]) -> bool:
    return bool(values["tags"] == "own")


class _Coarse(NamedTuple):
    settings: ArcSettings
    scale: float


@dataclass
class Content:
    """What a file holds; weights are packed bytes."""

    arc_templates: Sequence[str] = stored(Strings("arc_templates"))
    sibling_templates: Sequence[str] = stored(Strings("sibling_templates"))
    grandparent_templates: Sequence[str] = stored(Strings("grandparent_templates"))
    arc_weights: Bytes = stored(Bits())
    arcs: ArcSettings = stored(
        Facts(
            ArcSettings,
            Named({**_HASHED.fields, "charge": Real(low=0), "heat": Real(low=0, open=True)}),
        )
    )
    arc_scale: float = stored(Real(low=0, open=True))
    # the first-order model that says which arcs are scored; none: no templates and weights
    coarse_templates: Sequence[str] = stored(Strings("coarse_templates"))
    coarse_weights: Bytes = stored(Bits())
    coarse: _Coarse | None = stored(
        Record(
            _Coarse,
            optional=True,
            settings=Called("coarse", Facts(ArcSettings, _HASHED)),
            scale=Called("coarse_scale", Real(low=0, open=True)),
        )
    )
    # the encoder
    upos: Sequence[str] = stored(Strings("upos", distinct=True))
    xpos: Sequence[str] = stored(Strings("xpos", distinct=True))
    fine_tags: bool = stored(Flag())
    fine: Sequence[str] = stored(Strings("fine", distinct=True))
    known: Sequence[str] = stored(Strings("known", distinct=True))
    # files made before have them not
    xpos_known: Sequence[str] | None = stored(Strings("xpos_known", distinct=True, optional=True))
    upos_of_xpos: Sequence[str] | None = stored(Strings("xpos_known", optional=True))
    clusters: dict[str, str] = stored(BitsOfWords("cluster"))
    near: dict[str, str] = stored(BitsOfWords("vector"))
    relations: LabelModel | None = stored(
        Record(
            _labels,
            optional=True,
            settings=Called("relations", Facts(LabelSettings, _HASHED)),
            root=Called("root_relation", Whole(-1)),
            names=Called("label_templates", Strings("label_templates")),
            relations=Strings("relations", distinct=True),
            weights=Called("label_weights", As(Bits(), packed, lambda raw: raw)),
        )
    )
    # files made before there was one of morphology have the first two
    taggers: Mapping[str, Any] | None = stored(
        When(
            _has_own_tags,
            As(Group(prefix="tagger_", **_TAGGERS), lambda t: SimpleNamespace(**t), vars),
        )
    )
    tagged: bool = stored(Flag())
    projectivity: Projectivity = stored(
        Facts(
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

    @classmethod
    def of(cls, parser: DependencyParser) -> Content:
        """Everything that parsing needs."""
        arcs, encoder = parser.arcs_, parser.encoder_
        coarse, own_tags = arcs.coarse, parser.own_tags_
        return cls(
            arc_templates=arcs.arc_names,
            sibling_templates=arcs.sib_names,
            grandparent_templates=arcs.grand_names,
            arc_weights=packed(_whole(arcs)),
            arcs=arcs.settings,
            arc_scale=arcs.scale,
            coarse_templates=() if coarse is None else coarse.arc_names,
            coarse_weights=packed(np.empty(0, np.int16) if coarse is None else _whole(coarse)),
            coarse=None if coarse is None else _Coarse(coarse.settings, coarse.scale),
            upos=encoder.upos,
            xpos=encoder.xpos,
            fine_tags=encoder.fine is not None,
            fine=encoder.fine or (),
            known=sorted(encoder.known or ()),
            xpos_known=list(encoder.upos_of) or None,
            upos_of_xpos=list(encoder.upos_of.values()) or None,
            clusters=parser.clusters_,
            near=parser.near_,
            relations=parser.relations_,
            taggers=None if own_tags is None else dict.fromkeys(_TAGGERS) | own_tags.by_name(),
            tagged=parser.tagged_,
            projectivity=parser.projectivity_,
        )

    def restore(self, parser: DependencyParser) -> None:
        """Set what ``fit`` would have learned."""
        parser.tagged_, parser.projectivity_ = self.tagged, self.projectivity
        parser.relations_ = self.relations
        parser.clusters_, parser.near_ = self.clusters, self.near
        # settings as well, so that a parser of the same settings can be trained
        parser.clusters, parser.vectors = parser.clusters_ or None, parser.near_ or None
        parser.encoder_ = Encoder(
            known=frozenset(self.known),
            clusters=self.clusters,
            near=self.near,
            upos=self.upos,
            xpos=self.xpos,
            fine=self.fine if self.fine_tags else None,
            upos_of=dict(zip(self.xpos_known or (), self.upos_of_xpos or (), strict=True)),
        )
        n_tags, coarse = parser.encoder_.n_tags, None
        if self.coarse is not None:
            settings, scale = self.coarse
            weights = unpacked(self.coarse_weights, 1 << settings.bits)
            names = tuple(self.coarse_templates)
            coarse = ArcModel(settings, names, (), n_tags, weights, scale=scale)
        parser.arcs_ = ArcModel(
            self.arcs,
            tuple(self.arc_templates),
            tuple(self.sibling_templates),
            n_tags,
            unpacked(self.arc_weights, 1 << self.arcs.bits),
            tuple(self.grandparent_templates),
            self.arc_scale,
            coarse,
        )
        parser.own_tags_ = None
        if parser.tags == "own":
            parser.own_tags_ = OwnTags.of(self.taggers or {})


def _whole(model: ArcModel) -> npt.NDArray[np.int16]:
    if model.weights.dtype != np.int16:
        raise SettingsError("weights that are still learned cannot be stored")
    return model.weights.astype(np.int16, copy=False)
