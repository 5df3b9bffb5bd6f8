"""Every reading of every word, ranked in context: analyzer -> labels -> counts -> ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.lexical.analysis import Analysis as Analysis
    from eigentext.lexical.analysis import Analyzer as Analyzer
    from eigentext.lexical.analyzers import open_analyzer as open_analyzer
    from eigentext.lexical.candidates import LabelChoice as LabelChoice
    from eigentext.lexical.candidates import LabelSource as LabelSource
    from eigentext.lexical.documents import LexDocument as LexDocument
    from eigentext.lexical.documents import LexWord as LexWord
    from eigentext.lexical.documents import read_conllu_documents as read_conllu_documents
    from eigentext.lexical.documents import read_words_jsonl as read_words_jsonl
    from eigentext.lexical.ranked import RankedCandidate as RankedCandidate
    from eigentext.lexical.ranked import RankedWord as RankedWord
    from eigentext.lexical.ranker.model import LexicalRanker as LexicalRanker
    from eigentext.lexical.schemes.labels import Label as Label
    from eigentext.lexical.schemes.labels import LabelScheme as LabelScheme
    from eigentext.lexical.schemes.labels import load_scheme as load_scheme
    from eigentext.lexical.schemes.labels import scheme_names as scheme_names

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "analysis": "Analysis Analyzer",
        "analyzers": "open_analyzer",
        "candidates": "LabelChoice LabelSource",
        "documents": "LexDocument LexWord read_conllu_documents read_words_jsonl",
        "ranked": "RankedCandidate RankedWord",
        "ranker.model": "LexicalRanker",
        "schemes.labels": "Label LabelScheme load_scheme scheme_names",
    },
)
