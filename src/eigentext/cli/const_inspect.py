"""``eigentext const inspect``: what a parser has learned, for a linguist and for a theorist."""

from __future__ import annotations

from itertools import islice
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.output import check_picture, write_picture
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.constituency.inspection import TheoremThree

_PLOTTED = 6  # nonterminals: as many as there are colours


@with_flags()
def inspect(
    model: Annotated[str, typer.Argument(help="A model written by `const train`.")],
    label: str | None = flag("One nonterminal: its rules, and what its states are about."),
    top: int = flag("How many labels, rules, words, contexts.", 10, min=1),
    plot: str | None = flag(
        "Draw singular values per nonterminal: FILE.svg or FILE.png.", written=True
    ),
    format_: options.Format = "native",
) -> None:
    """Show nonterminals and rules, or the latent states of one nonterminal.

    Without --label: the most frequent nonterminals with their number of states and sigma_a, and
    their most probable rules; then sigma and Lambda of theorem 3 (Cohen et al. 2012), if it has
    them.  With it: for each latent state its weight, its most typical words, rules and contexts,
    each with the probability of this state given that word, rule or context.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 4
        $ eigentext const inspect english.lpcfg --top 3
        $ eigentext const inspect english.lpcfg --label NN --top 5
        $ eigentext const inspect english.lpcfg --top 1 --plot spectrum.svg
    """
    from eigentext.constituency import LPCFG
    from eigentext.constituency.inspection import (
        nonterminals,
        rules_by_probability,
        states_of,
        theorem_3,
    )
    from eigentext.constituency.lexicon_moments import MomentLexicon

    grammar = LPCFG.load(model).grammar_
    theorem = theorem_3(grammar)
    bounds = {bound.label: bound for bound in theorem.nonterminals}
    if plot is not None:
        _plot(plot, theorem, label)
    as_json = format_ == "jsonl"

    def show(kind: str, record: dict[str, object], line: str) -> None:
        print(dumps({"kind": kind, **record}, ensure_ascii=False) if as_json else line)

    def show_rules(parent: str) -> None:
        for rule in rules_by_probability(grammar, label=parent, top=top):
            line = f"    {rule.p:.4f}  {rule.parent} -> {rule.left} {rule.right}"
            show("rule", rule._asdict(), line)

    def numbers(name: str) -> tuple[dict[str, object], str]:
        bound = bounds[name]
        figures = {"sigma": bound.sigma, "Lambda": bound.Lambda}
        text = "".join(f"  {key}_a {x:.3g}" for key, x in figures.items() if x is not None)
        return {**figures, "singular_values": bound.singular_values}, text

    if label is None:
        for node in islice(nonterminals(grammar), top):
            plural = "s" if node.states > 1 else ""
            more, text = numbers(node.label)
            line = (
                f"{node.label}  {node.states} state{plural}  {node.share:.4f} of all nodes{text}"
            )
            show("nonterminal", {**node._asdict(), **more}, line)
            show_rules(node.label)
        show("theorem 3", _theorem(theorem), _theorem_line(theorem))
        return
    if isinstance(grammar.params[0].lexicon, MomentLexicon):
        # directions, not states: there is but the spectrum to show
        if label not in bounds:
            list(states_of(grammar, label))
        more, text = numbers(label)
        show_rules(label)
        values = " ".join(f"{s:.3g}" for s in bounds[label].singular_values)
        line = f"{label}  {bounds[label].states} dimensions{text}\n    singular values: {values}"
        show("dimensions", {"label": label, "states": bounds[label].states, **more}, line)
        return
    states = list(states_of(grammar, label, top=top))
    show_rules(label)
    for state in states:
        line = f"{label} state {state.state}  weight {state.weight:.4f}"
        for name in ("words", "rules", "contexts"):
            if typical := getattr(state, name):
                shown = ", ".join(f"{text} ({p:.2f})" for text, p in typical)
                line += f"\n    {name}: {shown}"
        show("state", state._asdict(), line)


def _theorem(theorem: TheoremThree) -> dict[str, object]:
    needed = theorem.nodes_needed
    nodes = needed if needed is not None and needed < float("inf") else None
    return {"sigma": theorem.sigma, "Lambda": theorem.Lambda, "nodes_needed": nodes}


def _theorem_line(theorem: TheoremThree) -> str:
    """What theorem 3 says of this model, or plainly that it says nothing."""
    if theorem.sigma is None:
        return (
            "theorem 3: no sigma and no Lambda: this model was not made from singular values, or "
            "none of its nonterminals has two states"
        )
    if theorem.Lambda is None:
        return (
            f"theorem 3: sigma {theorem.sigma:.3g}; no Lambda: only models of the moments "
            "estimator have the moments that it is the smallest element of"
        )
    return (
        f"theorem 3: sigma {theorem.sigma:.3g}, Lambda {theorem.Lambda:.3g}; p(tree) of 39 nodes "
        f"is within a half with probability 0.9 from {theorem.nodes_needed:.1g} nodes of each "
        "nonterminal"
    )


def _plot(path: str, theorem: TheoremThree, label: str | None) -> None:
    """Singular values of Omega_a by rank, one line a nonterminal."""
    import numpy as np

    from eigentext.drawing.plots import line_plot

    check_picture(path, "--plot")
    chosen = {
        bound.label: bound.singular_values
        for bound in theorem.nonterminals
        if bound.singular_values and (label is None or bound.label == label)
    }
    if not chosen:
        whose = "this model" if label is None else f"nonterminal {label!r}"
        raise SettingsError(f"{whose} has no singular values to plot")
    series = {
        label: (np.arange(1.0, len(values) + 1), np.asarray(values, dtype=np.float64))
        for label, values in list(chosen.items())[:_PLOTTED]
    }
    plot = line_plot(series, log_y=True, x_label="rank", y_label="singular value of Omega")
    write_picture(path, plot.as_file(path))
