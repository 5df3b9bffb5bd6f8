"""Penn Treebank brackets: constituent trees as text.

Each line is cut into pieces by one regular expression: ``(LABEL``, a word, or a run of ``)``.  The
pieces grow the arrays of ``trees.constituent.Tree``, a stack of open nodes says where each subtree
ends.  A tree may go over many lines, a line may hold many trees.  With ``on_error`` a bad tree is
left out and reading goes on at the next line that begins with a ``(`` as far left as the first.

A label or word is any run of characters but ASCII white space and parentheses; the label may be
missing, ``( (S ...))``.  Function tags, traces and ``-LRB-`` stay; ``escape`` and ``unescape`` go
between raw tokens and words that brackets can hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

import numpy as np

from eigentext.base.files.opening import OnError, Source, atomic_write, numbered_lines
from eigentext.base.tokens import each_of
from eigentext.errors import DataError
from eigentext.language.formats.blocks import all_of_file, is_file, shown
from eigentext.language.trees.constituent import Tree

_PIECE = re.compile(r"\([^ \t\n\r\f\v()]*|[^ \t\n\r\f\v()]+|\)+")
# A line as write_trees writes it; its units: a label, or a tag, its word and what closes behind.
_PLAIN = re.compile(r"(?:\((?:[^ \t\n\r\f\v()]++ [^ \t\n\r\f\v()]++\)++|[^ \t\n\r\f\v()]*+) ?+)++")
_UNIT = re.compile(r"\(([^ \t\n\r\f\v()]*+)(?: ([^ \t\n\r\f\v()]++)(\)++))?+")
_UNWRITABLE = re.compile(r"[ \t\n\r\f\v()]")

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_MOST_NODES = 1_000_000
_ESCAPED = re.compile("|".join(_BRACKETS))


def read_trees(source: Source, *, on_error: OnError | None = None) -> Iterator[Tree]:
    """Stream the trees of a file; a bad one is raised, or told to ``on_error`` and left out."""
    for _, tree in read_numbered_trees(source, on_error=on_error):
        yield tree


def read_numbered_trees(
    source: Source, *, on_error: OnError | None = None
) -> Iterator[tuple[int, Tree]]:
    """Stream (number of the line where the tree begins, tree) for the trees of a file."""
    path = os.fspath(source)
    if on_error is None:
        scanner = _Scanner(path)
        for number, line in numbered_lines(path):
            yield from scanner.trees_of(number, line)
        scanner.finish()
    else:
        yield from _read_on(path, on_error)


def _read_on(path: str, on_error: OnError) -> Iterator[tuple[int, Tree]]:
    """Read as much as can be saved: after a fault, go on where a tree seems to begin."""
    scanner = _Scanner(path)
    lost = False

    def bad_line(error: DataError) -> None:
        nonlocal lost
        lost = True
        scanner.drop()  # its tree cannot be whole
        on_error(error)

    margin: int | None = None  # white space before the first tree of the file
    for number, line in numbered_lines(path, on_error=bad_line):
        content = line.lstrip(" \t")
        indent = len(line) - len(content)
        if margin is None and content:
            margin = indent
        begins = content.startswith("(") and indent <= (margin or 0)
        if begins and scanner.seems_unclosed_before(content):
            on_error(scanner.unclosed(f"line {number} begins another tree"))
            scanner.drop()
        if lost and not begins:
            continue
        lost = False
        try:
            trees = scanner.trees_of(number, line)
        except DataError as error:
            trees = scanner.saved
            lost = True
            scanner.drop()
            on_error(error)
        yield from trees
    try:
        scanner.finish()
    except DataError as error:
        on_error(error)


def _plain_tree(line: str) -> Tree | None:
    """The tree of a line that holds exactly one; None if it must be looked at piece by piece."""
    if line.count("(") != line.count(")") or not _PLAIN.fullmatch(line):
        return None
    labels: list[str] = []
    sizes: list[int] = []
    open_nodes: list[int] = []
    for label, word, closing in _UNIT.findall(line):
        if not word:
            open_nodes.append(len(labels))
            labels.append(label)
            sizes.append(0)
            continue
        labels += (label, word)
        sizes += (2, 1)
        n_closed = len(closing) - 1  # besides the tag
        if n_closed:
            if n_closed > len(open_nodes):
                return None
            end = len(labels)
            for _ in range(n_closed):
                node = open_nodes.pop()
                sizes[node] = end - node
    return Tree.unchecked(labels, sizes) if sizes[0] == len(labels) else None


def is_tree(line: str) -> bool:
    """Whether a line is one whole tree of constituents and tagged words.

    >>> is_tree("(S (NP (NN rain)) (VP (VBZ falls)))"), is_tree("(see (a) and (b))")
    (True, False)
    """
    tree = _plain_tree(line.strip())
    return tree is not None and len(tree.labels) > 3


class _Scanner:
    """The tree that is being read, line by line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.labels: list[str] = []
        self.sizes: list[int] = []
        self.open_nodes: list[int] = []
        self.begun = 0  # the line where the tree begins
        self.last_line = 0
        self.saved: list[tuple[int, Tree]] = []  # good trees of the line that has a fault
        self.n_trees = 0
        self.one_a_line = True  # so far

    def drop(self) -> None:
        """Forget the tree that is being read."""
        self.labels, self.sizes, self.open_nodes = [], [], []

    def trees_of(self, number: int, line: str) -> list[tuple[int, Tree]]:
        """Take one line in; the trees that end on it."""
        labels, sizes, open_nodes = self.labels, self.sizes, self.open_nodes
        done: list[tuple[int, Tree]] = []
        self.saved = done
        self.last_line = number
        if not open_nodes:
            tree = _plain_tree(line)
            if tree is not None:
                self.begun = number
                self.n_trees += 1
                done.append((number, tree))
                return done
        # Is the last node a word whose tag is still open, so that nothing but ')' may follow?
        word_before = bool(open_nodes) and sizes[-1] == 1 and open_nodes[-1] == len(labels) - 2
        for piece in _PIECE.findall(line):
            mark = piece[0]
            if mark == "(":
                if word_before:
                    self._refuse_beside(number, piece)
                if not open_nodes:
                    self.begun = number
                open_nodes.append(len(labels))
                labels.append(piece[1:])
                sizes.append(0)
            elif mark == ")":
                n_closed = len(piece)
                if n_closed > len(open_nodes):
                    if done and not open_nodes:
                        done.pop()  # one ')' too many makes the tree before it doubtful
                    self._refuse(number, "unbalanced brackets: found one ')' too many")
                if not sizes[-1]:
                    self._refuse(number, f"found the empty constituent ({labels[-1]})")
                end = len(labels)
                for _ in piece:
                    node = open_nodes.pop()
                    sizes[node] = end - node
                word_before = False
                if not open_nodes:
                    self.one_a_line &= self.begun == number
                    self.n_trees += 1
                    done.append((self.begun, Tree.unchecked(labels, sizes)))
                    labels, sizes = self.labels, self.sizes = [], []
            elif not open_nodes:
                self._refuse(number, f"found {shown(piece)} outside a tree; expected '('")
            elif sizes[-1]:
                self._refuse_beside(number, piece)
            elif not labels[-1]:
                labels[-1] = piece  # a label after white space: ( NP ...
            else:
                labels.append(piece)
                sizes.append(1)
                word_before = True
        if len(labels) > _MOST_NODES:
            self._refuse(
                number, f"a tree of more than {_MOST_NODES:,} nodes, the most that is read"
            )
        return done

    def finish(self) -> None:
        """Say that the file has ended."""
        if self.open_nodes:
            raise self.unclosed(f"the file ended on line {self.last_line}")

    def seems_unclosed_before(self, line: str) -> bool:
        """Does a line that begins with ``(`` begin a new tree although this one is still open?

        Yes if it begins as the open tree does, or if the trees so far took one line each.
        """
        if not self.open_nodes:
            return False
        label = _PIECE.match(line)[0][1:]  # type: ignore[index]
        return label == self.labels[0] or (self.one_a_line and self.n_trees > 0)

    def unclosed(self, end: str) -> DataError:
        """The error for a tree that does not end."""
        n_missing = len(self.open_nodes)
        brackets = "1 ')' is" if n_missing == 1 else f"{n_missing} ')' are"
        why = f"unbalanced brackets: {brackets} missing in the tree that begins here; {end}"
        return DataError(self.path, self.begun, why)

    def _refuse(self, number: int, why: str) -> NoReturn:
        tree = f" (the tree begins on line {self.begun})" if self.begun != number else ""
        raise DataError(self.path, number, why + (tree if self.open_nodes else ""))

    def _refuse_beside(self, number: int, piece: str) -> NoReturn:
        why = f"found {shown(piece)} beside {shown(self.labels[-1])}; expected"
        self._refuse(number, f"{why} each word alone under its tag: (TAG word)")


