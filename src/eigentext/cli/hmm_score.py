"""``eigentext hmm score`` and ``hmm sample``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures, skipped_count, skipping
from eigentext.cli.text_input import typed_sentences

if TYPE_CHECKING:
    from eigentext.sequences.hmm.model import HMM
    from eigentext.sequences.spectral.model import SpectralHMM

Model = Annotated[str, typer.Argument(help="A model of `hmm train`.")]
_AT_ONCE = 20_000  # sentences that are scored together


def load_model(path: str) -> HMM | SpectralHMM:
    """A model of either kind."""
    from eigentext.base.model import load
    from eigentext.base.modelfile import read_header
    from eigentext.base.registry import wrong_kind

    kinds = ("hmm", "spectral-hmm")
    kind = read_header(path, *kinds).kind
    if kind not in kinds:
        raise wrong_kind(path, kind, *kinds)
    model: HMM | SpectralHMM = load(path)
    return model


def score(
    model: Model,
    files: options.Sources,
    surprisals: Annotated[
        bool, typer.Option("--surprisals", help="A line for each token: its surprisal, in nats.")
    ] = False,
    summary: Annotated[bool, typer.Option("--summary", help="The figures alone.")] = False,
    format_: options.Format = options.ResultFormat.native,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
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

    found = load_model(model)
    total, n_tokens, n_sentences, n_negative = 0.0, 0, 0, 0.0
    with skipping(on_error, quiet=quiet) as log:
        lines = typed_sentences(
            files, raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log
        )
        while block := list(islice(lines, _AT_ONCE)):
            values = found.surprisals([[token.text for token in tokens] for tokens in block])
            n_negative += getattr(found, "negative_rate_", 0.0) * sum(map(len, block))
            for sentence, one in zip(block, values, strict=True):
                total, n_tokens = total - float(one.sum()), n_tokens + len(one)
                n_sentences += 1
                if not summary:
                    typed = [token.typed for token in sentence]
                    _show(typed, one.tolist(), surprisals, format_)
    figures = {
        "sentences": n_sentences,
        "tokens": n_tokens,
        "log_prob": total,
        "perplexity": _perplexity(total, n_tokens),
        "skipped": skipped_count(log),
    }
    if hasattr(found, "negative_rate_"):
        figures["negative_rate"] = n_negative / max(n_tokens, 1)
    if json or summary or not quiet:
        show_figures(figures, as_json=json, results_on_stdout=not summary)


def _perplexity(log_likelihood: float, n_tokens: int) -> float | None:
    from math import exp, isfinite

    if not n_tokens or not isfinite(log_likelihood):
        return None
    return exp(-log_likelihood / n_tokens)


def _show(
    sentence: list[str], values: list[float], surprisals: bool, format_: options.ResultFormat
) -> None:
    from json import dumps
    from math import isfinite

    value = 0.0 - sum(values)
    if format_ is options.ResultFormat.jsonl:
        told: dict[str, Any] = {"log_prob": value if isfinite(value) else None}
        told["perplexity"] = _perplexity(value, len(values))
        told["tokens"] = sentence
        if surprisals:
            told["surprisals"] = [one if isfinite(one) else None for one in values]
        print(dumps(told, ensure_ascii=False))
    elif surprisals:
        for token, one in zip(sentence, values, strict=True):
            print(f"{token}\t{one:.4f}")
        print()
    else:
        perplexity = _perplexity(value, len(values))
        shown = "-" if perplexity is None else f"{perplexity:.2f}"
        print(f"{value:.4f}\t{shown}\t{' '.join(sentence)}")


def sample(
    model: Model,
    number: Annotated[int, typer.Option("--number", "-n", min=0, help="So many.")] = 10,
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
