"""``eigentext dep``: dependency trees."""

from __future__ import annotations

import typer

from eigentext.cli import (
    dep_draw,
    dep_eval,
    dep_inspect,
    dep_latent,
    dep_parse,
    dep_rerank,
    dep_score,
    dep_train,
)

app = typer.Typer(no_args_is_help=True, help="Dependency parsing, and what trees hide.")
# in the order of a day's work: train, parse, rerank; score and inspect; eval and draw
app.command("train")(dep_train.train)
app.command("parse")(dep_parse.parse)
app.command("rerank")(dep_rerank.rerank)
app.command("latent")(dep_latent.latent)
app.command("score")(dep_score.score)
app.command("inspect")(dep_inspect.inspect)
app.command("eval")(dep_eval.eval_)
app.command("draw")(dep_draw.draw)
