"""``eigentext hmm``: hidden Markov models of sequences, and latent taggers."""

from __future__ import annotations

from typing import Any

from eigentext.base.files.opening import expand
from eigentext.cli import hmm_apply, hmm_eval, options
from eigentext.cli.command import SettingFlags, flag, group, with_flags
from eigentext.cli.inputs import TaggedInput, TextInput
from eigentext.cli.verbs import Training, TrainingOnDevice
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.sequences.settings import (
    BlockedHMMSettings,
    HMMSettings,
    LatentTaggerSettings,
    SpectralHMMSettings,
)


@with_flags(HMMSettings)
def train(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, text: TextInput
) -> None:
    """Learn a hidden Markov model of text, one tokenised sentence a line.

    EM gives valid parameters, and so does --estimator anchor, by words that belong to one state
    alone: its states are the nearest to parts of speech.  Empty lines are passed over.  With
    hundreds of states a card (--device) pays.

    Example:
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm train sample/text.txt -o em.hmm --start random --n-starts 3 --n-states 5
        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5
        $ eigentext hmm train sample/text.txt -o tensor.hmm --start tensor --n-states 2
    """
    from eigentext.sequences import HMM

    model = HMM(**settings.of(HMMSettings))
    remedy = "--n-states" if model.estimator == "anchor" else "--n-states, or --start random"
    figures = _learn_text(model, files, run, text, remedy, "progress")
    figures["log_prob_per_token"] = model.spread_["best"]
    if model.n_starts > 1:
        figures["log_prob_of_starts"] = [round(start.final, 4) for start in model.starts_]
    _save(model, files, run, figures)


@with_flags(SpectralHMMSettings)
def train_spectral(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, text: TextInput
) -> None:
    """Learn operators of a hidden Markov model from moments alone, without iteration.

    Their values may be negative, which `hmm eval` counts.

    Example:
        $ eigentext hmm train-spectral sample/text.txt -o cca.hmm --n-states 5
    """
    from eigentext.sequences import SpectralHMM

    model = SpectralHMM(**settings.of(SpectralHMMSettings))
    _save(model, files, run, _learn_text(model, files, run, text, "--n-states"))


@with_flags(BlockedHMMSettings)
def train_blocked(
    files: options.Sources,
    run: TrainingOnDevice,
    settings: SettingFlags,
    text: TextInput,
    memory: str | None = flag("What needs more, such as 2GB, is refused before EM."),
) -> None:
    """Learn a language model of thousands of states, a few for each word: it predicts text best.

    Example:
        $ eigentext hmm train-blocked sample/text.txt -o blocked.hmm --n-groups 5
    """
    from eigentext.sequences import BlockedHMM

    model = BlockedHMM(**settings.of(BlockedHMMSettings))
    remedy = "--n-groups or --n-blocks"
    figures = _learn_text(model, files, run, text, remedy, "progress", memory=memory)
    figures["n_states"] = model.parameters_.n_states
    if model.history_:
        figures["held_out_log_prob_per_token"] = model.history_[-1]
    _save(model, files, run, figures)


def _learn_text(
    model: Any,
    files: list[str],
    run: Training,
    text: TextInput,
    remedy: str,
    *feedback: str,
    **more: Any,
) -> dict[str, Any]:
    """Fit the model to numbered text; ``remedy``: what to lower where a text is too small."""
    from eigentext.sequences.observations import NumberedText, Symbols

    model.check()
    with run.reading("iterations") as (log, progress):
        numbered = NumberedText.of(text.sentences(files, log))
        lengths = numbered.encoded.lengths
        figures = {"sentences": int((lengths > 0).sum()), "tokens": int(lengths.sum())}
        if not figures["tokens"]:
            raise DataError(files[0], None, "no tokens, expected text")
        symbols = Symbols.chosen(numbered, model)
        data = numbered.as_symbols(symbols)
        del numbered  # as much memory again
        try:
            model.fit_encoded(data, symbols, **dict.fromkeys(feedback, progress), **more)
        except RankError as error:
            raise SettingsError(f"{error}: take fewer {remedy}") from error
    return figures | {"n_states": model.n_states, "symbols": len(model.symbols_)}


def _save(model: Any, files: list[str], run: Training, figures: dict[str, Any]) -> None:
    run.save(model, expand(files), figures)


@with_flags(LatentTaggerSettings)
def train_tagger(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, columns: TaggedInput
) -> None:
    """Learn a latent tagger from columns (token first, tag last) or CoNLL-U.

    Example:
        $ eigentext hmm train-tagger sample/entities.bio -o latent.model --n-states 4
        $ eigentext hmm apply latent.model sample/text.txt -o tagged.txt
    """
    from eigentext.sequences import LatentTagger

    tagger = LatentTagger(**settings.of(LatentTaggerSettings))
    tagger.check()
    with run.reading("nodes") as (log, progress):
        tokens, tags, _ = columns.tagged(expand(files), scheme="plain", on_error=log)
        tagger.fit(tokens, tags, progress=progress)
    figures: dict[str, Any] = {
        "sentences": sum(map(bool, tokens)),
        "tokens": sum(map(len, tokens)),
        "tags": len(tagger.tags_),
        "n_states": int(sum(chain.arrays.m.sum() for chain in tagger.chains_)),
        "words": len(tagger.words_.words),
    }
    if tagger.characters != "none":
        # of the automata of characters; power 0: held-out words gained nothing by them
        characters = tagger.words_.characters
        figures["characters_power"] = characters.power if characters else 0.0
        if characters is not None:
            figures["characters_states"] = characters.automata.figures()["most_states"]
    _save(tagger, files, run, figures)


app = group(
    train,
    train_spectral,
    train_blocked,
    train_tagger,
    hmm_apply.apply,
    hmm_eval.score,
    hmm_eval.eval_,
    hmm_eval.inspect,
)
