"""A parser as a model file of kind ``graph-parser``, and back.

The file holds the weights, the templates, the relations, the words and tags that have numbers, the
bits of clusters and vectors that new text needs, and the model files of the taggers, if any.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from eigentext.base import modelfile
from eigentext.dependency.encode import Encoder
from eigentext.dependency.labels import LabelModel, LabelSettings, compiled_labels
from eigentext.dependency.projectivity import Projectivity
from eigentext.dependency.storage_fields import GRAPH_PARSER
from eigentext.dependency.tags import OwnTags
from eigentext.dependency.training import ArcModel, ArcSettings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.dependency.parser import GraphParser

__all__ = ["KIND", "VERSION", "load_parser", "save_parser"]

KIND = "graph-parser"
VERSION = 1
_KEPT = (
    "order",
    "grandparents",
    "learner",
    "projective",
    "epochs",
    "tagger",
    "labels",
    "min_count",
    "clip",
    "bits",
    "seed",
)
Parser = TypeVar("Parser", bound="GraphParser")


def save_parser(
    parser: GraphParser, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None
) -> None:
    """Write everything that parsing needs."""
    arcs, relations, encoder = parser.arcs_, parser.relations_, parser.encoder_
    arrays: dict[str, npt.NDArray[Any]] = {"arc_weights": arcs.weights}
    strings: dict[str, Sequence[str]] = {
        "arc_templates": arcs.arc_names,
        "sibling_templates": arcs.sib_names,
        "grandparent_templates": arcs.grand_names,
        "upos": encoder.upos,
        "xpos": encoder.xpos,
        "known": sorted(encoder.known or ()),
        "cluster_words": list(parser.clusters_),
        "cluster_bits": list(parser.clusters_.values()),
        "vector_words": list(parser.near_),
        "vector_bits": list(parser.near_.values()),
    }
    settings: dict[str, Any] = {name: getattr(parser, name) for name in _KEPT}
    settings["arcs"] = asdict(arcs.settings)
    settings["tagged"] = parser.tagged_
    settings["projectivity"] = asdict(parser.projectivity_)
    if relations is not None:
        arrays["label_weights"] = relations.weights
        strings["label_templates"] = relations.names
        strings["relations"] = relations.relations
        settings["relations"] = asdict(relations.settings)
        settings["root_relation"] = relations.root
    if parser.own_tags_ is not None:
        for name, content in parser.own_tags_.as_arrays().items():
            arrays[f"tagger_{name}"] = content
    modelfile.save(
        path,
        KIND,
        arrays,
        settings=settings,
        format_version=VERSION,
        strings=strings,
        seed=parser.seed,
        data=data,
    )


def load_parser(kind: type[Parser], path: str | os.PathLike[str]) -> Parser:
    """Read what :func:`save_parser` wrote."""
    file = modelfile.load(path, KIND, {VERSION}, GRAPH_PARSER)
    arrays: Mapping[str, npt.NDArray[Any]] = file.arrays
    strings, settings = file.strings, file.header.settings
    with file.fitting():
        parser = kind(**{name: settings[name] for name in _KEPT})
        parser._check_settings()
        parser.tagged_ = settings["tagged"]
        parser.projectivity_ = Projectivity(**settings["projectivity"])
        parser.clusters_ = dict(
            zip(strings["cluster_words"], strings["cluster_bits"], strict=True)
        )
        parser.near_ = dict(zip(strings["vector_words"], strings["vector_bits"], strict=True))
        # parameters as well, so that a parser of the same settings can be trained
        parser.clusters, parser.vectors = parser.clusters_ or None, parser.near_ or None
        parser.encoder_ = Encoder(
            known=frozenset(strings["known"]),
            clusters=parser.clusters_,
            near=parser.near_,
            upos=strings["upos"],
            xpos=strings["xpos"],
        )
        arc_settings = ArcSettings(**settings["arcs"])
        parser.arcs_ = ArcModel(
            arc_settings,
            tuple(strings["arc_templates"]),
            tuple(strings["sibling_templates"]),
            parser.encoder_.n_tags,
            arrays["arc_weights"],
            tuple(strings["grandparent_templates"]),
        )
        parser.relations_ = None
        if "relations" in settings:
            label_settings = LabelSettings(**settings["relations"])
            relations = tuple(strings["relations"])
            compiled_labels(strings["label_templates"])  # refuses what is no template
            parser.relations_ = LabelModel(
                label_settings,
                tuple(strings["label_templates"]),
                relations,
                settings["root_relation"],
                arrays["label_weights"],
            )
        parser.own_tags_ = None
        if parser.tagger == "own":
            found = {
                name.removeprefix("tagger_"): content
                for name, content in arrays.items()
                if name.startswith("tagger_")
            }
            parser.own_tags_ = OwnTags.from_arrays(found)
    return parser
