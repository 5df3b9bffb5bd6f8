"""``eigentext lab``: models of the laboratory, by the verbs of every group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from eigentext.base.files.opening import OnError, expand, raise_or_tell
from eigentext.cli import options
from eigentext.cli.command import SettingFlags, flag, flag_of, group, with_flags
from eigentext.cli.inputs import Column, kind_of_model
from eigentext.cli.verbs import Applying, Training
from eigentext.constituency.settings import BracketingSettings, InductionSettings
from eigentext.errors import DataError, SettingsError
from eigentext.lab.cli import automata
from eigentext.language.formats.registry import format_of

Tagged = Annotated[
    list[str],
    typer.Argument(
        help="Tagged sentences: columns, .conllu, or trees (.mrg), whose brackets are not read; "
        "files, globs or URLs.",
        show_default=False,
    ),
]


@with_flags(InductionSettings)
def train_bracketer(
    files: Tagged,
    run: Training,
    settings: SettingFlags,
    column: Column = "upos",
    vectors: str | None = flag("word2vec file; else made from this text."),
) -> None:
    """Learn to bracket sentences from tagged text, without a tree.

    Words whose vectors vary together, given the tags around them, are near each other in a hidden
    tree; `lab apply` finds the shortest tree for such distances.

    Example:
        $ eigentext lab train-bracketer sample/train.mrg -o english.bracketer
        $ eigentext lab apply english.bracketer sample/test.mrg -o brackets.mrg
    """
    from eigentext.lab import Bracketer

    bracketer = Bracketer(**settings.of(InductionSettings))
    bracketer.check()
    sources = expand(files)
    with run.reading("directions") as (log, progress):
        sentences = list(_tagged(sources, column, log))
        words, tags = [tokens for tokens, _ in sentences], [line for _, line in sentences]
        bracketer.fit(words, tags, vectors=vectors, progress=progress)
    figures = {
        "sentences": len(sentences),
        "words": sum(map(len, words)),
        "tags": len(bracketer.tags_),
        "contexts": sum(map(len, bracketer.contexts_.keys)),
        "smoothing": bracketer.smoothing_,
    }
    run.save(bracketer, sources, figures)


def _tagged(
    sources: list[str], column: str, log: OnError | None
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Words and tags of every sentence; a file without any, or without tags, is an error."""
    for source in sources:
        empty = True
        for pair in _pairs(source, column, log):
            empty = False
            yield pair
        if empty:
            raise DataError(source, None, "no sentences in this file")


def _pairs(
    source: str, column: str, log: OnError | None
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.trees.clean import strip_traces
    from eigentext.tagging.sequence.reading import read_items

    if format_of(source, ("ptb",), ""):
        for tree in read_trees(source, on_error=log):
            spoken = strip_traces(tree)
            if spoken is not None:
                yield spoken.words, spoken.tags
        return
    for item in read_items(source, column=column, on_error=log):
        tags = item.tags
        if tags is None:
            raise DataError(source, None, "text without tags, expected columns, CoNLL-U or trees")
        if "_" in tags and set(tags) <= {"_"}:
            why = f"a sentence without tags in column {column}, expected some"
            raise_or_tell(DataError(source, item.lines[0], why), log)
            continue
        yield item.tokens, tags


@with_flags(BracketingSettings, show_defaults=False)
def apply(
    model: options.Model,
    files: options.Sources,
    run: Applying,
    automaton: automata.AutomatonFlags,
    settings: SettingFlags,
    column: Column = "upos",
) -> None:
    """Print the class or the output of every string, or the brackets of every sentence.

    Of automata a file is one string a line, or CoNLL-U, whose different words are asked about; a
    transducer that learned from CoNLL-U is told their tags.  With --kbest each answer is followed
    by its probability (classes) or log score (outputs).

    Of a bracketer a file has tagged sentences, and comes out as one tree a line, every bracket X:
    binary brackets, and punctuation where it falls between them.  Where the root lies is the
    model's own choice unless told.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext lab train-automaton train.conllu -o tags.model --of classes --basis 50
        $ eigentext lab apply tags.model train.conllu --kbest 2
        $ eigentext lab train-bracketer sample/train.mrg -o english.bracketer
        $ eigentext lab apply english.bracketer sample/test.mrg -o brackets.mrg --root first
    """
    if kind_of_model(model, *automata.ANSWERING, "bracketer") != "bracketer":
        flags = [*sorted(settings.values), *(["column"] if column != "upos" else [])]
        if flags:
            raise SettingsError(f"{flag_of(flags[0])} is for a bracketer, not for automata")
        with run.reading() as (log, _):
            lines = automata.answer_lines(model, files, automaton, log)
        run.write(lines)
        run.tell({"strings": len(lines), "skipped": run.skipped})
        return
    from eigentext.lab import Bracketer

    automaton.refuse("is for automata, not for a bracketer")
    bracketer = Bracketer.load(model)
    bracketer.set_params(**settings.of(BracketingSettings))
    bracketer.check()
    count = 0

    def bracketed(log: OnError | None) -> Iterator[str]:
        nonlocal count
        for tokens, tags in _tagged(expand(files), column, log):
            count += 1
            yield str(bracketer.bracket(tokens, tags))

    with run.reading("sentences") as (log, _):
        run.write(bracketed(log))
    if run.json:
        rates = run.clock.figures(sentences=count)
        run.tell({"sentences": count, "skipped": run.skipped, **rates})


app = group(automata.train_automaton, train_bracketer, apply, automata.score, automata.inspect)
