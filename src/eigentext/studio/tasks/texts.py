"""Texts for annotation out of the formats that people bring, and sentences back to CoNLL-U.

Nothing is lost on the way: columns that no task decides are kept, and come out as they went in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigentext.evaluate.ner import entities
from eigentext.language import Columns, Doc, Sentence, Token
from eigentext.language.formats.conllu import conllu_rows
from eigentext.language.formats.conllu_docs import word_miscs
from eigentext.language.sentence import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.language.formats import conllu
    from eigentext.language.trees.constituent import Tree
    from eigentext.tagging.segmentation import Segmenter

#: columns by the names that analyses and stored sentences have for them
COLUMN_OF = {c.json: c for c in COLUMNS if c.name != "forms" and not c.when}
_IN_CONLLU = [name for name in COLUMN_OF if name != "ner"]


def sentence_of_spans(
    spans: Iterable[tuple[str, int, int, Sequence[str]]], miscs: Iterable[str] | None = None
) -> Sentence:
    """A sentence of bare tokens: form, start, end, and the words if it stands for several.

    >>> sentence_of_spans([("du", 0, 2, ("de", "le"))]).forms
    ('de', 'le')
    """
    tokens: list[Token] = []
    forms: tuple[str, ...] = ()
    for form, start, end, words in spans:
        first = len(forms) + 1
        forms += tuple(words) or (form,)
        tokens.append(Token(form, start, end, "_", first, len(forms)))
    if miscs is not None:
        tokens = [token._replace(misc=misc) for token, misc in zip(tokens, miscs, strict=True)]
    return Sentence(tuple(tokens), Columns(forms))


def document_of_trees(name: str, trees: Iterable[Tree]) -> Doc:
    """A text for annotation of constituent trees; words stand a space apart.

    >>> from eigentext.language.trees.constituent import Tree
    >>> document_of_trees("d", [Tree.from_brackets("(S (UH Hi))")]).sentences[0].brackets
    '(S (UH Hi))'
    """
    listed = list(trees)
    doc = Doc.from_tokens([tree.words for tree in listed], doc_id=name)
    pairs = zip(doc.sentences, listed, strict=True)
    return replace(doc, sentences=tuple(replace(s, brackets=str(tree)) for s, tree in pairs))


def document_of_columns(
    name: str, tokens: Iterable[Sequence[str]], tags: Iterable[Sequence[str]] | None = None
) -> Doc:
    """A text for annotation of lists of tokens, with their entity tags (BIO2) if there are some.

    >>> document_of_columns("d", [["Ada", "ran"]], [["B-PER", "O"]]).sentences[0].entities
    ('B-PER', 'O')
    """
    doc = Doc.from_tokens(tokens, doc_id=name)
    if tags is None:
        return doc
    pairs = zip(doc.sentences, tags, strict=True)
    return replace(doc, sentences=tuple(s.with_columns(entities=tuple(row)) for s, row in pairs))


def document_of_text(name: str, text: str, cut: Segmenter | str = "generic") -> Doc:
    """A text cut into sentences and words by a segmenter, or by a scheme of rules of this name.

    >>> [sentence.forms for sentence in document_of_text("d", "It is. So be it.").sentences]
    [('It', 'is', '.'), ('So', 'be', 'it', '.')]
    """
    rows: Iterable[Iterable[tuple[str, int, int, Sequence[str]]]]
    if isinstance(cut, str):
        from eigentext.language.tokenise.tokens import tokenise_text

        rows = (((*token[:3], ()) for token in row) for row in tokenise_text(text, cut))
    else:
        rows = (((text[a:b], a, b, words) for a, b, words in s.tokens) for s in cut.segment(text))
    return Doc(text, tuple(map(sentence_of_spans, rows)), name)


def paragraphs(name: str, text: str) -> Doc:
    """A raw text as segmentation takes it: each paragraph is one unit, with itself as its token.

    >>> [unit.tokens[0][:3] for unit in paragraphs("d", "A b.\\n\\nC.").sentences]
    [('A b.', 0, 4), ('C.', 6, 8)]
    """
    units, at = [], 0
    for line in text.split("\n\n"):
        bare = line.strip()
        if bare:
            start = at + line.index(bare[0])
            units.append(sentence_of_spans([(bare, start, start + len(bare), ())]))
        at += len(line) + 2
    return Doc(text, tuple(units), name)


def column_of(sentence: Sentence, name: str) -> list[str] | None:
    """An imported column with a value for each word; None where it is not there."""
    values = COLUMN_OF[name].of(sentence)
    if name == "misc":  # a part of it stands with the tokens
        values = word_miscs(sentence.with_columns(entities=None))
        return None if set(values) <= {"_"} else values
    return None if values is None else list(map(str, values))


def conllu_lines(
    sentence: Sentence, columns: Mapping[str, Sequence[object]], comments: Iterable[str] = ()
) -> list[str]:
    """The lines of a sentence with these columns; others are as they were imported.

    >>> words = sentence_of_spans([("Go", 0, 2, ())])
    >>> for line in conllu_lines(words, {"upos": ["VERB"]}, ["# sent_id = 1"]):
    ...     print(line.replace(chr(9), " "))
    # sent_id = 1
    1 Go _ VERB _ _ _ _ _ _
    <BLANKLINE>
    """
    cells: list[list[str] | None] = [list(map(_written, sentence.forms))]
    for name in _IN_CONLLU:
        values = columns.get(name)
        column = column_of(sentence, name) if values is None else values
        cells.append(None if column is None else list(map(_written, column)))
    units = [(t.first, t.last, t.form, t.misc) for t in sentence.tokens if t.first < t.last]
    return [*comments, *conllu_rows(cells, units, sentence.empty_nodes), ""]


def _written(value: object) -> str:
    """A cell; what is not known is ``_``."""
    return "_" if value is None else str(value).replace("\t", " ").replace("\n", " ") or "_"


def conllu_sentence(
    sentence: Sentence, columns: Mapping[str, Sequence[object]]
) -> conllu.ConlluBlock:
    """The same as a sentence that our trainers and checks take."""
    from eigentext.language.formats.conllu import parse_sentence

    return parse_sentence("\n".join(conllu_lines(sentence, columns)) + "\n")


def spans_of_tags(tags: Sequence[str]) -> list[Json]:
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
    for span in sorted(spans, key=lambda span: (span["start"], -span["end"])):
        if span["start"] >= free:
            free = span["end"]
            tags[span["start"] : free] = [f"B-{span['type']}"] + [f"I-{span['type']}"] * (
                free - span["start"] - 1
            )
    return tags
