"""``eigentext hmm inspect``: what a model's states are about, how many a text supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.hmm_score import load_model
from eigentext.cli.text_input import sentences

if TYPE_CHECKING:
    from eigentext.sequences.hmm.model import HMM


def inspect(
    source: Annotated[str, typer.Argument(help="A model of `hmm train`, or text (.txt).")],
    top: Annotated[int, typer.Option("--top", min=1, help="So many words and next states.")] = 8,
    state: Annotated[int | None, typer.Option("--state", help="This state alone.")] = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", help="Draw the transitions of a model: FILE.svg."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", help="Draw the singular values: FILE.svg or FILE.png."),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=2, help="Of a text: so many singular values.")
    ] = 50,
    vocab_size: Annotated[
        int, typer.Option("--vocab-size", min=1, help="Of a text: so many words.")
    ] = 10_000,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Show a model's states with their words, or the singular values of a text.

    Of a model with parameters: for each state its share, words and next states.  Of operators:
    their singular values.  Of a text: its singular values beside those of the same tokens in
    random order; as many as lie above chance are the suggested number of states.

    Example:

        $ eigentext hmm inspect sample/text.txt --plot spectrum.svg

        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5

        $ eigentext hmm inspect text.hmm --top 4 --graph states.svg
    """
    if graph is not None and not graph.endswith(".svg"):
        _refuse(f"the graph is written as .svg, not {graph!r}")
    if plot is not None:
        from eigentext.drawing.plots import require_matplotlib

        _is_png(plot)
        require_matplotlib()  # before any work is done
    if _is_text(source):
        if graph is not None or state is not None:
            _refuse("--graph and --state are for models with parameters")
        _show_text(source, most, vocab_size, seed, plot, json)
        return
    from eigentext.sequences import HMM

    model = load_model(source)
    if isinstance(model, HMM):
        if plot is not None:
            _refuse("--plot draws singular values: of a text, or of operators")
        _show_states(model, top, state, graph, json)
        return
    if graph is not None or state is not None:
        _refuse("--graph and --state are for models with parameters; this one has operators")
    values = model.singular_values_.tolist()
    if plot is not None:
        _draw_values(plot, {"model": values}, f"{model.estimator} operators")
    if json:
        from json import dumps

        print(dumps({"estimator": model.estimator, "singular_values": values}))
        return
    print(f"{model.estimator} operators, {len(values)} dimensions")
    for rank, value in enumerate(values, start=1):
        print(f"{rank:4d}  {value:.4g}")


def _refuse(why: str) -> None:
    from eigentext.errors import SettingsError

    raise SettingsError(why)


def _is_text(source: str) -> bool:
    """By its name; whatever is called otherwise is a model, or says that it is none."""
    from eigentext.errors import SettingsError
    from eigentext.formats.convert import format_of

    try:
        return source == "-" or format_of(source) in ("tokens", "text")
    except SettingsError:
        return False


def _show_states(model: HMM, top: int, state: int | None, graph: str | None, json: bool) -> None:
    from json import dumps

    from eigentext.sequences.inspection import states_of

    views = states_of(model.parameters_, model.symbols_, top=top)
    if graph is not None:
        from eigentext.sequences.inspection import graph_of

        title = f"{model.n_states} states"
        drawn = graph_of(model.parameters_, model.symbols_, title=title)
        _write(graph, drawn.encode())
    if state is not None:
        views = [one for one in views if one.state == state]
        if not views:
            _refuse(f"no state {state} in this model: expected 0 to {model.n_states - 1}")
    for one in views:
        if json:
            print(dumps(one._asdict(), ensure_ascii=False))
            continue
        words = ", ".join(f"{name} ({p:.2f})" for name, p in one.words)
        after = ", ".join(f"{number} ({p:.2f})" for number, p in one.after)
        print(f"state {one.state}  {one.share:.4f} of all tokens")
        print(f"    words: {words}\n    then: {after}")


def _show_text(
    source: str, most: int, vocab_size: int, seed: int, plot: str | None, json: bool
) -> None:
    from json import dumps

    from eigentext.errors import DataError
    from eigentext.sequences import Symbols
    from eigentext.sequences.inspection import spectrum_of

    bank = list(sentences([source], raw=False, tokeniser="ptb"))
    if not any(bank):
        raise DataError(source, None, "no tokens, expected text")
    symbols = Symbols.fit(bank, vocab_size=vocab_size, min_count=2)
    found = spectrum_of(symbols.encode(bank), len(symbols), most=most, seed=seed)
    at_least = "at least " if found.suggested >= len(found.values) else ""
    if plot is not None:
        title = f"suggested: {at_least}{found.suggested} states"
        _draw_values(plot, {"text": found.values, "shuffled": found.shuffled}, title)
    if json:
        print(dumps(found._asdict()))
        return
    print("rank  text    shuffled")
    for rank, value in enumerate(found.values, start=1):
        chance = f"{found.shuffled[rank - 1]:.4f}" if rank <= len(found.shuffled) else "-"
        print(f"{rank:4d}  {value:.4f}  {chance}")
    print(f"suggested number of states: {at_least}{found.suggested}")


def _draw_values(path: str, series: dict[str, list[float]], title: str) -> None:
    import numpy as np

    from eigentext.drawing.plots import line_plot, line_plot_png

    curves = {
        name: (np.arange(1.0, len(values) + 1), np.asarray(values))
        for name, values in series.items()
        if values
    }
    look: dict[str, Any] = {"title": title, "x_label": "rank", "y_label": "singular value"}
    drawn = line_plot_png(curves, **look) if _is_png(path) else line_plot(curves, **look).encode()
    _write(path, drawn)


def _is_png(path: str) -> bool:
    suffix = path.rpartition(".")[2].lower()
    if suffix not in ("svg", "png"):
        _refuse(f"pictures are written as .svg or .png, not {path!r}")
    return suffix == "png"


def _write(path: str, drawn: bytes) -> None:
    from eigentext.base.files.opening import atomic_write

    with atomic_write(path) as file:
        file.write(drawn)
