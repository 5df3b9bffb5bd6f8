"""``eigentext hmm inspect``: what a model's states are about, how many a text supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from eigentext.cli import options
from eigentext.cli.command import Flags, flag, with_flags
from eigentext.cli.hmm_apply import TEXT_KINDS
from eigentext.cli.inputs import TextInput, load_model
from eigentext.cli.output import check_picture, write_picture

if TYPE_CHECKING:
    from eigentext.sequences.hmm.model import HMM


@dataclass(kw_only=True)
class SpectrumFlags(Flags):
    """How the singular values of a text are taken."""

    most: int = flag("Of a text: how many singular values.", 50, min=2)
    vocab_size: int = flag("Of a text: how many words, the most frequent.", 10_000, min=1)


@with_flags()
def inspect(
    source: Annotated[str, typer.Argument(help="A model of `hmm train`, or text (.txt).")],
    top: int = flag("How many words and next states.", 8, min=1),
    state: int | None = flag("This state alone."),
    graph: str | None = flag("Draw the transitions of a model: FILE.svg.", written=True),
    plot: str | None = flag("Draw the singular values: FILE.svg or FILE.png.", written=True),
    sample: int | None = flag("Print so many sequences drawn from the model.", min=0),
    length: int = flag("Tokens of each of them.", 20, min=0),
    *,
    spectrum: SpectrumFlags,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Show a model's states with their words, draw from it, or show the spectrum of a text.

    Of a model with parameters: for each state its share, words and next states.  Of operators:
    their singular values.  Of a text: its singular values beside those of the same tokens in
    random order; as many as lie above chance are the suggested number of states.  In sequences
    that are drawn (--sample) rare words show as classes such as <lower-ing>.

    Example:
        $ eigentext hmm inspect sample/text.txt --plot spectrum.svg
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm inspect text.hmm --top 4 --graph states.svg
        $ eigentext hmm inspect text.hmm --sample 3 --length 10
    """
    if graph is not None and not graph.endswith(".svg"):
        _refuse(f"the graph is written as .svg, not {graph!r}")
    if plot is not None:
        from eigentext.drawing.plots import require_matplotlib

        check_picture(plot, "--plot")
        require_matplotlib()  # before any work is done
    if _is_text(source):
        if graph is not None or state is not None:
            _refuse("--graph and --state are for models with parameters")
        if sample is not None:
            _refuse("--sample is for a model, not for a text")
        _show_text(source, spectrum, seed, plot, json)
        return
    spectrum.refuse("is for a text, not for a model")
    from eigentext.sequences import HMM, BlockedHMM

    model: Any = load_model(source, *TEXT_KINDS)
    if sample is not None:
        for tokens in model.sample(sample, length, seed=seed):
            print(" ".join(tokens))
        return
    if isinstance(model, BlockedHMM):
        _refuse("a blocked model has too many states to show; `hmm apply` gives those of a text")
    if isinstance(model, HMM):
        if plot is not None:
            _refuse("--plot draws singular values: of a text, or of operators")
        _show_states(model, top, state, graph, json)
        return
    if graph is not None or state is not None:
        _refuse("--graph and --state are for models with parameters; this one has operators")
    values = model.singular_values_.tolist()
    if plot is not None:
        _draw_values(plot, {"model": values}, f"{model.settings_.estimator} operators")
    if json:
        from json import dumps

        print(dumps({"estimator": model.settings_.estimator, "singular_values": values}))
        return
    print(f"{model.settings_.estimator} operators, {len(values)} dimensions")
    for rank, value in enumerate(values, start=1):
        print(f"{rank:4d}  {value:.4g}")


def _refuse(why: str) -> NoReturn:
    from eigentext.errors import SettingsError

    raise SettingsError(why)


def _is_text(source: str) -> bool:
    """By its name; whatever is called otherwise is a model, or says that it is none."""
    from eigentext.language.formats.registry import format_of

    return source == "-" or bool(format_of(source, ("tokens",), ""))


def _show_states(model: HMM, top: int, state: int | None, graph: str | None, json: bool) -> None:
    from json import dumps

    from eigentext.sequences.inspection import states_of

    views = states_of(model.parameters_, model.symbols_, top=top)
    if graph is not None:
        from eigentext.sequences.inspection import graph_of

        title = f"{model.parameters_.n_states} states"
        drawn = graph_of(model.parameters_, model.symbols_, title=title)
        write_picture(graph, drawn)
    if state is not None:
        views = [view for view in views if view.state == state]
        if not views:
            _refuse(
                f"no state {state} in this model: expected 0 to {model.parameters_.n_states - 1}"
            )
    if json:
        print(dumps({"states": [view._asdict() for view in views]}, ensure_ascii=False))
        return
    for view in views:
        words = ", ".join(f"{name} ({p:.2f})" for name, p in view.words)
        after = ", ".join(f"{number} ({p:.2f})" for number, p in view.after)
        print(f"state {view.state}  {view.share:.4f} of all tokens")
        print(f"    words: {words}\n    then: {after}")


def _show_text(source: str, flags: SpectrumFlags, seed: int, plot: str | None, json: bool) -> None:
    from json import dumps

    from eigentext.errors import DataError
    from eigentext.sequences import Symbols
    from eigentext.sequences.inspection import spectrum_of

    bank = list(TextInput().sentences([source]))
    if not any(bank):
        raise DataError(source, None, "no tokens, expected text")
    symbols = Symbols.fit(bank, vocab_size=flags.vocab_size, min_count=2)
    spectrum = spectrum_of(symbols.encode(bank), len(symbols), most=flags.most, seed=seed)
    at_least = "at least " if spectrum.suggested >= len(spectrum.values) else ""
    if plot is not None:
        title = f"suggested: {at_least}{spectrum.suggested} states"
        _draw_values(plot, {"text": spectrum.values, "shuffled": spectrum.shuffled}, title)
    if json:
        print(dumps(spectrum._asdict()))
        return
    print("rank  text    shuffled")
    for rank, value in enumerate(spectrum.values, start=1):
        chance = f"{spectrum.shuffled[rank - 1]:.4f}" if rank <= len(spectrum.shuffled) else "-"
        print(f"{rank:4d}  {value:.4f}  {chance}")
    print(f"suggested number of states: {at_least}{spectrum.suggested}")


def _draw_values(path: str, series: dict[str, list[float]], title: str) -> None:
    import numpy as np

    from eigentext.drawing.plots import line_plot

    curves = {
        name: (np.arange(1.0, len(values) + 1), np.asarray(values))
        for name, values in series.items()
        if values
    }
    plot = line_plot(curves, title=title, x_label="rank", y_label="singular value")
    write_picture(path, plot.as_file(path))
