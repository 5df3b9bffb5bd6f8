"""A parser as a model file of kind ``graph-parser``, and back.

The file holds the weights (whole numbers, packed), the templates, the relations, the words and
tags that have numbers, the bits of clusters and vectors that new text needs, and the model files
of the tagger, if any.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Bits,
    Flag,
    Named,
    Parts,
    Pointers,
    Real,
    Sparse,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.base.model import Packed
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

    Arrays = Mapping[str, npt.NDArray[Any]]
    Texts = Mapping[str, list[str]]
    Settings = dict[str, Any]

__all__ = ["SPEC", "pack", "restore"]

_HASHED = Named({"bits": Whole(10, 30), "epochs": Whole(1), "seed": Whole(0)})


def _parts(settings: Settings) -> Parts:
    strings = {
        name: Strings(name)
        for name in (
            "arc_templates",
            "sibling_templates",
            "grandparent_templates",
            "coarse_templates",
        )
    }
    strings |= {name: Strings(name, distinct=True) for name in ("upos", "xpos", "known", "fine")}
    # files made before have them not
    strings["xpos_known"] = Strings("xpos_known", distinct=True, optional=True)
    strings["upos_of_xpos"] = Strings("xpos_known", optional=True)
    for name in ("cluster", "vector"):
        strings[f"{name}_words"] = Strings(f"{name}s", distinct=True)
        strings[f"{name}_bits"] = Strings(f"{name}s", bits=True)
    arrays: dict[str, Array | Pointers | Sparse] = {
        "arc_weights": Bits(("arc_bytes",)),
        "coarse_weights": Bits(("coarse_bytes",)),
    }
    if settings.get("relations") is not None:
        strings |= {
            "label_templates": Strings("label_templates"),
            "relations": Strings("relations", distinct=True),
        }
        arrays["label_weights"] = Bits(("label_bytes",))
    if settings["tags"] == "own":
        arrays |= {
            f"tagger_{tag}": Bits((f"{tag}_bytes",), optional=True)
            # files made before have the first two
            for tag in ("upos", "xpos", "morphology", "morphology_of_xpos")
        }
    return Parts(arrays, strings)


def _holds(arrays: Arrays, strings: Texts, settings: Settings) -> None:
    if settings.get("relations") is not None:
        most = len(strings["relations"]) - 1
        Whole(-1, most).check("settings.root_relation", settings.get("root_relation"))
        if most < 0:
            raise ValueError("strings 'relations' are none, expected some")


SPEC = Spec(
    {
        "arcs": Named({**_HASHED.fields, "charge": Real(low=0), "heat": Real(low=0, open=True)}),
        "arc_scale": Real(low=0, open=True),
        "coarse": Named(_HASHED.fields, optional=True),
        "coarse_scale": Real(low=0, open=True, optional=True),
        "fine_tags": Flag(),
        "projectivity": Named(
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
        "relations": Named(_HASHED.fields, optional=True),
        "tagged": Flag(),
        "tags": Text(("gold", "own")),
    },
    _parts,
    _holds,
)


def pack(parser: DependencyParser) -> Packed:
    """Everything that parsing needs."""
    arcs, relations, encoder = parser.arcs_, parser.relations_, parser.encoder_
    coarse = arcs.coarse
    arrays: dict[str, npt.NDArray[Any]] = {
        "arc_weights": packed(_whole(arcs)),
        "coarse_weights": packed(np.empty(0, np.int16) if coarse is None else _whole(coarse)),
    }
    strings: dict[str, Sequence[str]] = {
        "arc_templates": arcs.arc_names,
        "sibling_templates": arcs.sib_names,
        "grandparent_templates": arcs.grand_names,
        "coarse_templates": () if coarse is None else coarse.arc_names,
        "upos": encoder.upos,
        "xpos": encoder.xpos,
        "fine": encoder.fine or (),
        "known": sorted(encoder.vocabulary or ()),
        "cluster_words": list(parser.clusters_),
        "cluster_bits": list(parser.clusters_.values()),
        "vector_words": list(parser.near_),
        "vector_bits": list(parser.near_.values()),
    }
    if encoder.upos_of:
        strings["xpos_known"] = list(encoder.upos_of)
        strings["upos_of_xpos"] = list(encoder.upos_of.values())
    facts: dict[str, Any] = {
        "arcs": asdict(arcs.settings),
        "arc_scale": arcs.scale,
        "fine_tags": encoder.fine is not None,
        "tagged": parser.tagged_,
        "projectivity": asdict(parser.projectivity_),
    }
    if coarse is not None:
        facts |= {"coarse": asdict(coarse.settings), "coarse_scale": coarse.scale}
    if relations is not None:
        arrays["label_weights"] = packed(relations.weights)
        strings["label_templates"] = relations.names
        strings["relations"] = relations.relations
        facts["relations"] = asdict(relations.settings)
        facts["root_relation"] = relations.root
    if parser.own_tags_ is not None:
        arrays |= {f"tagger_{name}": raw for name, raw in parser.own_tags_.as_arrays().items()}
    return Packed(arrays, strings, facts)


def _whole(model: ArcModel) -> npt.NDArray[np.int16]:
    if model.weights.dtype != np.int16:
        raise SettingsError("weights that are still learned cannot be stored")
    return model.weights.astype(np.int16, copy=False)


def restore(parser: DependencyParser, stored: Packed) -> None:
    """What :func:`pack` took from it."""
    arrays, strings, facts = stored.arrays, stored.strings, stored.facts
    parser.tagged_ = facts["tagged"]
    parser.projectivity_ = Projectivity(**facts["projectivity"])
    parser.clusters_ = dict(zip(strings["cluster_words"], strings["cluster_bits"], strict=True))
    parser.near_ = dict(zip(strings["vector_words"], strings["vector_bits"], strict=True))
    # settings as well, so that a parser of the same settings can be trained
    parser.clusters, parser.vectors = parser.clusters_ or None, parser.near_ or None
    pairs = strings.get("xpos_known", []), strings.get("upos_of_xpos", [])
    parser.encoder_ = Encoder(
        vocabulary=frozenset(strings["known"]),
        clusters=parser.clusters_,
        near=parser.near_,
        upos=strings["upos"],
        xpos=strings["xpos"],
        fine=strings["fine"] if facts["fine_tags"] else None,
        upos_of=dict(zip(*pairs, strict=True)),
    )
    n_tags, coarse = parser.encoder_.n_tags, None
    if "coarse" in facts:
        settings = ArcSettings(**facts["coarse"])
        weights = unpacked(arrays["coarse_weights"], 1 << settings.bits)
        names = tuple(strings["coarse_templates"])
        coarse = ArcModel(settings, names, (), n_tags, weights, scale=facts["coarse_scale"])
    settings = ArcSettings(**facts["arcs"])
    parser.arcs_ = ArcModel(
        settings,
        tuple(strings["arc_templates"]),
        tuple(strings["sibling_templates"]),
        n_tags,
        unpacked(arrays["arc_weights"], 1 << settings.bits),
        tuple(strings["grandparent_templates"]),
        facts["arc_scale"],
        coarse,
    )
    parser.relations_ = None
    if "relations" in facts:
        compiled_labels(tuple(strings["label_templates"]))  # refuses what is no template
        learned = LabelSettings(**facts["relations"])
        size = (1 << learned.bits) + len(strings["relations"])
        parser.relations_ = LabelModel(
            learned,
            tuple(strings["label_templates"]),
            tuple(strings["relations"]),
            facts["root_relation"],
            unpacked(arrays["label_weights"], size),
        )
    parser.own_tags_ = None
    if parser.tags == "own":
        taggers = {
            name.removeprefix("tagger_"): raw
            for name, raw in arrays.items()
            if name.startswith("tagger_")
        }
        parser.own_tags_ = OwnTags.from_arrays(taggers)
