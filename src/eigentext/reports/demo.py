"""Every kind of model on the sample data, in one report: what it is, a score, and a picture.

Trees, dependencies, and the text that every Python installation carries, as words and as
sequences; Arabic readings; raw text parsed.  Scores are of what a model has not seen.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from eigentext import datasets
from eigentext.base.cores import available_cores
from eigentext.base.parallel import in_order
from eigentext.constituency import LPCFG
from eigentext.counting.counting import count
from eigentext.datasets.python_text import sentences
from eigentext.dependency import DependencyParser, LatentTreeModel
from eigentext.dependency.latent.inspection import states_of
from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg
from eigentext.drawing.words_tree import cluster_tree_svg
from eigentext.errors import SettingsError
from eigentext.evaluate import attachment, parseval
from eigentext.evaluate.conll18 import MEASURES
from eigentext.language.formats import conllu
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.text import write_sentences
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies
from eigentext.lexical import LexicalRanker, load_scheme
from eigentext.lexical.crossval import MostFrequent, cross_validate, folds_by_document
from eigentext.lexical.documents import read_documents
from eigentext.lexical.output import shown_reading
from eigentext.pipeline import Pipeline
from eigentext.reports.html import Report
from eigentext.reports.morphology import in_plain_words
from eigentext.reports.words_page import PageVectors, words_report
from eigentext.sequences import HMM, LatentTagger, SpectralHMM, Symbols
from eigentext.sequences.inspection import graph_of, kneser_ney_surprisals
from eigentext.words.clusters.model import SpectralClusters
from eigentext.words.embeddings.cca import CCAEmbedding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.constituency import Parse

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_ABOUT = "The main job on the sample data, end to end"
_SAMPLE = {"name": "sample", "licence": "Apache-2.0"}
_FOLDS = 5
_SHOWN = "The man who sold the boat saw the girl with the telescope ."
_RAW = (
    "Anna's dog can't sleep. The old farmer who sold the boat saw two horses near the river, "
    "and he waited!\n\nWhere did you find the key?"
)
_arcs = partial(arcs_svg, width=840)


def run_demo(folder: str, say: Callable[[str], None] = print) -> Path:
    """Run everything and write ``index.html`` and the models below ``folder``.

    The sections need nothing of each other, so that two processes share them: on a first run most
    of the time goes into compiling, which one core does not share by itself.
    """
    target = Path(folder)
    page = target / "index.html"
    target.mkdir(parents=True, exist_ok=True)
    ours = page.is_file() and _ABOUT.encode() in page.read_bytes()
    if not ours and any(target.iterdir()):
        raise SettingsError(f"{folder} has other files in it: expected a new or an empty folder")
    datasets.write_sample(target)
    report = Report("eigentext", _ABOUT)
    jobs = min(2, available_cores())
    numbers = range(len(_SECTIONS))
    for _, (part, lines) in in_order(_section, numbers, state=target, jobs=jobs, chunk=1):
        report.extend(part)
        for line in lines:
            say(line)
    report.write(page)
    return page


def _section(target: Path, numbers: list[int]) -> list[tuple[Report, list[str]]]:
    """These sections, and what there is to say of each."""
    answers = []
    for number in numbers:
        report, lines = Report(""), list[str]()
        _SECTIONS[number](report, target, lines.append)
        answers.append((report, lines))
    return answers


def _sample_trees() -> list[Tree]:
    splits = ("train", "dev", "test")
    return [Tree.from_brackets(line) for split in splits for line in datasets.load_english(split)]


def _unseen(
    items: Sequence[Item],
    learn: Callable[[list[Item]], Any],
    answers_of: Callable[[Any, Sequence[Item]], Sequence[Answer]],
) -> list[Answer]:
    """The answer for each item by a model of the other folds."""
    answers: list[Any] = [None] * len(items)
    for fold in range(_FOLDS):
        model = learn([item for k, item in enumerate(items) if k % _FOLDS != fold])
        answers[fold::_FOLDS] = answers_of(model, items[fold::_FOLDS])
    return answers


def _constituency(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.lpcfg`` to the folder."""
    trees = _sample_trees()
    report.section("Constituency").text(
        f"Latent-variable PCFGs of {len(trees)} trees of our own, scored in {_FOLDS} folds by "
        "EVALB's rules: every tree is parsed by a model that has not seen it. One state is the "
        "plain PCFG.",
        f"What {len(trees)} trees can show: that hidden states help. What they cannot: which "
        "number of states or which estimator is best, or what an ensemble is worth; a difference "
        "of less than two points is noise here. docs/guide/constituency.md has treebanks.",
    )
    rows = []
    for states in (1, 2, 4):
        learn = LPCFG(n_states=states, per_state=15).fit
        answers = _unseen(
            trees, learn, lambda model, some: [model.parse(tree.words).tree for tree in some]
        )
        f1 = parseval.evaluate(trees, answers, EvalbSettings.collins()).all.f1
        rows.append((states, f1))
        say(f"const: {states} state(s): F1 {f1:.1f} in {_FOLDS} folds")
    report.table(("states", "F1"), rows, caption="Parsers of the sample", digits=2)
    learnt, unseen = trees[: -len(trees) // 10], trees[-len(trees) // 10 :]
    parser = LPCFG(n_states=4, per_state=15).fit(learnt)
    parser.save(target / "english.lpcfg", data=_SAMPLE)
    both = [(parser.parse(tree.words, marginals=True), tree) for tree in unseen]
    right = [answer for answer, tree in both if str(answer.tree) == str(tree)]
    right = right or [answer for answer, _ in both]
    # the one whose weakest constituent is weakest
    answer = min(right, key=lambda answer: round(float(np.nanmin(_posteriors(answer))), 6))
    posteriors = _posteriors(answer)
    report.figure(
        tree_svg(answer.tree, colours=posteriors),
        "Of the unseen sentences that the parser gets right, the one it is least sure of: the "
        "paler a label, the less probable the constituent, here from "
        f"{np.nanmin(posteriors):.2f} to "
        f"{np.nanmax(posteriors):.2f} (rest the pointer on a label for its posterior)",
    )


def _posteriors(answer: Parse) -> list[float]:
    """The posterior of every node of the best tree; words have none."""
    tree = answer.tree
    nodes = zip(tree.labels, tree.spans().tolist(), tree.is_leaf.tolist(), strict=True)
    return [
        float("nan") if leaf else min(1.0, answer.marginals.get((*span, label), float("nan")))
        for label, span, leaf in nodes
    ]


def _dependencies(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.dep`` and ``english.latent`` to the folder."""
    trees = [to_dependencies(tree) for tree in _sample_trees()]
    gold = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
    report.section("Dependencies").text(
        f"The same {len(gold)} trees as dependencies, by head rules: a graph-based parser "
        f"with taggers of its own, scored in {_FOLDS} folds by the rules of the CoNLL 2018 shared "
        "task. UAS is the share of words with the right head, LAS with the right relation too."
    )
    parser = DependencyParser(order=2, tags="own", epochs=5, bits=18)
    result = attachment.evaluate(
        gold, _unseen(gold, parser.fit, lambda model, some: model.predict(some))
    )
    say(f"dep: UAS {result.uas:.1f}, LAS {result.las:.1f} in {_FOLDS} folds")
    report.table(
        ("UAS", "LAS", "whole trees"),
        [(result.uas, result.las, result.unlabelled_complete_match)],
        caption="The parser, tags and all, on trees that it has not seen",
        digits=2,
    )
    parser.save(target / "english.dep", data=_SAMPLE)
    tokens = _SHOWN.split()
    best = parser.parse(tokens)
    heads, relations = best.tree.heads.tolist(), best.tree.relations
    doubtful = tokens.index("with") + 1
    other = parser.parse(tokens, forbidden_arcs=[(heads[doubtful - 1], doubtful)])
    shares = parser.marginals(tokens)
    draw = partial(_arcs, tokens, heads, relations, tags=parser.tagged(tokens).xpos)
    probabilities = [min(1.0, float(shares[head, n])) for n, head in enumerate(heads, start=1)]
    report.figure(
        draw(probabilities=probabilities), "The best tree; an arc is as strong as it is probable"
    )
    report.figure(
        draw(
            against=other.tree.heads.tolist(),
            against_relations=other.tree.relations,
            names=("the best tree", "with that arc forbidden"),
        ),
        f"The best tree, score {best.score:.2f}, and the best without the arc to “with”, "
        f"score {other.score:.2f}",
    )
    latent = LatentTreeModel(60, n_iter=10).fit(
        [conllu.to_dependency_tree(sentence, tags="xpos") for sentence in gold]
    )
    latent.save(target / "english.latent", data=_SAMPLE)
    states = sorted(states_of(latent, top=5), key=lambda state: -state.share)[:10]
    report.table(
        ("state", "tag", "share", "words"),
        [(s.state, s.tag, s.share, ", ".join(word for word, _ in s.words)) for s in states],
        caption="Hidden states of words in trees, those with most words first",
    )


def _words(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write models, paths and the page ``words.html`` to the folder."""
    text = str(target / "python.txt")
    n_sentences = write_sentences(sentences(), text)
    counts = count([text], contexts="lr2", vocab_size=3000)
    counts.save(target / "python.counts")
    vectors = CCAEmbedding(50).fit(counts).embeddings_
    clusters = SpectralClusters(60).fit(counts)
    clusters.save(target / "python.clusters")
    clusters.write_paths(str(target / "python.paths"))
    information = clusters.clustering_.information
    say(
        f"words: {counts.n_tokens:,} tokens in {n_sentences:,} sentences, vectors of 50 "
        f"dimensions, 60 clusters with mutual information {information:.3f}"
    )
    page = words_report(
        clusters.tree(),
        title="Words of Python's documentation",
        model=clusters,
        vectors=PageVectors(vectors.words, vectors.vectors),
        remark=say,
    )
    page.write(target / "words.html")
    report.section("Words").text(
        f"{counts.n_tokens:,} tokens from the documentation that every Python installation "
        f"carries; the {len(counts.words) - 1:,} most frequent words. From the same counts come "
        f"60 clusters in a hierarchy (mutual information {information:.3f} nats) and vectors of "
        "50 dimensions."
    ).link("words.html", "All clusters and words on a page of their own, to browse and search")
    report.figure(
        cluster_tree_svg(clusters.tree(), ends=24, words=5),
        "The cluster tree, with its most frequent words",
    )


def _sequences(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``python.hmm`` and ``english.tagger`` to the folder."""
    text = list(sentences())
    mine, other = text[len(text) // 10 :], text[: len(text) // 10]
    symbols = Symbols.fit(mine, vocab_size=3000, unknown="one")
    data, unseen = symbols.encode(mine), symbols.encode(other)
    n_states, n_iter = 20, 5
    report.section("Sequences").text(
        f"Hidden Markov models with {n_states} states of {data.n_tokens:,} tokens of Python's "
        f"documentation: perplexity on {unseen.n_tokens:,} held-out tokens. Operators learned "
        "from moments have no local optima, but no states either, and now and then a value that "
        "is no probability (the negative rate); recovered parameters are always valid, and a "
        f"start for EM ({n_iter} iterations here).",
        "To guess the next word of a text this small, take a Kneser-Ney bigram. A hidden Markov "
        "model is for its states, shown below, and with 100 states and a million tokens of "
        "Wikipedia passes the bigram (docs/guide/sequences.md).",
    )
    models: dict[str, Any] = {
        "operators (CCA)": SpectralHMM(n_states),
        "recovered parameters": HMM(n_states, start="recovered", n_iter=0, symbols=symbols),
        "EM from there": HMM(n_states, start="recovered", n_iter=n_iter, symbols=symbols),
        "EM from random": HMM(n_states, start="random", n_iter=n_iter, symbols=symbols),
    }
    surprisals = {
        "unigram": -np.log(symbols.unigram()[unseen.ids]),
        "Kneser-Ney bigram": kneser_ney_surprisals(data, unseen, len(symbols)),
    }
    for name, model in models.items():
        surprisals[name] = model.fit_encoded(data, symbols).surprisals_encoded(unseen)
        say(f"hmm: {name}: perplexity {np.exp(surprisals[name].mean()):.1f} on held-out text")
    rates = {name: getattr(model, "negative_rate_", None) for name, model in models.items()}
    report.table(
        ("model", "perplexity", "negative rate"),
        [(name, float(np.exp(s.mean())), rates.get(name)) for name, s in surprisals.items()],
        caption="Models of Python's documentation",
    )
    model = models["EM from there"]
    model.save(target / "python.hmm", data={"name": "python"})
    drawn = graph_of(model.parameters_, model.symbols_, words=1)
    report.figure(drawn, "Where the states lead; area is a state's share of the tokens")
    tagged = [(tree.words, tree.tags) for tree in _sample_trees()]
    tagger = LatentTagger(4)
    answers = _unseen(
        tagged,
        lambda some: tagger.fit(*zip(*some, strict=True)),
        lambda model, some: [model.tag(words) for words, _ in some],
    )
    gold = chain.from_iterable(tags for _, tags in tagged)
    right = np.array([*chain.from_iterable(answers)]) == np.array([*gold])
    tagger.save(target / "english.tagger", data=_SAMPLE)
    said = f"with 4 states a tag: accuracy {100 * right.mean():.1f} in {_FOLDS} folds"
    say(f"hmm: tagger {said}")
    report.text(f"A tagger of the English sample {said}.")


def _arabic(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``arabic.ranker`` to the folder, which holds the sample."""
    scheme = load_scheme("arabic14")
    documents = read_documents([str(target / "sample" / "arabic.jsonl")], scheme)
    forms = [word.form for document in documents for word in document.words()]
    mean = sum(len(datasets.analyse(form)) for form in forms) / len(forms)
    report.section("Arabic").text(
        f"{len(documents)} sentences of our own, {len(forms)} words; our small lexicon gives "
        f"{mean:.1f} analyses a word. A ranker learns which one is right in context; scored in "
        f"{_FOLDS} folds by sentence: A1 is how often the right label (lemma and all features) "
        "is first, A2 how often it is among the first two.",
        "So few sentences show what a ranking looks like; how good it is on newspapers, and what "
        "further passes add, stands in docs/guide/lexical.md.",
    )
    make = partial(LexicalRanker, bits=16)
    rows = []
    makers: dict[str, Callable[[], Any]] = {"most frequent label": MostFrequent, "ranker": make}
    for name, maker in makers.items():
        first, *others = cross_validate(documents, maker, folds=_FOLDS)
        total = sum((result.scores for result in others), first.scores)
        full = total.full
        rows.append((name, full.a1, full.a2, total.reduced.a1, total.untrained.a1))
        say(f"lex: {name}: A1 {full.a1:.1f}, A2 {full.a2:.1f} on {full.words} held-out words")
    report.table(
        ("model", "A1", "A2", "A1 without case", "A1, unseen words"),
        rows,
        caption="Analyses of words in unseen sentences",
        digits=1,
    )
    in_folds = list(zip(documents, folds_by_document(documents, _FOLDS), strict=True))
    ranker = make().fit([document for document, fold in in_folds if fold])
    ranker.save(target / "arabic.ranker", data=_SAMPLE)
    held_out = [document for document, fold in in_folds if not fold]
    longest = max(held_out, key=lambda item: (sum(map(len, item.sentences)), item.id))
    sentence = next(item for item in datasets.load_arabic() if item["id"] == longest.id)
    words = longest.sentences[0]
    readings: list[tuple[Any, ...]] = []
    for word, ranked in zip(words, ranker.rank([word.form for word in words]), strict=True):
        for rank, candidate in enumerate(ranked.candidates[:3], start=1):
            reading = shown_reading(ranked, candidate, ranker)
            morphology = in_plain_words(ranker.scheme_.as_mapping(candidate.label))
            written = (reading.vocalised, reading.gloss) if reading else ("", "")
            right = "yes" if candidate.label == word.label else ""
            share = 100 * candidate.probability
            readings.append((word.form, rank, share, *written, morphology, right))
    report.table(
        ("word", "rank", "%", "vocalised", "gloss", "morphology", "right"),
        readings,
        caption=f"The best readings in a held-out sentence: {sentence['text']} "
        f"({sentence['translation']})",
        digits=1,
    )
    report.details(
        "Read and annotate texts of your own with this model, in a browser",
        "eigentext serve --lex-model arabic.ranker --annotations decisions.db",
        verbatim=True,
    )


def _pipeline(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.pipe`` and ``parsed.conllu`` to the folder."""
    sample = target / "sample"
    nlp = Pipeline().fit(sample / "treebank.conllu", dev=sample / "treebank-dev.conllu")
    nlp.save(target / "english.pipe", data=_SAMPLE)
    report.section("Pipeline").text(
        f"From raw text to everything: a segmenter, a morphological tagger and a parser of "
        f"{nlp.counts_['sentences']} sentences of our own. "
        "The parser learned from tags of taggers that had not seen the sentences. The scores are "
        "F1 on the raw text of 23 further sentences, by the rules of the CoNLL 2018 shared task."
    )
    scores = nlp.dev_scores_
    report.table(
        MEASURES, [tuple(scores[name] for name in MEASURES)], caption="From raw text", digits=1
    )
    names = ("Words", "UPOS", "Lemmas", "LAS")
    say("pipe: raw text: " + ", ".join(f"{name} {scores[name]:.1f}" for name in names))
    doc = nlp(_RAW)
    (target / "parsed.conllu").write_bytes(doc.to_conllu(offsets=True).encode())
    report.table(
        ("form", "lemma", "UPOS", "features", "head", "relation"),
        [
            (word.form, word.lemma, word.upos, word.feats, word.head, word.deprel)
            for sentence in doc.sentences
            for word in sentence.words
        ],
        caption="Raw text, parsed",
    )
    for sentence in doc.sentences:
        columns, heads = sentence.columns, list(sentence.columns.heads or ())
        say("pipe: " + " ".join(f"{word.form}/{word.upos}" for word in sentence.words))
        report.figure(
            _arcs(columns.forms, heads, columns.deprels, tags=columns.upos), f"“{sentence.text}”"
        )


_SECTIONS = (_constituency, _dependencies, _words, _sequences, _arabic, _pipeline)
