"""``eigentext pipe``: from raw text to everything."""

from __future__ import annotations

import typer

from eigentext.cli import pipe_apply, pipe_eval, pipe_inspect, pipe_train

app = typer.Typer(
    no_args_is_help=True, help="From raw text to sentences, words, tags, lemmas and trees."
)
app.command("train")(pipe_train.train)
app.command("apply")(pipe_apply.apply)
app.command("eval")(pipe_eval.eval_)
app.command("inspect")(pipe_inspect.inspect)
