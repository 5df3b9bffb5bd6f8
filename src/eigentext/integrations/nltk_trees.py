"""Convert trees of NLTK, and use our parsers and taggers through its interfaces.

``from_nltk`` reads anything with NLTK's manners (children with a ``label()``): it needs no NLTK.

>>> from eigentext.language.trees.constituent import Tree
>>> tree = Tree.from_brackets("(S (NP (PRP I)) (VP (VBP am)))")
>>> from_nltk(to_nltk(tree)) == tree
True
>>> from eigentext.datasets import load_english
>>> from eigentext.constituency import LPCFG
>>> trees = [Tree.from_brackets(line) for line in load_english("train")]
>>> parser = nltk_parser(LPCFG(n_states=1).fit(trees))
>>> print(next(parser.parse("The farmer slept .".split())))
(TOP (S (NP (DT The) (NN farmer)) (VP (VBD slept)) (. .)))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from eigentext.errors import import_extra
from eigentext.language.trees.constituent import Tree

_END = object()  # the children of the last unfinished node are done


class _HasTree(Protocol):
    """Such as a ``constituency.Parse``."""

    @property
    def tree(self) -> Tree: ...


def from_nltk(tree: object) -> Tree:
    """An eigentext Tree from an ``nltk.Tree`` whose leaves are strings.

    To train a parser: ``LPCFG().fit(map(from_nltk, corpus.parsed_sents()))``.
    """
    labels: list[str] = []
    sizes: list[int] = []
    pending: list[Any] = [tree]
    unfinished: list[int] = []
    while pending:
        item = pending.pop()
        if item is _END:
            node = unfinished.pop()
            sizes[node] = len(labels) - node
        elif isinstance(item, str):
            labels.append(item)
            sizes.append(1)
        elif callable(getattr(item, "label", None)):
            if not len(item):
                raise ValueError(f"constituent {item.label()!r} has no children")
            unfinished.append(len(labels))
            pending.append(_END)
            pending.extend(reversed(list(item)))
            labels.append(str(item.label()))
            sizes.append(0)
        else:
            raise TypeError(
                f"expected an nltk.Tree over strings, found a {type(item).__name__} in it"
            )
    if not sizes or sizes[0] == 1:
        raise TypeError("expected an nltk.Tree, found a str")
    return Tree.unchecked(labels, sizes)


def to_nltk(tree: Tree | _HasTree) -> Any:
    """An ``nltk.Tree`` from a tree, or from the tree of a parse."""
    new_tree = import_extra("nltk", "NLTK trees").Tree
    source = tree if isinstance(tree, Tree) else tree.tree
    built: list[Any] = [None] * source.n_nodes
    for node in range(source.n_nodes - 1, -1, -1):
        if source.sizes[node] == 1:
            built[node] = source.labels[node]
        else:
            below = [built[child] for child in source.children(node)]
            built[node] = new_tree(source.labels[node], below)
    return built[0]


def nltk_parser(model: Any, *, kbest: int = 1) -> Any:
    """An ``nltk.parse.api.ParserI`` over an LPCFG; ``parse`` gives the ``kbest`` best trees."""
    base: Any = import_extra("nltk.parse.api", "parsers of NLTK").ParserI

    class Parser(base):  # type: ignore[misc]
        """Trees of the model, the best first."""

        def parse(self, sent: Sequence[str], *_: object, **__: object) -> Iterator[Any]:
            parse = model.parse(list(sent), kbest=kbest)
            trees = [candidate.tree for candidate in parse.kbest] or [parse.tree]
            return (to_nltk(tree) for tree in trees)

    return Parser()


def nltk_tagger(model: Any) -> Any:
    """An ``nltk.tag.api.TaggerI`` over a SequenceTagger or a LatentTagger."""
    base: Any = import_extra("nltk.tag.api", "taggers of NLTK").TaggerI

    class Tagger(base):  # type: ignore[misc]
        """(word, tag) pairs."""

        def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
            words = list(tokens)
            return list(zip(words, model.tag(words), strict=True)) if words else []

    return Tagger()
