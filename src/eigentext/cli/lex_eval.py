"""``eigentext lex eval`` and ``lex crossval``: A1 and A2 on gold, by model or in folds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.cores import using_cores
from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.lex_rank import Model, OtherAnalyzer
from eigentext.cli.lex_train import DocumentsBy, read_labelled
from eigentext.cli.output import show_figures
from eigentext.cli.run import Run
from eigentext.errors import SettingsError
from eigentext.lexical.settings import RankerSettings

if TYPE_CHECKING:
    from eigentext.evaluate.ranking import RankingScores
    from eigentext.lexical.crossval import FoldResult
    from eigentext.lexical.schemes.labels import LabelScheme

Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        help="Elements that the second figures leave out, by commas; by default cas, where the "
        'scheme has it; none: "".',
    ),
]


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


@with_flags()
def eval_(
    model: Model,
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
        gold = read_labelled(sources, ranker.scheme_, documents, log)
    result = evaluate_ranker(ranker, gold, without=left_out)
    _show([result], run)


@with_flags(RankerSettings)
def crossval(
    sources: options.Labelled,
    run: Run,
    given: Given,
    documents: DocumentsBy = "auto",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds, by document.")] = 10,
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

    make = partial(LexicalRanker, **given.settings(RankerSettings))
    make().check()
    scheme = load_scheme(make().scheme)
    left_out = _left_out(without, scheme)
    with run.reading("folds") as (log, progress), using_cores(jobs):
        gold = read_labelled(sources, scheme, documents, log)
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
