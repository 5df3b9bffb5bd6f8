"""Every reading of every word, ranked in context: analyzer -> labels -> counts -> ranks.

``analyzers`` read a word, ``schemes`` factor readings into label elements, ``candidates`` gathers
the labels a word may have, ``documents`` reads gold, ``ranker`` learns from it and ranks.  Nothing
heavy is imported here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.lexical.analysis import Analysis, Analyzer
    from eigentext.lexical.analyzers import open_analyzer
    from eigentext.lexical.candidates import Candidate, Candidates
    from eigentext.lexical.documents import (
        Document,
        Word,
        read_conllu_documents,
        read_words_jsonl,
    )
    from eigentext.lexical.ranked import RankedCandidate, RankedWord
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import Label, LabelScheme, load_scheme, scheme_names

_HOME_OF = {
    "Analysis": "analysis",
    "Analyzer": "analysis",
    "Candidate": "candidates",
    "Candidates": "candidates",
    "Document": "documents",
    "Label": "schemes.labels",
    "LabelScheme": "schemes.labels",
    "LexicalRanker": "ranker.model",
    "RankedCandidate": "ranked",
    "RankedWord": "ranked",
    "Word": "documents",
    "load_scheme": "schemes.labels",
    "open_analyzer": "analyzers",
    "read_conllu_documents": "documents",
    "read_words_jsonl": "documents",
    "scheme_names": "schemes.labels",
}

__all__ = [
    "Analysis",
    "Analyzer",
    "Candidate",
    "Candidates",
    "Document",
    "Label",
    "LabelScheme",
    "LexicalRanker",
    "RankedCandidate",
    "RankedWord",
    "Word",
    "load_scheme",
    "open_analyzer",
    "read_conllu_documents",
    "read_words_jsonl",
    "scheme_names",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