def parse_tree(text: str) -> Tree:
    """Read one tree from a string; faults are DataErrors of the file ``<text>``.

    >>> parse_tree("( (S (NP-SBJ (PRP It)) (VP (VBZ rains))))").words
    ('It', 'rains')
    """
    scanner = _Scanner("<text>")
    trees = []
    for number, line in enumerate(text.split("\n"), start=1):
        trees += scanner.trees_of(number, line)
    if scanner.open_nodes:
        raise scanner.unclosed("the text ended")
    if len(trees) != 1:
        raise DataError("<text>", 1, f"found {len(trees)} trees; expected exactly one")
    return trees[0][1]


def format_tree(tree: Tree) -> str:
    """The tree on one line.

    >>> format_tree(parse_tree("(NP\\n  (DT the)\\n  (NN dog))"))
    '(NP (DT the) (NN dog))'
    """
    why = _why_unwritable(tree)
    if why:
        raise ValueError(why)
    return str(tree)


def _why_unwritable(tree: Tree) -> str | None:
    labels, sizes = tree.labels, tree.sizes
    if _UNWRITABLE.search("".join(labels)):
        label = next(label for label in labels if _UNWRITABLE.search(label))
        return f"found {shown(label)}; expected no white space and no parenthesis: see escape()"
    tags = np.flatnonzero(sizes == 1) - 1
    if not np.all(sizes[tags] == 2):
        return "found a word that is not alone under its tag"
    if "" in labels and not all(labels[tag] and labels[tag + 1] for tag in tags):
        return "found an empty word or tag"
    return None


