"""The hierarchy of word clusters: from paths to a tree, and the tree as a drawing.

1. :func:`tree_of_paths` gathers the words of each path, most frequent first, and sorts the paths;
   a prefix is then a range of them.
2. Nodes are the prefixes at which paths part, and the paths themselves as leaves; a step from node
   to node may have several bits.  A path that is a prefix of others (which no Brown tool writes,
   but truncated files have) is a leaf of its own below that prefix.
3. :func:`cluster_tree_svg` opens the prefixes with most clusters until there is no more room,
   and draws what is open from left to right: bits on the branches, words at the ends.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush, nlargest
from itertools import accumulate
from typing import NamedTuple

from eigentext.base.files.opening import OnError
from eigentext.drawing.svg import elide, escape, number, printable, svg_document, text_width
from eigentext.errors import DataError
from eigentext.language.formats.brown_paths import PathEntry

_ROW = 24.0
_STEP = 58.0  # between generations, where there is room
_WIDEST = 640.0  # of the branches
_GAP = 8.0
_SMALL = 11.0
_WORDS = 13.5
_LONGEST_WORD = 24


class ClusterNode(NamedTuple):
    """A prefix of ``length`` bits, which the clusters ``first`` up to ``end`` share."""

    length: int
    first: int
    end: int
    parent: int  # -1 for the root


@dataclass(frozen=True)
class ClusterTree:
    """Clusters in the order of their bits, and the prefixes at which they part."""

    bits: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]  # of each cluster, by decreasing count
    counts: tuple[tuple[int, ...], ...]  # of these words; 0 where that is unknown
    nodes: tuple[ClusterNode, ...]  # every parent before its children, the root first
    counted: bool  # whether any count is known

    @property
    def n_words(self) -> int:
        """How many words all clusters have."""
        return sum(map(len, self.words))

    @property
    def n_tokens(self) -> int:
        """How often all words were seen."""
        return sum(map(sum, self.counts))

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Numbers of the nodes below each node, in the order of their bits; that of -1 is 0."""
        below: dict[int, list[int]] = {}
        for k, node in enumerate(self.nodes):
            below.setdefault(node.parent, []).append(k)
        return below

    @cached_property
    def _before(self) -> tuple[list[int], list[int]]:
        """Words and tokens of all clusters before each, and of all of them."""
        return (
            list(accumulate(map(len, self.words), initial=0)),
            list(accumulate(map(sum, self.counts), initial=0)),
        )

    def sizes(self, node: ClusterNode) -> tuple[int, int, int]:
        """How many clusters, words and tokens are below a node.

        >>> tree = tree_of_paths([PathEntry("0", "a", 5), PathEntry("1", "b", 9)])
        >>> tree.sizes(tree.nodes[0]), tree.sizes(tree.nodes[1])
        ((2, 2, 14), (1, 1, 5))
        """
        words, tokens = self._before
        first, end = node.first, node.end
        return end - first, words[end] - words[first], tokens[end] - tokens[first]

    @cached_property
    def _ranges(self) -> dict[tuple[int, int], int]:
        return {(node.first, node.end): k for k, node in enumerate(self.nodes)}

    def node_at(self, prefix: str) -> int | None:
        """The number of the node that all clusters with this prefix share; None: there are none.

        >>> tree = tree_of_paths([PathEntry("0", "a", 5), PathEntry("101", "b", 9)])
        >>> tree.node_at("10"), tree.node_at("11")
        (2, None)
        """
        first = bisect_left(self.bits, prefix)
        # after all that begins so, since no bit is "2"
        end = bisect_left(self.bits, prefix + "2", first)
        return self._ranges.get((first, end))

    def prefix(self, node: ClusterNode) -> str:
        """The bits of a node."""
        return self.bits[node.first][: node.length]

    def paths(self) -> dict[str, str]:
        """The bits of every word."""
        return {
            word: path for path, words in zip(self.bits, self.words, strict=True) for word in words
        }

    def examples(self, node: ClusterNode, k: int) -> list[str]:
        """The k most frequent words below a node; without counts, the first ones of each cluster.

        >>> entries = [PathEntry("0", "a", 5), PathEntry("10", "b", 9), PathEntry("11", "c", 7)]
        >>> tree = tree_of_paths(entries)
        >>> tree.examples(tree.nodes[0], 2)
        ['b', 'c']
        """
        candidates = (
            (self.counts[c][rank], -rank, -c)
            for c in range(node.first, node.end)
            for rank in range(min(k, len(self.words[c])))
        )
        return [self.words[-c][-rank] for _, rank, c in nlargest(k, candidates)]


