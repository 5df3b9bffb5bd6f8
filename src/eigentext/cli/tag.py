"""``eigentext tag``: tags of tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.files.opening import SkipLog, expand
from eigentext.cli import options
from eigentext.cli.command import SettingFlags, argument, flag, group, with_flags
from eigentext.cli.inputs import GenericText, TaggedInput
from eigentext.cli.output import show_figures
from eigentext.cli.verbs import Applying, Training, Workers, answers_of
from eigentext.errors import DataError, SettingsError
from eigentext.tagging.settings import TaggerSettings

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.tagging.sequence import Tagging
    from eigentext.tagging.sequence.reading import TagItem


@with_flags(TaggerSettings)
def train(
    files: options.Sources,
    run: Training,
    settings: SettingFlags,
    columns: TaggedInput,
    dev: str | None = flag("Keep the epoch that is best on this file."),
) -> None:
    """Train a tagger on columns (token first, tag last) or CoNLL-U.

    For entities, the beam and the margin are chosen on --dev, or by cross-validation on the
    training data, which makes training two to three times as long; numbers for both save that.

    Example:
        $ eigentext tag train sample/entities.bio -o entities.tagger --epochs 5
    """
    from eigentext.tagging.sequence import SequenceTagger

    sources = expand(files)
    tagger = SequenceTagger(**settings.of(TaggerSettings))
    tagger.check()
    with run.reading("epochs") as (log, progress):
        more = {"repair": tagger.repair, "on_error": log}
        tokens, tags, scheme = columns.tagged(sources, scheme=tagger.scheme, **more)
        tagger.set_params(scheme=scheme)
        held_out = None if dev is None else columns.tagged([dev], scheme=scheme, **more)[:2]
        tagger.fit(tokens, tags, dev=held_out, progress=progress)
    figures: dict[str, object] = {
        "sentences": len(tokens),
        "tokens": sum(map(len, tokens)),
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
    run.save(tagger, sources, figures)


@with_flags()
def apply(
    model: Annotated[str, typer.Argument(help="A model written by `tag train`.")],
    files: list[str] | None = argument("Sentences; the tags in them are not looked at."),
    *,
    run: Applying,
    workers: Workers,
    text: GenericText,
    columns: TaggedInput,
    kbest: int = flag("How many answers, with scores (JSON Lines).", 1, min=1),
    beam: int | None = flag("Tag sequences kept; 1 is greedy.", min=1),
    format_: options.Format = "native",
    jobs: options.Jobs = 1,
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
    from eigentext.tagging.sequence import SequenceTagger
    from eigentext.tagging.sequence.reading import bare_item

    if text.raw and columns.from_ != "auto":
        raise SettingsError(f"--raw and --from {columns.from_}: expected one of them")
    if text.raw or text.field is not None:
        columns.refuse("is for text with tags")
    tagger = SequenceTagger.load(model)
    tagger.beam = beam or tagger.beam
    as_json = format_ == "jsonl" or kbest > 1
    counts = {"sentences": 0, "tokens": 0}
    waiting: deque[TagItem] = deque()  # what the tagger has taken and not yet answered
    sources = expand(files or ["-"])

    def tokens(log: SkipLog | None) -> Iterator[list[str]]:
        if text.raw or text.field is not None:
            for typed in text.typed(sources, log):
                waiting.append(bare_item([token.typed for token in typed], 0, ""))
                yield [token.text for token in typed]
            return
        for item in columns.items(sources, log):
            waiting.append(item)
            yield list(item.tokens)

    def lines(log: SkipLog | None, progress: Progress) -> Iterator[str]:
        for answers in tagger.stream_kbest(tokens(log), kbest, jobs=jobs):
            item = waiting.popleft()
            counts["sentences"] += 1
            counts["tokens"] += len(item.tokens)
            progress(counts["sentences"], 0, "tagging")
            if as_json:
                record = _as_json(item.tokens, answers, tagger.tag_set_.scheme)
                yield dumps(record, ensure_ascii=False)
            elif answers:  # columns have no way to say that a sentence is empty
                yield item.with_tags(answers[0].tags)

    with run.reading("sentences") as (log, progress), workers.at_work(jobs):
        run.write(lines(log, progress), blocks=not as_json)
    if run.json:
        rates = run.clock.figures(tokens=counts["tokens"])
        run.tell({**counts, "skipped": run.skipped, **rates})


def _as_json(tokens: Any, answers: list[Tagging], scheme: str) -> dict[str, object]:
    from eigentext.evaluate.ner import entities

    record: dict[str, Any] = {"tokens": list(tokens), "tags": answers[0].tags if answers else []}
    if scheme == "bio2":
        record["entities"] = [entity._asdict() for entity in entities(record["tags"])]
    if answers:
        record["score"] = answers[0].score
    if len(answers) > 1:
        record["kbest"] = [answer._asdict() for answer in answers]
    return record


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="Gold tags: columns or CoNLL-U.")],
    columns: TaggedInput,
    strict: bool = flag("Count well-formed IOB2 entities only.", False),
    jobs: options.Jobs = 1,
    json: options.Json = False,
) -> None:
    """Score tags: precision, recall and F1 of whole entities, and token accuracy.

    Of CoNLL-U the accuracy of the column is shown.

    Example:
        $ eigentext tag train sample/entities.bio -o entities.tagger --epochs 5
        $ eigentext tag eval entities.tagger sample/entities.bio
        $ eigentext tag eval sample/entities.bio sample/entities.bio
    """
    from eigentext.evaluate.ner import evaluate
    from eigentext.tagging.sequence.reading import format_of

    def tags(source: str) -> Iterator[Any]:
        return (item.tags or () for item in columns.items([source]))

    choices = {"from_": columns.from_, "column": columns.column, "jobs": jobs}
    with answers_of(model, gold, apply, **choices) as (predicted, name):
        result = evaluate(
            tags(gold), tags(predicted), mode="strict" if strict else "conll", names=(gold, name)
        )
    if not result.n_tokens:
        raise DataError(gold, None, "no tokens, expected tags")
    if format_of(gold, columns.from_) == "conllu":
        accuracy = {"tokens": result.n_tokens, "accuracy": result.token_accuracy}
        show_figures(accuracy, as_json=json)
        return
    figures = {
        "precision": result.micro.precision,
        "recall": result.micro.recall,
        "f1": result.f1,
        "macro_f1": result.macro_f1,
        "token_accuracy": result.token_accuracy,
        **{f"f1 {score.type}": score.f1 for score in result.types},
    }
    show_figures(figures, as_json=json)


app = group(train, apply, eval_)
