"""``eigentext hmm score`` and ``hmm eval``: probabilities, and how good a model is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.hmm_apply import TEXT_KINDS
from eigentext.cli.inputs import TaggedInput, TextInput, kind_of_model, load_model
from eigentext.cli.output import Clock, show_figures
from eigentext.cli.verbs import Run

Model = Annotated[str, typer.Argument(help="A model of `hmm train` or its kin.")]
_AT_ONCE = 20_000  # sentences that are scored together


@with_flags()
def score(
    model: Model,
    files: options.Sources,
    run: Run,
    text: TextInput,
    surprisals: bool = flag("A line for each token: its surprisal, in nats.", False),
    summary: bool = flag("The figures alone.", False),
    format_: options.Format = "native",
) -> None:
    """Print log probability and perplexity of every sentence, or the surprisal of every token.

    Natural logarithms; a sentence has no end symbol, so its probability is that of all that begins
    so.  Figures of the whole text go to stderr, or with --summary to stdout.

    Example:
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm score text.hmm sample/text.txt
        $ eigentext hmm score text.hmm sample/text.txt --surprisals --format jsonl --quiet
        $ eigentext hmm score text.hmm sample/text.txt --summary --json
    """
    from itertools import islice

    from eigentext.sequences.inspection import perplexity

    hmm = load_model(model, *TEXT_KINDS)
    total, n_tokens, n_sentences, n_negative = 0.0, 0, 0, 0.0
    with run.reading() as (log, _):
        lines = text.typed(files, log)
        while block := list(islice(lines, _AT_ONCE)):
            values = hmm.surprisals([[token.text for token in tokens] for tokens in block])
            n_negative += getattr(hmm, "negative_rate_", 0.0) * sum(map(len, block))
            for sentence, nats in zip(block, values, strict=True):
                total, n_tokens = total - float(nats.sum()), n_tokens + len(nats)
                n_sentences += 1
                if not summary:
                    typed = [token.typed for token in sentence]
                    _show(typed, nats.tolist(), surprisals, format_)
    figures = {
        "sentences": n_sentences,
        "tokens": n_tokens,
        "log_prob": total,
        "perplexity": perplexity(total, n_tokens),
        "skipped": run.skipped,
    }
    if hasattr(hmm, "negative_rate_"):
        figures["negative_rate"] = n_negative / max(n_tokens, 1)
    if run.json or summary or not run.quiet:
        show_figures(figures, as_json=run.json, results_on_stdout=not summary)


def _show(sentence: list[str], values: list[float], surprisals: bool, format_: str) -> None:
    from json import dumps
    from math import isfinite

    from eigentext.sequences.inspection import perplexity

    value = 0.0 - sum(values)
    if format_ == "jsonl":
        record: dict[str, Any] = {"log_prob": value if isfinite(value) else None}
        record["perplexity"] = perplexity(value, len(values))
        record["tokens"] = sentence
        if surprisals:
            record["surprisals"] = [nats if isfinite(nats) else None for nats in values]
        print(dumps(record, ensure_ascii=False))
    elif surprisals:
        for token, nats in zip(sentence, values, strict=True):
            print(f"{token}\t{nats:.4f}")
        print()
    else:
        branches = perplexity(value, len(values))
        shown = "-" if branches is None else f"{branches:.2f}"
        print(f"{value:.4f}\t{shown}\t{' '.join(sentence)}")


@with_flags()
def eval_(
    model: Model,
    files: options.Sources,
    text: TextInput,
    tagged: TaggedInput,
    train: list[str] | None = flag("Text of training: adds Kneser-Ney bigrams and trigrams."),
    tags: bool = flag("Input has tags: how far do the states agree with them?", False),
    json: options.Json = False,
) -> None:
    """Perplexity of held-out text, beside a unigram and Kneser-Ney n-grams of the same symbols.

    Of operators it also shows the negative rate: the share of tokens for which they had no
    positive value, so that the unigram had to speak.  Of a latent tagger: the
    accuracy on tagged text.  With --tags the states of a model without tags are compared with the
    tags of the input: many_to_one is the share of tokens that are right when each state stands
    for its most frequent tag, v_measure the harmonic mean of homogeneity and completeness.

    Example:
        $ eigentext hmm train-spectral sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm eval text.hmm sample/text.txt --train sample/text.txt
        $ eigentext hmm train-tagger sample/entities.bio -o latent.model --n-states 4
        $ eigentext hmm eval latent.model sample/entities.bio
        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5
        $ eigentext hmm eval anchor.hmm sample/entities.bio --tags
    """
    import numpy as np

    from eigentext.errors import DataError, SettingsError
    from eigentext.sequences.inspection import (
        kneser_ney_surprisals,
        kneser_ney_trigram_surprisals,
        perplexity,
    )

    kind = kind_of_model(model, *TEXT_KINDS, "latent-tagger")
    if kind == "latent-tagger":
        text.refuse("is for text without tags")
        if train:
            raise SettingsError("--train is for models of text without tags")
        if tags:
            raise SettingsError("--tags is for models of text without tags")
        _eval_tagged(model, files, tagged, json=json)
        return
    if tags:
        text.refuse("is for text without tags")
        if train:
            raise SettingsError("--train and --tags: expected one of them")
        _eval_states(model, files, tagged, json=json)
        return
    tagged.refuse("is for text with tags")
    clock = Clock()
    hmm = load_model(model, kind)
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


def _eval_tagged(model: str, files: list[str], tagged: TaggedInput, *, json: bool = False) -> None:
    """Accuracy of a latent tagger on tagged text: all, known and unknown words, tag by tag."""
    from eigentext.base.files.opening import expand
    from eigentext.sequences.tagger.evaluation import evaluate_tagger
    from eigentext.sequences.tagger.model import LatentTagger

    clock = Clock()
    tagger = LatentTagger.load(model)
    tokens, tags, _ = tagged.tagged(expand(files), scheme="plain")
    report = evaluate_tagger(tagger.stream, tagger.words_.knows, tokens, tags)
    figures: dict[str, Any] = {
        "tokens": report.n_tokens,
        "accuracy": round(report.accuracy, 2),
        "known": round(report.known, 2) if report.n_unknown < report.n_tokens else None,
        "unknown": round(report.unknown, 2) if report.n_unknown else None,
        "unknown_tokens": report.n_unknown,
        **clock.figures(),
    }
    if json:
        figures["tags"] = {
            score.tag: {
                "gold": score.gold,
                "precision": round(score.precision, 2),
                "recall": round(score.recall, 2),
                "f1": round(score.f1, 2),
            }
            for score in report.tags
        }
    else:
        figures.update({f"f1 {score.tag}": round(score.f1, 2) for score in report.tags})
    show_figures(figures, as_json=json)


def _eval_states(model: str, files: list[str], tagged: TaggedInput, *, json: bool = False) -> None:
    """How far the best path of states of a model without tags agrees with the tags of a text."""
    import numpy as np

    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.evaluate.clustering import contingency, many_to_one, v_measure
    from eigentext.sequences.hmm.model import HMM

    clock = Clock()
    hmm = HMM.load(model)
    tokens, tags, _ = tagged.tagged(expand(files), scheme="plain")
    flat = [tag for sentence in tags for tag in sentence]
    if not flat:
        raise DataError(files[0], None, "no tokens, expected text with tags")
    table = contingency(np.concatenate(hmm.predict(tokens)), flat)
    figures = {
        "tokens": len(flat),
        "n_states": hmm.n_states,
        "tags": table.shape[1],
        "many_to_one": round(100 * many_to_one(table), 2),
        "v_measure": round(100 * v_measure(table), 2),
        **clock.figures(),
    }
    show_figures(figures, as_json=json)
