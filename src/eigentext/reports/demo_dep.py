"""The demo's dependencies: a parser of the sample, its arcs, its doubts, and hidden states."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eigentext.datasets import load_english
from eigentext.dependency import DependencyParser, LatentTreeModel
from eigentext.dependency.latent.inspection import states_of
from eigentext.drawing.arcs import arcs_svg
from eigentext.evaluate.attachment import evaluate
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eigentext.reports.html import Report

_FOLDS = 5
_STATES = 60
_SHOWN = "The man who sold the boat saw the girl with the telescope ."


def sample_trees() -> list[Tree]:
    """All trees of our English sample."""
    splits = ("train", "dev", "test")
    return [Tree.from_brackets(line) for split in splits for line in load_english(split)]


def dependency_section(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.dep`` and ``english.latent`` to the folder."""
    trees = map(to_dependencies, sample_trees())
    sentences = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
    report.section("Dependencies").text(
        f"The same {len(sentences)} trees as dependencies, by head rules: a graph-based parser "
        f"with taggers of its own, scored in {_FOLDS} folds by the rules of the CoNLL 2018 shared "
        "task. UAS is the share of words with the right head, LAS with the right relation too."
    )
    DependencyParser(epochs=1, bits=16, tags="own").fit(sentences[:2]).predict(sentences[:1])
    by_number: dict[int, conllu.ConlluBlock] = {}
    seconds = 0.0
    parser = DependencyParser()
    for fold in range(_FOLDS):
        others = [sentence for k, sentence in enumerate(sentences) if k % _FOLDS != fold]
        began = time.process_time()
        parser = DependencyParser(order=2, tags="own", epochs=5, bits=18).fit(others)
        seconds += (time.process_time() - began) / _FOLDS
        answers = parser.predict(sentences[fold::_FOLDS])
        by_number.update(zip(range(fold, len(sentences), _FOLDS), answers, strict=True))
    predicted = [by_number[k] for k in range(len(sentences))]
    result = evaluate(sentences, predicted)
    say(
        f"dep: UAS {result.uas:.1f}, LAS {result.las:.1f} in {_FOLDS} folds, "
        f"{seconds:.2f} s a training"
    )
    report.table(
        ("UAS", "LAS", "whole trees", "CPU s to train"),
        [(result.uas, result.las, result.unlabelled_complete_match, seconds)],
        caption="The parser, tags and all, on trees that it has not seen",
        digits=2,
    )
    parser.save(target / "english.dep", data={"name": "sample", "licence": "Apache-2.0"})
    _sentence(report, DependencyParser.load(target / "english.dep"))
    _mistakes(report, sentences, predicted)
    _hidden(report, target, sentences, say)


def _sentence(report: Report, parser: DependencyParser) -> None:
    """One sentence: its tree with probabilities, and the best tree without one of its arcs."""
    tokens = _SHOWN.split()
    best = parser.parse(tokens)
    heads = best.tree.heads.tolist()
    doubtful = tokens.index("with") + 1
    other = parser.parse(tokens, forbidden_arcs=[(heads[doubtful - 1], doubtful)])
    chances = parser.marginals(tokens)
    tags = parser.tagged(tokens).xpos
    report.figure(
        arcs_svg(
            tokens,
            heads,
            best.tree.relations,
            tags=tags,
            width=840,
            probabilities=[
                min(1.0, float(chances[head, word])) for word, head in enumerate(heads, start=1)
            ],
        ),
        "The best tree; an arc is as strong as it is probable",
    )
    report.figure(
        arcs_svg(
            tokens,
            heads,
            best.tree.relations,
            tags=tags,
            width=840,
            against=other.tree.heads.tolist(),
            against_relations=other.tree.relations,
            names=("the best tree", "with that arc forbidden"),
        ),
        f"The best tree, score {best.score:.2f}, and the best without the arc to “with”, "
        f"score {other.score:.2f}",
    )


def _mistakes(
    report: Report, gold: Sequence[conllu.ConlluBlock], predicted: Sequence[conllu.ConlluBlock]
) -> None:
    """The first held-out sentence with a wrong head, beside the right tree."""
    both = zip(gold, predicted, strict=True)
    right, wrong = next((pair for pair in both if pair[0].heads != pair[1].heads), (None, None))
    if right is None or wrong is None or right.heads is None or wrong.heads is None:
        return
    report.figure(
        arcs_svg(
            right.forms,
            right.heads,
            right.column("deprel"),
            width=840,
            against=wrong.heads,
            against_relations=wrong.column("deprel"),
            names=("gold", "the parser"),
        ),
        "A held-out sentence that the parser gets wrong",
    )


def _hidden(
    report: Report, target: Path, mine: Sequence[conllu.ConlluBlock], say: Callable[[str], None]
) -> None:
    """The latent tree model: the hidden states with most words."""
    trees = [conllu.to_dependency_tree(sentence, tags="xpos") for sentence in mine]
    began = time.process_time()
    model = LatentTreeModel(_STATES, n_iter=10).fit(trees)
    seconds = time.process_time() - began
    model.save(target / "english.latent", data={"name": "sample", "licence": "Apache-2.0"})
    per_word = model.log_likelihoods_[-1] / sum(map(len, trees))
    say(
        f"dep: latent trees with {_STATES} states in {seconds:.1f} s, "
        f"log p of a word {per_word:.2f}"
    )
    states = sorted(states_of(model, top=5), key=lambda state: -state.share)[:10]
    report.table(
        ("state", "tag", "share", "words", "children"),
        [
            (
                state.state,
                state.tag,
                state.share,
                ", ".join(_word(name) for name, _ in state.words),
                ", ".join(f"{where} {_word(name)}" for where, name, _ in state.children[:4]),
            )
            for state in states
        ],
        caption="Hidden states of words in trees, those with most words first",
    )


def _word(name: str) -> str:
    """``the`` of ``the|DT``."""
    return name.rpartition("|")[0] or name
