"""Settings of the constituency parser: what ``LPCFG``, its learners and its commands are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Auto, Flag, Listed, Real, Text, Whole
from eigentext.errors import SettingsError
from eigentext.features.signatures import LANGUAGES, Language

Estimator = Literal["clustering", "em", "moments", "mixed", "pivot"]
Decoder = Literal["max-constituents", "max-rule-product", "max-recall", "viterbi"]
Direction = Literal["head", "right", "left"]
Heads = Literal["english", "neutral"]
Scheme = Literal["all", "one-per-tree", "one-per-tree-weighted"]
Root = Literal["verb", "first", "middle"]
States = int | Literal["auto"]

DECODERS: tuple[Decoder, ...] = get_args(Decoder)
INSIDE_GROUPS = ("rule", "left_rule", "right_rule", "head_tag", "head_word", "length", "edges")
OUTSIDE_GROUPS = (
    "parent",
    "grandparent",
    "path",
    "sibling",
    "head_above",
    "neighbours",
    "position",
)
_PART_OF_A_GROUP = ("next_word",)  # of neighbours: with "parent" the example of Cohen et al. 2012

AUTO_MOST = 32  # auto gives no nonterminal more states than so many
MOST_WORDS = 1000  # a chart of so many words takes minutes and gigabytes


@dataclass(frozen=True)
class Smoothing:
    """Strengths of the back-offs, in (square roots of) counts; only experiments change them.

    ``C_rule, C_pair, C_single``  rules, see ``params``; of moments, with n the count of a rule,
                  C_pair draws the covariances within it by sqrt(n) / (C_pair + sqrt(n)) towards 0
    ``C_root``    roots
    ``k_sig, k_base, k_state``    of the lexicon, see ``lexicon``; not for moments
    ``k_root``    trees more whose roots are like any constituent

    Of moments alone:

    ``C_mean``    means of a rule are shrunk by n / (n + C_mean) towards those of the nonterminal
    ``C_triple``  the third central moment, as C_pair and on top of it
    ``k_word``    outside mean of a word, towards that of its signature; ``k_shape`` of a signature
    ``ridge``     1/s becomes s / (s^2 + ridge) in the inverse of Sigma; less kappa in the scaling
                  of features makes s larger and asks for more (1 for 50, 2 for 20, 4 for 5)
    """

    C_rule: float = 3.0
    C_pair: float = 5.0
    C_single: float = 20.0
    C_root: float = 5.0
    k_sig: float = 2.0
    k_base: float = 1.0
    k_state: float = 4.0
    k_root: float = 1.0
    C_mean: float = 3.0
    C_triple: float = 5.0
    k_word: float = 3.0
    k_shape: float = 5.0
    ridge: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise SettingsError(f"smoothing {name} must be 0 or more, not {value}")

    @classmethod
    def none(cls) -> Smoothing:
        """Relative frequencies and plain averages."""
        return cls(**dict.fromkeys(vars(cls()), 0.0))


@dataclass
class ParsingSettings:
    """Settings of parsing."""

    decoder: Decoder | None = usual(
        None,
        Text(DECODERS),
        "What the tree that comes out is best at; by default max-constituents, and with a "
        "reranker max-rule-product, among whose trees it chooses.",
        answering=True,
    )
    beam: float = setting(
        1e-4,
        Real(0, 0.999),
        "The plain PCFG drops what has less than this share of the best in its span; 0: nothing.",
        answering=True,
    )
    threshold: float = setting(
        3e-4,
        Real(0, 0.999),
        "It drops rules with a smaller posterior than this; 0: none.",
        answering=True,
    )
    bracket_weight: float = setting(
        0.25,
        Real(0, 10),
        "Weight of the bracket model beside the grammar; when training, 0: none is learned.",
        answering=True,
    )
    bracket_threshold: float = setting(
        5e-4,
        Real(0, 0.5),
        "Spans to which the bracket model gives a smaller probability are not looked at; 0: all.",
        answering=True,
    )
    longest: int = usual(
        300,
        Whole(1, MOST_WORDS),
        "Sentences of more words than this are parsed in pieces.",
        answering=True,
    )


@dataclass
class LPCFGSettings(ParsingSettings):
    """Settings of a constituency parser."""

    n_states: States = usual(
        24,
        Auto(Whole(1, 64)),
        "Most latent states of a nonterminal, at most 64; 1: the plain PCFG; auto: from the "
        "spectrum.",
        short="-k",
    )
    n_models: int = usual(1, Whole(1, 1000), "How many models; several are trained with noise.")
    estimator: Estimator | None = usual(
        None,
        Text(get_args(Estimator)),
        "How latent states are learned; by default moments for one model, which parses best, "
        "and mixed (clustering and moments in turn) for several.  Clustering, em and pivot give "
        "states with probabilities: the viterbi decoder, --n-iter and --unlabelled need them, and "
        "take clustering by default.",
    )
    n_iter: int | None = usual(
        None, Whole(0), "EM iterations; by default 1 after clustering, 50 for em alone."
    )
    rank: int | None = setting(
        None,
        Whole(1, 255),
        "Rules as sums of at most so many products of three vectors: smaller files, and faster "
        "parsing with many states; by default rules of moments and of several models are in "
        "Tucker's form, others are whole.",
    )
    per_state: int = setting(
        10, Whole(1), "How many nodes of a nonterminal are needed for each of its states."
    )
    heads: Heads = usual("english", Text(get_args(Heads)), "Head rules.")
    language: Language = usual("english", Text(LANGUAGES), "Signatures of unknown words.")
    cut_tags: bool = setting(
        False, Flag(), "Cut tags at a hyphen, as phrases always are: N-SBJ to N."
    )
    rerank: bool = usual(
        False,
        Flag(),
        "Learn to choose among the best trees by features of whole trees; takes far longer.",
    )
    unlabelled_weight: float = setting(
        0.1, Real(0), "What a count in a sentence without a tree is worth beside one in a tree."
    )
    partial_weight: float = setting(1.0, Real(0), "The same for a tree with some brackets.")
    unlabelled_rounds: int = setting(1, Whole(0), "EM rounds over trees and such sentences.")
    # What follows has no flags: it is there for experiments of the benchmarks.
    direction: Direction = setting(
        "head", Text(get_args(Direction)), "Where a wide node starts to be binarised.", flag=False
    )
    markov_order: int = setting(
        1, Whole(0), "How many siblings an intermediate label remembers.", flag=False
    )
    kappa: float = setting(
        50.0, Real(0), "Feature values are sqrt(M / (count + kappa)).", flag=False
    )
    dropout: float = setting(
        0.3, Real(0, 0.999), "With several models: share of feature values set to 0.", flag=False
    )
    noise: float = setting(
        0.3, Real(0), "With several models: relative Gaussian noise on the others.", flag=False
    )
    inside: tuple[str, ...] = setting(
        INSIDE_GROUPS, Listed(Text(INSIDE_GROUPS)), "Features of what is below a node.", flag=False
    )
    outside: tuple[str, ...] = setting(
        OUTSIDE_GROUPS,
        Listed(Text((*OUTSIDE_GROUPS, *_PART_OF_A_GROUP))),
        "Features of the rest of the tree.",
        flag=False,
    )
    plain: bool = setting(
        False, Flag(), "Moments as in Cohen et al. 2012, figure 4, and nothing more.", flag=False
    )
    scheme: Scheme = setting(
        "all", Text(get_args(Scheme)), "Which nodes of a tree moments are taken of.", flag=False
    )
    smoothing: Smoothing = setting(
        Smoothing(), Anything(), "Strengths of the back-offs.", kept=True
    )
    seed: int = expert(0, Whole(0), "Start of every random choice.")

    @property
    def usual_estimator(self) -> Estimator:
        """The estimator asked for, or the best that does what the other settings ask for."""
        if self.estimator is not None:
            return self.estimator
        if self.n_models > 1:
            return "mixed"
        needs_states = self.n_iter is not None or self.decoder == "viterbi"
        return "clustering" if needs_states else "moments"

    @property
    def most_states(self) -> int:
        """The most states a nonterminal may have."""
        return AUTO_MOST if self.n_states == "auto" else self.n_states

    @property
    def noised(self) -> bool:
        """Do features have noise?  A model alone sees them clean, several must differ."""
        return self.n_models > 1


@dataclass
class BracketingSettings:
    """Settings of brackets from a learned bracketer."""

    root: Root = usual(
        "verb",
        Text(get_args(Root)),
        "Where the topmost bracket is cut, which distances do not tell: before the first verb "
        "(behind the first word, where there is none), always behind the first word, or half-way "
        "between the first word and the last.",
        answering=True,
    )
    verbs: tuple[str, ...] = setting(
        ("V", "AUX", "MD"),
        Listed(Text()),
        "A tag that begins with one of these is a verb's.",
        answering=True,
    )
    longest: int = usual(
        100,
        Whole(3, 300),
        "Sentences of more words than this are bracketed in pieces.",
        answering=True,
    )


@dataclass
class InductionSettings(BracketingSettings):
    """Settings of a bracketer learned without trees."""

    n_components: int = usual(
        20, Whole(1, 200), "Dimensions of the word vectors; given ones are projected."
    )
    rank: int = usual(
        2, Whole(1, 50), "Dimensions of a hidden node: singular values in a distance.", short="-m"
    )
    smoothing: float | None = setting(
        None,
        Real(0),
        "How many pairs of words a coarser context is worth; by default chosen on held-out text.",
    )
    min_count: int = setting(3, Whole(1), "Rarer words share one vector.")
    punctuation: bool = setting(
        False,
        Flag(),
        "Treat punctuation as words; without, it is left out of learning and put back into trees.",
    )
