"""Two files of constituent trees to EVALB's figures, with errors that name file and line.

1. Gold trees may go over several lines; predictions are one a line, and an empty line or ``(())``
   is a failed parse.
2. Predictions of other sentences are refused.  A few words that differ are an error of EVALB's
   own (status 1); but where most sentences have other words, the wrong file was given, and figures
   over the few that are left would mean nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from eigentext.base.files.opening import Source, numbered_lines
from eigentext.errors import DataError
from eigentext.evaluate.parseval import Failed, ParsevalResult, evaluate, parse_prediction
from eigentext.language.formats.blocks import shown
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees, unescape
from eigentext.language.trees.clean import strip_traces
from eigentext.language.trees.constituent import Tree


def read_predictions(source: Source) -> Iterator[tuple[int, Tree | None]]:
    """Line numbers and trees of a parser's output; None for a failed parse."""
    path = os.fspath(source)
    for number, line in numbered_lines(path):
        try:
            yield number, parse_prediction(line)
        except DataError as error:
            raise DataError(path, number, error.why) from None


def evaluate_files(
    gold: Source, parsed: Source, settings: EvalbSettings | None = None, *, failed: Failed = "skip"
) -> ParsevalResult:
    """Score the trees of one file against those of another, in order.

    >>> from eigentext.base.files.opening import atomic_write
    >>> for name in ("gold", "predicted"):
    ...     with atomic_write(f"memory://{name}.mrg") as out:
    ...         _ = out.write(b"(S (NP (PRP We)) (VP (VBP sing)))\\n")
    >>> evaluate_files("memory://gold.mrg", "memory://predicted.mrg").all.f1
    100.0
    """
    names = os.fspath(gold), os.fspath(parsed)
    right = list(read_trees(gold))
    predictions = list(read_predictions(parsed))
    result = evaluate(
        right, (tree for _, tree in predictions), settings, failed=failed, names=names
    )
    others = [
        (line, *words)
        for gold_tree, (line, test_tree) in zip(right, predictions, strict=True)
        if test_tree is not None and (words := _first_difference(gold_tree, test_tree)) is not None
    ]
    if 2 * len(others) > sum(tree is not None for _, tree in predictions):
        line, expected, word = others[0]
        raise DataError(
            names[1],
            line,
            f"found {word}, expected {expected}: {len(others)} of {len(predictions)} trees are "
            f"not of the sentences in {names[0]}",
        )
    return result


def _first_difference(gold: Tree, predicted: Tree) -> tuple[str, str] | None:
    """The first words that differ, traces apart, as shown to a person."""
    mine, its = (
        [] if (tree := strip_traces(original)) is None else [unescape(word) for word in tree.words]
        for original in (gold, predicted)
    )
    if mine == its:
        return None
    n = next(
        (k for k, pair in enumerate(zip(mine, its, strict=False)) if pair[0] != pair[1]),
        min(len(mine), len(its)),
    )
    return _shown(mine, n), _shown(its, n)


def _shown(words: list[str], index: int) -> str:
    return shown(words[index]) if index < len(words) else "the end of the sentence"
