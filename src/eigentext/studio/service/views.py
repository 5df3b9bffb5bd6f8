"""From a request's text to what the answer shows: calls into the library, nothing of its own.

Trees: brackets -> `formats.ptb` -> `trees.clean` -> `trees.binarise` and
`trees.heads` -> `drawing.constituents`.  Raw text: `tokenise.tokens`.  Formats:
`language.formats.convert`.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg
from eigentext.errors import DataError
from eigentext.language.formats.convert import convert
from eigentext.language.formats.ptb import read_numbered_trees
from eigentext.language.tokenise.tokens import tokenise_text
from eigentext.language.trees.binarise import binarise, collapse
from eigentext.language.trees.clean import clean
from eigentext.language.trees.heads import HeadRules, to_dependencies
from eigentext.studio.api import schemas as wire
from eigentext.studio.service.limits import TooMuchError, check_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eigentext.language.trees.constituent import Tree
    from eigentext.studio.service.settings import ServiceSettings

#: How errors name the text of a request.
INPUT = "input"


@contextmanager
def as_file(text: str) -> Iterator[Path]:
    """A file that holds the text while it is read; faults in it name lines of the request."""
    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
        path = Path(folder, "input")
        path.write_bytes(text.encode("utf-8"))
        try:
            yield path
        except DataError as error:
            raise DataError(INPUT, error.line, error.why) from error


def converted(request: wire.ConvertRequest, limits: ServiceSettings) -> wire.ConvertAnswer:
    """The text in another format."""
    check_length(request.text, limits.max_characters)
    with as_file(request.text) as path:
        target = path.with_name("output")
        n_sentences = convert(
            str(path),
            str(target),
            source_format=request.source_format,
            target_format=request.target_format,
            heads=request.head_rules,
            strip=request.strip,
        )
        return wire.ConvertAnswer(
            text=target.read_bytes().decode("utf-8"), n_sentences=n_sentences
        )


def tree_views(request: wire.TreesRequest, limits: ServiceSettings) -> wire.TreesAnswer:
    """Everything the answer shows of the trees."""
    check_length(request.brackets, limits.max_characters)
    with as_file(request.brackets) as path:
        trees = list(islice(read_numbered_trees(path), limits.max_trees + 1))
    if len(trees) > limits.max_trees:
        raise TooMuchError(f"found more than {limits.max_trees} trees, the most that are drawn")
    if not trees:
        raise DataError(INPUT, None, "found no tree; expected brackets such as (NP (NN dog))")
    rules = HeadRules.english() if request.head_rules == "english" else HeadRules.neutral()
    return wire.TreesAnswer(
        trees=[_tree_view(line, tree, rules, limits.max_drawn_nodes) for line, tree in trees]
    )


def _tree_view(line: int, tree: Tree, rules: HeadRules, max_drawn_nodes: int) -> wire.TreeView:
    cleaned = clean(tree)
    if cleaned is None:
        raise DataError(INPUT, line, "found nothing but traces in this tree; expected words")
    binary = binarise(collapse(cleaned), heads=rules)
    arcs = to_dependencies(cleaned, rules)
    relations = arcs.relations or ("",) * len(arcs)
    tags = arcs.tags or ("",) * len(arcs)
    heads = arcs.heads.tolist()
    drawings = note = None
    if binary.n_nodes <= max_drawn_nodes and cleaned.n_nodes <= max_drawn_nodes:
        drawings = wire.Drawings(
            tree=tree_svg(cleaned, title="Constituent tree"),
            binarised=tree_svg(binary, title="Binarised tree"),
            arcs=arcs_svg(arcs.forms, heads, relations, tags=tags, title="Dependencies"),
        )
    else:
        note = (
            f"no drawings: the tree has {cleaned.n_nodes:,} nodes, {binary.n_nodes:,} when "
            f"binarised; at most {max_drawn_nodes:,} are drawn"
        )
    return wire.TreeView(
        line=line,
        n_words=len(arcs),
        brackets=str(cleaned),
        binarised=str(binary),
        dependencies=[
            wire.Dependency(id=i, form=form, tag=tag, head=head, relation=relation)
            for i, (form, tag, head, relation) in enumerate(
                zip(arcs.forms, tags, heads, relations, strict=True), start=1
            )
        ],
        drawings=drawings,
        note=note,
    )


def tokens_view(request: wire.TokeniseRequest, limits: ServiceSettings) -> wire.TokeniseAnswer:
    """The sentences and tokens of a raw text."""
    check_length(request.text, limits.max_characters)
    token_lists = tokenise_text(
        request.text,
        request.scheme,
        one_per_line=request.one_per_line,
        escape_brackets=request.escape_brackets,
    )
    sentences = [
        wire.SentenceView(
            tokens=[wire.TokenView(text=t.form, start=t.start, end=t.end) for t in tokens]
        )
        for tokens in token_lists
    ]
    return wire.TokeniseAnswer(
        sentences=sentences, n_tokens=sum(len(sentence.tokens) for sentence in sentences)
    )
