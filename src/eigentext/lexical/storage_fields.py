"""What the model files of a ranker and of a learned analyzer must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Bits,
    Flag,
    Ints,
    Listed,
    Parts,
    Pointers,
    Real,
    Reals,
    Sparse,
    Spec,
    Strings,
    Text,
    Whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]
    Texts = Mapping[str, list[str]]

__all__ = ["ANALYZER", "RANKER"]

_MOST = 10**12  # words counted


def _ranker(settings: dict[str, Any]) -> Parts:
    arrays: dict[str, Array | Pointers | Sparse] = {
        "labels_of_form": Ints(("forms",), ("int32",), 0)
    }
    for number, bits in enumerate(settings["weight_bits"]):
        arrays |= {
            f"{number}/counts": Bits((f"bytes{number}",)),
            f"{number}/size": Ints((2,), low=0, below=_MOST),
            f"{number}/dense": Reals(
                ("buckets", f"columns{number}", "targets"), low=-1e9, high=1e9
            ),
            f"{number}/numeric": Reals(("numbers",), low=-1e9, high=1e9),
            f"{number}/pairs": Reals((1 << bits,), ("float16",)),
        }
    if settings["documents"]:
        arrays |= {
            "documents/rarity": Reals(("vocabulary",), low=-100, high=100),
            "documents/values": Array(("values",), ("uint64",)),
            "documents/first": Pointers("values", "entries"),
            "documents/sizes": Reals(("documents",), low=0, high=_MOST),
            "documents/documents": Ints(("entries",), low=0, below="documents"),
            "documents/counts": Reals(("entries",), low=0, high=_MOST),
            "documents/words": Sparse(("documents", "vocabulary"), ("float64",), -1, 1.001),
        }
    words = {name: Strings(name, distinct=True) for name in ("vocabulary", "forms", "seen")}
    return Parts(
        arrays,
        {
            **words,
            "labels": Strings("labels"),
            "cluster_words": Strings("clusters", distinct=True),
            "cluster_bits": Strings("clusters", bits=True),
        },
    )


def _ranker_holds(arrays: Arrays, strings: Texts, settings: dict[str, Any]) -> None:
    if len(settings["weight_bits"]) != settings["passes"]:
        raise ValueError(f"settings.weight_bits are not of {settings['passes']} passes")
    if int(arrays["labels_of_form"].sum()) != len(strings["labels"]):
        raise ValueError("array 'labels_of_form' does not fit the labels")
    for number in range(settings["passes"]):
        # a key takes a byte at least
        if int(arrays[f"{number}/size"][0]) > len(arrays[f"{number}/counts"]):
            raise ValueError(f"array '{number}/size' tells of more keys than there are")
    if settings["documents"] and bool(np.any(np.diff(arrays["documents/values"]) == 0)):
        raise ValueError("array 'documents/values' holds a value twice")


RANKER = Spec(
    {
        "analyzer": Text(),
        "scheme": Text(),
        "passes": Whole(1, 1000),
        "documents": Flag(),
        "observed": Flag(),
        "hard": Listed(Text()),
        "only": Listed(Text(), optional=True),
        "templates": Listed(Text()),
        "second": Listed(Text()),
        "temperature": Real(1e-9, 1e9),
        "weight_bits": Listed(Whole(0, 40), 1000),
        "seed": Whole(0),
    },
    _ranker,
    _ranker_holds,
)


def _analyzer_holds(arrays: Arrays, strings: Texts, settings: object) -> None:
    for name in ("forms", "endings"):
        readings, counts = arrays[f"{name}_counts"].T
        if bool(np.any(readings >= len(strings["readings"]))):
            raise ValueError(f"array '{name}_counts' names a reading that is not there")
        if bool(np.any(counts < 1)):
            raise ValueError(f"array '{name}_counts' holds a count below 1")


ANALYZER = Spec(
    {"language": Text(), "limit": Whole(1, 10**9)},
    Parts(
        {
            "forms_starts": Pointers("forms", "form_counts"),
            "forms_counts": Ints(("form_counts", 2), low=0, below=_MOST),
            "endings_starts": Pointers("endings", "ending_counts"),
            "endings_counts": Ints(("ending_counts", 2), low=0, below=_MOST),
        },
        {
            "forms": Strings("forms", distinct=True),
            "endings": Strings("endings", distinct=True),
            "readings": Strings("readings"),
        },
    ),
    _analyzer_holds,
)
