"""What the model files of parsers and of latent trees must hold, one spec a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Bits,
    Flag,
    Ints,
    Listed,
    Named,
    Parts,
    Pointers,
    Real,
    Reals,
    Shares,
    Sparse,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.dependency.learn_generative import N_LENGTHS
from eigentext.dependency.learn_latent import EDGES, N_CLASSES, table_starts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]
    Texts = Mapping[str, list[str]]
    Settings = dict[str, Any]

__all__ = ["GENERATIVE", "GRAPH_PARSER", "LATENT_TREE"]

_LANGUAGE = Text(("english", "generic"))
_HASHED = Named({"bits": Whole(10, 30), "epochs": Whole(1), "seed": Whole(0)})


# ---------------------------------------------------------------- graph parser


def _graph_parser(settings: Settings) -> Parts:
    weights = ("float32",), -1e9, 1e9
    strings = {
        name: Strings(name)
        for name in ("arc_templates", "sibling_templates", "grandparent_templates")
    }
    strings |= {name: Strings(name, distinct=True) for name in ("upos", "xpos", "known")}
    for name in ("cluster", "vector"):
        strings[f"{name}_words"] = Strings(f"{name}s", distinct=True)
        strings[f"{name}_bits"] = Strings(f"{name}s", bits=True)
    arrays: dict[str, Array | Pointers | Sparse] = {
        "arc_weights": Reals((1 << settings["arcs"]["bits"],), *weights)
    }
    if settings.get("relations") is not None:
        strings |= {
            "label_templates": Strings("label_templates"),
            "relations": Strings("relations", distinct=True),
        }
        room = 1 << settings["relations"]["bits"]
        arrays["label_weights"] = Reals((f"relations+{room}",), *weights)
    if settings.get("tagger") is not None:
        arrays |= {
            f"tagger_{tag}": Bits((f"{tag}_bytes",), optional=True) for tag in ("upos", "xpos")
        }
    return Parts(arrays, strings)


def _graph_parser_holds(arrays: Arrays, strings: Texts, settings: Settings) -> None:
    if settings.get("relations") is not None:
        most = len(strings["relations"]) - 1
        Whole(-1, most).check("settings.root_relation", settings.get("root_relation"))
        if most < 0:
            raise ValueError("strings 'relations' are none, expected some")


GRAPH_PARSER = Spec(
    {
        "arcs": Named({**_HASHED.fields, "charge": Real(low=0)}),
        "projectivity": Named(
            {
                "projective": Flag(),
                "why": Text(),
                "charge": Real(low=0),
                "words": Whole(0),
                "projective_uas": Real(low=0, high=100, optional=True),
                "crossing_uas": Real(low=0, high=100, optional=True),
            },
            closed=True,
        ),
        "relations": Named(_HASHED.fields, optional=True),
        "tagged": Flag(),
        "tagger": Text(("own",), optional=True),
    },
    _graph_parser,
    _graph_parser_holds,
)


# ---------------------------------------------------------------- latent tree


def _latent_tree(settings: Settings) -> Parts:
    k, classes = settings["k"], N_CLASSES[EDGES[settings["edges"]]]
    arrays: dict[str, Array | Pointers | Sparse] = {
        "group": Ints((k,), low=0, below=k),
        "shares": Shares((k,)),
    }
    for member in range(settings["ensemble"]):
        arrays |= {
            f"{member}.pi": Shares((k,)),
            f"{member}.T": Shares((classes, k, k)),
            f"{member}.rows": Shares(("rows", k)),
        }
    channels = range(settings["observations"].count("+") + 1)
    return Parts(arrays, {f"names{at}": Strings(f"names{at}", distinct=True) for at in channels})


def _latent_tree_holds(arrays: Arrays, strings: Texts, settings: Settings) -> None:
    sizes = [len(strings[f"names{at}"]) for at in range(len(strings))]
    rows = int(table_starts(sizes, settings["structure"])[-1])
    if len(arrays["0.rows"]) != rows:
        raise ValueError(f"array '0.rows' has {len(arrays['0.rows'])} rows, expected {rows}")
    if any("<unk>" not in names for names in strings.values()):
        raise ValueError("strings 'names': one list is without <unk>")


LATENT_TREE = Spec(
    {
        "k": Whole(1, 10**6),
        "ensemble": Whole(1, 1000),
        "edges": Text(tuple(EDGES)),
        "structure": Text(),
        "observations": Text(),
        "split": Flag(),
        "lower": Flag(),
        "language": _LANGUAGE,
        "smoothing": Named({}),
        "log_likelihoods": Listed(Real()),
    },
    _latent_tree,
    _latent_tree_holds,
)


# ---------------------------------------------------------------- generative parser


def _generative_holds(arrays: Arrays, *_: object) -> None:
    m = arrays["m"]
    if not len(m):
        raise ValueError("strings 'tags' are none, expected some")
    if not np.array_equal(arrays["first"], np.cumsum(m) - m):
        raise ValueError("array 'first' does not fit the states of the tags")
    if len(arrays["root"]) != m.sum() or arrays["E"].shape[1] != m.max():
        raise ValueError(f"arrays 'root' and 'E' do not fit {m.sum()} states")


GENERATIVE = Spec(
    {
        "states": Whole(1, 64),
        "tags": Text(("upos", "xpos", "both")),
        "siblings": Flag(),
        "language": _LANGUAGE,
        "smoothing": Named({}),
    },
    Parts(
        {
            "m": Ints(("tags",), low=1, below=10_000),
            "first": Ints(("tags",), low=0),
            "T": Shares((2, "siblings", "states", "states")),
            "go": Reals((2, "siblings", N_LENGTHS, "states"), low=0, high=1),
            "root": Shares(("states",)),
            "E": Shares(("words", "most")),
            "tag_of": Ints(("words",), low=0, below="tags"),
        },
        {
            "tags": Strings("tags", distinct=True),
            "words": Strings("words"),  # a word is there once for each of its tags
            "known": Strings("known"),
        },
    ),
    _generative_holds,
)
