r"""A text and what is known of it: a :class:`Doc` of sentences, tokens and words.

* A :class:`Token` is what stands in the text: ``doc.text[token.start:token.end]``.  It stands
  for one word, or for the words ``first`` to ``last`` where it is a multiword token (``du`` for
  ``de le``).
* A :class:`Sentence` keeps its words column by column.
* ``doc.to_conllu()``, ``doc.to_json()`` and ``doc.to_spacy(vocab)`` write it, ``Doc.from_conllu``
  and ``Doc.from_json`` read it back.

>>> doc = Doc.from_conllu("1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
...                       "2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n")
>>> doc.text, doc.sentences[0].words[1].deprel, doc.sentences[0].tokens[1].start
('Hi!', 'punct', 2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.types import Json
    from eigentext.language.formats import conllu
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Word

_SHOWN = 40  # characters of the text in one line


@dataclass(frozen=True, slots=True, repr=False)
class Doc:
    """A text and its sentences; written offsets count from ``start``, as in a larger text."""

    text: str
    sentences: tuple[Sentence, ...]
    id: str | None = None
    start: int = 0

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        name = "" if self.id is None else f" {self.id!r}"
        start = " ".join(self.text[: 2 * _SHOWN].split())
        shown = start if len(start) <= _SHOWN else start[: _SHOWN - 3] + "..."
        return f"<Doc{name}: {len(self):,} sentences, {self.n_words:,} words, {shown!r}>"

    def _repr_html_(self) -> str:
        """The trees of its sentences, as a notebook shows them."""
        from eigentext.drawing.documents import doc_html

        return doc_html(self)

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
        from eigentext.language.formats.conllu_docs import conllu_parts, numbered

        parts = conllu_parts(self, newdoc=newdoc, offsets=offsets, probabilities=probabilities)
        return numbered(parts, first_id)

    def to_dict(self) -> Json:
        """In JSON's own types."""
        from eigentext.language.formats.json_docs import as_dict

        return as_dict(self)

    def to_json(self) -> str:
        """One JSON object in one line; many of them are JSON Lines."""
        from eigentext.language.formats.json_docs import as_json

        return as_json(self)

    def to_spacy(self, vocab: object = None) -> Any:
        """A ``spacy.tokens.Doc``: its tokens are the words, multiword tokens being cut there.

        spaCy has one level of tokens: the words of a multiword token whose forms spell it stand
        for themselves; one whose forms do not (``du`` is ``de le``) is one spaCy token with the
        tags of its head word.  White space other than one blank becomes tokens of its own, so
        that ``doc.text`` is the text.
        """
        from eigentext.language.formats.spacy_docs import as_spacy

        return as_spacy(self, vocab)

    @classmethod
    def from_conllu(
        cls, source: str | Iterable[conllu.ConlluBlock], *, doc_id: str | None = None
    ) -> Self:
        """From CoNLL-U text or sentences; the text is put together from forms and MISC."""
        from eigentext.language.formats.conllu_docs import sentences_of_conllu

        text, sentences = sentences_of_conllu(source)
        return cls(text, sentences, doc_id)

    @classmethod
    def from_tokens(cls, sentences: Iterable[Sequence[str]], *, doc_id: str | None = None) -> Self:
        """Of lists of tokens, each a word; a blank between tokens, a line for each sentence.

        >>> Doc.from_tokens([["Birds", "sing"], ["So", "?"]])
        <Doc: 2 sentences, 4 words, 'Birds sing So ?'>
        """
        from eigentext.language.reading import sentences_of_tokens

        text, laid_out = sentences_of_tokens(sentences)
        return cls(text, laid_out, doc_id)

    @classmethod
    def joined(cls, docs: Iterable[Doc]) -> Self:
        r"""Several as one: a blank line between them, but between pieces of one text nothing.

        >>> Doc.joined([Doc.from_tokens([["Hi"]]), Doc.from_tokens([["Go"]])]).text
        'Hi\n\nGo'
        """
        pieces: list[str] = []
        sentences: list[Sentence] = []
        at = 0
        for doc in docs:
            if pieces and doc.start != at:
                pieces.append("\n\n")
                at += 2
            sentences += (sentence.moved(at) for sentence in doc.sentences)
            pieces.append(doc.text)
            at += len(doc.text)
        return cls("".join(pieces), tuple(sentences))

    @classmethod
    def from_json(cls, source: str | bytes | Json) -> Self:
        """What :meth:`to_json` or :meth:`to_dict` gave."""
        from eigentext.language.formats.json_docs import from_json

        return cls(*from_json(source))
