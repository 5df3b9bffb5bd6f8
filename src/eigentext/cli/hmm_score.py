"""``eigentext hmm score`` and ``hmm sample``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import with_flags
from eigentext.cli.output import show_figures
from eigentext.cli.run import Run
from eigentext.cli.text_input import TextInput

if TYPE_CHECKING:
    from eigentext.sequences.blocked.model import BlockedHMM
    from eigentext.sequences.hmm.model import HMM
    from eigentext.sequences.spectral.model import SpectralHMM

Model = Annotated[str, typer.Argument(help="A model of `hmm train`.")]
_AT_ONCE = 20_000  # sentences that are scored together


def load_model(path: str) -> HMM | SpectralHMM | BlockedHMM:
    """A model of any of the three kinds."""
    from eigentext.base.model import load
    from eigentext.base.modelfile import read_header
    from eigentext.base.registry import wrong_kind

    kinds = ("hmm", "spectral-hmm", "blocked-hmm")
    kind = read_header(path, *kinds).kind
    if kind not in kinds:
        raise wrong_kind(path, kind, *kinds)
    model: HMM | SpectralHMM | BlockedHMM = load(path)
    return model


@with_flags()
def score(
    model: Model,
    files: options.Sources,
    run: Run,
    text: TextInput,
    surprisals: Annotated[
        bool, typer.Option("--surprisals", help="A line for each token: its surprisal, in nats.")
    ] = False,
    summary: Annotated[bool, typer.Option("--summary", help="The figures alone.")] = False,
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

    hmm = load_model(model)
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


def sample(
    model: Model,
    number: Annotated[int, typer.Option("--number", "-n", min=0, help="How many sequences.")] = 10,
    length: Annotated[int, typer.Option("--length", min=0, help="Tokens of each.")] = 20,
    seed: options.Seed = 0,
) -> None:
    """Print sequences drawn from the model; rare words show as classes such as <lower-ing>.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5

        $ eigentext hmm sample text.hmm --number 3 --length 10
    """
    for tokens in load_model(model).sample(number, length, seed=seed):
        print(" ".join(tokens))
