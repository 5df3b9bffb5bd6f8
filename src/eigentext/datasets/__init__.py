"""The small data this project's authors wrote, and the catalogue of open data sets.

``load_english``, ``load_arabic`` and ``analyse`` read what lies in the package; ``entries``,
``locate``, ``check`` and ``get`` deal with the open data sets outside it.  Nothing is read, and
nothing is ever downloaded, on import.

>>> from eigentext.datasets import load_english
>>> len(load_english("test"))
23
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.datasets.arabic_lexicon import analyse as analyse
    from eigentext.datasets.arabic_lexicon import load_arabic as load_arabic
    from eigentext.datasets.catalogue import DataFile as DataFile
    from eigentext.datasets.catalogue import Entry as Entry
    from eigentext.datasets.catalogue import Problem as Problem
    from eigentext.datasets.catalogue import check as check
    from eigentext.datasets.catalogue import entries as entries
    from eigentext.datasets.catalogue import find as find
    from eigentext.datasets.catalogue import get as get
    from eigentext.datasets.catalogue import locate as locate
    from eigentext.datasets.sample import detokenise as detokenise
    from eigentext.datasets.sample import load_english as load_english
    from eigentext.datasets.sample import load_pairs as load_pairs
    from eigentext.datasets.sample import load_traces as load_traces
    from eigentext.datasets.sample import sample_files as sample_files
    from eigentext.datasets.sample import write_sample as write_sample

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "arabic_lexicon": "analyse load_arabic",
        "catalogue": "DataFile Entry Problem check entries find get locate",
        "sample": "detokenise load_english load_pairs load_traces sample_files write_sample",
    },
)
