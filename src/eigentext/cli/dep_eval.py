"""``eigentext dep eval``: how good are dependency trees, and is one parser better than another?"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.dep_apply import apply
from eigentext.cli.inputs import sentences_of
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.cli.verbs import answers_of

if TYPE_CHECKING:
    from eigentext.evaluate.attachment import AttachmentResult, Score


class TableName(StrEnum):  # typer takes no list of Literal
    """What the scores are broken down by."""

    length = "length"
    relation = "relation"
    distance = "distance"


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="Gold trees, CoNLL-U or CoNLL-X.")],
    against: str | None = flag("Another parser, or its trees: is the difference luck?"),
    punctuation: bool = flag(
        "Count punctuation, or leave it out everywhere.", True, "--punct/--no-punct"
    ),
    subtypes: bool = flag(
        "nsubj:pass as it stands, or as nsubj.", False, "--subtypes/--no-subtypes"
    ),
    by: list[TableName] | None = flag("A table too; may be given several times."),
    samples: int = flag("Resampled sets of sentences for --against.", 10_000, min=1),
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    json: options.Json = False,
) -> None:
    """Score a parser, or the trees of any system, by the rules of the CoNLL 2018 shared task.

    UAS: right heads; LAS: right heads and relations; CLAS: the same for content words; UCM and
    LCM: sentences without a wrong head, and without a wrong head or relation.  CLAS, MLAS and BLEX
    are for relations of Universal Dependencies; of others they are null.  With --against, a
    paired bootstrap over sentences tells whether the first parser is better than the other.

    Example:
        $ eigentext convert sample/dev.mrg -o gold.conllu
        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral
        $ eigentext dep eval pred.conllu gold.conllu
        $ eigentext dep eval gold.conllu gold.conllu --against pred.conllu --by distance --no-punct
        $ eigentext dep train gold.conllu -o english.parser --order 1 --epochs 2
        $ eigentext dep eval english.parser gold.conllu
    """
    from eigentext.base.cores import using_cores
    from eigentext.evaluate.attachment import evaluate

    def scored(system: str) -> AttachmentResult:
        with answers_of(system, gold, apply, jobs=jobs) as (predicted, _):
            return evaluate(
                right, sentences_of(predicted), punctuation=punctuation, subtypes=subtypes
            )

    compared: dict[str, dict[str, Any]] = {}
    with using_cores(jobs):
        right = list(sentences_of(gold))
        result = scored(model)
        if against is not None:
            compared = _compared(result, scored(against), samples, seed)
    figures: dict[str, Any] = result.as_dict()
    tables = {table.value: _table(result, table) for table in dict.fromkeys(by or ())}
    if json:
        more = {
            **({"by": tables} if tables else {}),
            **({"against": compared} if compared else {}),
        }
        show_figures({**figures, **more}, as_json=True)
        return
    show_figures({k: v for k, v in figures.items() if v is not None}, as_json=False)
    if result.other_relations:
        names = ", ".join(result.other_relations[:3])
        remark(
            "no CLAS, MLAS, BLEX: they are defined for the relations of Universal Dependencies, "
            f"not for {names}"
        )
    for name, rows in tables.items():
        show_table(f"By {name}", rows)
    if compared:
        rows = [{"measure": measure, **figures} for measure, figures in compared.items()]
        show_table(f"Against {against} (95% interval)", rows)


def _compared(
    result: AttachmentResult, other: AttachmentResult, samples: int, seed: int
) -> dict[str, dict[str, Any]]:
    """By measure: is the difference luck?"""
    from eigentext.base.parallel import side_by_side
    from eigentext.evaluate.attachment import compare_systems

    measures: tuple[Literal["UAS", "LAS"], ...] = ("UAS", "LAS")
    compare = partial(compare_systems, result, other, n_samples=samples, seed=seed)
    comparisons = side_by_side([partial(compare, measure=name) for name in measures])
    return {
        name: {
            "other": comparison.second,
            "difference": comparison.difference,
            "low": comparison.low,
            "high": comparison.high,
            "p_value": comparison.p_value,
        }
        for name, comparison in zip(measures, comparisons, strict=True)
    }


def _table(result: AttachmentResult, name: TableName) -> list[dict[str, Any]]:
    if name == "length":
        return [
            {
                "words": f"{row.shortest}-{row.longest}",
                "sentences": row.n_sentences,
                "UAS": row.uas.f1,
                "LAS": row.las.f1,
            }
            for row in result.by_length
        ]
    if name == "distance":
        return [
            {
                "distance": _distances(row.shortest, row.longest),
                **_parts("UAS", row.uas),
                **_parts("LAS", row.las),
            }
            for row in result.by_distance
        ]
    return [
        {
            "relation": row.relation,
            "words": row.las.gold,
            "UAS": row.uas.recall,
            "LAS precision": row.las.precision,
            "LAS recall": row.las.recall,
            "LAS": row.las.f1,
        }
        for row in result.by_relation
    ]


def _distances(shortest: int, longest: int | None) -> str:
    if longest is None:
        return f"{shortest} or more"
    if not longest:
        return "root"
    return str(shortest) if shortest == longest else f"{shortest}-{longest}"


def _parts(name: str, score: Score) -> dict[str, float]:
    return {f"{name} precision": score.precision, f"{name} recall": score.recall, name: score.f1}
