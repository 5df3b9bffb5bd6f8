"""The main job on the sample data, end to end: train, parse, count, embed, analyse; one report.

1. Trees: train parsers on our English sample with growing numbers of states, score them on the
   held-out part, show curves of learning, spectra of nonterminals, and a tree with its posteriors.
2. Dependencies: a parser of the same trees by head rules, and the hidden states of words.
3. Words: clusters and vectors of the text that every Python installation carries.
4. Sequences: hidden Markov models of that text, a tagger whose tags have states.
5. Arabic: a ranker of the analyses that the small lexicon gives, and a sentence that it reads.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eigentext import datasets
from eigentext.constituency import LPCFG
from eigentext.constituency.bounds import theorem_3
from eigentext.constituency.choose_states import f1_on
from eigentext.evaluate import parseval
from eigentext.formats.prm import EvalbSettings
from eigentext.reports.arcs import arcs_svg
from eigentext.reports.const_plots import CurvePoint, learning_curve, singular_value_plot
from eigentext.reports.demo_dep import dependency_section
from eigentext.reports.demo_hmm import sequences_section
from eigentext.reports.demo_lex import lexical_section
from eigentext.reports.demo_words import words_section
from eigentext.reports.drawing import tree_svg
from eigentext.reports.html import Report
from eigentext.trees.binarise import binarise
from eigentext.trees.const_to_dep import to_dependencies
from eigentext.trees.constituent import Tree
from eigentext.trees.unary import collapse

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.constituency import Parse

__all__ = ["run_demo"]

_SHOWN = "The man who sold the boat saw the girl with the telescope ."


def run_demo(folder: str, say: Callable[[str], None] = print) -> Path:
    """Run everything and write ``index.html`` and the models below ``folder``."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    datasets.write_sample(target)
    report = Report("eigentext", "The main job on the sample data, end to end")
    parser = _trees(report, target, say)
    _by_head_rules(report, parser)
    dependency_section(report, target, _english("train"), _english("dev") + _english("test"), say)
    words_section(report, target, say)
    sequences_section(report, target, _english("train"), _english("dev") + _english("test"), say)
    lexical_section(report, target, say)
    page = target / "index.html"
    report.write(page)
    return page


def _english(split: str) -> list[Tree]:
    return [Tree.from_brackets(line) for line in datasets.load_english(split)]


def _trees(report: Report, target: Path, say: Callable[[str], None]) -> LPCFG:
    train, held_out = _english("train"), _english("dev") + _english("test")
    report.section("Constituency").text(
        f"Latent-variable PCFGs, trained on {len(train)} trees of our own and scored on "
        f"{len(held_out)} held-out sentences by EVALB's rules (one state is the plain PCFG)."
    )
    LPCFG(states=2).fit(train[:5]).parse(["Yes"])  # compile before the clock starts
    rows = []
    parser = LPCFG()
    for states, ensemble in ((1, 1), (2, 1), (4, 1), (4, 3)):
        began = time.process_time()
        parser = LPCFG(states=states, ensemble=ensemble, per_state=15).fit(train)
        trained = time.process_time() - began
        began = time.process_time()
        answers = [parser.parse(tree.words) for tree in held_out]
        rate = len(held_out) / max(time.process_time() - began, 1e-9)
        score = parseval.evaluate(
            held_out, [answer.tree for answer in answers], EvalbSettings.collins()
        ).all
        rows.append(
            (states, ensemble, score.f1, score.complete_match, score.tag_accuracy, trained, rate)
        )
        say(
            f"const: {states} states, {ensemble} model(s): F1 {score.f1:.1f} on held-out trees, "
            f"trained in {trained:.2f} s, {rate:.0f} sentences a second"
        )
    header = (
        "states",
        "models",
        "F1",
        "complete",
        "tags",
        "training, CPU s",
        "sentences a second",
    )
    report.table(header, rows, caption="Parsers on the held-out sample", digits=2)
    _learning(report, train, held_out, say)
    parser.save(target / "english.lpcfg", data={"name": "sample", "licence": "Apache-2.0"})
    parser = LPCFG.load(target / "english.lpcfg")
    answer = parser.parse(_SHOWN.split(), kbest=3, marginals=True)
    report.figure(
        tree_svg(answer.tree, colours=_posteriors(answer)),
        "The best parse; colour is the posterior of each constituent",
    )
    report.table(
        ("rank", "log score", "log p(tree)", "tree"),
        [
            (rank, one.log_score, one.log_p, str(one.tree))
            for rank, one in enumerate(answer.kbest, start=1)
        ],
        caption="The three best trees of that sentence",
    )
    sizes = []
    for h in (0, 1, 2, None):
        binary = [binarise(collapse(tree), h=h) for tree in train]
        labels = {label for tree in binary for label in np.array(tree.labels)[tree.sizes > 1]}
        sizes.append(("all" if h is None else str(h), len(labels)))
    report.table(
        ("siblings remembered", "nonterminals"), sizes, caption="Binarisation and grammar size"
    )
    return parser


def _learning(
    report: Report, train: list[Tree], held_out: list[Tree], say: Callable[[str], None]
) -> None:
    """F1 as trees become more, and the spectra that ``states="auto"`` chooses by."""
    points = []
    for share in (0.1, 0.25, 0.5, 1.0):
        trees = train[: round(share * len(train))]
        for name, states in (("plain PCFG", 1), ("4 states", 4)):
            began = time.process_time()
            parser = LPCFG(states=states, per_state=15).fit(trees)
            seconds = max(time.process_time() - began, 1e-3)
            points.append(CurvePoint(name, len(trees), seconds, f1_on(parser, held_out)))
    report.figure(learning_curve(points), "F1 on held-out trees against the number of trees")
    report.figure(
        learning_curve(points, against="seconds"), "The same against the CPU seconds of training"
    )
    parser = LPCFG(states="auto").fit(train)
    say(f"const: states from the spectrum: F1 {f1_on(parser, held_out):.1f} on held-out trees")
    spectra = {
        f"{one.label} ({one.states})": one.singular_values
        for one in theorem_3(parser).nonterminals
        if one.singular_values
    }
    report.figure(
        singular_value_plot(dict(list(spectra.items())[:6])).decode(),
        "Singular values of frequent nonterminals; in brackets how many are above the noise",
    )


def _posteriors(answer: Parse) -> list[float]:
    """The posterior of every node of the best tree; words have none."""
    spans = answer.tree.spans().tolist()
    return [
        float("nan") if leaf else min(1.0, answer.marginals.get((start, end, label), float("nan")))
        for label, (start, end), leaf in zip(
            answer.tree.labels, spans, answer.tree.is_leaf.tolist(), strict=True
        )
    ]


def _by_head_rules(report: Report, parser: LPCFG) -> None:
    tree = to_dependencies(parser.parse(_SHOWN.split()).tree)
    report.figure(
        arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags, width=840),
        "The same parse as dependencies, by head rules",
    )
