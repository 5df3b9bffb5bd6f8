"""``eigentext hmm eval``: a model beside simple ones on held-out text; accuracy of a tagger."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import with_flags
from eigentext.cli.hmm_score import Model, load_model
from eigentext.cli.output import Clock, show_figures
from eigentext.cli.text_input import TaggedInput, TextInput


@with_flags()
def eval_(
    model: Model,
    files: options.Sources,
    text: TextInput,
    tagged: TaggedInput,
    train: Annotated[
        list[str] | None,
        typer.Option("--train", help="Text of training: adds Kneser-Ney bigrams and trigrams."),
    ] = None,
    tags: Annotated[
        bool,
        typer.Option("--tags", help="Input has tags: how far do the states agree with them?"),
    ] = False,
    json: options.Json = False,
) -> None:
    """Perplexity of held-out text, beside a unigram and Kneser-Ney n-grams of the same symbols.

    Of operators it also shows the negative rate: the share of tokens for which they had no
    positive value, so that the unigram had to speak.  Of a model of `hmm train --tagged`: the
    accuracy on tagged text.  With --tags the states of a model without tags are compared with the
    tags of the input: many_to_one is the share of tokens that are right when each state stands
    for its most frequent tag, v_measure the harmonic mean of homogeneity and completeness.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --operators --n-states 5

        $ eigentext hmm eval text.hmm sample/text.txt --train sample/text.txt

        $ eigentext hmm train sample/entities.bio -o latent.model --tagged --n-states 4

        $ eigentext hmm eval latent.model sample/entities.bio

        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5

        $ eigentext hmm eval anchor.hmm sample/entities.bio --tags
    """
    import numpy as np

    from eigentext.cli.hmm_tag import eval_states, eval_tagged, is_tagger
    from eigentext.errors import DataError, SettingsError
    from eigentext.sequences.inspection import (
        kneser_ney_surprisals,
        kneser_ney_trigram_surprisals,
        perplexity,
    )

    if is_tagger(model):
        text.refuse("is for text without tags")
        if train:
            raise SettingsError("--train is for models of text without tags")
        if tags:
            raise SettingsError("--tags is for models of text without tags")
        eval_tagged(model, files, tagged, json=json)
        return
    if tags:
        text.refuse("is for text without tags")
        if train:
            raise SettingsError("--train and --tags: expected one of them")
        eval_states(model, files, tagged, json=json)
        return
    tagged.refuse("is for text with tags")
    clock = Clock()
    hmm = load_model(model)
    symbols = hmm.symbols_
    data = symbols.encode(text.sentences(files))
    if not data.n_tokens:
        raise DataError(files[0], None, "no tokens, expected text")
    surprisals = hmm.surprisals_encoded(data)
    figures: dict[str, Any] = {
        "sentences": len(data),
        "tokens": data.n_tokens,
        "perplexity": perplexity(-surprisals.sum(), data.n_tokens),
        "unigram": perplexity(np.log(symbols.unigram()[data.ids]).sum(), data.n_tokens),
    }
    if train:
        learned = symbols.encode(text.sentences(train))
        bigrams = kneser_ney_surprisals(learned, data, len(symbols))
        trigrams = kneser_ney_trigram_surprisals(learned, data, len(symbols))
        figures["kneser_ney_bigram"] = perplexity(-bigrams.sum(), data.n_tokens)
        figures["kneser_ney_trigram"] = perplexity(-trigrams.sum(), data.n_tokens)
    if hasattr(hmm, "negative_rate_"):
        figures["negative_rate"] = hmm.negative_rate_
    figures |= clock.figures()
    show_figures(figures, as_json=json)
