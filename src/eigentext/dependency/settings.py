"""Settings of the models of dependency trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentext.base.settings import expert, setting, usual
from eigentext.base.values import Anything, Auto, Flag, Listed, Named, Real, Text, Whole
from eigentext.features.signatures import LANGUAGES, Language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.language.formats.conllu import ConlluBlock


EDGES = ("undirected", "directed", "adjacent", "ordered")
_MODELS = ("latent", "operators", "generative", "automata")
EXPERTS = (*_MODELS, "valence", "distance", "paths", "surface")
_LANGUAGE = Text(LANGUAGES)
_LANGUAGE_HELP = "Whose endings the signatures of rare words show."
_OBSERVATIONS_HELP = "What a node shows: word|tag, word+tag (two emissions), tag or word."
_SEED_HELP = "Start of every random choice."


@dataclass
class DependencyParserSettings:
    """Settings of a graph-based parser."""

    order: int = usual(2, Whole(1, 2), "1: arcs; 2: neighbouring siblings as well.")
    grandparents: bool = setting(
        True,
        Flag(),
        "Order 2: look at the head's head as well.  More accurate; k-best lists are then "
        "approximate.",
    )
    learner: str = usual(
        "mira", Text(("mira", "perceptron")), "How weights are learned; their mean is kept."
    )
    projective: bool | str = usual(
        "auto",
        Auto(Flag()),
        "May arcs cross?  auto: if arcs cross in the training trees, and more heads are right "
        "with such arcs in a part of them that is held out to see.",
        off="--nonprojective",
    )
    epochs: int = usual(
        7, Whole(1), "Passes over the trees; with development trees, the most there are."
    )
    tags: str = usual(
        "gold",
        Text(("gold", "own")),
        "Learn from the tags of the trees, or train a tagger as well (own), so that text without "
        "tags can be parsed.",
    )
    clusters: Any = usual(
        None,
        Anything(),
        "Clusters of words: a Brown paths file, or a mapping from words to bit strings.",
        path=True,
        kept=True,
    )
    vectors: Any = usual(
        None,
        Anything(),
        "Vectors of words: a word2vec file, or a mapping from words to vectors.",
        path=True,
        kept=True,
    )
    labels: bool = usual(True, Flag(), "Learn relations; without, they are all _.")
    min_count: int = setting(1, Whole(1), "Words seen less often are unknown words.")
    clip: float = setting(0.01, Real(0, open=True), "Longest step of MIRA.")
    bits: int | None = setting(
        None,
        Whole(10, 30),
        "2^bits weights of arcs; by default up to 24, as many as the words call for.",
    )
    seed: int = expert(0, Whole(0), _SEED_HELP)


@dataclass
class GenerativeParserSettings:
    """Settings of a generative parser."""

    n_states: int = usual(
        8, Whole(1, 64), "Most hidden states of a tag; 1 is the plain model of tags.", short="-k"
    )
    n_iter: int = usual(6, Whole(0), "EM iterations after the spectral start.")
    start: str = usual(
        "spectral",
        Text(("spectral", "automata")),
        "Which moments the first states are found by: what is below a word against what is above "
        "it, or its left dependents against its right ones, as split head automata have them.",
    )
    tagset: str = usual(
        "both", Text(("upos", "xpos", "both")), "Which column of tags says the tag of a word."
    )
    min_count: int = setting(3, Whole(1), "Rarer words are known by their signature only.")
    per_state: int = setting(
        100, Whole(1), "How many words of a tag are needed for each of its states."
    )
    siblings: bool = setting(
        True, Flag(), "Condition on the kind of the last child, or only on whether there is one."
    )
    language: Language = setting("english", _LANGUAGE, _LANGUAGE_HELP)
    seed: int = expert(0, Whole(0), _SEED_HELP)


@dataclass
class LatentTreeSettings:
    """Settings of a latent tree model."""

    n_states: int = usual(
        200, Whole(1, 10**6), "Hidden states in all.", short="-k", positional=True
    )
    split: bool = setting(
        True,
        Flag(),
        "Each tag has states of its own, so that a state says the tag and more; or all tags share "
        "them.",
        off="--shared",
    )
    observations: str = setting("word|tag", Text(), _OBSERVATIONS_HELP)
    edges: str = setting(
        "directed",
        Text(EDGES),
        "What a child's state depends on besides its parent's: nothing; the side; the side, and "
        "whether the words are neighbours; the side, and whether it is the nearest child.",
    )
    structure: str = usual(
        "",
        Text(),
        "What a node shows of the tree besides: valence (numbers of left and of right children), "
        "distance (to its head), size (of its subtree), joined by +; or nothing.",
    )
    n_iter: int = usual(30, Whole(0), "EM iterations.")
    n_models: int = usual(
        1,
        Whole(1, 1000),
        "Models from different seeds; log p is their mean, which ranks trees better than one.  "
        "States, parameters and posteriors are the first's.",
    )
    min_count: int = setting(2, Whole(1), "Rarer words are shown by their signatures.")
    language: Language = setting("english", _LANGUAGE, _LANGUAGE_HELP)
    start: str = setting(
        "spectral",
        Text(("spectral", "random")),
        "What EM begins with: clusters found by CCA, or random states for comparison.",
    )
    smoothing: Any = setting(
        None,
        Anything(),
        "LatentSmoothing: pseudo-counts, to look at EM without them; None: the usual ones.",
    )
    seed: int = expert(0, Whole(0), _SEED_HELP)


@dataclass
class SpectralTreeSettings:
    """Settings of spectral operators of trees."""

    n_states: int = setting(
        10, Whole(1), "Hidden states: dimensions of the dictionary.", short="-k", positional=True
    )
    observations: str = setting("word|tag", Text(), _OBSERVATIONS_HELP)
    dictionary: Any = setting(
        "cca",
        Anything(),
        "svd or cca of the neighbours in the trees, or a TreeDictionary learned elsewhere.",
    )
    events: str = setting(
        "triples",
        Text(("triples", "instruments")),
        "What moments are taken over: left child, parent, right child; or instruments.",
    )
    directed: bool = setting(True, Flag(), "T_L and T_R, or one T for both sides.")
    negatives: str = expert(
        "clip",
        Text(("clip", "abs", "error")),
        "What a score of 0 or less becomes: a least score for each word, the log of the absolute "
        "value, or an error.",
        answering=True,
    )
    min_count: int = setting(2, Whole(1), "Rarer words are shown by their signatures.")
    on_rank: str = setting(
        "error",
        Text(("error", "warn", "ignore")),
        "A moment matrix of too small a rank; ignore: what is not there is left out.",
    )
    seed: int = expert(0, Whole(0), _SEED_HELP)


@dataclass
class RerankerSettings:
    """Settings of a reranker."""

    features: str = usual(
        "trees",
        Text(("trees", "tags")),
        "What is looked at: trees with their relations, or templates over tags alone.",
    )
    learner: str = usual(
        "log-linear",
        Text(("log-linear", "perceptron")),
        "How weights are learned; the perceptron is for templates over tags.",
    )
    experts: tuple[str, ...] = usual(
        ("latent", "generative"),
        Listed(Text(EXPERTS), len(EXPERTS)),
        "Models of trees, joined by commas: latent, generative, automata, valence, distance, "
        "paths, surface (and operators, which cannot be stored); or none.",
    )
    kbest: int = usual(20, Whole(2), "Trees in a list.")
    folds: int = usual(3, Whole(2), "Lists of each part by a parser of the others.")
    l2: float | None = setting(
        None,
        Real(0, open=True),
        "Penalty of the log-linear weights; by default 100 for features of trees and 3 for "
        "those of tags.",
    )
    n_states: int | None = setting(
        None,
        Whole(1),
        "Hidden states of the latent tree model; by default as many as the trees support.",
        short="-k",
    )
    latent: dict[str, Any] | None = setting(
        None,
        Named({}),
        "Further settings of the latent tree model, by name; a command has flags for its own.",
        flag=False,
    )
    generative: dict[str, Any] | None = setting(
        None, Named({}), "Settings of the generative parser, by name.", flag=False
    )
    seed: int = expert(0, Whole(0), _SEED_HELP)


@dataclass(frozen=True)
class Unlabelled:
    """Sentences with tags and without trees, for a generative parser or a latent tree model.

    ``sentences``  of CoNLL-U; their heads are not looked at
    ``weight``     what a count in them is worth beside one in a tree; None: by held-out trees
    ``rounds``     EM iterations over trees and sentences; a latent tree model has its ``n_iter``
    ``trees``      ``all`` trees of a sentence by their posteriors, or its ``best`` tree alone;
                   ``all`` are a short list of the best ones in a latent tree model
    """

    sentences: Sequence[ConlluBlock]
    weight: float | None = None
    rounds: int = 3
    trees: Literal["all", "best"] = "all"


class UnlabelledReport(NamedTuple):
    """What became of sentences without trees.

    ``weight``    that they counted with; 0: not at all
    ``n_used``    how many there were;  ``n_left_out`` how many more were too long
    ``held_out``  by weight, where it was chosen, in percent: UAS, or with a latent tree model in
                  how many pairs the drawn tree scores above another one
    """

    weight: float
    n_used: int
    n_left_out: int
    held_out: dict[float, float]
