"""``eigentext tag``: tags of tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.cli.text_input import typed_sentences
from eigentext.tagging.settings import TaggerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.tagging import Tagging
    from eigentext.tagging.reading import Item

app = typer.Typer(no_args_is_help=True, help="Tags of tokens: entities and parts of speech.")


class InputFormat(StrEnum):
    """What the input files are."""

    auto = "auto"
    columns = "columns"
    conllu = "conllu"
    tokens = "tokens"


class ColumnName(StrEnum):
    """Where CoNLL-U keeps the tags."""

    upos = "upos"
    xpos = "xpos"


From = Annotated[
    InputFormat,
    typer.Option("--from", help="Input: columns, CoNLL-U, or a tokenised sentence a line (.txt)."),
]
Column = Annotated[ColumnName, typer.Option("--column", help="Tag column of CoNLL-U.")]


@app.command("train")
@with_settings(TaggerSettings)
def train(
    files: options.Sources,
    output: options.ModelOutput,
    given: Given,
    dev: Annotated[
        str | None, typer.Option("--dev", help="Keep the epoch that is best on this file.")
    ] = None,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a tagger on columns (token first, tag last) or CoNLL-U.

    For entities, the beam and the margin are chosen on --dev, or by cross-validation on the
    training data, which makes training two to three times as long; numbers for both save that.

    Example:

        $ eigentext tag train sample/entities.bio -o entities.tagger --epochs 5
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.tagging import SequenceTagger
    from eigentext.tagging.reading import read_tagged

    check_writable(output)
    clock = Clock()
    sources = expand(files)
    tagger = SequenceTagger(**given.settings(TaggerSettings))
    tagger.check()
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="epochs") as update,
    ):
        read = partial(
            read_tagged,
            file_format=from_.value,
            column=column.value,
            repair=tagger.repair,
            on_error=log,
        )
        tokens, tags, scheme = read(sources, scheme=tagger.scheme)
        tagger.set_params(scheme=scheme)
        held_out = None if dev is None else read([dev], scheme=scheme)[:2]
        tagger.fit(tokens, tags, dev=held_out, progress=update)
    tagger.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures: dict[str, Any] = {
            "sentences": len(tokens),
            "tokens": sum(map(len, tokens)),
            "skipped": skipped_count(log),
            "tags": len(tagger.tag_set_.inside),
            "features": len(tagger.model_.weights),
            "epoch": tagger.best_epoch_,
            "beam": tagger.beam_,
        }
        if scheme == "bio2":
            figures["entity_margin"] = tagger.entity_margin_
        if tagger.dev_scores_:
            name = "dev_f1" if scheme == "bio2" else "dev_accuracy"
            figures[name] = round(100 * max(tagger.dev_scores_), 2)
        figures |= clock.figures()
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


@app.command("apply")
def apply(
    model: Annotated[str, typer.Argument(help="A model written by `tag train`.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Sentences; the tags in them are not looked at.")
    ] = None,
    output: options.Output = "-",
    kbest: Annotated[
        int, typer.Option("--kbest", min=1, help="So many answers with scores (JSON Lines).")
    ] = 1,
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, help="Tag sequences kept; 1 is greedy.")
    ] = None,
    from_: From = InputFormat.auto,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "generic",
    newlines: options.Newlines = options.NewlinesName.auto,
    column: Column = ColumnName.upos,
    format_: options.Format = options.ResultFormat.native,
    jobs: options.Jobs = 1,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Tag sentences: the input with the predicted tags in their place, or JSON Lines.

    Text without columns (--from tokens, or --raw) comes out as token TAB tag; an empty line of it
    is left out there, and kept in JSON Lines.

    Example:

        $ eigentext tag train sample/entities.bio -o entities.tagger --epochs 5

        $ eigentext tag apply entities.tagger sample/entities.bio -o predicted.bio

        $ eigentext tag apply entities.tagger sample/raw.txt --raw -o tagged.bio

        $ eigentext tag apply entities.tagger sample/text.txt --kbest 3 -o answers.jsonl
    """
    from json import dumps

    from eigentext.base.files.opening import expand, write_lines
    from eigentext.errors import SettingsError
    from eigentext.formats.blocks import write_blocks
    from eigentext.tagging import SequenceTagger
    from eigentext.tagging.reading import bare_item, read_items

    if raw and from_ is not InputFormat.auto:
        raise SettingsError(f"--raw and --from {from_.value}: expected one of them")
    clock = Clock()
    tagger = SequenceTagger.load(model)
    tagger.beam = beam or tagger.beam
    as_json = format_ is options.ResultFormat.jsonl or kbest > 1
    counts = {"sentences": 0, "tokens": 0}
    waiting: deque[Item] = deque()
    sources = expand(files or ["-"])

    def tokens(log: SkipLog | None) -> Iterator[list[str]]:
        if raw:
            for typed in typed_sentences(
                sources, raw=True, tokeniser=tokeniser, newlines=newlines.value, on_error=log
            ):
                waiting.append(bare_item([token.typed for token in typed], 0, ""))
                yield [token.text for token in typed]
            return
        for source in sources:
            for item in read_items(
                source, file_format=from_.value, column=column.value, on_error=log
            ):
                waiting.append(item)
                yield list(item.tokens)

    def lines(log: SkipLog | None) -> Iterator[str]:
        for answers in tagger.stream_kbest(tokens(log), kbest, jobs=jobs):
            item = waiting.popleft()
            counts["sentences"] += 1
            counts["tokens"] += len(item.tokens)
            update(counts["sentences"], 0, "tagging")
            if as_json:
                yield dumps(
                    _as_json(item.tokens, answers, tagger.tag_set_.scheme), ensure_ascii=False
                )
            elif answers:  # columns have no way to say that a sentence is empty
                yield item.with_tags(answers[0].tags)

    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="sentences") as update,
    ):
        if as_json:
            write_lines(output, lines(log))
        else:
            write_blocks(lines(log), output)
    if json:
        figures = {**counts, **clock.figures(tokens=counts["tokens"])}
        show_figures(figures, as_json=True, results_on_stdout=output == "-")


