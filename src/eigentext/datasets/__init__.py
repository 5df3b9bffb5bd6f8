"""The small data this project's authors wrote, and the catalogue of open data sets.

``load_english``, ``load_arabic`` and ``analyse`` read what lies in the package; ``entries``,
``locate``, ``check`` and ``get`` deal with the open data sets outside it.  Nothing is read, and
nothing is ever downloaded, on import.

>>> from eigentext.datasets import load_english
>>> len(load_english("test"))
23
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.datasets.arabic_lexicon import analyse, load_arabic
    from eigentext.datasets.catalogue import (
        DataFile,
        Entry,
        Problem,
        check,
        entries,
        find,
        locate,
    )
    from eigentext.datasets.obtain import get
    from eigentext.datasets.sample import (
        detokenise,
        load_english,
        load_pairs,
        load_traces,
        sample_files,
        write_sample,
    )

_HOME_OF = {
    "DataFile": "catalogue",
    "Entry": "catalogue",
    "Problem": "catalogue",
    "analyse": "arabic_lexicon",
    "check": "catalogue",
    "detokenise": "sample",
    "entries": "catalogue",
    "find": "catalogue",
    "get": "obtain",
    "load_arabic": "arabic_lexicon",
    "load_english": "sample",
    "load_pairs": "sample",
    "load_traces": "sample",
    "locate": "catalogue",
    "sample_files": "sample",
    "write_sample": "sample",
}

__all__ = [
    "DataFile",
    "Entry",
    "Problem",
    "analyse",
    "check",
    "detokenise",
    "entries",
    "find",
    "get",
    "load_arabic",
    "load_english",
    "load_pairs",
    "load_traces",
    "locate",
    "sample_files",
    "write_sample",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
