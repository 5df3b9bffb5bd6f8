"""Settings of hidden Markov models and latent taggers, for Python and ``hmm train`` alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Auto, Flag, Real, Text, Whole
from eigentext.features.signatures import LANGUAGES, Language

if TYPE_CHECKING:
    from eigentext.sequences.hmm.parameters import Parameters
    from eigentext.sequences.observations import Symbols

Unknown = Literal["signature", "one"]
HMMEstimator = Literal["em", "anchor"]
Start = Literal["spectral", "recovered", "tensor", "random"]
Precision = Literal["double", "single"]
Estimator = Literal["cca", "hkz", "fru"]
Scaling = Literal["cca", "svd"]
Negatives = Literal["clip", "abs", "error"]
Statistic = Literal["both", "strings", "substrings"]
HankelScaling = Literal["cca", "none"]
Recipe = Literal["clustering", "moments", "em", "mixed"]
Decoder = Literal["posterior", "product"]
Characters = Literal["none", "automata"]

# of models of operators
_NEGATIVES: dict[str, Any] = {
    "value": Text(get_args(Negatives)),
    "help": "A value that is not positive: clip to 0, and the state begins anew from the symbol; "
    "abs, its absolute value, and the state goes on; or an error.",
    "answering": True,
    "panel": "expert",
}
_FLOOR: dict[str, Any] = {
    "value": Real(0, 1),
    "help": "With clip, a value below this share of the unigram counts as not positive.",
    "answering": True,
    "panel": "expert",
}
_DIMENSIONS: dict[str, Any] = {
    "value": Auto(Whole(1, 4000)),
    "help": "Dimensions of the automaton; auto: by a tenth of the strings, held out.",
    "short": "-k",
    "positional": True,
    "panel": "usual",
}


@dataclass
class SymbolSettings:
    """Settings of models of text without tags."""

    n_states: int = usual(10, Whole(1, 10**6), "Hidden states.", short="-k", positional=True)
    vocab_size: int | None = usual(
        10_000,
        Whole(1, optional=True),
        "How many words at most, the most frequent; others go to classes.",
    )
    min_count: int = usual(2, Whole(1), "Rarer words go to classes.")
    unknown: Unknown = setting(
        "signature",
        Text(get_args(Unknown)),
        "Classes of rare words: by their shapes and endings, or one for all.",
    )
    language: Language = setting("english", Text(LANGUAGES), "Of the endings of rare words.")
    seed: int = expert(0, Whole(0), "Start of every random choice.")


@dataclass
class HMMSettings(SymbolSettings):
    """Settings of a hidden Markov model."""

    estimator: HMMEstimator = usual(
        "em",
        Text(get_args(HMMEstimator)),
        "em, or anchor: states from words that belong to one state alone, without EM unless "
        "--n-iter asks for some.",
        short="-e",
    )
    looks: bool = setting(
        True,
        Flag(),
        "Of anchor: marks have a state of their own, capitals at the beginning of a sentence are "
        "none, and rare words are drawn towards words that look alike (case, digits, ending).",
    )
    senses: int | None = setting(
        1,
        Whole(1, optional=True),
        "Of anchor: most states of a word; 1 tags best, more give a higher likelihood.",
    )
    start: Start = usual(
        "spectral",
        Text(get_args(Start)),
        "What EM begins with: recovered, clusters of a CCA; spectral, those softened and a pass "
        "of EM in small steps; tensor, parameters by the tensor power method, for data that "
        "follow the model; random.  The others need as many directions in the data as there are "
        "states.",
    )
    n_iter: int | None = usual(
        None,
        Whole(0),
        "Iterations of EM: 10 by default, for anchor none; 0 keeps the start.",
        short="-n",
    )
    n_starts: int = usual(
        1, Whole(1), "Random starts (seeds seed, seed + 1, ...); the best is kept."
    )
    tol: float = expert(
        0.0, Real(0), "EM stops when it gains less than this per token; 0: never early."
    )
    smoothing: float = setting(
        1.0,
        Real(0),
        "Tokens added to every row of every table in EM; with 0, what was never seen has "
        "probability 0.",
    )
    precision: Precision = expert(
        "double",
        Text(get_args(Precision)),
        "Numbers in EM; single is faster with many states (1.6 times at 100).",
    )
    symbols: Symbols | None = setting(
        None, Anything(), "Ready-made symbols, instead of those chosen by the settings above."
    )
    parameters: Parameters | None = setting(
        None, Anything(), "Parameters over these symbols that EM begins with, instead of start."
    )


@dataclass
class SpectralHMMSettings(SymbolSettings):
    """Settings of operators."""

    estimator: Estimator = usual(
        "cca", Text(get_args(Estimator)), "Which operators; on text cca is the best.", short="-e"
    )
    dictionary: Scaling = setting(
        "cca", Text(get_args(Scaling)), "Directions of words; cca is better on text."
    )
    kappa: float = setting(400.0, Real(0), "Added to counts in the CCA; less for little data.")
    negatives: Negatives = setting("clip", **_NEGATIVES)
    floor: float = setting(0.01, **_FLOOR)
    unigram_weight: float = expert(
        0.2, Real(0, 1), "Of the unigram beside the operators.", answering=True
    )


@dataclass
class BlockedHMMSettings(SymbolSettings):
    """Settings of a hidden Markov model with blocked emissions."""

    n_states: int = usual(40_000, Whole(1, 10**6), "Hidden states.", short="-k", positional=True)
    n_groups: int = usual(
        100,
        Whole(1, 10_000),
        "States of the small model that the many states come from, and back off to.",
    )
    n_blocks: int | None = usual(
        None,
        Whole(1, optional=True),
        "Clusters of words that share states (default: each word has its own).",
    )
    passes: int = setting(3, Whole(0), "Passes of EM in small steps over the small model.")
    n_iter: int = usual(
        5,
        Whole(0),
        "Iterations of EM; it stops before where held-out text gains nothing.",
        short="-n",
    )


@dataclass
class LatentTaggerSettings:
    """Settings of a latent tagger."""

    n_states: int = usual(
        16,
        Whole(1, 64),
        "Most hidden states of a tag; 1 is the bigram HMM tagger.",
        short="-k",
        positional=True,
    )
    estimator: Recipe = usual(
        "clustering",
        Text(get_args(Recipe)),
        "clustering; moments (signed scores: the rate of negatives is reported); em; or mixed, "
        "several models by clustering and moments in turn.",
        short="-e",
    )
    n_iter: int | None = usual(
        None, Whole(0), "Iterations of EM: one after clustering, 50 for em.", short="-n"
    )
    n_models: int = usual(
        1, Whole(1, 1000), "Models; several are trained with noise and multiplied."
    )
    decoder: Decoder = usual(
        "posterior",
        Text(get_args(Decoder)),
        "posterior: the best tag of each word; product: the best sequence.",
        answering=True,
    )
    per_state: int = setting(
        10, Whole(1), "How many occurrences are needed for each state of a tag."
    )
    k_next: float = setting(
        1.0, Real(0, open=True), "Weight of a tag's share in the transitions, in counts."
    )
    keep: float = setting(
        1e-4,
        Real(0, 1),
        "Tags with less than this share of a word's best tag are not tried; 0 tries all.",
    )
    characters: Characters = usual(
        "none",
        Text(get_args(Characters)),
        "automata: ask automata of the characters of rare words about unknown words as well, with "
        "a power that is chosen on words held out of the training text.",
    )
    kappa: float = setting(50.0, Real(0), "Added to counts in the CCA; less for little data.")
    language: Language = setting("generic", Text(LANGUAGES), "Of the endings of rare words.")
    seed: int = expert(0, Whole(0), "Start of every random choice.")


@dataclass
class AutomatonSettings:
    """Settings of automata of strings."""

    n_states: int | Literal["auto"] = setting("auto", **_DIMENSIONS)
    basis: int | Literal["auto"] = usual(
        "auto",
        Auto(Whole(1, 20_000)),
        "How many beginnings, and how many endings, the Hankel block has; auto: by the same.",
    )
    longest: int = setting(4, Whole(1, 50), "Most symbols of a beginning or ending, with marks.")
    statistic: Statistic = usual(
        "both",
        Text(get_args(Statistic)),
        "What is counted: whole strings, substrings, or pieces with and without marks of the "
        "string's ends.",
    )
    scaling: HankelScaling = setting(
        "cca", Text(get_args(HankelScaling)), "How the Hankel block is scaled before its SVD."
    )
    kappa: float = setting(10.0, Real(0), "Added to counts in the scaling.")
    negatives: Negatives = setting("clip", **_NEGATIVES)
    floor: float = setting(0.05, **_FLOOR)
    unigram_weight: float | Literal["auto"] = expert(
        "auto",
        Auto(Real(0, 1)),
        "Of the unigram beside the automaton; auto: by held-out strings.",
        answering=True,
    )


@dataclass
class ClassAutomataSettings(AutomatonSettings):
    """Settings of automata of classes."""

    min_strings: int = setting(
        30, Whole(1), "A class of fewer strings has the automaton of all strings."
    )


@dataclass
class TransducerSettings(AutomatonSettings):
    """Settings of transducers."""

    n_states: int | Literal["auto"] = setting(100, **_DIMENSIONS)
    beam: int = usual(
        8, Whole(1, 10_000), "How many beginnings of an output go on.", answering=True
    )
    min_count: int = setting(2, Whole(1), "Strings with a rarer pair are not learned from.")
    order: int = usual(6, Whole(1, 20), "Of the n-grams of pairs beside the automaton.")
    ngram_weight: float | Literal["auto"] = setting(
        "auto",
        Auto(Real(0, 1)),
        "Of the n-grams of pairs: 0 is the automaton alone; auto: by held-out outputs.",
        answering=True,
    )
