"""``eigentext dep``: dependency trees."""

from __future__ import annotations

import typer

from eigentext.cli import dep_apply, dep_draw, dep_eval, dep_inspect, dep_score, dep_train

app = typer.Typer(no_args_is_help=True, help="Dependency parsing, and what trees hide.")
app.command("train")(dep_train.train)
app.command("train-generative")(dep_train.train_generative)
app.command("train-latent")(dep_train.train_latent)
app.command("train-reranker")(dep_train.train_reranker)
app.command("apply")(dep_apply.apply)
app.command("score")(dep_score.score)
app.command("eval")(dep_eval.eval_)
app.command("inspect")(dep_inspect.inspect)
app.command("draw")(dep_draw.draw)
