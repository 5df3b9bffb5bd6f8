"""How a token becomes words: rules that keep the middle of the form and spell out the rest.

A multiword token and its words are written as one rule,

    front + middle + back   ->   before,  new_front + middle + new_back,  after

such as Portuguese ``da -> de, a`` as d + *a* -> (de), *a*, and Spanish ``decirlo -> decir, lo``
as *decir* + lo -> *decir*, (lo).  Of all ways to write it that one is taken which spells out the
fewest letters, so that it holds for as many other forms as possible.  Rules are in lower case; a
capital of the form goes to the first word, and words are in capitals where the form is.

>>> rule = SplitRule.of("nas", ("em", "as"))
>>> rule.apply("Naquela"), rule.apply("dele")
(('Em', 'aquela'), None)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


def small_letters(text: str) -> str:
    """Lower case that keeps the length: a letter that would become two stays.

    >>> small_letters("ÀB"), len(small_letters("İ"))
    ('àb', 1)
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


class SplitRule(NamedTuple):
    """A way to split; see the module.  Without a stem, the words are ``before`` alone."""

    front: str
    before: tuple[str, ...]
    new_front: str
    new_back: str
    after: tuple[str, ...]
    back: str
    has_stem: bool

    @classmethod
    def of(cls, form: str, words: tuple[str, ...]) -> SplitRule:
        """The rule that makes these words of this form."""
        form, words = small_letters(form), tuple(map(small_letters, words))
        best = cls(form, words, "", "", (), "", False)
        cost = (2 * len(form) + sum(map(len, words)), 2, 0)
        for number, word in enumerate(words):
            for at, at_word, length in _common(form, word):
                front, back = form[:at], form[at + length :]
                new_front, new_back = word[:at_word], word[at_word + length :]
                anchored = not (front or new_front) or not (back or new_back)
                spelt = len(front) + len(back) + len(new_front) + len(new_back)
                if (spelt, not anchored, number) < cost:
                    cost = (spelt, not anchored, number)
                    best = cls(
                        front, words[:number], new_front, new_back, words[number + 1 :], back, True
                    )
        return best

    def fits(self, small: str) -> bool:
        """Whether the rule holds for a form in small letters."""
        if not self.has_stem:
            return small == self.front
        spelt = len(self.front) + len(self.back)
        return len(small) > spelt and small.startswith(self.front) and small.endswith(self.back)

    def stem(self, form: str) -> str:
        """The word that keeps the middle of the form."""
        middle = form[len(self.front) : len(form) - len(self.back)]
        return self.new_front + middle + self.new_back

    def apply(self, form: str) -> tuple[str, ...] | None:
        """The words of a form; None where the rule does not fit."""
        if not self.fits(small_letters(form)):
            return None
        before, new_front, new_back, after = self[1:5]
        middle = form[len(self.front) : len(form) - len(self.back)]
        stem = (new_front + middle + new_back,) if self.has_stem else ()
        words = (*before, *stem, *after)
        if form.isupper() and sum(map(str.isalpha, form)) > 1:
            return tuple(map(str.upper, words))
        if form[:1].isupper() and words:
            return (words[0][:1].upper() + words[0][1:], *words[1:])
        return words


def _common(form: str, word: str) -> Iterator[tuple[int, int, int]]:
    """(place in the form, place in the word, length) of long pieces that both have."""
    length = 0
    while length < min(len(form), len(word)) and form[length] == word[length]:
        length += 1
    if length:
        yield 0, 0, length
    length = 0
    while length < min(len(form), len(word)) and form[-1 - length] == word[-1 - length]:
        length += 1
    if length:
        yield len(form) - length, len(word) - length, length
    for size in range(min(len(form), len(word)), 0, -1):
        for at_word in range(len(word) - size + 1):
            at = form.find(word[at_word : at_word + size])
            if at >= 0:
                yield at, at_word, size
                return
