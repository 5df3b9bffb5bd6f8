"""What our spaCy components share: one model, from a file or at hand, that the pipeline keeps."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from eigentext.base.model import from_bytes, load
from eigentext.base.registry import KINDS, located, wrong_kind
from eigentext.errors import DataError, MissingExtraError, SettingsError

try:
    import spacy  # noqa: F401
except ImportError as missing:
    raise MissingExtraError("spaCy components", extra="spacy", modules=["spacy"]) from missing

from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spacy.tokens import Doc, Token

_FILE = "model"


class ModelComponent:
    """A component that asks one of our models; made by ``nlp.add_pipe(FACTORY, config=...)``.

    ``path``  a model file, or the name of an installed one; or give a model to :meth:`use`
    """

    FACTORY: ClassVar[str]
    KINDS: ClassVar[tuple[str, ...]]  # of model files that will do

    def __init__(self, name: str, path: str | None = None) -> None:
        self.name = name
        self.path = path
        self._model: Any = None
        # A pipeline on disk brings its own copy: then the path it was trained from may be gone.
        if path is not None and (file := _there(path)) is not None:
            self._model = self._checked(load(file), path)

    @property
    def trained_model(self) -> Any:
        """The model in use; not ``model``, which spaCy asks for before there is one."""
        if self._model is None:
            if self.path is None:
                command = KINDS[self.KINDS[0]].command
                raise SettingsError(
                    f"{self.name} has no model: nlp.add_pipe('{self.FACTORY}', "
                    f"config={{'model': 'FILE'}}) with a file of `eigentext {command}`"
                )
            self._model = self._checked(load(self.path), self.path)  # says what is wrong there
        return self._model

    def use(self, model: object) -> None:
        """Take a trained model instead of a file."""
        self._model = self._checked(model, "<model>")

    def _checked(self, model: Any, path: str) -> Any:
        if model.KIND not in self.KINDS:
            raise wrong_kind(path, model.KIND, *self.KINDS)
        return model

    def __call__(self, doc: Doc) -> Doc:
        """Write the model's answers into the Doc."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Docs in their order, a batch at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self.annotate(batch)
            yield from batch

    def annotate(self, docs: list[Doc]) -> None:
        """Write the model's answers into all of these."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as the bytes of its file."""
        return bytes(self.trained_model.to_bytes())

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what :meth:`to_bytes` made."""
        self._model = self._checked(from_bytes(data), "<bytes>")
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model below a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.trained_model.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what :meth:`to_disk` wrote."""
        file = Path(path) / _FILE
        self._model = self._checked(load(file), str(file))
        return self


def _there(path: str) -> str | None:
    """The file of a path or of a name, if it is there."""
    try:
        file = located(path)
    except DataError:
        return None
    return file if Path(file).exists() else None


def registered(kind: type[ModelComponent], *assigns: str) -> Callable[..., ModelComponent]:
    """What spaCy calls for ``add_pipe``, a component of a model alone."""

    def create(nlp: Language, name: str, model: str | None) -> ModelComponent:
        return kind(name, model)

    config = {"model": None}
    Language.factory(kind.FACTORY, assigns=assigns, default_config=config, func=create)
    return create


def sentence_spans(doc: Doc) -> Iterable[Span]:
    """The sentences of a Doc; no boundaries: one sentence."""
    if not len(doc):
        return []
    return doc.sents if doc.has_annotation("SENT_START") else [doc[:]]


def sentences(doc: Doc) -> Iterator[list[Token]]:
    """The words of each sentence, without white space."""
    for span in sentence_spans(doc):
        if words := [token for token in span if not token.is_space]:
            yield words


def write_links(doc: Doc, heads: Sequence[int], relations: Sequence[str]) -> None:
    """All heads and relations at once; spaCy derives the sentence starts from them."""
    offsets = np.array(heads, dtype=np.int64) - np.arange(len(doc))
    labels = np.array([doc.vocab.strings.add(name) for name in relations], dtype=np.uint64)
    columns: Any = np.stack([offsets.view(np.uint64), labels], axis=1)
    doc.from_array([HEAD, DEP], columns)


def add_entities(doc: Doc, entities: Iterable[tuple[str, int, int]]) -> None:
    """Entities (label, first token, token after the last); those of the Doc go before them."""
    taken = {token.i for entity in doc.ents for token in entity}
    spans = [Span(doc, start, end, label=label) for label, start, end in entities]
    doc.ents = [*doc.ents, *(span for span in spans if not taken & {t.i for t in span})]