def read_tree(source: str, *, on_error: OnError | None = None) -> ClusterTree:
    """The tree of a paths file, whichever tool wrote it.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/tree", ["00\\tcat\\t3", "01\\tdog\\t4", "1\\tthe\\t9"])
    >>> read_tree("memory://doc/tree").bits
    ('00', '01', '1')
    """
    from eigentext.language.formats.brown_paths import read_paths

    entries = list(read_paths(source, on_error=on_error))
    if not entries:
        raise DataError(os.fspath(source), None, "no words, expected bits TAB word TAB count")
    return tree_of_paths(entries)


def tree_of_paths(entries: Iterable[PathEntry]) -> ClusterTree:
    """The tree of words with their bits; at least one.

    >>> tree = tree_of_paths([PathEntry("0", "a", 5), PathEntry("101", "b", 9)])
    >>> [tree.prefix(node) for node in tree.nodes]
    ['', '0', '101']
    """
    members: dict[str, list[tuple[int, str]]] = {}
    counted = False
    for entry in entries:
        members.setdefault(entry.bits, []).append((entry.count or 0, entry.word))
        counted = counted or entry.count is not None
    if not members:
        raise ValueError("a tree needs at least one word")
    bits = tuple(sorted(members))
    for words in members.values():
        words.sort(key=lambda pair: -pair[0])  # stable: equals stay in the file's order
    return ClusterTree(
        bits,
        tuple(tuple(word for _, word in members[path]) for path in bits),
        tuple(tuple(count for count, _ in members[path]) for path in bits),
        tuple(_nodes(bits)),
        counted,
    )


def _nodes(bits: tuple[str, ...]) -> list[ClusterNode]:
    """Prefixes at which sorted paths part, and the paths, parents first."""
    nodes: list[ClusterNode] = []
    waiting = [(0, len(bits), -1)]
    while waiting:
        first, end, parent = waiting.pop()
        if end - first == 1:
            nodes.append(ClusterNode(len(bits[first]), first, end, parent))
            continue
        # sorted: what the first and the last share, all between share
        low, high = bits[first], bits[end - 1]
        length = next((i for i, bit in enumerate(low) if bit != high[i : i + 1]), len(low))
        here = len(nodes)
        nodes.append(ClusterNode(length, first, end, parent))
        start = first + (len(bits[first]) == length)
        middle = bisect_left(bits, high[:length] + "1", start, end)
        waiting += [
            (a, b, here) for a, b in ((middle, end), (start, middle), (first, start)) if a < b
        ]
    return nodes


def _open(tree: ClusterTree, most: int, root: int) -> set[int]:
    """The nodes shown with their children, those with most clusters first."""
    nodes, shown, n_ends = tree.nodes, set(), 1
    queue = [(nodes[root].first - nodes[root].end, root)]
    while queue:
        _, k = heappop(queue)
        below = tree.children.get(k, [])
        if not below or n_ends + len(below) - 1 > most:
            continue
        shown.add(k)
        n_ends += len(below) - 1
        for child in below:
            heappush(queue, (nodes[child].first - nodes[child].end, child))
    return shown


