"""``eigentext dep eval``: how good are dependency trees, and is one parser better than another?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import remark, show_figures

if TYPE_CHECKING:
    from eigentext.base.files.opening import OnError
    from eigentext.evaluate.attachment import AttachmentResult, Score
    from eigentext.formats.conll import TenColumnSentence


class TableName(StrEnum):
    """What the scores are broken down by."""

    length = "length"
    relation = "relation"
    distance = "distance"


def eval_(
    gold: Annotated[str, typer.Argument(help="Gold trees, CoNLL-U or CoNLL-X.")],
    predicted: Annotated[str, typer.Argument(help="Predicted trees of the same text.")],
    against: Annotated[
        str | None,
        typer.Option("--against", help="Another parser's trees: is the difference luck?"),
    ] = None,
    punctuation: Annotated[
        bool,
        typer.Option("--punct/--no-punct", help="Count punctuation, or leave it out everywhere."),
    ] = True,
    subtypes: Annotated[
        bool,
        typer.Option("--subtypes/--no-subtypes", help="nsubj:pass as it stands, or as nsubj."),
    ] = False,
    by: Annotated[
        list[TableName] | None,
        typer.Option("--by", help="A table too; may be given several times."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Resampled sets of sentences for --against.")
    ] = 10_000,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Score dependency trees by the rules of the CoNLL 2018 shared task.

    UAS: right heads; LAS: right heads and relations; CLAS: the same for content words; UCM and
    LCM: sentences without a wrong head, and without a wrong head or relation.  CLAS, MLAS and BLEX
    are for relations of Universal Dependencies; of others they are null.  With --against, a
    paired bootstrap over sentences tells whether the first parser is better than the other.

    Example:

        $ eigentext convert sample/dev.mrg -o gold.conllu

        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral

        $ eigentext dep eval gold.conllu pred.conllu

        $ eigentext dep eval gold.conllu gold.conllu --against pred.conllu --by distance --no-punct
    """
    from eigentext.evaluate.attachment import compare_systems, evaluate

    wanted = {"punctuation": punctuation, "subtypes": subtypes}
    right = list(trees_of(gold))
    result = evaluate(right, trees_of(predicted), **wanted)
    figures: dict[str, Any] = result.as_dict()
    tables = {table.value: _table(result, table) for table in dict.fromkeys(by or ())}
    compared: dict[str, dict[str, Any]] = {}
    if against is not None:
        other = evaluate(right, trees_of(against), **wanted)
        for measure in ("UAS", "LAS"):
            found = compare_systems(
                result,
                other,
                measure="UAS" if measure == "UAS" else "LAS",
                n_samples=samples,
                seed=seed,
            )
            compared[measure] = {
                "other": found.second,
                "difference": found.difference,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value,
            }
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
        _show_table(f"By {name}", rows)
    if compared:
        rows = [{"measure": measure, **found} for measure, found in compared.items()]
        _show_table(f"Against {against} (95% interval)", rows)


def trees_of(path: str, on_error: OnError | None = None) -> Iterator[TenColumnSentence]:
    """The sentences of a CoNLL-U or, by its name, CoNLL-X file; one without any is an error."""
    from eigentext.errors import DataError, SettingsError
    from eigentext.formats import conllu, conllx
    from eigentext.formats.convert import format_of

    try:
        reader = conllx if format_of(path) == "conllx" else conllu
    except SettingsError:  # a name that tells nothing
        reader = conllu
    sentences: Iterable[TenColumnSentence] = reader.read_sentences(path, on_error=on_error)
    empty = True
    for sentence in sentences:
        empty = False
        yield sentence
    if empty:
        raise DataError(path, None, "no sentences in this file")


def _table(result: AttachmentResult, name: TableName) -> list[dict[str, Any]]:
    if name is TableName.length:
        return [
            {
                "words": f"{row.shortest}-{row.longest}",
                "sentences": row.n_sentences,
                "UAS": row.uas.f1,
                "LAS": row.las.f1,
            }
            for row in result.by_length
        ]
    if name is TableName.distance:
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
    return (
        "root"
        if not longest
        else str(shortest)
        if shortest == longest
        else (f"{shortest}-{longest}")
    )


def _parts(name: str, score: Score) -> dict[str, float]:
    return {
        f"{name} precision": score.precision,
        f"{name} recall": score.recall,
        name: score.f1,
    }


def _show_table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name, value in rows[0].items() if rows else ():
        table.add_column(
            name.replace("_", " "), justify="left" if isinstance(value, str) else "right"
        )
    for row in rows:
        table.add_row(*(f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()))
    print()
    Console().print(table)
