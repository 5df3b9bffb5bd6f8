"""Documents of labelled words, out of the two formats that gold comes in.

JSON Lines: a sentence a line, ``{"doc": ..., "words": [{"form", "label", "scored", "vocalised",
"gloss"}, ...]}``, the labels factored into elements; the sample's own sentences name the right
analysis of the sample lexicon by its id.  CoNLL-U: the scheme makes labels of lemma, tags and
features.  Sentences of one document are gathered under its id, in the order of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from eigentext.base.files.opening import Source, numbered_lines, raise_or_tell
from eigentext.errors import DataError, SettingsError, shortened
from eigentext.language.formats.conllu import ConlluBlock, read_sentences
from eigentext.language.formats.registry import format_of
from eigentext.language.token import Word
from eigentext.lexical.schemes.labels import Label, LabelScheme, load_scheme

_NOT_SCORED = frozenset({"PUNCT", "SYM"})
_DOCUMENTS = ("auto", "newdoc", "source", "sentence")


class LexWord(NamedTuple):
    """A word as typed, and what is known of it."""

    form: str
    label: Label | None = None
    scored: bool = True
    vocalised: str = ""
    gloss: str = ""


class LexDocument(NamedTuple):
    """The sentences of one document.

    >>> text = LexDocument("d1", [[LexWord("a"), LexWord("b")], [LexWord("c")]])
    >>> [word.form for word in text.words()]
    ['a', 'b', 'c']
    """

    id: str
    sentences: list[list[LexWord]]

    def words(self) -> Iterator[LexWord]:
        """All words in order."""
        for sentence in self.sentences:
            yield from sentence


def _gathered(sentences: Iterable[tuple[str, list[LexWord]]]) -> list[LexDocument]:
    documents: dict[str, LexDocument] = {}
    for name, words in sentences:
        documents.setdefault(name, LexDocument(name, [])).sentences.append(words)
    return list(documents.values())


def read_words_jsonl(
    path: Source,
    scheme: LabelScheme | None = None,
    *,
    on_error: Callable[[DataError], None] | None = None,
) -> list[LexDocument]:
    """Read documents of labelled words (default scheme: ``arabic14``).

    >>> import tempfile, pathlib
    >>> line = '{"doc": "d", "words": [{"form": "و", "label": {"pos": "C"}, "scored": true}]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "w.jsonl")
    ...     _ = path.write_text(line, encoding="utf-8")
    ...     read_words_jsonl(path)[0].sentences[0][0].form
    'و'
    """
    labels = scheme or load_scheme("arabic14")

    def sentences() -> Iterator[tuple[str, list[LexWord]]]:
        for number, text in numbered_lines(path):
            if not text.strip():
                continue
            try:
                yield _sentence(text, str(path), number, labels)
            except DataError as error:
                raise_or_tell(error, on_error)

    return _gathered(sentences())


def _sentence(text: str, path: str, line: int, scheme: LabelScheme) -> tuple[str, list[LexWord]]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(path, line, f"expected JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("words"), list):
        raise DataError(path, line, 'expected an object with a list "words"')
    words = [_word(item, path, line, scheme) for item in record["words"]]
    return str(record.get("doc", "")), words


def _word(item: object, path: str, line: int, scheme: LabelScheme) -> LexWord:
    if not isinstance(item, dict) or not isinstance(item.get("form"), str):
        raise DataError(path, line, f'expected a word with a "form", found {str(item)[:60]}')
    label = item.get("label")
    if label is not None:
        if not isinstance(label, dict) or not all(isinstance(v, str) for v in label.values()):
            raise DataError(path, line, 'expected a "label" with strings for its elements')
        try:
            label = scheme.gold_label(label)
        except SettingsError as error:
            raise DataError(path, line, str(error)) from error
    return LexWord(
        item["form"],
        label,
        bool(item.get("scored", label is not None)),
        str(item.get("vocalised") or ""),
        str(item.get("gloss") or ""),
    )


def read_conllu_documents(
    path: Source,
    scheme: LabelScheme,
    *,
    documents: str = "auto",
    on_error: Callable[[DataError], None] | None = None,
) -> list[LexDocument]:
    """Read a treebank's syntactic words as documents; punctuation and signs are not scored.

    ``documents`` says what a document is: ``newdoc`` (its comments), ``source`` (the comment
    ``orig_file_sentence`` up to ``#``), ``sentence`` (each sentence is one), or ``auto`` (the
    first of these that the file has).
    """
    if documents not in _DOCUMENTS:
        raise SettingsError(f"documents is one of {', '.join(_DOCUMENTS)}, not {documents!r}")

    def sentences() -> Iterator[tuple[str, list[LexWord]]]:
        announced = ""
        for number, sentence in enumerate(read_sentences(path, on_error=on_error), start=1):
            announced = _announced(sentence, number) or announced
            yield (
                _document_id(sentence, documents, announced, number),
                [_gold(token, scheme) for token in sentence.words],
            )

    return _gathered(sentences())


def _announced(sentence: ConlluBlock, number: int) -> str:
    """The id of the document that begins with this sentence, if one does."""
    for comment in sentence.comments:
        if comment.removeprefix("#").strip().startswith("newdoc"):
            return sentence.metadata.get("newdoc id") or f"document {number}"
    return ""


def _document_id(sentence: ConlluBlock, how: str, announced: str, number: int) -> str:
    if how == "newdoc" or (how == "auto" and announced):
        return announced or "document 1"
    for comment in sentence.comments if how in ("auto", "source") else ():
        text = comment.removeprefix("#").strip()
        if text.startswith("orig_file_sentence"):
            source = text.removeprefix("orig_file_sentence").lstrip(" =").partition("#")[0]
            return source or f"sentence {number}"
    return f"sentence {number}"


def _gold(token: Word, scheme: LabelScheme) -> LexWord:
    pairs = dict(item.partition("=")[::2] for item in token.misc.split("|"))
    label = scheme.from_conllu(token)
    scored = token.upos not in _NOT_SCORED
    return LexWord(token.form, label, scored, pairs.get("Vform", ""), pairs.get("Gloss", ""))


def read_documents(
    sources: Iterable[str],
    scheme: LabelScheme,
    *,
    documents: str = "auto",
    on_error: Callable[[DataError], None] | None = None,
) -> list[LexDocument]:
    """All documents of the files; those of one id in several files are told apart by a number."""
    gathered: list[LexDocument] = []
    taken: dict[str, int] = {}
    for source in sources:
        for document in _of_file(source, scheme, documents, on_error):
            times = taken[document.id] = taken.get(document.id, 0) + 1
            name = document.id if times == 1 else f"{document.id} ({times})"
            gathered.append(LexDocument(name, document.sentences))
    return gathered


def _of_file(
    source: str, scheme: LabelScheme, documents: str, on_error: Callable[[DataError], None] | None
) -> list[LexDocument]:
    file_format = format_of(source, ("conllu", "jsonl"), "")
    if file_format == "conllu":
        return read_conllu_documents(source, scheme, documents=documents, on_error=on_error)
    if file_format == "jsonl":
        # by the first line that can be read; whoever reads the rest tells of the others
        _, first = next(numbered_lines(source, on_error=lambda _: None), (0, ""))
        if '"analysis"' in first and '"label"' not in first:
            return _sample_documents(source, scheme, on_error)
        return read_words_jsonl(source, scheme, on_error=on_error)
    raise DataError(source, None, "expected labelled words in a .jsonl or .conllu file")


def _sample_documents(
    source: str, scheme: LabelScheme, on_error: Callable[[DataError], None] | None
) -> list[LexDocument]:
    """Each sentence of the sample is a document of its own."""
    from eigentext.datasets import analyse
    from eigentext.lexical.analyzers.sample import SampleAnalyzer

    readings = SampleAnalyzer()
    documents = []
    for number, text in numbered_lines(source, on_error=on_error):
        try:
            record = json.loads(text)
            words = []
            for item in record["words"]:
                label = None
                ids = [entry["id"] for entry in analyse(item["form"])]
                if item["analysis"] in ids:
                    reading = readings.analyse(item["form"])[ids.index(item["analysis"])]
                    label = scheme.project(reading)[0]
                punctuation = not any(letter.isalnum() for letter in item["form"])
                words.append(LexWord(item["form"], label, label is not None and not punctuation))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            why = f"expected words with analyses: {shortened(repr(error), 200)}"
            raise_or_tell(DataError(source, number, why), on_error)
            continue
        documents.append(LexDocument(str(record.get("id", number)), [words]))
    return documents
