"""The card of a model: Markdown made of what its header says, for who was given the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.base.registry import KINDS
from eigentext.errors import DataError
from eigentext.recipes.training import SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eigentext.base.modelfile import Header

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


def card_of(model: Path) -> Path:
    """Where the card of a model lies: beside it."""
    return model.with_name(f"{model.name}.md")


def card_to_write(model: Path) -> Path:
    """Where the card goes; another file of that name, of somebody's own, is an error."""
    card = card_of(model)
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


def _data(about: Mapping[str, Any]) -> Iterator[str]:
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


def _listed(items: Any) -> str:
    return "; ".join(_text(item) for item in items) if isinstance(items, list) else _text(items)


def _table(what: str, values: Mapping[str, Any], value_of: str = "value") -> Iterator[str]:
    yield from (f"| {what} | {value_of} |", "|---|---|")
    for name, value in values.items():
        yield f"| {_cell(name)} | {_cell(value)} |"
    yield ""


def _cell(value: Any) -> str:
    r"""A value in a table.

    >>> _cell(70.8), _cell(["a", "b"]), _cell([]), _cell(None), _cell("a|b")
    ('70.80', 'a, b', '-', '-', 'a\\|b')
    """
    if isinstance(value, list):
        value = ", ".join(map(_text, value))
    shown = f"{value:.2f}" if isinstance(value, float) and value == round(value, 2) else value
    return _text(shown).replace("|", "\\|") or "-"


def _text(value: Any) -> str:
    """One line; the header may be anybody's."""
    return " ".join(str("" if value is None else value).split())
