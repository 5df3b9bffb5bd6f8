"""``eigentext model make``: from a recipe to a model that is found by its name.

1. The settings of the recipe and the place of the model are looked at before anything else.
2. The data is gathered and checked (`gathering`), the model trained and scored (`training`).
3. Scores below the expected ones, less the tolerance of the recipe, are an error, and nothing is
   left.
4. The model is written with its sources, licences and scores in its header, and a card beside it:
   Markdown made of what the header says, for who was given the file.  The same recipe and data
   give the same two files, byte for byte.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eigentext.base.files.opening import atomic_write, check_writable
from eigentext.base.registry import KINDS, place_of
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.recipes.gathering import gathered
from eigentext.recipes.recipe import find_recipe
from eigentext.recipes.training import SCORES, check_settings, trained

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eigentext.base.modelfile import Header
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
        missed = [
            f"{name} is {scores.get(name, math.nan):.2f}, expected {value:.2f}"
            for name, value in recipe.expected.items()
            # a column that the test part leaves blank has no score
            if not scores.get(name, math.nan) >= value - recipe.tolerance
        ]
        if check and missed:
            raise ScoresTooLowError(
                f"the model of {recipe.name} was not kept: {'; '.join(missed)} "
                f"(less {recipe.tolerance:g} at most)"
            )
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


def _about(recipe: Recipe, files: Gathered, scores: Mapping[str, float]) -> dict[str, object]:
    """What the header of the model says of its origin; nothing in it depends on the machine."""
    fields = ("name", "title", "licence", "terms", "home")
    sources = [{name: getattr(source, name) for name in fields} for source in recipe.origins]
    for source in sources:
        source["title"] = source["title"] or source["name"]
    return {
        "name": "; ".join(source["title"] for source in sources),
        "licence": recipe.licence,
        "non_commercial": recipe.non_commercial,
        "recipe": recipe.name,
        **{name: getattr(recipe, name) for name in ("title", "language", "note", "command")},
        "sources": sources,
        **{part: list(map(str, getattr(recipe, part))) for part in ("train", "dev", "test")},
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


_SUM = "SHA-256 that the file has inside"  # ends every card

_USES = {
    "pipeline": (
        "eigentext pipe apply {model} TEXT.txt -o parsed.conllu",
        'doc = model("Some text.")\nprint(doc.to_conllu())',
    ),
    "lpcfg": (
        "eigentext const apply {model} SENTENCES.txt -o trees.mrg",
        'print(model.parse(["Some", "tokens"]).tree)',
    ),
    "tagger": (
        "eigentext tag apply {model} SENTENCES.txt -o tagged.bio",
        'print(model.tag(["Some", "tokens"]))',
    ),
}


def card_to_write(model: Path) -> Path:
    """Where the card goes: beside it; another file there, of somebody's own, is an error."""
    card = model.with_name(f"{model.name}.md")
    if card.exists() and not (card.is_file() and _SUM.encode() in card.read_bytes()):
        why = "no card of a model, and it is left as it is: move it away"
        raise DataError(str(card), None, why)
    return card


def model_card(header: Header, model: Path) -> str:
    """The card; a model that no recipe made has a short one.

    >>> from pathlib import Path
    >>> from eigentext.base.modelfile import read_header, save
    >>> _ = save("memory://card/m.model", "tagger", {}, settings={}, format_version=1,
    ...          data={"name": "mine", "licence": "CC0"})
    >>> print(model_card(read_header("memory://card/m.model"), Path("m.model")).splitlines()[0])
    # m: a tagger
    """
    about = header.data
    kind = KINDS[header.kind].what if header.kind in KINDS else header.kind
    title = about.get("title") or kind
    lines = [f"# {_stem(model)}: {title}", ""]
    if about.get("title"):
        lines += [f"{kind[:1].upper()}{kind[1:]}, language `{_text(about.get('language'))}`.", ""]
    if about.get("note"):
        lines += [_text(about["note"]), ""]
    if about.get("non_commercial"):
        lines += ["**Not for commercial use**: so say the terms of its data, below.", ""]
    lines += list(_use(header.kind, _stem(model)))
    lines += list(_data(about))
    if isinstance(scores := about.get("scores"), dict) and scores:
        lines += ["## Scores", "", f"In per cent, on {_listed(about.get('test'))}.", ""]
        usual = [name for names in SCORES.values() for name in names]
        order = sorted(scores, key=lambda name: usual.index(name) if name in usual else -1)
        lines += list(_table("score", {name: scores[name] for name in order}))
    lines += ["## How it was made", ""]
    if about.get("command"):
        lines += [f"    {_text(about['command'])}", ""]
    lines += [f"With eigentext {header.package_version}. Settings:", ""]
    lines += list(_table("setting", header.settings))
    lines += [f"{_SUM}: `{header.sha256}`"]
    return "\n".join(lines) + "\n"


def _stem(model: Path) -> str:
    return model.name.removesuffix(".model")


def _use(kind: str, name: str) -> Iterator[str]:
    if kind not in _USES:
        return
    command, python = _USES[kind]
    yield from ("## Use", "", f"    {command.format(model=name)}", "")
    code = f'import eigentext\n\nmodel = eigentext.load("{name}")\n{python}'
    yield from (f"    {line}" if line else "" for line in code.splitlines())
    yield ""


def _data(about: Mapping[str, object]) -> Iterator[str]:
    yield from ("## Data and licences", "")
    sources = about.get("sources")
    if not isinstance(sources, list):
        name, licence = _text(about.get("name")), _text(about.get("licence"))
        yield from (f"Trained on: {name or 'not stated'}. Licence: {licence or 'not stated'}.", "")
        return
    for source in sources:
        home = f", <{source['home']}>" if source.get("home") else ""
        yield f"- {_text(source.get('title'))}: {_text(source.get('licence'))}{home}"
        if source.get("terms"):
            yield f"  {_text(source['terms'])}"
    yield ""
    for part in ("train", "dev", "test", "text"):
        if about.get(part):
            yield f"- {part}: {_listed(about[part])}"
    sums = about.get("sha256")
    yield ""
    if isinstance(sums, dict):
        yield from _table("file", {name: f"`{value}`" for name, value in sums.items()}, "SHA-256")


def _listed(items: object) -> str:
    return "; ".join(_text(item) for item in items) if isinstance(items, list) else _text(items)


def _table(what: str, values: Mapping[str, object], value_of: str = "value") -> Iterator[str]:
    yield from (f"| {what} | {value_of} |", "|---|---|")
    for name, value in values.items():
        yield f"| {_cell(name)} | {_cell(value)} |"
    yield ""


def _cell(value: object) -> str:
    r"""A value in a table.

    >>> _cell(70.8), _cell(["a", "b"]), _cell([]), _cell(None), _cell("a|b")
    ('70.80', 'a, b', '-', '-', 'a\\|b')
    """
    if isinstance(value, list):
        value = ", ".join(map(_text, value))
    shown = f"{value:.2f}" if isinstance(value, float) and value == round(value, 2) else value
    return _text(shown).replace("|", "\\|") or "-"


def _text(value: object) -> str:
    """One line; the header may be anybody's."""
    return " ".join(str("" if value is None else value).split())
