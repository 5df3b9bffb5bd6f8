"""The spaCy component ``eigentext_dep``: heads and relations of the sentences of a Doc.

1. Sentences are those that something before it in the pipeline has set (a sentencizer, a senter);
   a Doc without boundaries is one sentence.  White space tokens are left out of the parse and hang
   from the word before them in their sentence, or from its first word.
2. The parser goes by its own taggers where the model has them, and else by ``token.pos_``,
   ``token.tag_`` and ``token.morph``, which must then be there if the model was trained with tags.
3. ``token.head``, ``token.dep_`` and sentence starts are set, and ``token.pos_`` and
   ``token.tag_`` where a Doc has no tags and the model has taggers;
   ``doc._.dep_approximate`` tells whether a greedy search found the trees (second order with
   crossing arcs).

Importing this module registers the component; with the entry point of the installed package spaCy
finds it by itself.  It needs the extra ``spacy``.

>>> import spacy
>>> from eigentext.dependency import DependencyParser
>>> from eigentext.formats.conllu import make_sentence
>>> tree = make_sentence(["The", "dog", "barks"], upos=["DET", "NOUN", "VERB"],
...                      head=[2, 3, 0], deprel=["det", "nsubj", "root"])
>>> nlp = spacy.blank("en")
>>> parser = DependencyParser(tags="own", epochs=2, bits=16).fit([tree] * 12)
>>> nlp.add_pipe("eigentext_dep").use(parser)
>>> [(token.text, token.dep_, token.head.text) for token in nlp("The dog barks")]
[('The', 'det', 'dog'), ('dog', 'nsubj', 'barks'), ('barks', 'ROOT', 'barks')]
>>> [token.pos_ for token in nlp("The dog barks")]
['DET', 'NOUN', 'VERB']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.dependency import DependencyParser
from eigentext.dependency.graph.encode import Columns
from eigentext.errors import SettingsError

# first, since it says what is missing where spaCy is
from eigentext.integrations.spacy_component import ModelComponent

# isort: split
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
from spacy.tokens import Doc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spacy.tokens import Token

__all__ = ["DependencyComponent", "create"]

_SPACE = "dep"  # spaCy's relation of white space to the word before it


class _Sentence(NamedTuple):
    """A sentence on its way through the parser: which Doc, where in it, its words, their tags."""

    doc: int
    start: int
    end: int
    places: list[int]  # of its words in the Doc; empty for white space alone
    columns: Columns


class DependencyComponent(ModelComponent):
    """Parses the sentences of Docs; made by ``nlp.add_pipe("eigentext_dep", config=...)``.

    ``path``      a file of ``eigentext dep train``; or give a trained parser to :meth:`use`
    ``set_tags``  write the parser's own tags to ``token.pos_`` and ``token.tag_``: None: in Docs
                  that have none, True: in all of them, False: never
    ``root``      the relation of a root: spaCy and its users go by ``ROOT``
    """

    FACTORY = "eigentext_dep"
    KINDS = (DependencyParser.KIND,)

    def __init__(
        self,
        name: str = "eigentext_dep",
        path: str | None = None,
        set_tags: bool | None = None,
        root: str = "ROOT",
    ) -> None:
        super().__init__(name, path)
        self.set_tags = set_tags
        self.root = root

    def annotate(self, docs: list[Doc]) -> None:
        """Parse every sentence; those of all Docs together."""
        whole = [one for number, doc in enumerate(docs) for one in _sentences(number, doc)]
        given = [one for one in whole if one.places]
        known = self._tagged(docs, given)
        heads, relations = self.model.predict_columns(known) if known else ([], [])
        links: list[list[tuple[int, str]]] = [[(i, "") for i in range(len(doc))] for doc in docs]
        for one, tree, names in zip(given, heads, relations, strict=True):
            for place, head, name in zip(one.places, tree, names, strict=True):
                link = (one.places[head - 1], name) if head else (place, self.root)
                links[one.doc][place] = link
        for one in whole:
            _hang_space(docs[one.doc], one, links[one.doc], self.root)
        for doc, linked in zip(docs, links, strict=True):
            _write_links(doc, linked)
            settings = self.model.arcs_.settings if given else None
            doc._.dep_approximate = (
                settings is not None and settings.order == 2 and not settings.projective
            )
        if self.set_tags is False or not given or self.model.own_tags_ is None:
            return
        tagged = [self.set_tags is None and _has_tags(doc) for doc in docs]
        for one, columns in zip(given, known, strict=True):
            if not tagged[one.doc]:
                _write_tags(docs[one.doc], one.places, columns)

    def _tagged(self, docs: Sequence[Doc], given: Sequence[_Sentence]) -> list[Columns]:
        """What the parser goes by: its own tags, or those of the Docs."""
        if not given:
            return []
        if self.model.own_tags_ is not None:
            own: list[Columns] = self.model.own_columns([one.columns.forms for one in given])
            return own
        for one in given:
            if self.model.tagged_ and not _has_tags(docs[one.doc]):
                raise SettingsError(
                    f"{self.name}: this model was trained with tags and has no taggers itself: "
                    "put a tagger before it, or train one with `eigentext dep train --tags own`"
                )
        return [one.columns for one in given]


def create(
    nlp: Language, name: str, model: str | None, set_tags: bool | None, root: str
) -> DependencyComponent:
    """What spaCy calls for ``add_pipe("eigentext_dep")``."""
    return DependencyComponent(name, model, set_tags, root)


def _has_tags(doc: Doc) -> bool:
    return bool(doc.has_annotation("TAG") or doc.has_annotation("POS"))


def _columns(tokens: Sequence[Token]) -> Columns:
    return Columns(
        tuple(token.text for token in tokens),
        tuple(token.pos_ or "_" for token in tokens),
        tuple(token.tag_ or "_" for token in tokens),
        tuple(str(token.morph) or "_" for token in tokens),
    )


def _sentences(number: int, doc: Doc) -> Iterator[_Sentence]:
    if not len(doc):
        return
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    for span in spans:
        spoken = [token for token in span if not token.is_space]
        places = [token.i for token in spoken]
        yield _Sentence(number, span.start, span.end, places, _columns(spoken))


def _hang_space(doc: Doc, one: _Sentence, links: list[tuple[int, str]], root: str) -> None:
    """White space hangs from a word of its sentence; where there is none, from its first token."""
    above = one.places[0] if one.places else one.start
    for place in range(one.start, one.end):
        if not doc[place].is_space:
            above = place
        elif one.places or place > one.start:
            links[place] = (above, _SPACE)
        else:
            links[place] = (place, root)


def _write_links(doc: Doc, links: Sequence[tuple[int, str]]) -> None:
    """All heads and relations at once; spaCy derives the sentence starts from them."""
    if not len(doc):
        return
    offsets = np.array([head - place for place, (head, _) in enumerate(links)], dtype=np.int64)
    labels = np.array([doc.vocab.strings.add(name) for _, name in links], dtype=np.uint64)
    columns: Any = np.stack([offsets.view(np.uint64), labels], axis=1)
    doc.from_array([HEAD, DEP], columns)


def _write_tags(doc: Doc, places: Sequence[int], columns: Columns) -> None:
    for place, upos, xpos in zip(places, columns.upos, columns.xpos, strict=True):
        if upos in UNIVERSAL_TAGS:  # spaCy knows no others
            doc[place].pos_ = upos
        doc[place].tag_ = upos if xpos == "_" else xpos  # as spaCy's own models without xpos


def _register() -> None:
    Language.factory(
        "eigentext_dep",
        assigns=[
            "token.dep",
            "token.head",
            "token.is_sent_start",
            "doc.sents",
            "token.pos",
            "token.tag",
        ],
        default_config={"model": None, "set_tags": None, "root": "ROOT"},
        func=create,
    )
    Doc.set_extension("dep_approximate", default=False, force=True)


_register()
