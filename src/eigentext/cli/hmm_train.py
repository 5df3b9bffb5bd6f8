"""``eigentext hmm train``: a hidden Markov model of text, or a latent tagger of tagged text."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import TrainingOnDevice
from eigentext.cli.text_input import TaggedInput, TextInput
from eigentext.sequences.settings import (
    BlockedHMMSettings,
    HMMSettings,
    LatentTaggerSettings,
    SpectralHMMSettings,
)


@with_flags(HMMSettings, SpectralHMMSettings, BlockedHMMSettings, LatentTaggerSettings)
def train(
    files: options.Sources,
    run: TrainingOnDevice,
    given: Given,
    text: TextInput,
    columns: TaggedInput,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="Operators from moments alone, instead of EM."),
    ] = False,
    blocked: Annotated[
        bool,
        typer.Option(
            "--blocked", help="Thousands of states, a few for each word: a language model."
        ),
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", help="With --blocked: what needs more, such as 2GB, is refused before EM."
        ),
    ] = None,
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Input has tags: learn a latent tagger.")
    ] = False,
) -> None:
    """Learn a hidden Markov model of text (one tokenised sentence a line), or a latent tagger.

    EM gives valid parameters, and so does --estimator anchor, by words that belong to one state
    alone: its states are the nearest to parts of speech.  --operators need no iteration but may be
    negative, which `hmm eval` counts; --blocked predicts text best.  Empty lines are passed over.
    With hundreds of states a card (--device) pays.  With --tagged the input is columns (token
    first, tag last) or CoNLL-U, and `hmm tag` uses the model.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5

        $ eigentext hmm train sample/text.txt -o cca.hmm --operators --n-states 5

        $ eigentext hmm train sample/text.txt -o em.hmm --start random --n-starts 3 --n-states 5

        $ eigentext hmm train sample/text.txt -o blocked.hmm --blocked --n-groups 5

        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5

        $ eigentext hmm train sample/text.txt -o tensor.hmm --start tensor --n-states 2

        $ eigentext hmm train sample/entities.bio -o latent.model --tagged --n-states 4
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError, RankError, SettingsError
    from eigentext.sequences import HMM, BlockedHMM, LatentTagger, SpectralHMM
    from eigentext.sequences.observations import NumberedText, Symbols

    if tagged + operators + blocked > 1:
        raise SettingsError("--tagged, --operators and --blocked: expected one of them")
    if memory is not None and not blocked:
        raise SettingsError("--memory is for --blocked")
    if tagged:
        text.refuse("is for text without tags")
    else:
        columns.refuse("is for text with tags")
    model: Any
    if tagged:
        model = LatentTagger(**given.settings(LatentTaggerSettings))
    elif operators:
        model = SpectralHMM(**given.settings(SpectralHMMSettings))
    elif blocked:
        model = BlockedHMM(**given.settings(BlockedHMMSettings))
    else:
        model = HMM(**given.settings(HMMSettings))
    model.check()
    sources = expand(files)
    with run.reading("nodes" if tagged else "iterations") as (log, progress):
        if tagged:
            bank, tags, _ = columns.tagged(sources, scheme="plain", on_error=log)
            model.fit(bank, tags, progress=progress)
            figures = {"sentences": sum(map(bool, bank)), "tokens": sum(map(len, bank))}
        else:
            numbered = NumberedText.of(text.sentences(files, log))
            lengths = numbered.encoded.lengths
            figures = {"sentences": int((lengths > 0).sum()), "tokens": int(lengths.sum())}
            if not figures["tokens"]:
                raise DataError(files[0], None, "no tokens, expected text")
            symbols = Symbols.chosen(numbered, model)
            data = numbered.as_symbols(symbols)
            del numbered  # as much memory again
            more: dict[str, Any] = {} if operators else {"progress": progress}
            try:
                more |= {"memory": memory} if blocked else {}
                model.fit_encoded(data, symbols, **more)
            except RankError as error:
                flag = "--n-groups or --n-blocks" if blocked else "--n-states"
                start = not (operators or blocked or model.estimator == "anchor")
                remedy = ", or --start random" if start else ""
                raise SettingsError(f"{error}: take fewer {flag}{remedy}") from error
    run.save(model, sources, figures | _figures(model))


def _figures(model: Any) -> dict[str, Any]:
    """What is worth telling of each kind."""
    from eigentext.sequences import HMM, BlockedHMM, LatentTagger

    if isinstance(model, LatentTagger):
        # of the automata of characters; power 0: held-out words gained nothing by them
        own = model.words_.characters
        found = {"characters_power": own.power if own else 0.0}
        if own is not None:
            found["characters_states"] = own.automata.figures()["most_states"]
        return {
            "tags": len(model.tags_),
            "n_states": int(sum(chain.m.sum() for chain in model.chains_)),
            "words": len(model.words_.words),
            **(found if model.characters != "none" else {}),
        }
    figures: dict[str, Any] = {"n_states": model.n_states, "symbols": len(model.symbols_)}
    if isinstance(model, BlockedHMM):
        figures["n_states"] = model.parameters_.n_states
        if model.history_:
            figures["held_out_log_prob_per_token"] = model.history_[-1]
    if isinstance(model, HMM):
        figures["log_prob_per_token"] = model.spread_["best"]
        if model.n_starts > 1:
            figures["log_prob_of_starts"] = [round(start.final, 4) for start in model.starts_]
    return figures
