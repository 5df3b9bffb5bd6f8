"""The demo's sequences: hidden Markov models of Python's documentation, a tagger with states."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.datasets.python_text import sentences
from eigentext.reports.demo_dep import sample_trees
from eigentext.sequences import HMM, LatentTagger, SpectralHMM, Symbols
from eigentext.sequences.inspection import graph_of, kneser_ney_surprisals, states_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eigentext.language.trees.constituent import Tree
    from eigentext.reports.html import Report

_STATES = 20
_WORDS = 3000
_ITERATIONS = 5
_TAG_STATES = 4
_FOLDS = 5


def sequences_section(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``python.hmm`` and ``english.tagger`` to the folder."""
    text = list(sentences())
    part = len(text) // 10
    mine, other = text[part:], text[:part]
    symbols = Symbols.fit(mine, vocab_size=_WORDS, unknown="one")
    data, unseen = symbols.encode(mine), symbols.encode(other)
    bigram = _perplexity(kneser_ney_surprisals(data, unseen, len(symbols)))
    report.section("Sequences").text(
        f"Hidden Markov models with {_STATES} states of {data.n_tokens:,} tokens of Python's "
        f"documentation: perplexity on {unseen.n_tokens:,} held-out tokens. Operators learned "
        "from moments have no local optima, but no states either, and now and then a value that "
        "is no probability (the negative rate); recovered parameters are always valid, and a "
        f"start for EM ({_ITERATIONS} iterations here).",
        f"A Kneser-Ney bigram has {bigram:.1f} on the same tokens: to guess the next word of a "
        "text this small, take that. A hidden Markov model is for its states, shown below, and "
        "with 100 states and a million tokens of Wikipedia passes the bigram "
        "(docs/guide/sequences.md).",
    )
    rows: list[tuple[Any, ...]] = [
        ("unigram", _perplexity(-np.log(symbols.unigram()[unseen.ids])), None, None)
    ]
    models: dict[str, Any] = {
        "operators (CCA)": SpectralHMM(_STATES),
        "recovered parameters": HMM(_STATES, start="recovered", n_iter=0, symbols=symbols),
        "EM from there": HMM(_STATES, start="recovered", n_iter=_ITERATIONS, symbols=symbols),
        "EM from random": HMM(_STATES, start="random", n_iter=_ITERATIONS, symbols=symbols),
    }
    few = symbols.encode(mine[:50])
    for model in models.values():  # compile before the clock starts
        model.fit_encoded(few, symbols).surprisals_encoded(few)
    for name, model in models.items():
        began = time.process_time()
        model.fit_encoded(data, symbols)
        seconds = time.process_time() - began
        perplexity = _perplexity(model.surprisals_encoded(unseen))
        rate = getattr(model, "negative_rate_", None)
        rows.append((name, perplexity, None if rate is None else 100 * rate, seconds))
        say(f"hmm: {name}: perplexity {perplexity:.1f} on held-out text, {seconds:.2f} s")
    report.table(
        ("model", "perplexity", "negative, %", "CPU s to train"),
        rows,
        caption="Models of Python's documentation",
        digits=2,
    )
    _states(report, target, models["EM from there"])
    _tagger(report, target, sample_trees(), say)


def _perplexity(surprisals: Any) -> float:
    return float(np.exp(surprisals.mean()))


def _states(report: Report, target: Path, model: HMM) -> None:
    """What the states are about, and where they lead."""
    model.save(target / "python.hmm", data={"name": "python"})
    views = states_of(model.parameters_, model.symbols_, top=8)
    report.table(
        ("state", "% of tokens", "words", "next states"),
        [
            (
                view.state,
                100 * view.share,
                ", ".join(word for word, _ in view.words),
                ", ".join(str(state) for state, _ in view.after[:3]),
            )
            for view in sorted(views, key=lambda view: -view.share)[:10]
        ],
        caption="The states with most tokens, by their words",
        digits=1,
    )
    drawn = graph_of(model.parameters_, model.symbols_, words=1)
    report.figure(drawn, "Where the states lead; area is a state's share of the tokens")


def _tagger(
    report: Report, target: Path, trees: Sequence[Tree], say: Callable[[str], None]
) -> None:
    """A tagger whose tags have hidden states."""
    text, tags = [tree.words for tree in trees], [tree.tags for tree in trees]
    LatentTagger(_TAG_STATES).fit(text[:5], tags[:5])  # compile before the clock starts
    right, seconds = 0.0, 0.0
    for fold in range(_FOLDS):
        began = time.process_time()
        tagger = LatentTagger(_TAG_STATES)
        others = [number for number in range(len(trees)) if number % _FOLDS != fold]
        tagger.fit([text[number] for number in others], [tags[number] for number in others])
        seconds += (time.process_time() - began) / _FOLDS
        unseen = text[fold::_FOLDS]
        right += tagger.score(unseen, tags[fold::_FOLDS]) * sum(map(len, unseen))
    accuracy = 100 * right / sum(map(len, text))
    tagger.save(target / "english.tagger", data={"name": "sample", "licence": "Apache-2.0"})
    say(f"hmm: tagger with {_TAG_STATES} states a tag: accuracy {accuracy:.1f} in {_FOLDS} folds")
    report.table(
        ("states a tag", "accuracy, %", "CPU s to train"),
        [(_TAG_STATES, accuracy, seconds)],
        caption=f"A tagger of the English sample, in {_FOLDS} folds",
        digits=2,
    )
