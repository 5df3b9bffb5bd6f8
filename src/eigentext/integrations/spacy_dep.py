"""The spaCy component ``eigentext_dep``: heads and relations of the sentences of a Doc.

Sentences are those that something before it has set; a Doc without boundaries is one.  White space
tokens are left out of the parse and hang from the word before them, or from the first word.  The
parser goes by its own taggers where the model has them, and else by ``token.pos_``,
``token.tag_`` and ``token.morph``.  It sets ``token.head``, ``token.dep_`` and sentence starts,
and tags where a Doc has none and the model has taggers; ``doc._.dep_approximate`` tells whether a
greedy search found the trees (second order with crossing arcs).

Importing this module registers the component; spaCy finds it by its entry point, too.

>>> import spacy
>>> from eigentext.dependency import DependencyParser
>>> from eigentext.language.formats.conllu import make_sentence
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

from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, cast

from eigentext.dependency import DependencyParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError

# first, since it says what is missing where spaCy is
from eigentext.integrations.spacy_component import ModelComponent, sentence_spans, write_links

# isort: split
from spacy.language import Language
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
from spacy.tokens import Doc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spacy.tokens import Token

_SPACE = "dep"  # spaCy's relation of white space to the word before it


class _SpacySentence(NamedTuple):
    """A sentence on its way through the parser: which Doc, where in it, its words, their tags."""

    doc: int
    start: int
    end: int
    positions: list[int]  # of its words in the Doc; empty for white space alone
    words: TaggedSentence


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
        whole = list(chain.from_iterable(map(_sentences, count(), docs)))
        spoken = [sentence for sentence in whole if sentence.positions]
        tagged_sentences = self._tagged(docs, spoken)
        heads, relations = (
            self.trained_model.trees(tagged_sentences) if tagged_sentences else ([], [])
        )
        links = [[(i, "") for i in range(len(doc))] for doc in docs]  # head and relation
        for sentence, tree, names in zip(spoken, heads, relations, strict=True):
            for position, head, name in zip(sentence.positions, tree, names, strict=True):
                link = (sentence.positions[head - 1], name) if head else (position, self.root)
                links[sentence.doc][position] = link
        for sentence in whole:
            _hang_space(docs[sentence.doc], sentence, links[sentence.doc], self.root)
        for doc, linked in zip(docs, links, strict=True):
            if linked:
                write_links(doc, *zip(*linked, strict=True))
            settings = self.trained_model.arcs_.settings if spoken else None
            doc._.dep_approximate = (
                settings is not None and settings.order == 2 and not settings.projective
            )
        if self.set_tags is False or not spoken or self.trained_model.own_tags_ is None:
            return
        tagged = [self.set_tags is None and _has_tags(doc) for doc in docs]
        for sentence, columns in zip(spoken, tagged_sentences, strict=True):
            if not tagged[sentence.doc]:
                _write_tags(docs[sentence.doc], sentence.positions, columns)

    def _tagged(
        self, docs: Sequence[Doc], sentences: Sequence[_SpacySentence]
    ) -> list[TaggedSentence]:
        """What the parser goes by: its own tags, or those of the Docs."""
        if not sentences:
            return []
        if self.trained_model.own_tags_ is not None:
            forms = [sentence.words.forms for sentence in sentences]
            return cast("list[TaggedSentence]", self.trained_model.tag_all(forms))
        for sentence in sentences:
            if self.trained_model.tagged_ and not _has_tags(docs[sentence.doc]):
                raise SettingsError(
                    f"{self.name}: this model was trained with tags and has no taggers itself: "
                    "put a tagger before it, or train one with `eigentext dep train --tags own`"
                )
        return [sentence.words for sentence in sentences]


def create(
    nlp: Language, name: str, model: str | None, set_tags: bool | None, root: str
) -> DependencyComponent:
    """What spaCy calls for ``add_pipe("eigentext_dep")``."""
    return DependencyComponent(name, model, set_tags, root)


def _has_tags(doc: Doc) -> bool:
    return bool(doc.has_annotation("TAG") or doc.has_annotation("POS"))


def _words(tokens: Sequence[Token]) -> TaggedSentence:
    return TaggedSentence(
        tuple(token.text for token in tokens),
        tuple(token.pos_ or "_" for token in tokens),
        tuple(token.tag_ or "_" for token in tokens),
        tuple(str(token.morph) or "_" for token in tokens),
        tuple(token.lemma_ or "_" for token in tokens),
    )


def _sentences(number: int, doc: Doc) -> Iterator[_SpacySentence]:
    for span in sentence_spans(doc):
        spoken = [token for token in span if not token.is_space]
        positions = [token.i for token in spoken]
        yield _SpacySentence(number, span.start, span.end, positions, _words(spoken))


def _hang_space(
    doc: Doc, sentence: _SpacySentence, links: list[tuple[int, str]], root: str
) -> None:
    """White space hangs from a word of its sentence; where there is none, from its first token."""
    above = sentence.positions[0] if sentence.positions else sentence.start
    for position in range(sentence.start, sentence.end):
        if not doc[position].is_space:
            above = position
        elif sentence.positions or position > sentence.start:
            links[position] = (above, _SPACE)
        else:
            links[position] = (position, root)


def _write_tags(doc: Doc, positions: Sequence[int], columns: TaggedSentence) -> None:
    for position, upos, xpos in zip(positions, columns.upos, columns.xpos, strict=True):
        if upos in UNIVERSAL_TAGS:  # spaCy knows no others
            doc[position].pos_ = upos
        doc[position].tag_ = upos if xpos == "_" else xpos  # as spaCy's own models without xpos


Language.factory(
    "eigentext_dep",
    assigns="token.dep token.head token.is_sent_start doc.sents token.pos token.tag".split(),
    default_config={"model": None, "set_tags": None, "root": "ROOT"},
    func=create,
)
Doc.set_extension("dep_approximate", default=False, force=True)
