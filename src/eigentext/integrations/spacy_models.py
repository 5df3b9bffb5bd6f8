"""spaCy components over our models: ``eigentext_tag``, ``eigentext_ner`` and ``eigentext_lex``.

* ``eigentext_tag``  a tagger (`eigentext tag train`, `hmm train --tagged`): ``token.tag_``, and
  ``token.pos_`` where the tags are universal ones;
* ``eigentext_ner``  a tagger of entities (BIO2): ``doc.ents``;
* ``eigentext_lex``  a ranker of analyses (`eigentext lex train`): ``token.lemma_``,
  ``token.morph``, and part of speech.

Sentences are those that something before has set; a Doc without boundaries is one sentence.  White
space tokens are passed over.  Importing this module registers the components; with the entry
points of the installed package spaCy finds them by itself.  They need the extra ``spacy``.

>>> import spacy
>>> from eigentext.tagging import SequenceTagger
>>> tagger = SequenceTagger(epochs=3).fit([["Ada", "met", "her"]] * 5, [["B-PER", "O", "O"]] * 5)
>>> nlp = spacy.blank("en")
>>> nlp.add_pipe("eigentext_ner").use(tagger)
>>> [(entity.text, entity.label_) for entity in nlp("Ada met her").ents]
[('Ada', 'PER')]
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from eigentext.base.model import load
from eigentext.base.registry import KINDS, wrong_kind
from eigentext.errors import MissingExtraError, SettingsError

try:
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
    from spacy.tokens import Doc, Span
except ImportError as missing:
    raise MissingExtraError("spaCy components", extra="spacy", modules=["spacy"]) from missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spacy.tokens import Token

__all__ = ["EntityComponent", "LexicalComponent", "ModelComponent", "TaggerComponent"]

_FILE = "model"


class ModelComponent:
    """A component that asks one of our models; made by ``nlp.add_pipe(FACTORY, config=...)``.

    ``model``  a model file; or give a trained model to :meth:`use`
    """

    FACTORY: ClassVar[str]
    KINDS: ClassVar[tuple[str, ...]]  # of model files that will do

    def __init__(self, name: str, model: str | None = None) -> None:
        self.name = name
        self.path = model
        self._model: Any = None
        # A pipeline on disk brings its own copy: then the path it was trained from may be gone.
        if model is not None and Path(model).exists():
            self._model = self._checked(load(model), model)

    @property
    def model(self) -> Any:
        """The model in use."""
        if self._model is None:
            if self.path is None:
                command = KINDS[self.KINDS[0]].command
                raise SettingsError(
                    f"{self.name} has no model: nlp.add_pipe('{self.FACTORY}', "
                    f"config={{'model': 'FILE'}}) with a file of `eigentext {command}`"
                )
            self._model = self._checked(load(self.path), self.path)  # says what is wrong there
        return self._model

    def use(self, model: Any) -> None:
        """Take a trained model instead of a file."""
        self._model = self._checked(model, "<model>")

    def _checked(self, model: Any, path: str) -> Any:
        if model.KIND not in self.KINDS:
            raise wrong_kind(path, model.KIND, *self.KINDS)
        return model

    def __call__(self, doc: Doc) -> Doc:
        """Write the model's answers into the Doc."""
        for words in _sentences(doc):
            self.annotate(doc, words)
        return doc

    def annotate(self, doc: Doc, words: list[Token]) -> None:
        """The answer for one sentence, of which ``words`` are the tokens that are not space."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as the bytes of its file."""
        return bytes(self.model.to_bytes())

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what :meth:`to_bytes` made."""
        from eigentext.base.model import from_bytes

        self._model = self._checked(from_bytes(data), "<bytes>")
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model below a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what :meth:`to_disk` wrote."""
        file = Path(path) / _FILE
        self._model = self._checked(load(file), str(file))
        return self


class TaggerComponent(ModelComponent):
    """Part-of-speech tags."""

    FACTORY = "eigentext_tag"
    KINDS = ("tagger", "latent-tagger")

    def annotate(self, doc: Doc, words: list[Token]) -> None:
        """Set ``tag_``, and ``pos_`` where spaCy knows the tag."""
        tags = self.model.tag([token.text for token in words])
        for token, tag in zip(words, tags, strict=True):
            token.tag_ = tag
            if tag in UNIVERSAL_TAGS:
                token.pos_ = tag


class EntityComponent(ModelComponent):
    """Named entities."""

    FACTORY = "eigentext_ner"
    KINDS = ("tagger", "latent-tagger")

    def annotate(self, doc: Doc, words: list[Token]) -> None:
        """Add the entities of the sentence; those that the Doc has stay where they overlap."""
        from eigentext.evaluate.ner import entities

        tags = self.model.tag([token.text for token in words])
        taken = {token.i for entity in doc.ents for token in entity}
        found = list(doc.ents)
        for label, start, end in entities(tags):
            span = Span(doc, words[start].i, words[end - 1].i + 1, label=label)
            if not taken & {token.i for token in span}:
                found.append(span)
        doc.ents = found


class LexicalComponent(ModelComponent):
    """Lemma, morphology and part of speech: the best analysis of each word in context."""

    FACTORY = "eigentext_lex"
    KINDS = ("lexical",)

    def annotate(self, doc: Doc, words: list[Token]) -> None:
        """Set ``lemma_``, ``morph``, and ``pos_`` or ``tag_``."""
        ranker = self.model
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


def _sentences(doc: Doc) -> Iterator[list[Token]]:
    if not len(doc):
        return
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    for span in spans:
        if words := [token for token in span if not token.is_space]:
            yield words


def create_tag(nlp: Language, name: str, model: str | None) -> TaggerComponent:
    """What spaCy calls for ``add_pipe("eigentext_tag")``."""
    return TaggerComponent(name, model)


def create_ner(nlp: Language, name: str, model: str | None) -> EntityComponent:
    """What spaCy calls for ``add_pipe("eigentext_ner")``."""
    return EntityComponent(name, model)


def create_lex(nlp: Language, name: str, model: str | None) -> LexicalComponent:
    """What spaCy calls for ``add_pipe("eigentext_lex")``."""
    return LexicalComponent(name, model)


def _register() -> None:
    config = {"model": None}
    of_tags = ["token.tag", "token.pos"]
    Language.factory("eigentext_tag", assigns=of_tags, default_config=config, func=create_tag)
    Language.factory("eigentext_ner", assigns=["doc.ents"], default_config=config, func=create_ner)
    Language.factory(
        "eigentext_lex",
        assigns=["token.lemma", "token.morph", *of_tags],
        default_config=config,
        func=create_lex,
    )


_register()
