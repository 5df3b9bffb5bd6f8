"""spaCy components over our models: ``eigentext_tag``, ``eigentext_ner`` and ``eigentext_lex``.

They set ``token.tag_`` (and ``token.pos_`` where the tags are universal ones), ``doc.ents``, and
``token.lemma_``, ``token.morph`` and part of speech.  Sentences are those that something before
has set; a Doc without boundaries is one.  White space tokens are passed over.  Importing this
module registers the components, or the entry points do (extra ``spacy``).

>>> import spacy
>>> from eigentext.tagging.sequence import SequenceTagger
>>> tagger = SequenceTagger(epochs=3).fit([["Ada", "met", "her"]] * 5, [["B-PER", "O", "O"]] * 5)
>>> nlp = spacy.blank("en")
>>> nlp.add_pipe("eigentext_ner").use(tagger)
>>> [(entity.text, entity.label_) for entity in nlp("Ada met her").ents]
[('Ada', 'PER')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# first, since it says what is missing where spaCy is
from eigentext.integrations.spacy_component import (
    ModelComponent,
    add_entities,
    registered,
    sentences,
)

# isort: split
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


class SentenceComponent(ModelComponent):
    """One that goes sentence by sentence."""

    def annotate(self, docs: list[Doc]) -> None:
        """Write the model's answers into all of these."""
        for doc in docs:
            for words in sentences(doc):
                self.annotate_sentence(doc, words)

    def annotate_sentence(self, doc: Doc, words: list[Token]) -> None:
        """The answer for one sentence, of which ``words`` are the tokens that are not space."""
        raise NotImplementedError


class TaggerComponent(SentenceComponent):
    """Part-of-speech tags."""

    FACTORY = "eigentext_tag"
    KINDS = ("tagger", "latent-tagger")

    def annotate_sentence(self, doc: Doc, words: list[Token]) -> None:
        """Set ``tag_``, and ``pos_`` where spaCy knows the tag."""
        tags = self.trained_model.tag([token.text for token in words])
        for token, tag in zip(words, tags, strict=True):
            token.tag_ = tag
            if tag in UNIVERSAL_TAGS:
                token.pos_ = tag


class EntityComponent(SentenceComponent):
    """Named entities."""

    FACTORY = "eigentext_ner"
    KINDS = ("tagger", "latent-tagger")

    def annotate_sentence(self, doc: Doc, words: list[Token]) -> None:
        """Add the entities of the sentence; those that the Doc has stay where they overlap."""
        from eigentext.evaluate.ner import entities

        tags = self.trained_model.tag([token.text for token in words])
        spans = (
            (kind, words[start].i, words[end - 1].i + 1) for kind, start, end in entities(tags)
        )
        add_entities(doc, spans)


class LexicalComponent(SentenceComponent):
    """Lemma, morphology and part of speech: the best analysis of each word in context."""

    FACTORY = "eigentext_lex"
    KINDS = ("lexical",)

    def annotate_sentence(self, doc: Doc, words: list[Token]) -> None:
        """Set ``lemma_``, ``morph``, and ``pos_`` or ``tag_``."""
        ranker = self.trained_model
        for token, ranked in zip(words, ranker.rank([t.text for t in words]), strict=True):
            values = ranker.scheme_.as_mapping(ranked.best.label)
            token.lemma_ = values.pop("lemma", "") or token.text
            upos = values.pop("upos", "")
            if upos in UNIVERSAL_TAGS:
                token.pos_ = upos
            if tag := values.pop("pos", "") or upos:
                token.tag_ = tag
            features = {
                name[:1].upper() + name[1:]: value
                for name, value in values.items()
                if value and value != ranker.scheme_.missing
            }
            token.set_morph(features)  # type: ignore[attr-defined]


create_tag = registered(TaggerComponent, "token.tag", "token.pos")
create_ner = registered(EntityComponent, "doc.ents")
create_lex = registered(LexicalComponent, "token.lemma", "token.morph", "token.tag", "token.pos")
