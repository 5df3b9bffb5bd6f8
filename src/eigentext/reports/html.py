"""A report: titles, text, tables and figures in one HTML file that needs nothing else.

The flow: calls of the builder in reading order -> escaped pieces of markup -> one page with its
style sheet inside -> a file, written whole or not at all.  The page reads well without JavaScript;
with it, tables sort by a click on a heading.  It follows light and dark mode, lets every text find
its own direction, prints well, and its own content policy forbids it the network.
"""

from __future__ import annotations

import base64
import hashlib
import math
import numbers
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike, fspath
from typing import NamedTuple

from eigentext import version
from eigentext.base.files.opening import atomic_write
from eigentext.drawing.svg import escape

Cell = str | int | float | bool | None
"""What a table may hold; numpy's scalars count as the numbers they are."""

_NOTHING = "–"


class _Heading(NamedTuple):
    """Where a section begins; it gets its number when the page is written."""

    title: str


class Report:
    """An HTML report, filled from top to bottom and then written.

    Every method returns the report, so that calls can be chained.

    >>> report = Report("Word clusters", "a small run")
    >>> page = report.section("Sizes").table(["words", "tokens"], [[50_000, 37_000_000]]).html()
    >>> "37,000,000" in page
    True
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self._title = title
        self._subtitle = subtitle
        self._pieces: list[str | _Heading] = []
        self._styles: list[str] = []
        self._scripts: list[str] = []

    def section(self, title: str) -> Report:
        """Start a section; sections are numbered in the table of contents."""
        return self._add(_Heading(title))

    def text(self, *paragraphs: str) -> Report:
        """Add paragraphs of plain text."""
        return self._add(*(f'<p dir="auto">{escape(paragraph)}</p>' for paragraph in paragraphs))

    def link(self, address: str, text: str) -> Report:
        """Add a paragraph that is a link, for example to a page beside this one."""
        return self._add(f'<p dir="auto"><a href="{escape(address)}">{escape(text)}</a></p>')

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        *,
        caption: str | None = None,
        digits: int = 3,
    ) -> Report:
        """Add a table.

        Columns that hold numbers only are aligned to the right; they show `digits` decimals, or
        none where all are integers.  None and NaN show as a dash.
        """
        if isinstance(header, str):
            raise TypeError("header must be a list of strings, not one str; did you mean a list?")
        cells = [list(row) for row in rows]
        for k, row in enumerate(cells):
            if len(row) != len(header):
                raise ValueError(f"row {k} has {len(row)} cells, but the header has {len(header)}")
        right = {
            column
            for column in range(len(header))
            if cells and all(_is_number(row[column]) or row[column] is None for row in cells)
        }
        decimals = [
            0 if all(isinstance(row[column], numbers.Integral | None) for row in cells) else digits
            for column in range(len(header))
        ]
        heads = "".join(
            f'<th scope="col" {_alignment(column in right)}>{escape(name)}</th>'
            for column, name in enumerate(header)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td {_alignment(column in right)}{_sort_key(cell)}>"
                f"{escape(_shown(cell, decimals[column]))}</td>"
                for column, cell in enumerate(row)
            )
            + "</tr>"
            for row in cells
        )
        title = f'<caption dir="auto">{escape(caption)}</caption>' if caption else ""
        return self._add(
            f'<div class="scroll" tabindex="0" role="group" '
            f'aria-label="{escape(caption or "table")}"><table>{title}'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def figure(self, svg: str, caption: str | None = None) -> Report:
        """Add a drawing or plot made by `eigentext.drawing`; SVG of others is not checked."""
        if not svg.lstrip().startswith("<svg"):
            raise ValueError(f"expected SVG that starts with <svg, found {svg.lstrip()[:20]!r}")
        note = f'<figcaption dir="auto">{escape(caption)}</figcaption>' if caption else ""
        return self._add(
            f'<figure><div class="scroll" tabindex="0" role="group" '
            f'aria-label="{escape(caption or "figure")}">{svg.strip()}</div>{note}</figure>'
        )

    def part(self, markup: str, *, style: str = "", script: str = "") -> Report:
        """Add markup of our own making, with what it needs; it is not checked nor escaped."""
        self._styles.append(style)
        self._scripts.append(script)
        return self._add(markup)

    def details(self, summary: str, *paragraphs: str, verbatim: bool = False) -> Report:
        """Add text that is folded away until asked for; `verbatim` keeps its lines as they are."""
        tag = "pre" if verbatim else "p"
        inside = "".join(f'<{tag} dir="auto">{escape(text)}</{tag}>' for text in paragraphs)
        return self._add(
            f'<details><summary dir="auto">{escape(summary)}</summary>{inside}</details>'
        )

    def extend(self, other: Report) -> Report:
        """Add all that another report holds, its title left out.

        >>> page = Report("Both").section("One").extend(Report("").section("Two")).html()
        >>> '<h2 id="section-2" dir="auto">Two</h2>' in page
        True
        """
        self._styles += other._styles
        self._scripts += other._scripts
        return self._add(*other._pieces)

    def html(self) -> str:
        """The whole page; the same calls give the same bytes."""
        assets = files("eigentext.reports")
        style = assets.joinpath("report.css").read_text(encoding="utf-8")
        script = assets.joinpath("report.js").read_text(encoding="utf-8")
        style = "\n".join([style, *dict.fromkeys(filter(None, self._styles))])
        script = "\n".join([script, *dict.fromkeys(filter(None, self._scripts))])
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        )
        subtitle = (
            f'<p class="subtitle" dir="auto">{escape(self._subtitle)}</p>'
            if self._subtitle
            else ""
        )
        markup, titles = [], []
        for piece in self._pieces:
            if isinstance(piece, _Heading):
                titles.append(escape(piece.title))
                piece = f'<h2 id="section-{len(titles)}" dir="auto">{titles[-1]}</h2>'
            markup.append(piece)
        contents = ""
        if len(titles) > 2:
            links = "".join(
                f'<li><a href="#section-{k}" dir="auto">{title}</a></li>'
                for k, title in enumerate(titles, start=1)
            )
            contents = f'<nav aria-label="Contents"><ol>{links}</ol></nav>'
        body = "\n".join(markup)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta name="generator" content="eigentext {version.VERSION}">\n'
            '<link rel="icon" href="data:,">\n'
            f"<title>{escape(self._title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
            f'<header><h1 dir="auto">{escape(self._title)}</h1>{subtitle}</header>\n'
            f"{contents}\n<main>\n{body}\n</main>\n"
            f"<footer>eigentext {version.VERSION}</footer>\n"
            f"<script>{script}</script>\n</body>\n</html>\n"
        )

    def write(self, path: str | PathLike[str]) -> None:
        """Write the page to a file (``-`` is standard output), whole or not at all."""
        page = self.html().encode("utf-8")
        with atomic_write(fspath(path)) as out:
            out.write(page)

    def _add(self, *pieces: str | _Heading) -> Report:
        self._pieces.extend(pieces)
        return self


def _is_number(cell: object) -> bool:
    return isinstance(cell, numbers.Real) and not isinstance(cell, bool)


def _alignment(numeric: bool) -> str:
    return 'class="number"' if numeric else 'dir="auto"'


def _sort_key(cell: Cell) -> str:
    """The exact number for sorting, where the cell shows a rounded one."""
    if cell is None or not _is_number(cell) or math.isnan(float(cell)):
        return ""
    exact = repr(float(cell)).replace("inf", "Infinity")  # as JavaScript spells it
    return f' data-key="{exact}"'


def _shown(cell: Cell, digits: int) -> str:
    if cell is None:
        return _NOTHING
    if isinstance(cell, bool) or type(cell).__name__ == "bool":  # numpy's own bool, too
        return "yes" if cell else "no"
    if isinstance(cell, numbers.Real):
        if isinstance(cell, numbers.Integral) and not digits:
            return f"{int(cell):,}".replace("-", "−")
        value = float(cell)
        if math.isnan(value):
            return _NOTHING
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        small = value != 0 and abs(value) < 0.5 * 10**-digits
        text = (
            f"{value:.{max(digits, 1)}g}"
            if small or abs(value) >= 1e12
            else f"{value:,.{digits}f}"
        )
        return text.replace("-", "−")
    return str(cell)
