"""``eigentext model``: models that have names, made by recipes or taken ready."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, group, with_flags
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, show_table
from eigentext.errors import EigentextError, SettingsError


@with_flags()
def list_(json: options.Json = False) -> None:
    """List the recipes, and the models that are installed, with the licences of their data.

    Data marked (NC) is not for commercial use, and neither is a model made of it.

    Example:
        $ eigentext model list
    """
    from eigentext.base.modelfile import read_header
    from eigentext.base.registry import installed
    from eigentext.recipes import recipes

    rows: list[dict[str, Any]] = []
    there = installed()
    for recipe in recipes():
        about: Mapping[str, Any] = recipe.model_dump() | {
            "licence": recipe.licence,
            "non_commercial": recipe.non_commercial,
        }
        rows.append(_row(recipe.name, recipe.kind, about, there.pop(recipe.name, None), ours=True))
    for name, file in there.items():
        try:
            header = read_header(file)
        except EigentextError:  # nothing that a list should stop at
            rows.append(_row(name, "damaged", {}, file))
        else:
            rows.append(_row(name, header.kind, header.data, file))
    if json:
        print(dumps({"models": rows}, ensure_ascii=False))
        return
    shown = [
        {
            **{name: row[name] for name in ("name", "kind", "what")},
            "language": row["language"] or "-",
            "licence of the data": row["licence"] + (" (NC)" if row["non_commercial"] else ""),
            "here": "-" if row["bytes"] is None else f"{row['bytes'] / 1e6:.1f} MB",
        }
        for row in rows
    ]
    show_table("", shown)


def _row(
    name: str, kind: str, about: Mapping[str, object], file: Path | None, *, ours: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "what": str(about.get("title") or about.get("name") or "-"),
        "language": str(about.get("language") or ""),
        "licence": str(about.get("licence") or "not stated"),
        "non_commercial": bool(about.get("non_commercial")),
        "recipe": ours,
        "place": None if file is None else str(file),
        "bytes": None if file is None else file.stat().st_size,
    }


@with_flags()
def make(
    name: Annotated[
        str, typer.Argument(help="A recipe: its name, or the path of your own (.toml).")
    ],
    data: str | None = flag("The data folder; else EIGENTEXT_DATA names it."),
    download: bool = flag("Fetch the data that is not there.", False),
    output: str | None = flag(
        "Write the model to this file, without a name.", None, "-o", written=True
    ),
    record: bool = flag("Do not check the scores: write them into the recipe (a file).", False),
    jobs: options.Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Make a model by a recipe: check the data, train, check the scores, write a card.

    From then on its name does wherever a model file does: `eigentext.load("english")` in Python,
    `eigentext pipe apply english` here. A model whose scores are below what the recipe expects is
    not kept (exit code 2). The same data gives the same file.

    Example:
        $ eigentext model make sample
        $ eigentext pipe apply sample sample/raw.txt -o parsed.conllu
    """
    from eigentext.recipes import find_recipe
    from eigentext.recipes import make as make_model
    from eigentext.recipes.making import record as write_scores

    recipe = find_recipe(name)
    if record and recipe.path is None:
        raise SettingsError("--record needs the file of a recipe, not a name")
    remark(f"{recipe.title} (licence of the data: {recipe.licence})", quiet=quiet)
    if recipe.non_commercial:
        remark("not for commercial use, and neither is the model", quiet=quiet)
    clock = Clock()
    with progress_bar(quiet=quiet, unit="sentences") as progress:
        product = make_model(
            recipe,
            data=data,
            download=download,
            output=output,
            jobs=jobs,
            check=not record,
            progress=progress,
        )
    if record:
        write_scores(recipe, product.scores)
    elif not recipe.expected:
        remark("the recipe expects no scores: nothing to hold these against", quiet=quiet)
    files = {"model": str(product.path), "card": str(product.card)}
    figures = {**files, **product.scores, "bytes": product.path.stat().st_size}
    if json or not quiet:
        show_figures(figures | clock.figures(), as_json=json)


@with_flags()
def get(
    source: Annotated[
        str,
        typer.Argument(help="A file, an address (https, s3, hf://owner/repository/file), a name."),
    ],
    name: str | None = flag("Its name from now on; else that of the file."),
    sha256: str | None = flag("The checksum that the file must have."),
    quiet: options.Quiet = False,
) -> None:
    """Take a model that is ready, and install it under a name.

    Without the right checksum, or when it is no whole model, nothing is installed. A model cannot
    run code of its own. `hf://` needs the package huggingface_hub, `s3://` s3fs, and so on.

    Example:
        $ eigentext tag train sample/entities.bio -o names.tagger --epochs 2
        $ eigentext model get names.tagger --name english-names
        $ eigentext tag apply english-names sample/entities.bio -o tagged.bio
    """
    from eigentext.base.modelfile import read_header
    from eigentext.recipes import get_ready

    with progress_bar(quiet=quiet) as progress:
        path = get_ready(source, name=name, sha256=sha256, progress=progress)
    licence = read_header(path).data.get("licence")
    remark(f"licence of the data: {licence or 'not stated'}", quiet=quiet)
    print(path)


@with_flags()
def remove(
    name: Annotated[str, typer.Argument(help="Name of a model, as `model list` shows it.")],
) -> None:
    """Remove an installed model, with its card.

    Example:
        $ eigentext model make sample
        $ eigentext model remove sample
    """
    from eigentext.recipes import remove as remove_model

    remove_model(name)


app = group(list_, make, get, remove)
