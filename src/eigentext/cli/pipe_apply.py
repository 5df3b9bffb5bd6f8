"""``eigentext pipe apply``: text in, CoNLL-U, JSON Lines or spaCy's documents out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import atomic_write, check_writable, expand
from eigentext.cli import options
from eigentext.cli.command import argument, flag, with_flags
from eigentext.cli.inputs import Field
from eigentext.cli.verbs import Applying, Workers
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.progress import Progress
    from eigentext.pipeline.runs import RunCounts, RunJob, RunUnit

_GIVEN_BY = {"lines": "sentences", "horizontal": "tokens", "vertical": "tokens"}


@with_flags()
def apply(
    model: Annotated[str, typer.Argument(help="A model written by `pipe train`.")],
    files: list[str] | None = argument("Text; else stdin."),
    *,
    run: Applying,
    workers: Workers,
    format_: Literal["conllu", "jsonl", "docbin"] = flag(
        "CoNLL-U, a JSON object a paragraph, or spaCy's DocBin (a document a paragraph).", "conllu"
    ),
    input_: Literal["auto", "text", "lines", "horizontal", "vertical", "conllu"] = flag(
        "Raw text; a sentence a line; a tokenised sentence a line; a token a line; "
        "CoNLL-U.  auto: CoNLL-U by the name, else raw text.  Text may stand in records "
        "(.parquet, .jsonl, .wet), each of them a document.",
        "auto",
    ),
    level: Literal["sentences", "tokens", "words", "tags"] | None = flag(
        "What of CoNLL-U stays: its sentences, its tokens, its words (the default), or "
        "its tags and lemmas too.",
        None,
        "--given",
    ),
    field: Field = None,
    offsets: bool = flag("TokenRange=start:end, characters of the text, in MISC.", False),
    probabilities: bool = flag(
        "How sure: TagProb=0.98 of tags and Prob=0.93 of heads in MISC; tags_p and "
        "arcs_p of JSON.",
        False,
    ),
    top: int = flag("How many readings and trees beside the best (jsonl).", 0, min=0),
    resume: bool = flag("Go on where a run that was killed stopped.", False),
    jobs: options.Jobs = 1,
) -> None:
    """Annotate text of any size, in order and in bounded memory.

    An empty line ends a paragraph and every sentence.  While it runs, the folder OUTPUT.work grows
    beside the output; if it is killed, the same command with --resume goes on from there, and the
    result is the same.  A DocBin is put together in memory.

    Example:
        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2
        $ eigentext pipe apply english.pipe sample/raw.txt -o parsed.conllu --offsets
        $ eigentext pipe apply english.pipe sample/raw.txt -o parsed.jsonl --format jsonl --top 2
        $ eigentext pipe apply english.pipe sample/treebank-dev.conllu -o again.conllu --given tags
    """
    from eigentext.base.hashing import fingerprint
    from eigentext.base.modelfile import read_header
    from eigentext.features.symbols import Share
    from eigentext.language.formats.spacy_docs import merged
    from eigentext.pipeline import Pipeline
    from eigentext.pipeline.annotate import AnswerOptions
    from eigentext.pipeline.runs import NOTHING, RunJob, units_of, write_resumably

    sources = expand(files or ["-"])
    kind = _input_of(sources, input_, level)
    if field is not None and kind in ("vertical", "conllu"):
        raise SettingsError(f"--field is for text, not for --input {kind}")
    if top and format_ != "jsonl":
        raise SettingsError("--top is for --format jsonl")
    if offsets and format_ != "conllu":
        raise SettingsError("--offsets is for --format conllu: the other formats have them anyway")
    if resume and not _is_plain(run.output):
        raise SettingsError("--resume needs --output, a plain file that can be added to")
    if resume and format_ == "docbin":
        raise SettingsError("--resume is for conllu and jsonl, not for docbin")
    kept = level or (_GIVEN_BY.get(kind) if kind != "conllu" else "words")
    request = AnswerOptions(kept == "tags", top, probabilities)
    pipeline = Pipeline.load(model)
    job = RunJob(pipeline, kept, request, format_, offsets)
    with run.reading() as (log, progress), workers.at_work(jobs):
        units = units_of(sources, kind, field=field, on_error=log)
        bar = _Bar(progress, _bytes_of(sources))
        check_writable(run.output)
        if format_ != "docbin" and _is_plain(run.output):
            about = [model, sources, kind, field, kept, *request, format_, offsets, run.on_error]
            stats = [os.stat(file) if os.path.isfile(file) else None for file in sources]
            looks = [(stat.st_size, stat.st_mtime_ns) if stat else () for stat in stats]
            key = fingerprint(about, looks, read_header(model).sha256)
            safe = write_resumably(units, job, run.output, key, resume=resume, jobs=jobs)
            for unit, done in safe:
                bar.add(unit, done)
        else:
            pieces = _pieces(units, job, jobs, bar)
            with atomic_write(run.output) as out:
                for content in pieces if format_ != "docbin" else [merged(pieces)]:
                    out.write(content)
    counts = bar.counts or NOTHING
    words = pipeline.known_words()
    run.remark_on_unknown(Share(counts.looked_up, counts.in_vocabulary), words)
    if run.json:
        figures = {"sentences": counts.sentences, "words": counts.words, "skipped": run.skipped}
        run.tell(figures | run.clock.figures(words=counts.words))


def _input_of(sources: list[str], input_: str, level: str | None) -> Any:
    """The format of the input, by the name of the files unless it is told."""
    if input_ == "auto":
        from eigentext.tagging.sequence.reading import format_of

        named = [format_of(source) == "conllu" for source in sources]
        if any(named) and not all(named):
            raise SettingsError("CoNLL-U and other files: expected one format, or --input")
        input_ = "conllu" if all(named) else "text"
    if level is not None and input_ == "text":
        as_input = {"sentences": "lines", "tokens": "horizontal"}
        if level not in as_input:
            raise SettingsError(f"--level {level} is for CoNLL-U: expected --input conllu")
        return as_input[level]
    if level is not None and input_ != "conllu" and level != _GIVEN_BY[input_]:
        raise SettingsError(f"--level {level} is for CoNLL-U, not for --input {input_}")
    return input_


def _is_plain(output: str) -> bool:
    """A file that can grow beside its name: no stream, pipe or device, and not packed."""
    from eigentext.base.files.archives import suffix_of
    from eigentext.base.files.storage import is_url

    named = output != "-" and not is_url(output) and not suffix_of(output)
    return named and (os.path.isfile(output) or not os.path.exists(output))


def _bytes_of(sources: list[str]) -> int:
    """The size of all files; 0 where it is not known."""
    from eigentext.base.files.archives import suffix_of

    plain = all(os.path.isfile(source) and not suffix_of(source) for source in sources)
    return sum(map(os.path.getsize, sources)) if plain else 0


class _Bar:
    """Bytes that are done, and what was counted in them."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0
        self.counts: RunCounts | None = None

    def add(self, unit: RunUnit, counts: RunCounts) -> None:
        self.done, self.counts = self.done + unit.size, counts
        self.progress(min(self.done, self.total or self.done), self.total, "annotating")


def _pieces(units: Iterable[RunUnit], job: RunJob, jobs: int, bar: _Bar) -> Iterator[bytes]:
    from eigentext.pipeline.runs import annotated

    for unit, content, done in annotated(units, job, jobs=jobs):
        bar.add(unit, done)
        yield content
