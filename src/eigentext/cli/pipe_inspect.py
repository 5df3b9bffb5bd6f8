"""``eigentext pipe inspect``: what is in a pipeline, and what it was made from."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures, show_table


def inspect(
    model: Annotated[str, typer.Argument(help="A model written by `pipe train`.")],
    json: options.Json = False,
) -> None:
    """Show the stages of a pipeline, their sizes, the tags they give, and how it was made.

    Example:
        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2
        $ eigentext pipe inspect english.pipe
    """
    from eigentext.base.modelfile import read_header
    from eigentext.pipeline import Pipeline

    header = read_header(model, Pipeline.KIND)
    pipeline = Pipeline.load(model)
    sizes = {name: math.prod(shape) for name, (_, shape) in header.arrays.items()}
    stages = [
        {"stage": name, "kind": stage.KIND, "bytes": sizes[f"stage.{name}"], "what": repr(stage)}
        for name, stage in pipeline.stages().items()
    ]
    facts: dict[str, Any] = {
        "data": header.data,
        "treebank": pipeline.counts_,
        "chosen": pipeline.choices_,
        "dev": pipeline.dev_scores_,
        "columns": pipeline.values_,
        "stages": stages,
        "sha256": header.sha256,
        "eigentext": header.package_version,
    }
    if json:
        show_figures(facts, as_json=True)
        return
    _show(facts)


def _show(facts: dict[str, Any]) -> None:
    about = facts["data"]
    named = {name: about[name] for name in ("language", "name", "licence") if about.get(name)}
    files = {"files": ", ".join(about["files"])} if about.get("files") else {}
    show_figures({**named, **files, **facts["treebank"], "sha256": facts["sha256"]}, as_json=False)
    show_table("Stages", facts["stages"])
    if facts["chosen"]:
        chosen = [{"stage": stage, **_cells(said)} for stage, said in facts["chosen"].items()]
        show_table("Chosen on held-out sentences of the treebank", chosen)
    rows = [
        {"column": name, "values": len(values), "such as": ", ".join(values[:12])}
        for name, values in facts["columns"].items()
    ]
    if rows:
        show_table("Columns", rows)
    if facts["dev"]:
        scores = [{"measure": name, "F1": f"{value:.2f}"} for name, value in facts["dev"].items()]
        show_table("On the development treebank", scores)


def _cells(said: dict[str, Any]) -> dict[str, str]:
    cells = {"kept": "yes" if said["kept"] else "no"}
    for measure in ("las", "uas"):
        if measure in said and f"reranked_{measure}" in said:
            cells[f"{measure.upper()} without"] = f"{said[measure]:.2f}"
            cells[f"{measure.upper()} with"] = f"{said[f'reranked_{measure}']:.2f}"
    return cells
