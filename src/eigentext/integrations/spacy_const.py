"""The spaCy component ``eigentext_const``: constituents of the sentences of a Doc.

Each sentence (something before it in the pipeline must set boundaries) is parsed without tokens of
white space.  The trees go to ``doc._.const_trees`` as plain lists, so they travel with
``Doc.to_bytes`` and ``DocBin(store_user_data=True)``; spans and tokens read them as in benepar:
``_.labels`` (top first; () for a word under its tag alone), ``_.parse_string``,
``_.constituents`` (itself first, words last in each), ``_.parent`` (None above a sentence) and
``_.children``.  A span that is no constituent raises :class:`NotAConstituentError`.

Importing this module registers all that; spaCy finds it by its entry point, too.

>>> import spacy
>>> from eigentext.constituency import LPCFG
>>> from eigentext.datasets import load_english
>>> from eigentext.language.trees.constituent import Tree
>>> nlp = spacy.blank("en")
>>> _ = nlp.add_pipe("sentencizer")
>>> trees = [Tree.from_brackets(line) for line in load_english("train")]
>>> nlp.add_pipe("eigentext_const").use(LPCFG(n_states=2).fit(trees))
>>> (sentence,) = nlp("The farmer sold the horse.").sents
>>> sentence._.parse_string
'(S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT the) (NN horse))) (. .))'
>>> [child._.labels for child in sentence._.children]
[('NP',), ('VP',), ()]
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.constituency import LPCFG
from eigentext.errors import SettingsError

# first, since it says what is missing where spaCy is
from eigentext.integrations.spacy_component import ModelComponent
from eigentext.language.formats.ptb import escape
from eigentext.language.trees.clean import WRAPPERS
from eigentext.language.trees.constituent import Tree

# isort: split
from spacy.language import Language
from spacy.tokens import Doc, Span, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eigentext.constituency.settings import Decoder


class NotAConstituentError(SettingsError):
    """The span is not a constituent of the tree of its sentence."""


class ConstituencyComponent(ModelComponent):
    """Parses the sentences of Docs; made by ``nlp.add_pipe("eigentext_const", config=...)``.

    ``path``      a file of ``eigentext const train``; or give a trained LPCFG to :meth:`use`
    ``decoder``   another one than the model's own
    ``set_tags``  also write the parser's tags to ``token.tag_``
    """

    FACTORY = "eigentext_const"
    KINDS = (LPCFG.KIND,)

    def __init__(
        self,
        name: str = "eigentext_const",
        path: str | None = None,
        decoder: Decoder | None = None,
        set_tags: bool = False,
    ) -> None:
        super().__init__(name, path)
        self.decoder = decoder
        self.set_tags = set_tags

    def annotate(self, docs: list[Doc]) -> None:
        """Parse every sentence."""
        for doc in docs:
            self._parse(doc)

    def _parse(self, doc: Doc) -> None:
        if len(doc) and not doc.has_annotation("SENT_START"):
            raise SettingsError(
                f"{self.name} needs sentence boundaries: put nlp.add_pipe('sentencizer'), "
                "a senter or a dependency parser before it"
            )
        trees = []
        for sentence in doc.sents if len(doc) else ():
            spoken = [token for token in sentence if not token.is_space]
            if not spoken:
                continue
            answer = self.trained_model.parse(
                [token.text for token in spoken], decoder=self.decoder
            )
            positions = [token.i for token in spoken]
            tree, flags = answer.tree, sorted(answer.flags)
            trees.append([positions, list(tree.labels), tree.sizes.tolist(), flags])
            if self.set_tags:
                for token, tag in zip(spoken, tree.tags, strict=True):
                    token.tag_ = tag
        doc._.const_trees = trees


def create(
    nlp: Language, name: str, model: str | None, decoder: str | None, set_tags: bool
) -> ConstituencyComponent:
    """What spaCy calls for ``add_pipe("eigentext_const")``."""
    chosen: Any = decoder
    return ConstituencyComponent(name, model, chosen, set_tags)


class _Constituent(NamedTuple):
    """Nodes with one span: tokens from ``start`` to ``end``, labels top first, the top node."""

    start: int
    end: int
    labels: tuple[str, ...]
    node: int
    parent: int


@lru_cache(maxsize=512)
def _layout(
    positions: tuple[int, ...], labels: tuple[str, ...], sizes: tuple[int, ...]
) -> tuple[list[_Constituent], Tree]:
    """Constituents of one sentence in preorder, and its tree without the wrapper on top."""
    if labels[0] in WRAPPERS and len(sizes) > 2 and sizes[1] == sizes[0] - 1:
        labels, sizes = labels[1:], sizes[1:]
    tree = Tree.unchecked(labels, sizes)
    constituents: list[_Constituent] = []
    above: list[int] = []  # constituents that are not finished
    for node, (first, last) in enumerate(tree.spans().tolist()):
        if sizes[node] == 1:
            continue
        start, end = positions[first], positions[last - 1] + 1
        named = () if sizes[node] == 2 else (labels[node],)
        if constituents and (constituents[-1].start, constituents[-1].end) == (start, end):
            constituents[-1] = constituents[-1]._replace(labels=constituents[-1].labels + named)
            continue
        while above and constituents[above[-1]].end <= start:
            above.pop()
        constituents.append(_Constituent(start, end, named, node, above[-1] if above else -1))
        above.append(len(constituents) - 1)
    return constituents, tree


def _find(span: Span) -> tuple[Doc, list[_Constituent], Tree, int]:
    """The constituent that the span is, as its place among those of its sentence."""
    doc, start, end = span.doc, span.start, span.end
    trees = doc._.const_trees
    if trees is None:
        raise SettingsError("this Doc has not been parsed: is eigentext_const in the pipeline?")
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    for positions, labels, sizes, _ in trees:
        if positions[0] <= start and end <= positions[-1] + 1:
            constituents, tree = _layout(tuple(positions), tuple(labels), tuple(sizes))
            for number, constituent in enumerate(constituents):
                if (constituent.start, constituent.end) == (start, end):
                    return doc, constituents, tree, number
    raise NotAConstituentError(f"{span.text!r} is not a constituent")


def _labels(span: Span) -> tuple[str, ...]:
    _, constituents, _, number = _find(span)
    return constituents[number].labels


def _parse_string(span: Span) -> str:
    _, constituents, tree, number = _find(span)
    node = constituents[number].node
    last = node + int(tree.sizes[node])
    part = Tree.unchecked(tree.labels[node:last], tree.sizes[node:last])
    return str(part.with_words([escape(word) for word in part.words]))


def _constituents(span: Span) -> Iterator[Span]:
    doc, constituents, _, number = _find(span)
    end = constituents[number].end
    for constituent in islice(constituents, number, None):
        if constituent.start >= end:
            return
        yield doc[constituent.start : constituent.end]


def _parent(span: Span) -> Span | None:
    doc, constituents, _, number = _find(span)
    if constituents[number].parent < 0:
        return None
    above = constituents[constituents[number].parent]
    return doc[above.start : above.end]


def _children(span: Span) -> Iterator[Span]:
    doc, constituents, _, number = _find(span)
    for constituent in constituents:
        if constituent.parent == number:
            yield doc[constituent.start : constituent.end]


def _of_token(read: Callable[[Span], Any], token: Token) -> Any:
    """The same attribute of a token, as a span of one."""
    return read(token.doc[token.i : token.i + 1])


# the component and the attributes; those of another package with the same names give way
Language.factory(
    "eigentext_const",
    default_config={"model": None, "decoder": None, "set_tags": False},
    func=create,
)
Doc.set_extension("const_trees", default=None, force=True)
_ATTRIBUTES: dict[str, Callable[[Span], Any]] = {
    "labels": _labels,
    "parse_string": _parse_string,
    "constituents": _constituents,
    "parent": _parent,
    "children": _children,
}
for _name, _read in _ATTRIBUTES.items():
    Span.set_extension(_name, getter=_read, force=True)
    Token.set_extension(_name, getter=partial(_of_token, _read), force=True)