def cluster_tree_svg(tree: ClusterTree, *, ends: int = 40, words: int = 7, root: int = 0) -> str:
    """The tree from left to right, with at most so many ends, each with its most frequent words.

    ``root`` is the number of the node to begin with.

    >>> svg = cluster_tree_svg(tree_of_paths([PathEntry("0", "cat", 5), PathEntry("1", "<b>", 9)]))
    >>> svg.startswith("<svg ") and "&lt;b&gt;" in svg
    True
    """
    shown, children = _open(tree, max(ends, 1), root), tree.children
    nodes, generation, order = tree.nodes, {root: 0}, []
    stack = [root]
    while stack:  # top to bottom
        k = stack.pop()
        order.append(k)
        if k in shown:
            for child in reversed(children[k]):
                generation[child] = generation[k] + 1
                stack.append(child)
    leaves = [k for k in order if k not in shown]
    step = min(_STEP, _WIDEST / max(max(generation.values()), 1))
    y = {k: _ROW * (row + 0.75) for row, k in enumerate(leaves)}
    for k in reversed(order):
        if k in shown:
            y[k] = (y[children[k][0]] + y[children[k][-1]]) / 2
    x = {k: 10 + step * generation[k] for k in order}
    edge = max(x[k] for k in order)
    lines, parts, widest = [], [], 0.0
    for k in order:
        if k == root:
            continue
        node, parent = nodes[k], nodes[k].parent
        lines.append(f"M{number(x[parent])} {number(y[parent])}V{number(y[k])}H{number(x[k])}")
        bits = tree.bits[node.first][nodes[parent].length : node.length]
        room = max(int((step - 6) / 6.6), 1)
        parts.append(
            _text("et-tag", x[parent] + 5, y[k] - 7, elide(bits, room), bits, _SMALL, 0.65)
        )
    for k in leaves:
        if x[k] < edge:  # a faint line to where the words stand
            parts.append(
                f'<path d="M{number(x[k] + 4)} {number(y[k])}H{number(edge)}" fill="none" '
                'stroke="currentColor" stroke-opacity="0.18" stroke-dasharray="1 4"/>'
            )
        node = nodes[k]
        examples = [elide(printable(word), _LONGEST_WORD) for word in tree.examples(node, words)]
        _, n_words, _ = tree.sizes(node)
        many = f"{node.end - node.first} clusters, " if node.end - node.first > 1 else ""
        note = f"{tree.prefix(node) or 'all'}: {many}{n_words:,} words"
        # each word between isolates, so that none turns the others' order
        row = " · ".join(f"\u2068{escape(word)}\u2069" for word in examples)
        parts.append(_text("et-word", edge + _GAP, y[k], row, note, _WORDS, 1.0))
        label = f"{node.end - node.first} clusters" if many else ""
        width = text_width(" · ".join(examples), _WORDS) + _GAP
        if label:
            parts.append(_text("et-tag", edge + _GAP + width, y[k], label, "", _SMALL, 0.6))
            width += text_width(label, _SMALL)
        widest = max(widest, width)
    drawn = (
        f'<path class="et-edge" d="{"".join(lines)}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.45" stroke-width="1.3"/>'
    )
    description = "; ".join(
        f"{tree.prefix(nodes[k]) or 'all'}: {' '.join(tree.examples(nodes[k], 3))}" for k in leaves
    )
    return svg_document(
        edge + widest + 2 * _GAP,
        _ROW * (len(leaves) + 0.5),
        title="Cluster tree",
        description=description,
        parts=[drawn, *parts],
    )


def _text(
    role: str, x: float, y: float, markup: str, note: str, size: float, opacity: float
) -> str:
    """Text that starts at x, its middle at y, with a note for the pointer."""
    tooltip = f"<title>{escape(note)}</title>" if note and note != markup else ""
    weight = ' font-weight="500"' if role == "et-word" else ""
    return (
        f'<text class="{role}" x="{number(x)}" y="{number(y + 0.36 * size)}" text-anchor="start" '
        f'font-size="{number(size)}"{weight} fill-opacity="{number(opacity)}">'
        f"{markup}{tooltip}</text>"
    )
