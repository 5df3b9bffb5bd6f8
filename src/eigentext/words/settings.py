"""Settings of the models of words, each declared once.

Constructor, checks, header of the model file and flags of the command all come from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Auto, Flag, Listed, Real, Text, Whole

METHODS = ("spectral", "paper", "exchange", "brown")
HIERARCHIES = ("bisect", "ward")
SCALINGS = ("ppmi", "sqrt", "log", "none")
VIEWS = ("left", "right", "bag", "document", "translations", "characters")
WEIGHTINGS = ("linear", "harmonic", "flat")

_SEED = "Start of every random choice."
_VOCAB_SIZE = "Keep the n most frequent words; all others are the word <unk>."
_OVERLAP = "How near the true subspace the decomposition must come (mean squared cosine)."
_MIN_COUNT = "Keep words seen at least this often; all others are the word <unk>."


@dataclass
class ClusterSettings:
    """Settings of word clusters."""

    n_clusters: int = usual(
        200, Whole(1, 10**9), "How many clusters.", short="-m", positional=True
    )
    vocab_size: int | None = usual(None, Whole(1), _VOCAB_SIZE)
    method: str = usual(
        "spectral",
        Text(METHODS),
        "Vectors of frequent words and exchange (spectral), vectors of all words (paper: Stratos "
        "et al. 2014), exchange alone, or greedy merges (brown).",
    )
    contexts: str = usual(
        "lr1",
        Text(),
        "Positions whose words are a word's context: r1, lr1, lr2, or such as -2,+1.",
    )
    kappa: float = setting(100.0, Real(0), "Pseudo-count of the scaling.")
    passes: int | None = setting(
        None,
        Whole(0),
        "Exchange passes; by default 5, or until one gains less than 0.2%, for paper and brown 0.",
    )
    hierarchy: str | None = setting(
        None,
        Text(HIERARCHIES),
        "How the tree is made: by information (bisect) or distance of vectors (ward); by default "
        "bisect, for paper and brown their own merges.",
    )
    seed: int = expert(0, Whole(0), _SEED)


@dataclass
class CCASettings:
    """Settings of word vectors by one decomposition.

    The defaults are the best found on text of 12 million tokens.
    """

    n_components: int = usual(200, Whole(1), "Dimensions of a vector.", positional=True)
    contexts: str | None = usual(
        None, Text(), "bag5, lr2, or positions; by default bag5, or what the counts hold."
    )
    scaling: str = usual("ppmi", Text(SCALINGS), "Of the counts, before they are decomposed.")
    exponent: float = setting(
        0.25, Real(), "On the singular values: 0 weighs all directions alike, 1 as they come."
    )
    kappa: float | None = setting(
        None,
        Real(0),
        "Added to the totals, steadies rare words; by default 0 for ppmi, 50 for other scalings, "
        "20 for LR-MVL.",
    )
    smoothing: float = setting(
        1.0, Real(0), "Exponent on the totals of contexts; that of word2vec is 0.75."
    )
    shift: float = setting(
        1.0, Real(0, open=True), "Of ppmi: log(shift) off; the k of negative sampling."
    )
    weighting: str | None = setting(
        None,
        Text(WEIGHTINGS),
        "Of a word at distance d in a bag of half-width w: (w - d + 1) / w, 1 / d, or 1; by "
        "default linear, or flat where the counts are of a bag.",
    )
    fold_case: bool = setting(
        True, Flag(), "Contexts that differ in case alone are one context.", off="--keep-case"
    )
    overlap: float = setting(0.9, Real(0, 1, open=True), _OVERLAP)
    vocab_size: int | None = usual(None, Whole(1), _VOCAB_SIZE)
    min_count: int = usual(1, Whole(1), _MIN_COUNT)
    seed: int = expert(0, Whole(0), _SEED)


@dataclass
class LRMVLSettings:
    """Settings of word and token vectors by LR-MVL."""

    n_components: int = usual(
        200, Whole(1), "Dimensions of a word's vector, half for each side.", positional=True
    )
    rates: tuple[float, ...] = setting(
        (0.1, 0.5, 0.9), Listed(Real(0, 1)), "Of smoothing: a higher one forgets faster."
    )
    n_iter: int = usual(6, Whole(1), "Rounds.")
    kappa: float = setting(
        20.0, Real(0), "Added to the counts of words and to the variances of contexts."
    )
    exponent: float = setting(0.0, Real(), "On the canonical correlations.")
    covariance_tokens: int | None = expert(
        1_000_000,
        Whole(1, optional=True),
        "How many tokens, evenly spread, for the covariances of contexts; by default all.",
    )
    vocab_size: int | None = usual(None, Whole(1), _VOCAB_SIZE)
    min_count: int = usual(1, Whole(1), _MIN_COUNT)
    seed: int = expert(0, Whole(0), _SEED)


@dataclass
class MultiviewSettings:
    """Settings of word vectors by several views."""

    n_components: int = usual(200, Whole(1), "Dimensions of a vector.", positional=True)
    views: tuple[str, ...] = usual(
        ("left", "right", "document", "characters"),
        Listed(Text(VIEWS)),
        "What a word is seen by: words before it (left), after it (right) or around it (bag), the "
        "document, another language (translations), and characters, by which unknown words get "
        "vectors.",
    )
    view_weights: tuple[float, ...] = setting(
        (),
        Listed(Real(0, open=True)),
        "One number for each view, such as 2,1,1; by default all weigh the same.",
    )
    view_rank: int | None = setting(
        None,
        Whole(1),
        "Dimensions of a view before the views are compared; by default half as many again as a "
        "vector has.",
    )
    window: int = setting(5, Whole(1, 1000), "How far left, right and bag reach.")
    document_sentences: int = setting(
        20, Whole(1), "So many neighbouring sentences are a document."
    )
    ridge: float = setting(
        0.01,
        Real(0),
        "Added to the variances of a view, whose mean is 1: steadies weak directions.",
    )
    exponent: float = setting(
        1.0, Real(), "On the share of views that agree on a direction: 0 weighs all alike."
    )
    overlap: float = setting(0.9, Real(0, 1, open=True), _OVERLAP)
    vocab_size: int | None = usual(None, Whole(1), _VOCAB_SIZE)
    min_count: int = usual(1, Whole(1), _MIN_COUNT)
    seed: int = expert(0, Whole(0), _SEED)


@dataclass
class ClassBigramSettings:
    """Settings of a language model of word classes."""

    clusters: Mapping[str, str] | None = setting(
        None, Anything(), "A name (such as bits) for every word.", kept=True, positional=True
    )
    mix: float = usual(
        0.5, Real(0, 1), "Weight of the classes; words have the rest.", answering=True
    )
    smooth: float = setting(
        0.5,
        Real(0, open=True),
        "Pseudo-counts of a word in its class and of a class after another.",
    )


@dataclass
class TopicSettings:
    """Settings of topics of documents."""

    n_topics: int = usual(20, Whole(1, 10**4), "How many topics.", short="-k", positional=True)
    alpha0: float = usual(
        1.0,
        Real(0, 1e6),
        "Sum of the Dirichlet's parameters: how many topics a document mixes; 0: it has one.",
    )
    refine: int | Literal["auto"] = usual(
        "auto",
        Auto(Whole(0)),
        "Iterations of EM that begin with the topics of the moments; auto: 5, 10, 20 or 50, by a "
        "tenth of the documents, held out; 10 of fewer than 100 documents.",
        short="-n",
    )
    smoothing: float = setting(
        0.1,
        Real(0, 1, open=True),
        "This share of the moments' topics is the frequency of words, so that none is impossible.",
    )
    vocab_size: int | None = usual(
        10_000, Whole(1, optional=True), "Keep the n most frequent words that are left."
    )
    min_documents: int = usual(5, Whole(1), "Leave out words of fewer documents.")
    max_share: float = setting(
        0.1, Real(0, 1), "Leave out words of more than this share of documents: stop words."
    )
    fold_case: bool = setting(
        True, Flag(), "Words that differ in case alone are one word.", off="--keep-case"
    )
    seed: int = expert(0, Whole(0), _SEED)
