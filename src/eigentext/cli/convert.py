"""``eigentext convert``: between formats of text and trees, from counts to tables, to pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from os.path import basename
from typing import TYPE_CHECKING, Literal

from eigentext.base.files.opening import check_writable
from eigentext.base.files.storage import is_url
from eigentext.cli import options
from eigentext.cli.command import Flags, flag, with_flags
from eigentext.cli.inputs import is_model, kind_of_model, sentences_of
from eigentext.cli.output import write_picture
from eigentext.cli.verbs import Applying
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.registry import CONVERTIBLE

if TYPE_CHECKING:
    from eigentext.language.formats.conllu import ConlluBlock

    Pair = tuple[int, ConlluBlock, ConlluBlock | None]

Direction = Literal["auto", "ltr", "rtl"]
_NAMES = f"{', '.join(CONVERTIBLE[:-1])} or {CONVERTIBLE[-1]}"
_PICTURES = (".svg", ".html", ".htm")
_MOST = 200  # trees on one page
_MOST_WORDS = 1000  # of a sentence: more takes minutes, and no page shows it


@dataclass(kw_only=True)
class FormatFlags(Flags):
    """What means something between formats of text and trees."""

    from_: str | None = flag(f"{_NAMES}; else by name.")
    to: str | None = flag(f"{_NAMES}; else by name.")
    heads: str = flag("Head rules for ptb to dependencies: english, neutral.", "english")
    strip: bool = flag(
        "Remove traces, function tags and indices from brackets.", True, "--strip/--no-strip"
    )


@dataclass(kw_only=True)
class DrawingFlags(Flags):
    """What means something of drawings."""

    sentence: list[int] | None = flag(
        "Draw this one, from 1; may be given often.", None, "-n", min=1
    )
    against: str | None = flag("Draw with trees of the same sentences: differences in colour.")
    width: int = flag("Break a drawing into rows of this many pixels; 0: never.", 840, min=0)
    direction: Direction = flag("Which way a sentence runs; auto: as the script does.", "auto")


@with_flags()
def convert(
    source: options.Source,
    run: Applying,
    formats: FormatFlags,
    drawing: DrawingFlags,
    pairs: str | None = flag(
        "Of counts: where to write left, right, distance and count.", written=True
    ),
) -> None:
    """Convert between formats of text and trees, draw trees, open counts.

    PTB brackets become dependencies by head rules.  Counts become tables (Parquet) for a database
    or another program: OUTPUT has words and counts.

    Where OUTPUT is FILE.svg or FILE.html, dependency trees are drawn as arcs above their
    sentences, one in an .svg, all on a page.  With --against, what only the first file has is
    blue, what only the other has is orange and dashed, and a relation that differs shows both
    names.  Where a word's last column has `Prob=0.93`, as `dep apply --marginals` writes it, its
    arc is as strong as it is probable.  Sentences of at most 1,000 words are drawn.

    Example:
        $ eigentext convert sample/dev.mrg -o gold.conllu
        $ eigentext convert sample/dev.mrg --to tokens
        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral
        $ eigentext convert gold.conllu -o tree.svg --sentence 3
        $ eigentext convert gold.conllu -o trees.html --against pred.conllu
        $ eigentext words count sample/text.txt -o text.counts
        $ eigentext convert text.counts -o words.parquet --pairs pairs.parquet
    """
    picture = run.output.endswith(_PICTURES)
    # a pipe can be read but once
    counts = not picture and (os.path.isfile(source) or is_url(source)) and is_model(source)
    if not picture:
        drawing.refuse("is for drawings: expected --output FILE.svg or FILE.html")
    if picture or counts:
        formats.refuse("is for files of text and trees")
    if pairs is not None and not counts:
        raise SettingsError("--pairs is for counts")
    if picture:
        _draw(source, run, drawing)
    elif counts:
        from eigentext.counting.counts import Counts

        kind_of_model(source, "counts")
        if run.output == "-":
            raise SettingsError("counts become tables: expected --output FILE.parquet")
        check_writable(run.output, pairs)
        Counts.load(source).to_tables(run.output, pairs)
    else:
        from eigentext.language.formats.convert import convert as convert_file

        with run.reading() as (log, _):
            n_sentences = convert_file(
                source,
                run.output,
                source_format=formats.from_,
                target_format=formats.to,
                heads=formats.heads,
                strip=formats.strip,
                on_error=log,
            )
        run.tell({"sentences": n_sentences, "skipped": run.skipped})


def _draw(trees: str, run: Applying, flags: DrawingFlags) -> None:
    from eigentext.reports.html import Report

    as_page = not run.output.endswith(".svg")
    numbers = set(flags.sentence or ([] if as_page else [1]))
    if not as_page and len(numbers) > 1:
        raise SettingsError("an .svg file holds one tree: one --sentence, or write to FILE.html")
    names = (basename(trees), basename(flags.against or ""))
    report = Report("Dependency trees", " against ".join(filter(None, names)))
    drawn = left_out = last = 0
    for number, tree, other in _pairs(trees, flags.against):
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
            run.remark(f"left out: {why}")
            left_out += 1
            continue
        svg = _svg(tree, other, names, width=flags.width or None, direction=flags.direction)
        drawn += 1
        if not as_page:
            write_picture(run.output, svg)
            return
        report.section(f"Sentence {number}").figure(svg, " ".join(tree.forms))
        if numbers and drawn == len(numbers):
            break
    missing = [number for number in sorted(numbers) if number > last]
    if missing:
        raise DataError(trees, None, f"there is no sentence {missing[0]}: the last is {last}")
    report.write(run.output)
    if left_out:
        run.remark(f"drew {drawn} trees, left out {left_out}: --sentence picks others")


def _pairs(trees: str, against: str | None) -> Iterator[Pair]:
    """(number, sentence, the other's sentence or None)."""
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
    heads = sentence.heads
    if heads is None:
        why = "the sentence that begins here has no heads; expected a tree to draw"
        raise DataError(sentence.source, sentence.first_line, why)
    return heads


def _relations(sentence: ConlluBlock) -> list[str]:
    return ["" if relation == "_" else relation for relation in sentence.column("deprel")]


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
