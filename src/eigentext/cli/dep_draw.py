"""``eigentext dep draw``: dependency trees as arcs, in SVG or on an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.inputs import sentences_of
from eigentext.cli.output import remark, write_picture

if TYPE_CHECKING:
    from eigentext.language.formats.conllu import ConlluBlock

    Pair = tuple[int, ConlluBlock, ConlluBlock | None]

Direction = Literal["auto", "ltr", "rtl"]
_MOST = 200  # trees on one page
_MOST_WORDS = 1000  # of a sentence: more takes minutes, and no page shows it


@with_flags()
def draw(
    trees: Annotated[str, typer.Argument(help="Trees, CoNLL-U or CoNLL-X; '-' is stdin.")],
    output: Annotated[
        str, options.written("--output", "-o", help="FILE.svg: one tree; FILE.html: all of them.")
    ],
    sentence: list[int] | None = flag("Which one, from 1; may be given often.", None, "-n", min=1),
    against: str | None = flag("Trees of the same sentences: differing arcs in colour."),
    width: int = flag("Break into rows of this many pixels; 0: never.", 840, min=0),
    direction: Direction = flag("Which way a sentence runs; auto: as the script does.", "auto"),
    quiet: options.Quiet = False,
) -> None:
    """Draw dependency trees as arcs above their sentences.

    With --against, what only the first file has is blue, what only the other has is orange and
    dashed, and a relation that differs shows both names.  Where a word's last column has
    `Prob=0.93`, as `dep apply --marginals` writes it, its arc is as strong as it is probable.
    Sentences of at most 1,000 words are drawn.

    Example:
        $ eigentext convert sample/dev.mrg -o gold.conllu
        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral
        $ eigentext dep draw gold.conllu -o tree.svg --sentence 3
        $ eigentext dep draw gold.conllu -o trees.html --against pred.conllu
    """
    from os.path import basename

    from eigentext.errors import DataError, SettingsError
    from eigentext.reports.html import Report

    as_page = output.endswith((".html", ".htm"))
    if not as_page and not output.endswith(".svg"):
        raise SettingsError(
            f"cannot draw to {output!r}: expected a name that ends in .svg or .html"
        )
    numbers = set(sentence or ([] if as_page else [1]))
    if not as_page and len(numbers) > 1:
        raise SettingsError("an .svg file holds one tree: one --sentence, or write to FILE.html")
    names = (basename(trees), basename(against or ""))
    report = Report("Dependency trees", " against ".join(filter(None, names)))
    drawn = left_out = 0
    last = 0
    for number, tree, other in _pairs(trees, against):
        last = number
        if numbers and number not in numbers:
            continue
        if drawn == _MOST:
            left_out += 1
            continue
        if len(tree) > _MOST_WORDS:
            why = f"sentence {number} has {len(tree):,} words; at most {_MOST_WORDS:,} are drawn"
            if numbers:
                raise DataError(tree.source, tree.first_line, why)
            remark(f"left out: {why}", quiet=quiet)
            left_out += 1
            continue
        svg = _svg(tree, other, names, width=width or None, direction=direction)
        drawn += 1
        if not as_page:
            write_picture(output, svg)
            return
        report.section(f"Sentence {number}").figure(svg, " ".join(tree.forms))
        if numbers and drawn == len(numbers):
            break
    missing = [number for number in sorted(numbers) if number > last]
    if missing:
        raise DataError(trees, None, f"there is no sentence {missing[0]}: the last is {last}")
    report.write(output)
    if left_out:
        remark(f"drew {drawn} trees, left out {left_out}: --sentence picks others", quiet=quiet)


def _pairs(trees: str, against: str | None) -> Iterator[Pair]:
    """(number, sentence, the other's sentence or None)."""
    from itertools import zip_longest

    from eigentext.errors import DataError

    if against is None:
        for number, sentence in enumerate(sentences_of(trees), start=1):
            yield number, sentence, None
        return
    both = zip_longest(sentences_of(trees), sentences_of(against))
    for number, (sentence, other) in enumerate(both, start=1):
        if sentence is None or other is None:
            shorter, longer = (trees, against) if sentence is None else (against, trees)
            why = f"ends after {number - 1} sentences, but {longer} has more"
            raise DataError(shorter, None, why)
        if sentence.forms != other.forms:
            why = f"the words of sentence {number} are not those in {trees}:{sentence.first_line}"
            raise DataError(against, other.first_line, why)
        yield number, sentence, other


def _svg(
    tree: ConlluBlock,
    other: ConlluBlock | None,
    names: tuple[str, str],
    *,
    width: int | None,
    direction: Direction,
) -> str:
    from eigentext.drawing.arcs import arcs_svg

    tags = tree.column(tree.COLUMNS[3])
    return arcs_svg(
        tree.forms,
        _heads(tree),
        _relations(tree),
        tags=tags if any(tag != "_" for tag in tags) else None,
        probabilities=None if other is not None else _probabilities(tree),
        against=None if other is None else _heads(other),
        against_relations=None if other is None else _relations(other),
        names=names,
        direction=direction,
        width=width,
    )


def _heads(sentence: ConlluBlock) -> tuple[int, ...]:
    from eigentext.errors import DataError

    heads = sentence.heads
    if heads is None:
        why = "the sentence that begins here has no heads; expected a tree to draw"
        raise DataError(sentence.source, sentence.first_line, why)
    return heads


def _relations(sentence: ConlluBlock) -> list[str]:
    relations = sentence.column("deprel")
    return ["" if relation == "_" else relation for relation in relations]


def _probabilities(sentence: ConlluBlock) -> list[float] | None:
    """``Prob=`` of the last column, when every word has one that is a probability."""
    from eigentext.language.formats.conllu import parse_pairs

    cells = [parse_pairs(row[9]).get("Prob") for row in sentence.rows]
    try:
        numbers = [float(cell) for cell in cells if cell is not None]
    except ValueError:
        return None
    fine = len(numbers) == len(cells) and all(0.0 <= p <= 1.0 for p in numbers)
    return numbers if fine else None
