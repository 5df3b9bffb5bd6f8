"""Entity tags as the tagger sees them: BIO2 outside, BILOU inside.

BILOU says more of an entity than BIO2: L is its last token and U an entity of one token, so the
tagger learns where entities end.  Only sequences that mean the same in both are ever predicted:
after ``B-X`` or ``I-X`` comes ``I-X`` or ``L-X``, anywhere else ``O``, ``B-Y`` or ``U-Y``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eigentext.base.types import Bools, Int64s
from eigentext.evaluate.ner import entities

Scheme = Literal["bio2", "plain"]


def looks_like_entities(tags: Iterable[str]) -> bool:
    """Are these entity tags?  ``O`` and at least one ``B-`` or ``I-`` tag say so.

    >>> looks_like_entities(["O", "B-PER"]), looks_like_entities(["NOUN", "O"])
    (True, False)
    """
    distinct = set(tags)
    return "O" in distinct and any(tag[:2] in ("B-", "I-") for tag in distinct)


def repaired(tags: Sequence[str]) -> list[str]:
    """BIO2 for what the tags say by the CoNLL scorer's reading: nothing is refused.

    >>> repaired(["O", "I-PER", "I-PER", "I-LOC"])
    ['O', 'B-PER', 'I-PER', 'B-LOC']
    """
    bio2 = ["O"] * len(tags)
    for kind, start, end in entities(tags):
        bio2[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return bio2


def to_bilou(tags: Sequence[str]) -> list[str]:
    """BILOU tags for BIO2 tags.

    >>> to_bilou(["B-PER", "I-PER", "O", "B-LOC"])
    ['B-PER', 'L-PER', 'O', 'U-LOC']
    """
    bilou = ["O"] * len(tags)
    for kind, start, end in entities(tags):
        if end == start + 1:
            bilou[start] = f"U-{kind}"
        else:
            bilou[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 2), f"L-{kind}"]
    return bilou


def to_bio2(tags: Sequence[str]) -> list[str]:
    """BIO2 tags for BILOU tags.

    >>> to_bio2(["B-PER", "L-PER", "O", "U-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    swap = {"L": "I", "U": "B"}
    return [swap.get(tag[0], tag[0]) + tag[1:] if tag != "O" else tag for tag in tags]


@dataclass(frozen=True)
class TagSet:
    """The tags inside the tagger, in order, and which may follow which.

    >>> TagSet.of([["O", "B-PER"]], "bio2").inside
    ('O', 'B-PER', 'I-PER', 'L-PER', 'U-PER')
    >>> TagSet.of([["VERB", "NOUN"]], "plain").inside
    ('NOUN', 'VERB')
    """

    inside: tuple[str, ...]
    scheme: Scheme

    @classmethod
    def of(cls, y: Iterable[Sequence[str]], scheme: Scheme) -> TagSet:
        """The tags that these sentences need."""
        distinct = {tag for tags in y for tag in tags}
        if scheme == "plain":
            return cls(tuple(sorted(distinct)), scheme)
        kinds = sorted({tag[2:] for tag in distinct if tag != "O"})
        return cls(("O", *(f"{mark}-{kind}" for kind in kinds for mark in "BILU")), scheme)

    def encode(self, y: Sequence[Sequence[str]]) -> Int64s:
        """Tags of all sentences, one after the other, as numbers."""
        number = {tag: n for n, tag in enumerate(self.inside)}
        inside = map(to_bilou, y) if self.scheme == "bio2" else y
        return np.array([number[tag] for tags in inside for tag in tags], np.int64)

    def decode(self, numbers: Sequence[int]) -> list[str]:
        """Tags as the outside wants them."""
        tags = [self.inside[n] for n in numbers]
        return to_bio2(tags) if self.scheme == "bio2" else tags

    def legal(self) -> Bools:
        """(T + 1, T): may the tag follow?  The last row is the start of a sentence."""
        n = len(self.inside)
        allowed = np.ones((n + 1, n), np.bool_)
        if self.scheme == "plain":
            return allowed
        for row, before in enumerate((*self.inside, "O")):
            for column, tag in enumerate(self.inside):
                if before[0] in "BI":  # inside an entity, which goes on or ends
                    allowed[row, column] = tag[0] in "IL" and tag[1:] == before[1:]
                else:
                    allowed[row, column] = tag[0] in "OBU"
        return allowed

    def may_end(self) -> Bools:
        """(T,): may a sentence end with this tag?"""
        plain = self.scheme == "plain"
        return np.array([plain or tag[0] in "OLU" for tag in self.inside], np.bool_)

    def allowed(self, n: int, tags: Mapping[int, Collection[str]]) -> Bools:
        """(n, T): what each of n tokens may be if some may only have ``tags`` (BIO2 or plain).

        A tag that leads nowhere is left out, so that a search from left to right never has to go
        back: a[i, k] holds only if some a[i + 1, l] does, and l may follow k.

        >>> entities = TagSet.of([["B-X"]], "bio2")
        >>> [entities.inside[k] for k in entities.allowed(2, {1: ["I-X"]})[0].nonzero()[0]]
        ['B-X', 'I-X']
        """
        outside = to_bio2(self.inside) if self.scheme == "bio2" else list(self.inside)
        mask = np.ones((n, len(outside)), np.bool_)
        for token, choices in tags.items():
            mask[token] = [tag in choices for tag in outside]
        legal = self.legal()[:-1]  # (T, T)
        follows = self.may_end()  # (T,) which tags the rest of the sentence may go on after
        for token in range(n - 1, -1, -1):  # a[i] depends on a[i + 1]
            mask[token] &= follows
            follows = (legal & mask[token]).any(axis=1)
        return mask