def _as_json(tokens: Any, answers: list[Tagging], scheme: str) -> dict[str, Any]:
    from eigentext.evaluate.ner import entities

    found: dict[str, Any] = {"tokens": list(tokens), "tags": answers[0].tags if answers else []}
    if scheme == "bio2":
        found["entities"] = [entity._asdict() for entity in entities(found["tags"])]
    if answers:
        found["score"] = answers[0].score
    if len(answers) > 1:
        found["kbest"] = [answer._asdict() for answer in answers]
    return found


@app.command("eval")
def eval_(
    gold: Annotated[str, typer.Argument(help="Gold tags: columns or CoNLL-U.")],
    predicted: Annotated[str, typer.Argument(help="Predicted tags of the same tokens.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Count well-formed IOB2 entities only.")
    ] = False,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    json: options.Json = False,
) -> None:
    """Score tags: precision, recall and F1 of whole entities, and token accuracy.

    Of CoNLL-U the accuracy of the column is shown.

    Example:

        $ eigentext tag eval sample/entities.bio sample/entities.bio
    """
    from eigentext.evaluate.ner import evaluate
    from eigentext.tagging.reading import format_of, read_items

    def tags(source: str) -> Iterator[Any]:
        for item in read_items(source, file_format=from_.value, column=column.value):
            yield item.tags or ()

    result = evaluate(tags(gold), tags(predicted), mode="strict" if strict else "conll")
    if format_of(gold, from_.value) == "conllu":
        figures: dict[str, float | int] = {"tokens": result.n_tokens}
        figures["accuracy"] = result.token_accuracy
        show_figures(figures, as_json=json)
        return
    figures = {
        "precision": result.micro.precision,
        "recall": result.micro.recall,
        "f1": result.f1,
        "macro_f1": result.macro_f1,
        "token_accuracy": result.token_accuracy,
    }
    for score in result.types:
        figures[f"f1 {score.type}"] = score.f1
    show_figures(figures, as_json=json)
