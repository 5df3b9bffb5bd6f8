r"""What the pipeline answers: a :class:`Doc` of sentences, tokens and words.

* A :class:`DocToken` is what stands in the text: ``doc.text[token.start:token.end]``.  It stands
  for one word, or for the words ``first`` to ``last`` where it is a multiword token (``du`` for
  ``de le``).
* A sentence keeps its words column by column (:class:`Columns`), which is how models answer and
  how CoNLL-U is written; ``sentence.words`` are the same as :class:`Word` records, made when
  asked for.  A column that nobody has filled is ``_`` throughout, heads that are not known None.
* ``doc.to_conllu()``, ``doc.to_json()`` and ``doc.to_spacy(vocab)`` write it, ``Doc.from_conllu``
  and ``Doc.from_json`` read it back.

>>> doc = Doc.from_conllu("1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
...                       "2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n")
>>> doc.text, doc.sentences[0].words[1].deprel, doc.sentences[0].tokens[1].start
('Hi!', 'punct', 2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from eigentext.language.formats.conllu import Token as Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.language.formats import conllu

__all__ = [
    "Alternatives",
    "Columns",
    "Doc",
    "DocSentence",
    "DocToken",
    "TreeReading",
    "Word",
    "WordReading",
]


class DocToken(NamedTuple):
    """What stands in the text from ``start`` to ``end``.

    ``form``         the text there, runs of white space made one blank
    ``misc``         what CoNLL-U says of the space after it: ``_``, ``SpaceAfter=No``, ...
    ``first, last``  the numbers of its words, from 1; the same for an ordinary token
    """

    start: int
    end: int
    form: str
    misc: str
    first: int
    last: int


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


@dataclass(frozen=True, slots=True)
class DocSentence:
    """A sentence: its tokens, its words column by column, and what is known of it as a whole.

    ``comments``      of a CoNLL-U file it came from, verbatim; None: it came from none
    ``empty_nodes``   (number of the word before, line) for each, of a CoNLL-U file
    ``constituency``  its tree in brackets, where the pipeline has a constituency parser
    ``entities``      a BIO2 tag per word, where the pipeline has a tagger of entities
    """

    tokens: Sequence[DocToken]
    columns: Columns
    new_paragraph: bool = False
    sent_id: str | None = None
    comments: tuple[str, ...] | None = None
    empty_nodes: tuple[tuple[int, str], ...] = ()
    constituency: str | None = None
    entities: Sequence[str] | None = None
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
    def words(self) -> tuple[Word, ...]:
        """Its words as records."""
        from eigentext.pipeline.writing import word_miscs

        columns = self.columns
        blank = ("_",) * len(columns.forms)
        unknown: Sequence[Any] = (None,) * len(columns.forms)
        heads = columns.heads or unknown
        return tuple(
            map(
                Word,
                range(1, len(columns.forms) + 1),
                columns.forms,
                columns.lemmas or blank,
                columns.upos or blank,
                columns.xpos or blank,
                columns.feats or blank,
                heads,
                columns.deprels or blank,
                columns.deps or blank,
                word_miscs(self),
            )
        )

    @property
    def text(self) -> str:
        """What ``# text`` says: the tokens, with one blank wherever there is white space."""
        from eigentext.pipeline.writing import plain_text

        return plain_text(self.tokens)

    @property
    def metadata(self) -> dict[str, str]:
        """The comments of the CoNLL-U file it came from, as a dict."""
        from eigentext.language.formats.conllu import comments_as_dict

        return comments_as_dict(self.comments or ())

    def with_columns(self, **columns: Any) -> DocSentence:
        """The same sentence with other columns, by the names of :class:`Columns`."""
        return replace(self, columns=self.columns._replace(**columns))


@dataclass(frozen=True, slots=True)
class Doc:
    """A text and its sentences.

    ``id``     what ``# newdoc id`` says
    ``start``  where the text begins in a larger one: offsets that are written count from there
    """

    text: str
    sentences: tuple[DocSentence, ...]
    id: str | None = None
    start: int = 0

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def n_words(self) -> int:
        """Words of all sentences."""
        return sum(len(sentence.columns.forms) for sentence in self.sentences)

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    def to_conllu(
        self,
        *,
        newdoc: bool = True,
        first_id: int = 1,
        offsets: bool = False,
        probabilities: bool = False,
    ) -> str:
        """As CoNLL-U, an empty line after each sentence.

        ``newdoc``         begin with ``# newdoc``
        ``first_id``       the ``sent_id`` of the first sentence that has none
        ``offsets``        write ``TokenRange=start:end`` to MISC
        ``probabilities``  write what :class:`Alternatives` knows: ``TagProb=`` and ``Prob=`` (of
                           the head) to MISC
        """
        from eigentext.pipeline.writing import conllu_parts, numbered

        parts = conllu_parts(self, newdoc=newdoc, offsets=offsets, probabilities=probabilities)
        return numbered(parts, first_id)

    def to_dict(self) -> dict[str, Any]:
        """In JSON's own types."""
        from eigentext.pipeline.json_docs import as_dict

        return as_dict(self)

    def to_json(self) -> str:
        """One JSON object in one line; many of them are JSON Lines."""
        from eigentext.pipeline.json_docs import as_json

        return as_json(self)

    def to_spacy(self, vocab: Any = None) -> Any:
        """A ``spacy.tokens.Doc``: its tokens are the words, multiword tokens being cut there.

        spaCy has one level of tokens: the words of a multiword token whose forms spell it stand
        for themselves; one whose forms do not (``du`` is ``de le``) is one spaCy token with the
        tags of its head word.  White space other than one blank becomes tokens of its own, so
        that ``doc.text`` is the text.
        """
        from eigentext.pipeline.spacy_docs import as_spacy

        return as_spacy(self, vocab)

    @classmethod
    def from_conllu(
        cls, source: str | Iterable[conllu.Sentence], *, doc_id: str | None = None
    ) -> Self:
        """From CoNLL-U text or sentences; the text is put together from forms and MISC."""
        from eigentext.pipeline.reading import sentences_of_conllu

        text, sentences = sentences_of_conllu(source)
        return cls(text, sentences, doc_id)

    @classmethod
    def from_json(cls, source: str | bytes | Mapping[str, Any]) -> Self:
        """What :meth:`to_json` or :meth:`to_dict` gave."""
        from eigentext.pipeline.json_docs import from_json

        return cls(*from_json(source))