def each_tree(trees: object) -> Iterator[Tree]:
    """Trees one by one: those at hand, of the sentences of a Doc, or of a file of brackets.

    >>> next(each_tree([Tree.from_brackets("(S (NN a))")])).words
    ('a',)
    """
    from eigentext.language.doc import Doc

    if is_file(trees):
        return all_of_file(read_trees(trees), os.fspath(trees))
    if isinstance(trees, Doc):
        return (
            Tree.from_brackets(sentence.brackets)
            for sentence in trees.sentences
            if sentence.brackets is not None
        )
    return each_of(Tree, trees, "trees")


def write_trees(trees: Iterable[Tree], path: Source) -> int:
    """Write one tree a line, atomically; returns how many.  ``-`` is stdout."""
    n_written = 0
    with atomic_write(path) as out:
        for tree in trees:
            n_written += 1
            why = _why_unwritable(tree)
            if why:
                raise DataError(os.fspath(path), n_written, f"cannot write this tree: {why}")
            out.write(f"{tree}\n".encode())
    return n_written


def escape(token: str) -> str:
    """The token as a word that brackets can hold: its parentheses become -LRB- and -RRB-.

    >>> escape("f(x)"), escape("[")
    ('f-LRB-x-RRB-', '[')
    """
    return token.replace("(", "-LRB-").replace(")", "-RRB-")


def unescape(word: str) -> str:
    """The token that a word of a treebank stands for: -LRB- is (, -RCB- is }, and so on.

    >>> unescape("-LRB-"), unescape("f-LRB-x-RRB-"), unescape("-LSB-")
    ('(', 'f(x)', '[')
    """
    return _ESCAPED.sub(lambda match: _BRACKETS[match[0]], word)
