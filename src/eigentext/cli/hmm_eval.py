"""``eigentext hmm eval``: a model beside simple ones on held-out text; accuracy of a tagger."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.hmm_score import Model, load_model
from eigentext.cli.output import Clock, show_figures
from eigentext.cli.tag import Column, ColumnName, From, InputFormat
from eigentext.cli.text_input import sentences


def eval_(
    model: Model,
    files: options.Sources,
    train: Annotated[
        list[str] | None,
        typer.Option("--train", help="Text of training: adds a Kneser-Ney bigram."),
    ] = None,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    newlines: options.Newlines = options.NewlinesName.auto,
    json: options.Json = False,
) -> None:
    """Perplexity of held-out text, beside a unigram and a Kneser-Ney bigram of the same symbols.

    Of operators it also shows the negative rate: the share of tokens for which they had no
    positive value, so that the unigram had to speak.  Of a model of `hmm train --tagged`: the
    accuracy on tagged text.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --operators --n-states 5

        $ eigentext hmm eval text.hmm sample/text.txt --train sample/text.txt

        $ eigentext hmm train sample/entities.bio -o latent.model --tagged --n-states 4

        $ eigentext hmm eval latent.model sample/entities.bio
    """
    import numpy as np

    from eigentext.cli.hmm_tag import eval_tagged, is_tagger
    from eigentext.errors import DataError
    from eigentext.sequences.inspection import kneser_ney_surprisals

    if is_tagger(model):
        eval_tagged(model, files, file_format=from_.value, column=column.value, json=json)
        return
    clock = Clock()
    found = load_model(model)
    symbols = found.symbols_
    data = symbols.encode(sentences(files, raw=raw, tokeniser=tokeniser, newlines=newlines.value))
    if not data.n_tokens:
        raise DataError(files[0], None, "no tokens, expected text")
    surprisals = found.surprisals_encoded(data)
    figures: dict[str, Any] = {
        "sentences": len(data),
        "tokens": data.n_tokens,
        "perplexity": _perplexity(surprisals),
        "unigram": _perplexity(-np.log(symbols.unigram()[data.ids])),
    }
    if train:
        text = symbols.encode(
            sentences(train, raw=raw, tokeniser=tokeniser, newlines=newlines.value)
        )
        figures["kneser_ney_bigram"] = _perplexity(kneser_ney_surprisals(text, data, len(symbols)))
    if hasattr(found, "negative_rate_"):
        figures["negative_rate"] = found.negative_rate_
    figures |= clock.figures()
    show_figures(figures, as_json=json)


def _perplexity(surprisals: Any) -> float | None:
    import numpy as np

    mean = float(surprisals.mean())
    return float(np.exp(mean)) if np.isfinite(mean) else None
