"""``eigentext dep``: dependency trees."""

from __future__ import annotations

from eigentext.cli import dep_apply, dep_eval, dep_train
from eigentext.cli.command import group

app = group(
    dep_train.train,
    dep_train.train_generative,
    dep_train.train_latent,
    dep_train.train_reranker,
    dep_apply.apply,
    dep_train.score,
    dep_eval.eval_,
    dep_eval.inspect,
)
