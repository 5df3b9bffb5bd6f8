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
    from collections.abc import Iterable, Mapping

    from eigentext.language.formats import conllu
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Word

__all__ = ["Doc"]


@dataclass(frozen=True, slots=True)
class Doc:
    """A text and its sentences.

    ``id``     what ``# newdoc id`` says
    ``start``  where the text begins in a larger one: offsets that are written count from there
    """

    text: str
    sentences: tuple[Sentence, ...]
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
        from eigentext.language.formats.conllu_docs import conllu_parts, numbered

        parts = conllu_parts(self, newdoc=newdoc, offsets=offsets, probabilities=probabilities)
        return numbered(parts, first_id)

    def to_dict(self) -> dict[str, Any]:
        """In JSON's own types."""
        from eigentext.language.formats.json_docs import as_dict

        return as_dict(self)

    def to_json(self) -> str:
        """One JSON object in one line; many of them are JSON Lines."""
        from eigentext.language.formats.json_docs import as_json

        return as_json(self)

    def to_spacy(self, vocab: Any = None) -> Any:
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
    def from_json(cls, source: str | bytes | Mapping[str, Any]) -> Self:
        """What :meth:`to_json` or :meth:`to_dict` gave."""
        from eigentext.language.formats.json_docs import from_json

        return cls(*from_json(source))
