"""The spaCy component ``eigentext_pipe``: everything that a pipeline knows, on spaCy's tokens.

``nlp.add_pipe("eigentext_pipe", config={"model": "english"})`` takes a pipeline of ``eigentext
pipe train`` by its file or its name.  It sets sentence starts, ``pos_``, ``tag_``, ``morph``,
``lemma_``, ``head``, ``dep_``, and ``ents`` where the pipeline finds entities.

* With ``retokenize`` (the default) the pipeline's own segmenter becomes ``nlp.tokenizer``.  A
  multiword token is cut where its words spell it (``cannot``: ``can not``); another one (``du``:
  ``de le``) stays one token, with tags, lemma and head of the word that the others hang from.
* Without it, and for Docs that something else has tokenised, the tokens stay; sentences stay where
  they are set, and else are the pipeline's.
* ``token._.words`` has the words' forms of a token that stands for several, and is None else.

Importing this module registers the component; spaCy finds it by its entry point, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

# first, since it says what is missing where spaCy is
from eigentext.integrations.spacy_component import ModelComponent, add_entities, write_links

# isort: split
from spacy.attrs import DEP, HEAD, LEMMA, MORPH, POS, SENT_START, TAG
from spacy.language import Language
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
from spacy.tokens import Doc, Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from spacy.vocab import Vocab

    from eigentext.language.doc import Doc as PipelineDoc
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Word
    from eigentext.pipeline import Pipeline

_SPACE = "dep"  # of white space to the word before it


class PipeTokenizer:
    """A tokenizer that asks the segmenter of the component's pipeline; it has no data itself."""

    def __init__(self, vocab: Vocab, component: PipeComponent) -> None:
        self.vocab = vocab
        self.component = component

    def __call__(self, text: str) -> Doc:
        """Tokens and white space, and the starts of sentences; nothing else yet."""
        doc: Doc = self.component.segmenter(text).to_spacy(self.vocab)
        return doc

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """One after the other."""
        return map(self, texts)

    def to_bytes(self, **_: object) -> bytes:
        """Nothing: the component keeps the model."""
        return b""

    def from_bytes(self, data: bytes, **_: object) -> Self:
        """Nothing."""
        return self

    def to_disk(self, path: str | Path, **_: object) -> None:
        """Nothing: the component keeps the model."""

    def from_disk(self, path: str | Path, **_: object) -> Self:
        """Nothing."""
        return self


class PipeComponent(ModelComponent):
    """Everything that a pipeline knows; made by ``nlp.add_pipe("eigentext_pipe", config=...)``.

    ``path``  a file of ``eigentext pipe train``, or the name of an installed pipeline; or give a
              trained one to :meth:`use`
    """

    FACTORY = "eigentext_pipe"
    KINDS = ("pipeline",)

    def __init__(self, name: str = "eigentext_pipe", path: str | None = None) -> None:
        super().__init__(name, path)
        self._segmenter: tuple[Any, Pipeline] | None = None  # and the model that it is of

    @property
    def segmenter(self) -> Pipeline:
        """The pipeline with its segmenter alone."""
        import copy

        whole = self.trained_model
        if self._segmenter is None or self._segmenter[0] is not whole:
            alone = copy.copy(whole)
            for stage in ("morphology", "parser", "const", "ner"):
                alone.use(stage, None)
            self._segmenter = whole, alone
        return self._segmenter[1]

    def annotate(self, docs: list[Doc]) -> None:
        """Write all answers into the Docs, which keep their tokens."""
        pipeline = self.trained_model
        spoken = [doc for doc in docs if len(doc)]
        if pipeline.segmenter_ is None:
            for doc in spoken:
                self._annotate_tokens(doc, None)
            return
        for doc, answer in zip(spoken, pipeline.pipe([doc.text for doc in spoken]), strict=True):
            annotated = answer.to_spacy(doc.vocab)
            if _cut(annotated) == _cut(doc):
                _copy(annotated, doc)
                _write_words(doc, answer)
            else:
                self._annotate_tokens(doc, answer)

    def _annotate_tokens(self, doc: Doc, answer: PipelineDoc | None) -> None:
        """The tokens are others than the pipeline's; so are sentences, if they are set."""
        tokens = [token for token in doc if not token.is_space]
        if not tokens:
            return
        if doc.has_annotation("SENT_START"):
            starts = {token.i for token in doc if token.is_sent_start}
        else:
            starts = _starts(doc, answer)
        groups: list[list[Token]] = []
        pending = True  # a start may be white space
        for token in doc:
            pending = pending or token.i in starts
            if not token.is_space:
                if pending:
                    groups.append([])
                groups[-1].append(token)
                pending = False
        forms = [[token.text for token in group] for group in groups]
        _write(doc, groups, self.trained_model(forms, keep="tokens").sentences)


