"""Sentences too long to parse whole: parsed in pieces, and the pieces joined.

Time and memory of the search grow with the third power of the length.  What is so long is hardly
one sentence, but a list or a text without full stops, so it is cut after punctuation, and the root
of each further piece hangs from the root of the first with the relation ``dep``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import ConlluBlock, make_sentence

MOST_WORDS = 400
_ENDS = frozenset(".!?;:؟。！？…")


def check_length(n_words: int, what: str) -> None:
    """Refuse what cannot be done in pieces."""
    if n_words > MOST_WORDS:
        raise SettingsError(
            f"{what} for sentences of at most {MOST_WORDS:,} words, found one of {n_words:,}"
        )


def pieces_of(forms: Sequence[str], most: int | None = None) -> list[tuple[int, int]]:
    """Where each piece begins and ends: at most so many words, cut after punctuation if it can be.

    >>> pieces_of("a b . c d , e f g h".split(), 4)
    [(0, 3), (3, 6), (6, 10)]
    """
    most = MOST_WORDS if most is None else most
    spans, begin = [], 0
    while len(forms) - begin > most:
        ends = range(begin + most, begin + most // 2, -1)  # the later half
        strong = (end for end in ends if forms[end - 1] in _ENDS)
        weak = (end for end in ends if _is_punctuation(forms[end - 1]))
        end = next(strong, None) or next(weak, None) or begin + most
        spans.append((begin, end))
        begin = end
    return [*spans, (begin, len(forms))]


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in form)


def joined(
    spans: Sequence[tuple[int, int]],
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]],
) -> tuple[list[int], list[str]]:
    """Heads and relations of a sentence, from those of its pieces.

    >>> joined([(0, 2), (2, 4)], [[0, 1], [2, 0]], [["root", "obj"], ["det", "root"]])
    ([0, 1, 4, 1], ['root', 'obj', 'det', 'dep'])
    """
    all_heads: list[int] = []
    names: list[str] = []
    root = 0  # of the first piece, once it is known
    for (begin, _), tree, labels in zip(spans, heads, relations, strict=True):
        for head, name in zip(tree, labels, strict=True):
            further = not head and root
            all_heads.append(head + begin if head else root)
            names.append("dep" if further else name)
            root = root or (0 if head else len(all_heads))
    return all_heads, names


def parsed_in_pieces(
    sentences: Iterable[ConlluBlock],
    parse: Callable[[list[ConlluBlock]], Iterable[ConlluBlock]],
    *,
    most: int | None = None,
) -> Iterator[ConlluBlock]:
    """What ``parse`` answers for sentences in order; for one that is too long, its pieces joined.

    Such an answer has the comment ``# split = 3``, the number of its pieces.
    """
    most = MOST_WORDS if most is None else most
    short: list[ConlluBlock] = []
    for sentence in sentences:
        if len(sentence) <= most:
            short.append(sentence)
            continue
        if short:
            yield from parse(short)
            short = []
        yield _whole(sentence, parse, most)
    if short:
        yield from parse(short)


def _whole(
    sentence: ConlluBlock, parse: Callable[[list[ConlluBlock]], Iterable[ConlluBlock]], most: int
) -> ConlluBlock:
    tags = {name: sentence.column(name) for name in ("lemma", "upos", "xpos", "feats")}
    spans = pieces_of(sentence.forms, most)
    answers = []
    for begin, end in spans:
        columns: dict[str, Any] = {name: cells[begin:end] for name, cells in tags.items()}
        answers.append(next(iter(parse([make_sentence(sentence.forms[begin:end], **columns)]))))
    heads, relations = joined(
        spans,
        [answer.heads or () for answer in answers],
        [answer.column("deprel") for answer in answers],
    )
    new = {
        name: [tag for answer in answers for tag in answer.column(name)]
        for name in ("upos", "xpos")
        if set(tags[name]) == {"_"}
    }
    whole = sentence.with_columns(head=heads, deprel=relations, **new)
    return ConlluBlock(f"# split = {len(spans)}\n{whole.verbatim}")
