"""``eigentext model make``: from a recipe to a model that is found by its name.

1. The recipe's settings and the place of the model are looked at before anything else.
2. The data is gathered and checked (`gathering`), the model trained and scored (`training`).
3. Scores below the expected ones, less the recipe's tolerance, are an error, and nothing is left.
4. The model is written with its sources, licences and scores in its header, and a card beside it
   (`card`).  The same recipe and data give the same two files, byte for byte.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.files.opening import atomic_write, check_writable
from eigentext.base.named import place_of
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.recipes.card import card_to_write, model_card
from eigentext.recipes.gathering import gathered
from eigentext.recipes.recipe import find_recipe
from eigentext.recipes.training import check_settings, trained

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.base.progress import Progress
    from eigentext.datasets.catalogue import Opener
    from eigentext.recipes.gathering import Gathered
    from eigentext.recipes.recipe import Recipe


class ScoresTooLowError(EigentextError):
    """The model is worse than its recipe says; it was not kept."""


class Made(NamedTuple):
    """What a recipe made: the model's file, the card beside it, and the scores."""

    path: Path
    card: Path
    scores: dict[str, float]


def make(
    name: str | os.PathLike[str] | Recipe,
    *,
    data: str | os.PathLike[str] | None = None,
    download: bool = False,
    output: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    check: bool = True,
    progress: Progress | None = None,
    opener: Opener | None = None,
) -> Made:
    """Make the model of a recipe, and put it where its name is found.

    ``data``      the data folder, else the one that ``EIGENTEXT_DATA`` names
    ``download``  fetch what is missing there; else that is an error
    ``output``    another place for the model; then its name is not known
    ``check``     hold the scores against those that the recipe expects

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = make("sample", output=f"{folder}/toy.pipe")
    ...     made.path.name, made.card.name, made.scores["Sentences"] > 50
    ('toy.pipe', 'toy.pipe.md', True)
    """
    recipe = name if not isinstance(name, (str, os.PathLike)) else find_recipe(name)
    check_settings(recipe)
    target = Path(output) if output is not None else place_of(recipe.name)
    if output is None:
        make_folder(target.parent)
    card = card_to_write(target)
    check_writable(target, card)
    with gathered(recipe, data, download=download, opener=opener) as files:
        model, scores = trained(files, jobs=jobs, progress=progress)
        if check:
            _hold_against(recipe, scores)
        header = model.save(target, data=_about(recipe, files, scores))
    with atomic_write(card) as out:
        out.write(model_card(header, target).encode())
    return Made(target, card, scores)


def make_folder(folder: Path) -> None:
    """Make the folder of the models."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"cannot be made: {error.strerror}; EIGENTEXT_MODELS names another folder"
        raise DataError(str(folder), None, why) from error


def _hold_against(recipe: Recipe, scores: Mapping[str, float]) -> None:
    missed = [
        f"{name} is {scores[name]:.2f}, expected {value:.2f}"
        for name, value in recipe.expected.items()
        if scores[name] < value - recipe.tolerance
    ]
    if missed:
        raise ScoresTooLowError(
            f"the model of {recipe.name} was not kept: {'; '.join(missed)} "
            f"(less {recipe.tolerance:g} at most)"
        )


def _about(recipe: Recipe, files: Gathered, scores: Mapping[str, float]) -> dict[str, Any]:
    """What the header of the model says of its origin; nothing in it depends on the machine."""
    sources = [
        {
            "name": source.name,
            "title": source.title or source.name,
            "licence": source.licence,
            "terms": source.terms,
            "home": source.home,
        }
        for source in recipe.origins
    ]
    return {
        "name": "; ".join(source["title"] for source in sources),
        "licence": recipe.licence,
        "non_commercial": recipe.non_commercial,
        "recipe": recipe.name,
        "title": recipe.title,
        "language": recipe.language,
        "note": recipe.note,
        "command": recipe.command,
        "sources": sources,
        "train": [str(part) for part in recipe.train],
        "dev": [str(part) for part in recipe.dev],
        "test": [str(part) for part in recipe.test],
        "text": list(recipe.text),
        "sha256": files.sha256,
        "scores": dict(scores),
    }


def record(recipe: Recipe, scores: Mapping[str, float]) -> None:
    """Write scores into the file of a recipe, as those that it expects; they end the file."""
    if recipe.path is None:
        raise SettingsError(f"{recipe.name} is a recipe of this package: name a file to record in")
    path = str(recipe.path)
    content = recipe.path.read_text("utf-8")
    before, _, after = content.partition("[expected]\n")
    if "[" in after.replace("[expected]", "["):
        raise DataError(path, None, "expected [expected] to be the last table of the recipe")
    lines = [f"{name} = {value:.2f}\n" for name, value in scores.items()]
    with atomic_write(path) as out:
        out.write(f"{before.rstrip()}\n\n[expected]\n{''.join(lines)}".encode())
