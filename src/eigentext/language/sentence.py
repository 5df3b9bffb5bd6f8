"""A sentence: its tokens, its words column by column (:class:`Columns`), and what else is known.

A column that nobody has filled is ``_`` throughout, heads that are not known None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eigentext.language.token import Token, Word, plain_text


class Columns(NamedTuple):
    """The words of a sentence, one item per word in each column; None: not known."""

    forms: Sequence[str]
    lemmas: Sequence[str] | None = None
    upos: Sequence[str] | None = None
    xpos: Sequence[str] | None = None
    feats: Sequence[str] | None = None
    heads: Sequence[int] | None = None
    deprels: Sequence[str] | None = None
    deps: Sequence[str] | None = None
    misc: Sequence[str] | None = None  # of words, beside what their tokens have
    entities: Sequence[str] | None = None  # BIO2 tags


class WordReading(NamedTuple):
    """One analysis of a word in its sentence, with its probability."""

    upos: str
    xpos: str
    feats: str
    lemma: str
    probability: float


class TreeReading(NamedTuple):
    """One tree of a sentence; ``probability`` is its share among the trees that are listed."""

    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    score: float
    probability: float


class Alternatives(NamedTuple):
    """What else the models see in a sentence, and how sure they are; None: not asked for.

    ``readings``  for each word its analyses, the likeliest first
    ``trees``     the best trees, best first
    ``tags_p``    for each word the probability of the tags it was given
    ``arcs_p``    for each word the probability of the head it was given
    """

    readings: Sequence[Sequence[WordReading]] | None = None
    trees: Sequence[TreeReading] | None = None
    tags_p: Sequence[float] | None = None
    arcs_p: Sequence[float] | None = None


class Column(NamedTuple):
    """A value for each word, and where it goes: one more is a field, a row, and what fills it."""

    name: str  # its field in Columns or Alternatives
    conllu: str  # its column of CoNLL-U, or how it stands in MISC: NER={}
    json: str  # its key in each word; with [] behind it a list in the sentence
    spacy: str = ""  # what spacy.tokens.Doc calls it
    when: str = ""  # the option that has it written to CoNLL-U; none: whenever it is known

    def of(self, sentence: Sentence) -> Sequence[Any] | None:
        """The values of the words of a sentence; None: not known."""
        home = sentence.columns if self.name in Columns._fields else sentence.alternatives
        values: Sequence[Any] | None = getattr(home, self.name, None)
        return values


COLUMNS = (
    Column("forms", "form", "form", "words"),
    Column("lemmas", "lemma", "lemma", "lemmas"),
    Column("upos", "upos", "upos", "pos"),
    Column("xpos", "xpos", "xpos", "tags"),
    Column("feats", "feats", "feats", "morphs"),
    Column("heads", "head", "head", "heads"),
    Column("deprels", "deprel", "deprel", "deps"),
    Column("deps", "deps", "deps"),
    Column("misc", "misc", "misc"),
    # in the order of MISC, where they stand before what a file has there
    Column("tags_p", "TagProb={:.4f}", "tags_p[]", when="probabilities"),
    Column("arcs_p", "Prob={:.4f}", "arcs_p[]", when="probabilities"),
    Column("entities", "NER={}", "ner", "ents"),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its tokens, its words column by column, and what is known of it as a whole.

    ``comments``      of a CoNLL-U file it came from, verbatim; None: it came from none
    ``empty_nodes``   (number of the word before, line) for each, of a CoNLL-U file
    ``brackets``      its constituent tree
    """

    tokens: Sequence[Token]
    columns: Columns
    new_paragraph: bool = False
    sent_id: str | None = None
    comments: tuple[str, ...] | None = None
    empty_nodes: tuple[tuple[int, str], ...] = ()
    brackets: str | None = None
    alternatives: Alternatives | None = None

    def __len__(self) -> int:
        return len(self.columns.forms)

    @property
    def start(self) -> int:
        """Where its first token begins in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where its last token ends in the text."""
        return self.tokens[-1].end

    @property
    def forms(self) -> Sequence[str]:
        """The forms of its words."""
        return self.columns.forms

    @property
    def entities(self) -> Sequence[str] | None:
        """A BIO2 tag per word."""
        return self.columns.entities

    @property
    def words(self) -> tuple[Word, ...]:
        """Its words as records."""
        from eigentext.language.formats.conllu_docs import word_miscs

        columns = self.columns
        blank = ("_",) * len(columns.forms)
        unknown: Sequence[Any] = (None,) * len(columns.forms)
        tags = [column or blank for column in columns[1:5]]  # lemmas to feats
        links = columns.heads or unknown, columns.deprels or blank, columns.deps or blank
        numbers = range(1, len(columns.forms) + 1)
        return tuple(map(Word, numbers, columns.forms, *tags, *links, word_miscs(self)))

    @property
    def text(self) -> str:
        """What ``# text`` says: the tokens, with one blank wherever there is white space."""
        return plain_text(self.tokens)

    @property
    def metadata(self) -> dict[str, str]:
        """The comments of the CoNLL-U file it came from, as a dict."""
        from eigentext.language.formats.conllu import comments_as_dict

        return comments_as_dict(self.comments or ())

    def moved(self, by: int) -> Sentence:
        """The same sentence ``by`` characters further on in the text."""
        if not by:
            return self
        tokens = [t._replace(start=t.start + by, end=t.end + by) for t in self.tokens]
        return replace(self, tokens=tokens)

    def with_columns(self, **columns: Any) -> Sentence:
        """The same sentence with other columns, by the names of :class:`Columns`."""
        return replace(self, columns=self.columns._replace(**columns))
