"""The main job on the sample data, end to end: train, parse, count, embed, analyse; one report.

1. Trees: train parsers on our English sample with growing numbers of states, score them on the
   held-out part, show curves of learning, spectra of nonterminals, and a tree with its posteriors.
2. Dependencies: a parser of the same trees by head rules, and the hidden states of words.
3. Words: clusters and vectors of the text that every Python installation carries.
4. Sequences: hidden Markov models of that text, a tagger whose tags have states.
5. Arabic: a ranker of the analyses that the small lexicon gives, and a sentence that it reads.
6. Pipeline: segmenter, morphology and parser of the sample treebank, and raw text parsed by them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eigentext import datasets
from eigentext.base.cores import available_cores
from eigentext.base.parallel import in_order
from eigentext.constituency import LPCFG
from eigentext.constituency.inspection import theorem_3
from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg
from eigentext.errors import SettingsError
from eigentext.evaluate import parseval
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.binarise import binarise, collapse
from eigentext.language.trees.heads import to_dependencies
from eigentext.reports.const_plots import CurvePoint, learning_curve, singular_value_plot
from eigentext.reports.demo_dep import dependency_section, sample_trees
from eigentext.reports.demo_hmm import sequences_section
from eigentext.reports.demo_lex import lexical_section
from eigentext.reports.demo_pipe import pipeline_section
from eigentext.reports.demo_words import words_section
from eigentext.reports.html import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.constituency import Parse
    from eigentext.language.trees.constituent import Tree

_ABOUT = "The main job on the sample data, end to end"
_FOLDS = 10
_PER_STATE = 15
_SHOWN = "The man who sold the boat saw the girl with the telescope ."


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
    for _, (part, lines) in in_order(_section, _SECTIONS, state=target, jobs=jobs, chunk=1):
        report.extend(part)
        for line in lines:
            say(line)
    report.write(page)
    return page


def _section(target: Path, names: list[str]) -> list[tuple[Report, list[str]]]:
    """These sections, and what there is to say of each."""
    answers = []
    for name in names:
        report, lines = Report(""), list[str]()
        _SECTIONS[name](report, target, lines.append)
        answers.append((report, lines))
    return answers


def _constituency(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.lpcfg`` to the folder."""
    trees = sample_trees()
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
        f1, seconds = _cross_validated(trees, states)
        rows.append((states, f1, seconds))
        say(f"const: {states} state(s): F1 {f1:.1f} in {_FOLDS} folds, {seconds:.2f} s a training")
    report.table(
        ("states", "F1", "CPU s to train"), rows, caption="Parsers of the sample", digits=2
    )
    _learning(report, trees)
    learnt, unseen = trees[: -len(trees) // _FOLDS], trees[-len(trees) // _FOLDS :]
    parser = LPCFG(n_states=4, per_state=_PER_STATE).fit(learnt)
    parser.save(target / "english.lpcfg", data={"name": "sample", "licence": "Apache-2.0"})
    parser = LPCFG.load(target / "english.lpcfg")
    answer = _most_doubtful(parser, unseen)
    posteriors = _posteriors(answer)
    report.figure(
        tree_svg(answer.tree, colours=posteriors),
        "Of the unseen sentences that the parser gets right, the one it is least sure of: the "
        "paler a label, the less probable the constituent, here from "
        f"{np.nanmin(posteriors):.2f} to "
        f"{np.nanmax(posteriors):.2f} (rest the pointer on a label for its posterior)",
    )
    report.table(
        ("rank", "log score", "log p(tree)", "tree"),
        [
            (rank, candidate.log_score, candidate.log_prob, str(candidate.tree))
            for rank, candidate in enumerate(answer.kbest, start=1)
        ],
        caption="The three best trees of that sentence",
    )
    sizes = []
    for h in (0, 1, 2, None):
        binary = [binarise(collapse(tree), h=h) for tree in trees]
        labels = {label for tree in binary for label in np.array(tree.labels)[tree.sizes > 1]}
        sizes.append(("all" if h is None else str(h), len(labels)))
    report.table(
        ("siblings remembered", "nonterminals"), sizes, caption="Binarisation and grammar size"
    )
    tree = to_dependencies(parser.parse(_SHOWN.split()).tree)
    report.figure(
        arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags, width=840),
        "A parse as dependencies, by head rules",
    )


def _cross_validated(trees: list[Tree], states: int, share: float = 1.0) -> tuple[float, float]:
    """F1 over all trees, each parsed by a model of (a share of) the other folds; CPU seconds."""
    answers: dict[int, Tree] = {}
    LPCFG(n_states=states, per_state=_PER_STATE).fit(trees[:5]).parse(["Yes"])  # compiled first
    seconds = 0.0
    for fold in range(_FOLDS):
        others = [tree for k, tree in enumerate(trees) if k % _FOLDS != fold]
        began = time.process_time()
        parser = LPCFG(n_states=states, per_state=_PER_STATE)
        parser.fit(others[: round(share * len(others))])
        seconds += time.process_time() - began
        for k in range(fold, len(trees), _FOLDS):
            answers[k] = parser.parse(trees[k].words).tree
    in_order = [answers[k] for k in range(len(trees))]
    scores = parseval.evaluate(trees, in_order, EvalbSettings.collins()).all
    return scores.f1, seconds / _FOLDS


def _learning(report: Report, trees: list[Tree]) -> None:
    """F1 as trees become more, and the spectra that ``n_states="auto"`` chooses by."""
    points = [
        CurvePoint(name, round(share * len(trees) * (1 - 1 / _FOLDS)), seconds, f1)
        for name, states in (("plain PCFG", 1), ("4 states", 4))
        for share in (0.25, 0.5, 1.0)
        for f1, seconds in [_cross_validated(trees, states, share)]
    ]
    report.figure(
        learning_curve(points).svg(), f"F1 in {_FOLDS} folds against the number of training trees"
    )
    spectra = {
        f"{row.label} ({row.states})": row.singular_values
        for row in theorem_3(LPCFG(n_states="auto").fit(trees).grammar_).nonterminals
        if row.singular_values
    }
    report.figure(
        singular_value_plot(dict(list(spectra.items())[:6])).svg(),
        "Singular values of frequent nonterminals; in brackets how many are above the noise",
    )


def _most_doubtful(parser: LPCFG, trees: list[Tree]) -> Parse:
    """Of the trees that are parsed rightly, the one whose weakest constituent is weakest."""
    answers = [parser.parse(tree.words, kbest=3, marginals=True) for tree in trees]
    right = [
        answer
        for answer, tree in zip(answers, trees, strict=True)
        if str(answer.tree) == str(tree)
    ] or answers
    return min(right, key=lambda answer: round(float(np.nanmin(_posteriors(answer))), 6))


def _posteriors(answer: Parse) -> list[float]:
    """The posterior of every node of the best tree; words have none."""
    spans = answer.tree.spans().tolist()
    return [
        float("nan") if leaf else min(1.0, answer.marginals.get((start, end, label), float("nan")))
        for label, (start, end), leaf in zip(
            answer.tree.labels, spans, answer.tree.is_leaf.tolist(), strict=True
        )
    ]


_SECTIONS = {
    "constituency": _constituency,
    "dependencies": dependency_section,
    "words": words_section,
    "sequences": sequences_section,
    "lexical": lexical_section,
    "pipeline": pipeline_section,
}
