"""``eigentext hmm tag``, and what ``hmm eval`` does with tagged text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.cli.tag import Column, ColumnName, From, InputFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.base.files.opening import SkipLog
    from eigentext.sequences.tagger.model import LatentTagger, TagAnswer
    from eigentext.tagging.reading import Item

__all__ = ["eval_tagged", "is_tagger", "tag"]


def is_tagger(model: str) -> bool:
    """Is this the file of a latent tagger (and not of an HMM without tags)?"""
    from eigentext.base.modelfile import read_header

    return read_header(model, "hmm", "latent-tagger").kind == "latent-tagger"


def eval_tagged(
    model: str,
    files: list[str],
    *,
    file_format: str = "auto",
    column: str = "upos",
    on_error: options.OnError = options.OnError.stop,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Accuracy of a latent tagger on tagged text: all, known and unknown words, tag by tag."""
    from eigentext.base.files.opening import expand
    from eigentext.sequences.tagger.evaluation import evaluate_tagger
    from eigentext.sequences.tagger.model import LatentTagger
    from eigentext.tagging.reading import read_tagged

    clock = Clock()
    tagger = LatentTagger.load(model)
    with skipping(on_error, quiet=quiet) as log:
        tokens, tags, _ = read_tagged(
            expand(files), file_format=file_format, column=column, scheme="plain", on_error=log
        )
    report = evaluate_tagger(tagger.stream, tagger.words_.knows, tokens, tags)
    figures: dict[str, Any] = {
        "tokens": report.n_tokens,
        "accuracy": round(report.accuracy, 2),
        "known": round(report.known, 2) if report.n_unknown < report.n_tokens else None,
        "unknown": round(report.unknown, 2) if report.n_unknown else None,
        "unknown_tokens": report.n_unknown,
        "skipped": skipped_count(log),
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


def tag(
    model: Annotated[str, typer.Argument(help="A model written by `hmm train --tagged`.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Sentences; the tags in them are not looked at.")
    ] = None,
    output: options.Output = "-",
    kbest: Annotated[
        int, typer.Option("--kbest", min=1, help="So many answers with shares (JSON Lines).")
    ] = 1,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="The share of every tag (JSON Lines).")
    ] = False,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    format_: options.Format = options.ResultFormat.native,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Tag sentences with a latent tagger: the input with its tags in place, or JSON Lines.

    Text without columns (--from tokens) comes out as token TAB tag; an empty line of it is left
    out there, and kept in JSON Lines.

    Example:

        $ eigentext hmm train sample/entities.bio --tagged -k 4 -o latent.model

        $ eigentext hmm tag latent.model sample/text.txt -o tagged.txt

        $ eigentext hmm tag latent.model sample/text.txt --kbest 3 --marginals -o answers.jsonl
    """
    from json import dumps

    from eigentext.base.files.opening import expand, write_lines
    from eigentext.formats.blocks import write_blocks
    from eigentext.sequences.tagger.model import LatentTagger
    from eigentext.tagging.reading import read_items

    clock = Clock()
    tagger = LatentTagger.load(model)
    as_json = format_ is options.ResultFormat.jsonl or kbest > 1 or marginals
    counts = {"sentences": 0, "tokens": 0, "fallbacks": 0}
    negative = 0.0
    sources = expand(files or ["-"])

    def items(log: SkipLog | None) -> Iterator[Item]:
        for source in sources:
            for item in read_items(
                source, file_format=from_.value, column=column.value, on_error=log
            ):
                counts["sentences"] += 1
                counts["tokens"] += len(item.tokens)
                update(counts["sentences"], 0, "tagging")
                yield item

    def lines(log: SkipLog | None) -> Iterator[str]:
        nonlocal negative
        for item in items(log):
            if not as_json:
                if item.tokens:  # columns have no way to say that a sentence is empty
                    yield item.with_tags(tagger.tag(item.tokens))
                continue
            answer = tagger.analyse(item.tokens, kbest=kbest)
            counts["fallbacks"] += answer.fallback
            negative += answer.negative * len(item.tokens)
            found = _as_json(item.tokens, answer, tagger, kbest=kbest, marginals=marginals)
            yield dumps(found, ensure_ascii=False)

    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="sentences") as update,
    ):
        if as_json:
            write_lines(output, lines(log))
        else:
            write_blocks(lines(log), output)
    if json:
        figures: dict[str, Any] = {**counts, **clock.figures(tokens=counts["tokens"])}
        if as_json and tagger.estimator in ("moments", "mixed"):
            figures["negative_rate"] = round(negative / max(counts["tokens"], 1), 4)
        show_figures(figures, as_json=True, results_on_stdout=output == "-")


def _as_json(
    tokens: Sequence[str], answer: TagAnswer, tagger: LatentTagger, *, kbest: int, marginals: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {"tokens": list(tokens), "tags": answer.tags}
    found["log_prob"] = answer.log_prob if answer.log_prob > float("-inf") else None
    if answer.fallback:
        found["fallback"] = True
    if tagger.estimator in ("moments", "mixed"):
        found["negative_rate"] = answer.negative
    if marginals:
        found["marginals"] = [
            {
                tag: round(share, 6)
                for tag, share in sorted(
                    zip(tagger.tags_, row, strict=True), key=lambda pair: -pair[1]
                )
                if share >= 1e-6
            }
            for row in answer.marginals.tolist()
        ]
    if kbest > 1:
        found["kbest"] = [
            {**one._asdict(), "log_prob": one.log_prob if one.log_prob > float("-inf") else None}
            for one in answer.kbest
        ]
    return found
