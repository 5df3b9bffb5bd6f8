"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.cores import using_cores
from eigentext.cli import lex_apply, options
from eigentext.cli.command import SettingFlags, flag, with_flags
from eigentext.cli.lex_apply import OtherAnalyzer
from eigentext.cli.output import show_figures
from eigentext.cli.verbs import Run, Training
from eigentext.errors import SettingsError
from eigentext.lexical.settings import LearnedAnalyzerSettings, RankerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.evaluate.ranking import RankingScores
    from eigentext.lexical.crossval import FoldResult
    from eigentext.lexical.documents import Document
    from eigentext.lexical.schemes.labels import LabelScheme

app = typer.Typer(no_args_is_help=True, help="Analyses of words, in and out of context.")

DocumentsBy = Annotated[
    Literal["auto", "newdoc", "source", "sentence"],
    typer.Option("--documents", help="What a document of a treebank is."),
]


Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        help="Elements that the second figures leave out, by commas; by default cas, where the "
        'scheme has it; none: "".',
    ),
]


@app.command("train")
@with_flags(RankerSettings)
def train(
    sources: options.Labelled,
    run: Training,
    settings: SettingFlags,
    documents: DocumentsBy = "auto",
) -> None:
    """Learn to rank the analyses of words in context.

    Documents are .jsonl files of labelled words or .conllu treebanks.  The model names its
    analyzer but does not hold it.

    Example:
        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16
        $ eigentext lex apply arabic.ranker sample/arabic.txt --format vocalised
    """
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import load_scheme

    ranker = LexicalRanker(**settings.of(RankerSettings))
    ranker.check()
    with run.reading("steps") as (log, progress):
        read = _labelled(sources, load_scheme(ranker.scheme), documents, log)
        ranker.fit(read, progress=progress)
    figures = {
        "documents": len(read),
        "words": sum(len(line) for d in read for line in d.sentences),
        "forms": len(ranker.seen_),
        "pairs": sum(stage.counts.filled for stage in ranker.stages_),
        "temperature": round(ranker.temperature_, 3),
    }
    run.save(ranker, sources, figures)


def _labelled(
    sources: list[str], scheme: LabelScheme, documents: str, log: SkipLog | None
) -> list[Document]:
    """The documents of the files; none at all is an error."""
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.lexical.documents import read_documents

    read = read_documents(expand(sources), scheme, documents=documents, on_error=log)
    if not any(word.label for document in read for word in document.words()):
        raise DataError(", ".join(sources), None, "no labelled words, expected some")
    return read


@app.command("train-analyzer")
@with_flags(LearnedAnalyzerSettings)
def train_analyzer(sources: options.Sources, run: Training, settings: SettingFlags) -> None:
    """Learn an analyzer from a treebank (CoNLL-U) with lemmas, tags and features.

    Example:
        $ eigentext convert sample/train.mrg -o trees.conllu
        $ eigentext lex train-analyzer trees.conllu -o rules.eig
        $ eigentext lex apply rules.eig sample/text.txt -o readings.tsv
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    with run.reading() as (log, _):
        treebank = [s for file in expand(sources) for s in read_sentences(file, on_error=log)]
        if not treebank:
            raise DataError(", ".join(sources), None, "no sentences, expected some with lemmas")
        analyzer = LearnedAnalyzer.fit(treebank, **settings.of(LearnedAnalyzerSettings))
    run.save(analyzer, sources, {"forms": len(analyzer.known_forms)})


app.command("apply")(lex_apply.apply)


@app.command("eval")
@with_flags()
def eval_(
    model: Annotated[str, typer.Argument(help="A model of `lex train`.")],
    sources: options.Labelled,
    run: Run,
    analyzer: OtherAnalyzer = None,
    documents: DocumentsBy = "auto",
    without: Without = None,
) -> None:
    """Score a ranker on labelled documents: A1, A2, per element, seen and unseen, by document.

    Example:
        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16
        $ eigentext lex eval arabic.ranker sample/arabic.jsonl
    """
    from eigentext.lexical.crossval import evaluate_ranker
    from eigentext.lexical.ranker.model import LexicalRanker

    ranker = LexicalRanker.load(model, analyzer=analyzer)
    left_out = _left_out(without, ranker.scheme_)
    with run.reading() as (log, _):
        gold = _labelled(sources, ranker.scheme_, documents, log)
    result = evaluate_ranker(ranker, gold, without=left_out)
    _show([result], run)


@app.command("crossval")
@with_flags(RankerSettings)
def crossval(
    sources: options.Labelled,
    run: Run,
    settings: SettingFlags,
    documents: DocumentsBy = "auto",
    folds: int = flag("Folds, by document.", 10, min=2),
    without: Without = None,
    jobs: options.Jobs = 1,
) -> None:
    """Train and score in folds by document.

    Example:
        $ eigentext lex crossval sample/arabic.jsonl --folds 2 --bits 0 --passes 2
    """
    from eigentext.lexical.crossval import cross_validate
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import load_scheme

    make = partial(LexicalRanker, **settings.of(RankerSettings))
    make().check()
    scheme = load_scheme(make().scheme)
    left_out = _left_out(without, scheme)
    with run.reading("folds") as (log, progress), using_cores(jobs):
        gold = _labelled(sources, scheme, documents, log)
        results = list(
            cross_validate(gold, make, folds=folds, without=left_out, progress=progress)
        )
    _show(results, run)


def _show(results: list[FoldResult], run: Run) -> None:
    total: RankingScores = results[0].scores
    for result in results[1:]:
        total = total + result.scores
    errors = [result.calibration_error for result in results]
    more: dict[str, Any] = {"calibration_error": round(sum(errors) / len(errors), 4)}
    if len(results) > 1:
        more["folds"] = [result.scores.full.as_record() for result in results]
        more["train_cpu_seconds"] = round(sum(r.train_seconds for r in results), 1)
    if run.json:
        show_figures({**total.as_record(), **more, "skipped": run.skipped}, as_json=True)
        return
    rows = {
        "all": total.full,
        "without some elements": total.reduced,
        "seen in training": total.seen,
        "unseen": total.unseen,
        **{f"element {name}": accuracy for name, accuracy in total.elements.items()},
        **{f"document {name}": accuracy for name, accuracy in total.documents.items()},
    }
    print(f"coverage\t{total.coverage:.2f}")
    for name, row in rows.items():
        scores = f"A1 {row.a1:.2f}\tA2 {row.a2:.2f}" if row.words else "A1 -\tA2 -"
        print(f"{name}\t{scores}\t{row.words} words")
    print(f"calibration error\t{more['calibration_error']:.4f}")


def _left_out(without: str | None, scheme: LabelScheme) -> list[str]:
    """The elements that the second figures leave out."""
    if without is None:
        return [name for name in ("cas",) if name in scheme.elements]
    names = [name for name in map(str.strip, without.split(",")) if name]
    for name in names:
        if name not in scheme.elements:
            raise SettingsError(
                f"--without {name}: the scheme has no such element; it has "
                f"{', '.join(scheme.elements)}"
            )
    return names
