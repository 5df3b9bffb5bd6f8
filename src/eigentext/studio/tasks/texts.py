"""Texts for annotation out of the formats that people bring, and sentences back to CoNLL-U.

Nothing is lost on the way: columns that no task decides are kept, and come out as they went in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError
from eigentext.evaluate.ner import entities
from eigentext.language.formats.conllu import conllu_rows
from eigentext.studio.tasks.records import Document, Sentence, Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.language.formats import conllu
    from eigentext.language.trees.constituent import Tree
    from eigentext.tagging.segmentation import Segmenter

COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def document_of_conllu(
    name: str, sentences: Iterable[conllu.ConlluBlock], language: str = ""
) -> Document:
    """A text for annotation of the sentences of a treebank.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> text = document_of_conllu("d", [make_sentence(["Go", "!"], misc=["SpaceAfter=No", "_"])])
    >>> text.text, text.sentences[0].tokens[1]
    ('Go!\\n', Token(text='!', start=2, end=3))
    """
    from eigentext.tagging.segmentation.raw import lay_out

    read = list(sentences)
    layout = lay_out(read)
    spans = iter(zip(layout.spans, layout.words, strict=True))
    records = []
    for sentence in read:
        forms = sentence.forms
        tokens: list[Token] = []
        while len(tokens) < len(forms):
            (start, end), words = next(spans)
            # the words of a multiword token have no place of their own in the text
            tokens += [Token(form, start, end) for form in words or (forms[len(tokens)],)]
        columns: dict[str, Any] = {}
        for column in COLUMNS:
            values = list(sentence.column(column))
            if any(value != "_" for value in values):
                columns[column] = values
        if sentence.ranges:
            columns["ranges"] = [list(unit) for unit in sentence.ranges]
        if sentence.empty_nodes:
            columns["empty"] = [list(node) for node in sentence.empty_nodes]
        records.append(Sentence(tuple(tokens), columns, sentence.comments))
    return Document(name, tuple(records), layout.text, language)


def document_of_trees(name: str, trees: Iterable[Tree], language: str = "") -> Document:
    """A text for annotation of constituent trees; words stand a space apart.

    >>> from eigentext.language.trees.constituent import Tree
    >>> document_of_trees("d", [Tree.from_brackets("(S (UH Hi))")]).sentences[0].columns
    {'brackets': '(S (UH Hi))'}
    """
    records, pieces, at = [], [], 0
    for tree in trees:
        tokens = []
        for word in tree.words:
            tokens.append(Token(word, at, at + len(word)))
            at += len(word) + 1
        pieces.append(" ".join(tree.words) + "\n")
        records.append(Sentence(tuple(tokens), {"brackets": str(tree)}))
    return Document(name, tuple(records), "".join(pieces), language)


def document_of_columns(
    name: str,
    tokens: Iterable[Sequence[str]],
    tags: Iterable[Sequence[str]] | None = None,
    language: str = "",
) -> Document:
    """A text for annotation of lists of tokens, with their entity tags (BIO2) if there are some.

    >>> document_of_columns("d", [["Ada", "ran"]], [["B-PER", "O"]]).sentences[0].columns
    {'ner': ['B-PER', 'O']}
    """
    read = [list(words) for words in tokens]
    rows = [list(row) for row in tags] if tags is not None else [None] * len(read)
    records, pieces, at = [], [], 0
    for words, row in zip(read, rows, strict=True):
        placed = []
        for word in words:
            placed.append(Token(word, at, at + len(word)))
            at += len(word) + 1
        pieces.append(" ".join(words) + "\n")
        records.append(Sentence(tuple(placed), {} if row is None else {"ner": row}))
    return Document(name, tuple(records), "".join(pieces), language)


def document_of_text(
    name: str, text: str, cut: Segmenter | str = "generic", language: str = ""
) -> Document:
    """A text cut into sentences and words by a segmenter, or by a scheme of rules of this name.

    >>> [sentence.forms for sentence in document_of_text("d", "It is. So be it.").sentences]
    [('It', 'is', '.'), ('So', 'be', 'it', '.')]
    """
    records = []
    if isinstance(cut, str):
        from eigentext.language.tokenise.tokens import tokenise_text

        rows = tokenise_text(text, cut)
        cut_up = (Sentence(tuple(Token(t.text, t.start, t.end) for t in row)) for row in rows)
        return Document(name, tuple(cut_up), text, language)
    for sentence in cut.segment(text):
        tokens: list[Token] = []
        ranges: list[list[Any]] = []
        for start, end, words in sentence.tokens:
            if words:
                ranges.append([len(tokens) + 1, len(tokens) + len(words), text[start:end], "_"])
            tokens += [Token(word, start, end) for word in words or (text[start:end],)]
        records.append(Sentence(tuple(tokens), {"ranges": ranges} if ranges else {}))
    return Document(name, tuple(records), text, language)


def paragraphs(name: str, text: str, language: str = "") -> Document:
    """A raw text as segmentation takes it: each paragraph is one unit, with itself as its token.

    >>> [unit.tokens[0] for unit in paragraphs("d", "A b.\\n\\nC.").sentences]
    [Token(text='A b.', start=0, end=4), Token(text='C.', start=6, end=8)]
    """
    records, at = [], 0
    for line in text.split("\n\n"):
        bare = line.strip()
        if bare:
            start = at + line.index(bare[0])
            records.append(Sentence((Token(bare, start, start + len(bare)),)))
        at += len(line) + 2
    return Document(name, tuple(records), text, language)


def column_of(sentence: Sentence, name: str) -> list[str] | None:
    """An imported column with a value for each word; None where it is not there."""
    values = sentence.columns.get(name)
    if values is None:
        return None
    if len(values) != len(sentence.tokens):
        why = f"column {name} has {len(values)} values for {len(sentence.tokens)} words"
        raise DataError("<sentence>", None, why)
    return [str(value) for value in values]


def conllu_lines(
    sentence: Sentence, columns: Mapping[str, Sequence[Any]], comments: Iterable[str] = ()
) -> list[str]:
    """The lines of a sentence with these columns; others are as they were imported.

    >>> for line in conllu_lines(Sentence.of(["Go"]), {"upos": ["VERB"]}, ["# sent_id = 1"]):
    ...     print(line.replace(chr(9), " "))
    # sent_id = 1
    1 Go _ VERB _ _ _ _ _ _
    <BLANKLINE>
    """
    cells: list[list[str] | None] = [[_written(token.text) for token in sentence.tokens]]
    for name in COLUMNS:
        values = columns.get(name)
        column = column_of(sentence, name) if values is None else values
        cells.append(None if column is None else [_written(value) for value in column])
    units = [(int(a), int(b), *rest) for a, b, *rest in sentence.columns.get("ranges") or ()]
    empty = [(int(after), line) for after, line in sentence.columns.get("empty") or ()]
    return [*comments, *conllu_rows(cells, units, empty), ""]


def _written(value: Any) -> str:
    """A cell; what is not known is ``_``."""
    return "_" if value is None else str(value).replace("\t", " ").replace("\n", " ") or "_"


def conllu_sentence(
    sentence: Sentence, columns: Mapping[str, Sequence[Any]]
) -> conllu.ConlluBlock:
    """The same as a sentence that our trainers and checks take."""
    from eigentext.language.formats.conllu import parse_sentence

    return parse_sentence("\n".join(conllu_lines(sentence, columns)) + "\n")


def spans_of_tags(tags: Sequence[str]) -> list[dict[str, Any]]:
    """Entities of BIO2 tags.

    >>> spans_of_tags(["B-PER", "I-PER", "O"])
    [{'start': 0, 'end': 2, 'type': 'PER'}]
    """
    return [{"start": start, "end": end, "type": kind} for kind, start, end in entities(tags)]


def tags_of_spans(n: int, spans: Iterable[Mapping[str, Any]]) -> list[str]:
    """BIO2 tags of entities; of two that overlap the one that begins first, or is longer, counts.

    >>> tags_of_spans(3, [{"start": 1, "end": 3, "type": "LOC"}])
    ['O', 'B-LOC', 'I-LOC']
    """
    tags, free = ["O"] * n, 0
    for span in sorted(spans, key=lambda one: (one["start"], -one["end"])):
        if span["start"] >= free:
            free = span["end"]
            tags[span["start"] : free] = [f"B-{span['type']}"] + [f"I-{span['type']}"] * (
                free - span["start"] - 1
            )
    return tags
