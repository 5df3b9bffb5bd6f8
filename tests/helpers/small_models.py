"""A small model of every kind: what it is, what it learns from, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from eigentext.language.formats.conllu import make_sentence

TEXT = [
    line.split()
    for line in (
        "the dog saw a cat .",
        "a cat saw the dog .",
        "the old dog ran .",
        "Mary saw John .",
        "a bird sang .",
        "the cat ran .",
    )
] * 4
BITS = {"the": "00", "a": "00", "dog": "010", "cat": "010", "saw": "10", "ran": "11"}
TREES = [
    make_sentence(
        ["the", "dog", "saw", "a", "cat"],
        upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
        xpos=["DT", "NN", "VBD", "DT", "NN"],
        head=[2, 3, 0, 5, 3],
        deprel=["det", "nsubj", "root", "det", "obj"],
    ),
    make_sentence(
        ["Mary", "ran"],
        upos=["PROPN", "VERB"],
        xpos=["NNP", "VBD"],
        head=[2, 0],
        deprel=["nsubj", "root"],
    ),
    make_sentence(
        ["old", "dogs", "ran", "home"],
        upos=["ADJ", "NOUN", "VERB", "ADV"],
        xpos=["JJ", "NNS", "VBD", "RB"],
        head=[2, 3, 0, 3],
        deprel=["amod", "nsubj", "root", "advmod"],
    ),
] * 6
SENTENCE = ["the", "dog", "Mary", "sang", "cat"]
UPOS = ["DET", "NOUN", "PROPN", "VERB", "NOUN"]
HEADS = [2, 4, 4, 0, 4]
TAGGED = (
    [["we", "met", "Ann", "today"], ["Bob", "met", "us"], ["we", "ran"]] * 5,
    [["O", "O", "B-PER", "O"], ["B-PER", "O", "O"], ["O", "O"]] * 5,
)


class Small(NamedTuple):
    """How a model is made, with nothing learned; what it learns from; what it answers."""

    home: str  # module:Class under eigentext
    make: Callable[[Any], Any]  # of the class, a model
    data: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]  # what fit takes
    ask: Callable[[Any], Any]  # of the model that has learned, answers
    changed: Callable[[Any], Any] = lambda model: model  # after fit

    @property
    def kind(self) -> Any:
        """The class."""
        module, name = self.home.split(":")
        return getattr(import_module(f"eigentext.{module}"), name)

    def untrained(self) -> Any:
        """The model before ``fit``."""
        return self.make(self.kind)

    def trained(self) -> Any:
        """The model after ``fit``."""
        positional, named = self.data()
        return self.changed(self.untrained().fit(*positional, **named))


def _given(*positional: Any, **named: Any) -> Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]:
    return lambda: (positional, named)


# ---------------------------------------------------------------- dependency trees


def _trees() -> list[Any]:
    from eigentext.language.trees.dependency import DependencyTree

    return [DependencyTree(s.forms, s.heads, tags=s.column("upos")) for s in TREES]


def tree() -> Any:
    """The tree that is asked about."""
    from eigentext.language.trees.dependency import DependencyTree

    return DependencyTree(SENTENCE, HEADS, tags=UPOS)


def _fewer_weights(parser: Any) -> Any:
    """The same with a smaller table of relations, for a smaller file."""
    relations = parser.relations_
    parser.relations_ = replace(
        relations,
        settings=replace(relations.settings, bits=10),
        weights=relations.weights[: (1 << 10) + len(relations.relations)],
    )
    return parser


def _parses(parser: Any) -> Any:
    upos = None if parser.own_tags_ is not None else UPOS
    best = parser.parse(SENTENCE, upos=upos)
    several = parser.kbest(SENTENCE, upos=upos, k=2)
    seen = [(one.tree.heads.tolist(), one.tree.relations, one.score) for one in (best, *several)]
    marginals = []
    if parser.arcs_.settings.order == 1:
        marginals = parser.marginals(SENTENCE, upos=upos).tolist()
    return seen, marginals, parser.score(TREES[:3])


def _latent_answers(model: Any) -> Any:
    from eigentext.dependency.latent.inspection import states_of

    params = model.params
    return (
        model.log_prob(tree()),
        model.posteriors(tree()).tolist(),
        model.log_likelihood([tree()]),
        model.sample([2, 0], seed=1),
        [one.tolist() for one in (params.pi, params.T, params.O, *params.more)],
        list(states_of(model, top=2)),
    )


def _generative_answers(parser: Any) -> Any:
    answers = [parser.parse(SENTENCE, upos=UPOS, decoder=one) for one in ("mbr", "viterbi")]
    return (
        [(one.tree.heads.tolist(), one.score) for one in answers],
        parser.marginals(SENTENCE, upos=UPOS)[1],
        parser.log_probs(SENTENCE, [HEADS], upos=UPOS).tolist(),
    )


def _lists() -> Any:
    from eigentext.dependency.rerank.lists import KBestLists

    heads = {5: [[2, 3, 0, 5, 3], [3, 3, 0, 5, 3]], 2: [[2, 0], [0, 1]]}
    heads[4] = [[2, 3, 0, 3], [3, 3, 0, 3]]
    return KBestLists.of([(heads[len(s.forms)], [2.0, 1.0]) for s in TREES])


def parses() -> list[Any]:
    """Trees over the sentence that is asked about, as a parser gives them."""
    from eigentext.dependency.graph.answer import Parse
    from eigentext.language.trees.dependency import DependencyTree

    return [
        Parse(DependencyTree(SENTENCE, heads, tags=UPOS), 1.0)
        for heads in (HEADS, [2, 0, 2, 2, 4])
    ]


def _chosen(reranker: Any) -> Any:
    answers = reranker.choose(make_sentence(SENTENCE, upos=UPOS), parses())
    return [(one.tree.heads.tolist(), one.score) for one in answers]


# ---------------------------------------------------------------- constituents


@cache
def constituent_trees() -> list[Any]:
    """Some trees of the sample."""
    from eigentext.datasets import load_english
    from eigentext.language.trees.constituent import Tree

    return [Tree.from_brackets(line) for line in load_english("train")][:40]


def _classes() -> Any:
    from eigentext.features.word_classes import WordClasses
    from eigentext.language.formats.brown_paths import PathEntry

    return WordClasses.from_paths(PathEntry(bits, word, 1) for word, bits in BITS.items())


def _constituents(parser: Any) -> Any:
    from eigentext.constituency.inspection import nonterminals, rules_by_probability, states_of

    words = ["The", "farmer", "sold", "the", "xyzzy", "."]
    answer = parser.parse(words, kbest=2, marginals=True)
    answers = [answer, parser.parse(["Yes"])]
    if len(parser.grammar_.params) == 1:
        answers.append(parser.parse(["The", "farmer", "sold", "."], decoder="viterbi"))
    labels = list(nonterminals(parser.grammar_))[:2]
    return (
        [(str(one.tree), one.log_score, one.log_prob, one.flags) for one in answers],
        parser.log_prob(answer.tree),
        parser.sentence_log_prob(["The", "farmer", "sold", "."]),
        str(list(rules_by_probability(parser.grammar_, top=2))),
        str([list(states_of(parser.grammar_, one.label, top=2)) for one in labels]),
        parser.score(constituent_trees()[:2]),
    )


def _bracketed(bracketer: Any) -> Any:
    trees = [bracketer.bracket(SENTENCE, UPOS), bracketer.bracket(["Mary", "!"], ["PROPN", "?"])]
    return list(map(str, trees)), bracketer.distances(UPOS).tolist(), bracketer.score(trees[:1])


# ---------------------------------------------------------------- raw text


def _raw_sentences() -> list[Any]:
    """Sentences with punctuation, a number with a space inside, and a multiword token."""
    from eigentext.language.formats.conllu import parse_sentence

    def row(number: str, form: str, misc: str = "_") -> str:
        return "\t".join([number, form, *"_" * 7, misc]) + "\n"

    no_space = "SpaceAfter=No"
    first = row("1", "Ann") + row("2", "ran", no_space) + row("3", ".")
    second = row("1", "Bob") + row("2", "has") + row("3", "10 000") + row("4", "cats", no_space)
    second += row("5", "!", no_space)
    third = row("1", "We") + row("2-3", "cannot") + row("2", "can") + row("3", "not")
    third += row("4", "sing", no_space) + row("5", ".")
    fourth = row("1-2", "Annie's") + row("1", "Annie") + row("2", "'s") + row("3", "dog")
    return [parse_sentence(one) for one in (first, second, third, "# newpar\n" + fourth)] * 4


def _parsed_sentences() -> list[Any]:
    """The same with tags, lemmas and trees."""
    found = []
    for sentence in _raw_sentences():
        n, forms = len(sentence), sentence.forms
        found.append(
            sentence.with_columns(
                lemma=[form.lower() for form in forms],
                upos=["PUNCT" if form in ".!" else "NOUN" for form in forms],
                feats=["Number=Sing"] + ["_"] * (n - 1),
                head=[2, 0, *[2] * (n - 2)],
                deprel=["nsubj", "root", *["dep"] * (n - 2)],
            )
        )
    return found


def _documents(pipeline: Any) -> Any:
    text = "Bob ran. We cannot sing!\n\nTom's 12 000 dogs"
    return (
        pipeline(text, top=2, probabilities=True).to_dict(),
        pipeline([["We", "cannot", "sing"]], keep="tokens").to_conllu(),
    )


def _segments(segmenter: Any) -> Any:
    return (
        segmenter.segment("Bob ran. We cannot sing!\n\nTom's 12 000 dogs"),
        segmenter.segment_sentence("Ann cannot run."),
        segmenter.words_of(["We", "cannot", "sing"]),
    )


# ---------------------------------------------------------------- sequences and words


def _hmm_answers(model: Any) -> Any:
    return (
        [one.tolist() for one in model.predict([SENTENCE])],
        model.perplexity([SENTENCE]),
        model.sample(1, 4),
        model.spread_,
    )


def _blocked_answers(model: Any) -> Any:
    return (
        [one.tolist() for one in model.predict([SENTENCE])],
        [[p.tolist() for _, p in one] for one in model.predict_proba([SENTENCE])],
        model.perplexity([SENTENCE]),
        model.next_symbols([SENTENCE]).tolist(),
        model.sample(1, 4),
    )


def _operator_answers(model: Any) -> Any:
    return (
        model.perplexity([SENTENCE]),
        model.next_symbols([SENTENCE]).tolist(),
        [one.tolist() for one in model.raw_probability([SENTENCE])],
        model.sample(1, 4),
    )


def _automaton_answers(model: Any) -> Any:
    return (
        model.perplexity(["dogs", "cat"]),
        model.next_symbols(["do"]).tolist(),
        model.weights(["cat"]).round(9).tolist(),
        model.sample(1, longest=4),
    )


def _latent_tags(tagger: Any) -> Any:
    answer = tagger.analyse(SENTENCE, kbest=2)
    return (
        answer._replace(marginals=answer.marginals.tolist()),
        tagger.predict([SENTENCE, ["ran"]]),
        tagger.log_prob(SENTENCE),
    )


def _morphology(tagger: Any) -> Any:
    return tagger.tag([SENTENCE, ["ran"]]), tagger.nbest(SENTENCE, 3)


def _clusters_answers(model: Any) -> Any:
    return (
        model.transform(SENTENCE),
        model.word_paths(),
        model.assign(TEXT[:2]).word_paths(),
        model.write_paths("memory://small/words.paths"),
    )


def _bigram_answers(model: Any) -> Any:
    return (model.perplexity([SENTENCE]), model.distribution("the"), model.sample(1, longest=5))


def _vectors_answers(model: Any) -> Any:
    sentences = model.transform([["dog", "xyzzy"], SENTENCE])
    model.embeddings_.export("memory://small/vectors.txt")
    return model.neighbours("dog", 2), [one.tolist() for one in sentences]


# ---------------------------------------------------------------- words and their analyses


@cache
def documents() -> list[Any]:
    """Documents whose words have labels."""
    from eigentext.lexical import load_scheme
    from eigentext.lexical.documents import LexDocument, LexWord

    scheme = load_scheme("arabic14")

    def word(form: str, pos: str) -> LexWord:
        return LexWord(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))

    return [LexDocument(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]


def _ranked(ranker: Any) -> Any:
    words = ranker.rank(["من", "علم", "كتب"])
    answers = [(one.form, one.best.label, one.best.score, one.margin) for one in words]
    return answers, ranker.score(documents()[:1]), ranker.first_templates


_SMALL_STAGES: dict[str, Any] = {
    "folds": 2,
    "segmenter_settings": {"epochs": 4, "bits": 8},
    "morphology_settings": {"epochs": 2, "bits": 10},
    "parser_settings": {"epochs": 1, "bits": 10},
}


def _other_stages() -> dict[str, Any]:
    """Stages that a pipeline is given ready."""
    from eigentext.constituency import LPCFG
    from eigentext.tagging.sequence import SequenceTagger

    constituents = LPCFG(n_states=1, estimator="clustering").fit(constituent_trees())
    return {"const": constituents, "ner": SequenceTagger(epochs=2).fit(*TAGGED)}


def _topics_answers(model: Any) -> Any:
    return (model.views(3), model.transform([SENTENCE, []]).tolist(), model.perplexity(TEXT[:3]))


_NEAR = {"dog": [1.0, 0.0], "cat": [0.9, 0.1], "ran": [0.0, 1.0]}
_VECTORS = {"Ann": [1.0, 0.0], "Bob": [0.9, 0.1], "met": [0.0, 1.0]}

_WORDS = ["dog", "dogs", "cat", "cats", "ran", "runs"] * 6
_TAGS = ["N", "N", "N", "N", "V", "V"] * 6

SMALL: dict[str, Small] = {
    "bracketer": Small(
        "lab.induction.model:Bracketer",
        lambda kind: kind(n_components=3),
        _given([s.forms for s in TREES], [s.column("upos") for s in TREES]),
        _bracketed,
    ),
    "class-bigram": Small(
        "words.lm.class_bigram:ClassBigram", lambda kind: kind(BITS), _given(TEXT), _bigram_answers
    ),
    "class-automata": Small(
        "lab.automata.classes:ClassAutomata",
        lambda kind: kind(2, basis=20, min_strings=5),
        _given(_WORDS, _TAGS),
        lambda model: (model.posteriors(["ran", "cats"]).tolist(), model.predict(["birds"])),
    ),
    "clusters": Small(
        "words.clusters.model:SpectralClusters",
        lambda kind: kind(3),
        _given(TEXT),
        _clusters_answers,
    ),
    "dependency-generative": Small(
        "dependency.generative.parser:GenerativeParser",
        lambda kind: kind(n_states=2, n_iter=1, min_count=1, per_state=1),
        _given(TREES),
        _generative_answers,
    ),
    "dependency-reranker": Small(
        "dependency.rerank.reranker:Reranker",
        lambda kind: kind(
            features="tags",
            experts=("latent", "generative", "valence"),
            kbest=2,
            folds=2,
            l2=3.0,
            latent={"n_states": 6, "n_iter": 1},
            generative={"n_states": 1, "n_iter": 0},
        ),
        lambda: ((TREES,), {"lists": _lists()}),
        _chosen,
    ),
    "dependency-reranker of trees": Small(
        "dependency.rerank.reranker:Reranker",
        lambda kind: kind(experts=("valence",), kbest=2, folds=2),
        lambda: ((TREES,), {"lists": _lists()}),
        _chosen,
    ),
    "embeddings": Small(
        "words.embeddings.cca:CCAEmbedding", lambda kind: kind(4), _given(TEXT), _vectors_answers
    ),
    "graph-parser": Small(
        "dependency.graph.parser:DependencyParser",
        lambda kind: kind(epochs=1, bits=10, clusters=BITS, vectors=_NEAR, labels=False),
        _given(TREES),
        _parses,
    ),
    "graph-parser with taggers": Small(
        "dependency.graph.parser:DependencyParser",
        lambda kind: kind(order=1, epochs=1, tags="own", bits=10),
        _given(TREES),
        _parses,
        _fewer_weights,
    ),
    "blocked-hmm": Small(
        "sequences.blocked.model:BlockedHMM",
        lambda kind: kind(40, n_groups=2, n_iter=1),
        _given(TEXT),
        _blocked_answers,
    ),
    "hmm": Small(
        "sequences.hmm.model:HMM",
        lambda kind: kind(2, start="random", n_iter=1, n_starts=2),
        _given(TEXT),
        _hmm_answers,
    ),
    "latent-tagger": Small(
        "sequences.tagger.model:LatentTagger",
        lambda kind: kind(n_states=2, n_models=2),
        _given([s.forms for s in TREES], [s.column("upos") for s in TREES]),
        _latent_tags,
    ),
    "latent-tree": Small(
        "dependency.latent.model:LatentTreeModel",
        lambda kind: kind(6, n_iter=1, n_models=2, structure="valence"),
        lambda: ((_trees(),), {}),
        _latent_answers,
    ),
    "lexical": Small(
        "lexical.ranker.model:LexicalRanker",
        lambda kind: kind(bits=10, passes=2, clusters={"من": "01"}),
        lambda: ((documents(),), {}),
        _ranked,
    ),
    "lpcfg": Small(
        "constituency.model:LPCFG",
        lambda kind: kind(n_states=2, estimator="clustering"),
        lambda: ((constituent_trees(),), {"classes": _classes()}),
        _constituents,
    ),
    "lpcfg of counts": Small(
        "constituency.model:LPCFG",
        lambda kind: kind(n_states=2, estimator="clustering", n_iter=1),
        lambda: ((constituent_trees(),), {}),
        _constituents,
    ),
    "lpcfg of moments": Small(
        "constituency.model:LPCFG",
        lambda kind: kind(n_states=2, n_models=2),
        lambda: ((constituent_trees(),), {}),
        _constituents,
    ),
    "lpcfg reranked": Small(
        "constituency.model:LPCFG",
        lambda kind: kind(n_states=2, n_models=2, rerank=True),
        lambda: ((constituent_trees(),), {}),
        _constituents,
    ),
    "lrmvl": Small(
        "words.embeddings.lrmvl:LRMVL", lambda kind: kind(4), _given(TEXT), _vectors_answers
    ),
    "multiview": Small(
        "words.embeddings.multiview:MultiviewEmbedding",
        lambda kind: kind(3, views=("left", "right", "characters")),
        _given(TEXT),
        _vectors_answers,
    ),
    "segmenter": Small(
        "tagging.segmentation.model:Segmenter",
        lambda kind: kind(epochs=4, bits=8),
        lambda: ((_raw_sentences(),), {}),
        _segments,
    ),
    "morph-tagger": Small(
        "tagging.morphology.tagger:MorphTagger",
        lambda kind: kind(epochs=2, bits=10, clusters=BITS, vectors=_NEAR),
        _given(TREES),
        _morphology,
    ),
    "pipeline": Small(
        "pipeline.model:Pipeline",
        lambda kind: kind(**_SMALL_STAGES),
        lambda: ((_parsed_sentences(),), {}),
        _documents,
    ),
    "pipeline of all stages": Small(
        "pipeline.model:Pipeline",
        lambda kind: kind(rerank="yes", **_SMALL_STAGES),
        lambda: ((_parsed_sentences(),), _other_stages()),
        _documents,
    ),
    "spectral-hmm": Small(
        "sequences.spectral.model:SpectralHMM",
        lambda kind: kind(2),
        _given(TEXT),
        _operator_answers,
    ),
    "spectral-hmm reduced": Small(
        "sequences.spectral.model:SpectralHMM",
        lambda kind: kind(2, estimator="fru"),
        _given(TEXT),
        _operator_answers,
    ),
    "topics": Small(
        "words.topics.model:TopicModel",
        lambda kind: kind(2, min_documents=1, max_share=1.0),
        _given(TEXT),
        _topics_answers,
    ),
    "string-automaton": Small(
        "lab.automata.model:StringAutomaton",
        lambda kind: kind(3, basis=20),
        _given(_WORDS),
        _automaton_answers,
    ),
    "string-transducer": Small(
        "lab.automata.transducer:StringTransducer",
        lambda kind: kind(3, basis=20, beam=3),
        _given(_WORDS, [word[:3] for word in _WORDS]),
        lambda model: (model.predict(["dogs", "rat"]), model.kbest("cat", 2)),
    ),
    "tagger": Small(
        "tagging.sequence.tagger:SequenceTagger",
        lambda kind: kind(epochs=2, clusters=BITS, vectors=_VECTORS),
        _given(*TAGGED),
        lambda tagger: tagger.kbest(["we", "met", "Ann", "xyz"], 2),
    ),
}