def create(nlp: Language, name: str, model: str | None, retokenize: bool) -> PipeComponent:
    """What spaCy calls for ``add_pipe("eigentext_pipe")``."""
    component = PipeComponent(name, model)
    if retokenize:
        nlp.tokenizer = PipeTokenizer(nlp.vocab, component)
    return component


def _cut(doc: Doc) -> list[tuple[str, bool]]:
    """The tokens, and which of them begin a sentence."""
    return [(token.text, bool(token.is_sent_start)) for token in doc]


def _starts(doc: Doc, answer: PipelineDoc | None) -> set[int]:
    """The tokens at which the pipeline's sentences begin."""
    places = [] if answer is None else [sentence.start for sentence in answer.sentences]
    starts = {0}
    for token in doc:
        while places and token.idx + len(token) > places[0]:
            starts.add(token.i)
            places.pop(0)
    return starts


def _copy(annotated: Doc, doc: Doc) -> None:
    """What the first Doc knows, to the second, which has the same tokens."""
    linked = annotated.has_annotation("DEP")
    columns = [TAG, POS, LEMMA, MORPH, *((HEAD, DEP) if linked else (SENT_START,))]
    values: Any = annotated.to_array(columns)
    doc.from_array(columns, values)
    if annotated.ents:
        add_entities(doc, [(span.label_, span.start, span.end) for span in annotated.ents])


def _write_words(doc: Doc, answer: PipelineDoc) -> None:
    """The words of tokens that stand for several."""
    several = {
        token.start: tuple(sentence.forms[token.first - 1 : token.last])
        for sentence in answer.sentences
        for token in sentence.tokens
        if token.last > token.first
    }
    for token in doc:
        words = several.get(token.idx)
        if words is not None and token.text != words[0]:
            token._.words = words


class _Spoken(NamedTuple):
    """The word that speaks for a token, the number of the token above it (-1: none), all forms."""

    word: Word
    above: int
    forms: tuple[str, ...]
    entity: str


def _spoken(sentence: Sentence) -> Iterator[_Spoken]:
    """For each token of a sentence, in order."""
    words = sentence.words
    token_of = {
        number: at
        for at, token in enumerate(sentence.tokens)
        for number in range(token.first, token.last + 1)
    }
    for at, token in enumerate(sentence.tokens):
        inside = words[token.first - 1 : token.last]
        word = next((each for each in inside if token_of.get(each.head or 0) != at), inside[0])
        above = token_of[word.head] if word.head else -1
        entity = "O" if sentence.entities is None else sentence.entities[word.id - 1]
        yield _Spoken(word, above, tuple(each.form for each in inside), entity)


def _write(doc: Doc, groups: Sequence[Sequence[Token]], answers: Sequence[Sentence]) -> None:
    """The answers for groups of tokens, each a sentence."""
    from eigentext.evaluate.ner import entities

    heads = list(range(len(doc)))
    relations = [_SPACE] * len(doc)
    spans = []
    parsed = any(sentence.columns.heads is not None for sentence in answers)
    above = groups[0][0].i
    starts = {group[0].i for group in groups[1:]} | {0}
    for group, sentence in zip(groups, answers, strict=True):
        spoken = list(_spoken(sentence))
        for token, (word, head, forms, _) in zip(group, spoken, strict=True):
            _write_tags(token, word)
            if len(forms) > 1:
                token._.words = forms
            heads[token.i] = token.i if head < 0 else group[head].i
            relations[token.i] = "ROOT" if head < 0 else word.deprel
        for label, first, last in entities([each.entity for each in spoken]):
            spans.append((label, group[first].i, group[last - 1].i + 1))
    for token in doc:
        if not token.is_space:
            above = token.i
        else:
            heads[token.i] = above
    if parsed:
        write_links(doc, heads, relations)
    else:
        for token in doc:
            token.is_sent_start = token.i in starts
    if spans:
        add_entities(doc, spans)


def _write_tags(token: Token, word: Word) -> None:
    if word.upos in UNIVERSAL_TAGS:  # spaCy knows no others
        token.pos_ = word.upos
    tag = word.xpos if word.xpos != "_" else word.upos
    token.tag_ = "" if tag == "_" else tag
    token.lemma_ = "" if word.lemma == "_" else word.lemma
    token.set_morph("" if word.feats == "_" else word.feats)  # type: ignore[attr-defined]


Language.factory(
    "eigentext_pipe",
    assigns=[
        *("token.tag", "token.pos", "token.lemma", "token.morph", "token.dep", "token.head"),
        *("token.is_sent_start", "doc.sents", "doc.ents"),
    ],
    default_config={"model": None, "retokenize": True},
    func=create,
)
Token.set_extension("words", default=None, force=True)
