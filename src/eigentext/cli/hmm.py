"""``eigentext hmm``: hidden Markov models of sequences."""

from __future__ import annotations

import typer

from eigentext.cli import hmm_eval, hmm_inspect, hmm_score, hmm_tag, hmm_train

app = typer.Typer(
    no_args_is_help=True, help="Hidden Markov models: spectral, recovered, EM; latent taggers."
)
# in the order of a day's work
app.command("train")(hmm_train.train)
app.command("tag")(hmm_tag.tag)
app.command("score")(hmm_score.score)
app.command("eval")(hmm_eval.eval_)
app.command("inspect")(hmm_inspect.inspect)
app.command("sample")(hmm_score.sample)
