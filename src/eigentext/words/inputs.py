"""What an estimator is fitted to becomes counts: stored counts, or sentences of tokens.

:func:`as_counts` is the one way in: counts pass through, files are counted, and sentences (lists
of tokens) are written to a temporary file first, so that there is one counter and one answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eigentext.corpus.counts import Counts
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.corpus.contexts import Contexts

__all__ = ["as_counts", "checked_sentences"]


def checked_sentences(X: Any) -> Iterator[Sequence[str]]:
    """Sentences one by one; a ``str`` in place of a list of tokens is refused with a hint.

    >>> list(checked_sentences([["a", "cat"], ["sat"]]))
    [['a', 'cat'], ['sat']]
    """
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise TypeError(f"sentences are meant, lists of tokens, not {type(X).__name__}")
    for sentence in X:
        if isinstance(sentence, (str, bytes)):
            raise TypeError("a sentence is a list of tokens, not one str: use text.split()")
        tokens = list(sentence)
        for token in tokens:
            if not isinstance(token, str):
                raise TypeError(f"a token is a str, found {type(token).__name__}")
        yield tokens


def as_counts(
    X: Any,
    contexts: str | Contexts,
    *,
    vocab_size: int | None = None,
    min_count: int = 1,
    jobs: int = 1,
) -> Counts:
    """Counts of sentences, or the counts that are given.

    >>> as_counts([["a", "cat"], ["a", "dog"]], "r1").words
    ('a', 'cat', 'dog', '<unk>')
    """
    if isinstance(X, Counts):
        if not X.contexts.names:
            raise SettingsError("these counts are unigrams only; count with contexts such as lr2")
        return X
    from eigentext.base.files.scratch import scratch_folder
    from eigentext.corpus.counting import count
    from eigentext.formats.text import write_sentences

    with scratch_folder() as folder:
        text = folder / "sentences.txt"
        write_sentences(checked_sentences(X), text)
        if not text.read_bytes().strip():
            raise SettingsError("no tokens to learn from, expected sentences of words")
        return count(
            [str(text)], contexts=contexts, vocab_size=vocab_size, min_count=min_count, jobs=jobs
        )
