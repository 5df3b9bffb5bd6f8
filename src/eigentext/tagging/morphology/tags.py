"""Tags and what they are made of: (UPOS, XPOS, FEATS) in numbers.

Parts of a tag are UPOS, each feature, XPOS where it tells it apart (:func:`joins_xpos`), and the
whole: what is learned of a part serves all tags that have it.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.hashing import key_of, text_key
from eigentext.base.ragged import pointers
from eigentext.language.formats.conllu import parse_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.tagging.morphology.kernels.chain import Tags

Triple = tuple[str, str, str]  # UPOS, XPOS, FEATS
_MORE_TAGS = 2.0  # XPOS may make so many times as many tags
_MOST_TAGS = 500  # or so many in all, where words tell their XPOS
_GOOD_XPOS = 0.8  # share of words, of those seen twice, whose form and tag must tell their XPOS


def joins_xpos(forms: Sequence[str], triples: Sequence[Triple]) -> bool:
    """Whether XPOS belongs to the tag of words: it makes few more tags, or words tell it.

    >>> joins_xpos(["dog", "dogs"], [("NOUN", "NN", "_"), ("NOUN", "NNS", "Number=Plur")])
    True
    >>> roles = [("NOUN", "subject", "_"), ("NOUN", "object", "_"), ("NOUN", "root", "_")]
    >>> joins_xpos(["dog"] * 3, roles)
    False
    >>> joins_xpos(["dog", "cat", "rat"] * 2, roles * 2)
    True
    """
    whole = set(triples)
    if len(whole) <= _MORE_TAGS * len({(upos, feats) for upos, _, feats in whole}):
        return True
    words = zip(forms, triples, strict=True)
    counts = Counter(((form, upos, feats), xpos) for form, (upos, xpos, feats) in words)
    return len(whole) <= _MOST_TAGS and tells_xpos(counts)


def tells_xpos(counts: Mapping[Any, int]) -> bool:
    """Do words tell their XPOS?  By counts of (word, XPOS), a word being a form with its tag.

    Of the words that are there more than once, those count as told whose XPOS is the most frequent
    one of the others; where no word is, nothing is known.

    >>> tells_xpos({("dog", "NN"): 5, ("cat", "NN"): 1})
    True
    >>> tells_xpos({("dog", "A"): 2, ("dog", "B"): 2})
    False
    """
    of_word: dict[Any, list[int]] = {}
    for (word, _), count in counts.items():
        of_word.setdefault(word, []).append(count)
    n_right = n_words = 0
    for times in of_word.values():
        first, second = sorted((*times, 0), reverse=True)[:2]
        total = sum(times)
        n_words += total if total > 1 else 0
        n_right += first if total > 1 and first - 1 > second else 0
    return n_words > 0 and n_right >= _GOOD_XPOS * n_words


class MorphTagSet:
    """The tags of a treebank in the order of their texts; see the module.

    >>> tags = MorphTagSet([("NOUN", "_", "Number=Sing"), ("VERB", "_", "_")])
    >>> tags.number[("VERB", "_", "_")], len(tags)
    (1, 2)
    """

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = tuple(sorted(set(triples)))
        self.number = {triple: number for number, triple in enumerate(self.triples)}

    def __len__(self) -> int:
        return len(self.triples)

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """UPOS, XPOS and FEATS of all tags."""
        upos, xpos, feats = zip(*self.triples, strict=True)
        return upos, xpos, feats

    @cached_property
    def arrays(self) -> Tags:
        """The tags for the kernels."""
        from eigentext.tagging.morphology.kernels.chain import Tags

        parts: dict[str, int] = {}
        of_tag: list[list[int]] = []
        names: dict[str, int] = {}
        read = [parse_pairs(feats) for _, _, feats in self.triples]
        for features in read:
            for name in features:
                names.setdefault(name, len(names))
        values = np.zeros((len(self) + 1, len(names)), np.uint64)
        upos = np.zeros(len(self) + 1, np.uint64)
        keys = np.zeros(len(self) + 1, np.uint64)
        for number, (triple, features) in enumerate(zip(self.triples, read, strict=True)):
            texts = self._parts_of(triple, features)
            of_tag.append([parts.setdefault(text, len(parts)) for text in texts])
            for name, value in features.items():
                values[number, names[name]] = key_of(f"{name}={value}")
            upos[number] = key_of(f"upos\t{triple[0]}")
            keys[number] = key_of("\t".join(("tag", *triple)))
        upos[-1], keys[-1] = text_key("upos\t\n"), text_key("tag\t\n")
        part_keys = np.array([text_key(text) for text in parts], np.uint64)
        flat = np.array([part for numbers in of_tag for part in numbers], np.int64)
        return Tags(pointers(map(len, of_tag)), flat, part_keys, keys, upos, values)

    @staticmethod
    def _parts_of(triple: Triple, features: dict[str, str]) -> Sequence[str]:
        upos, xpos, _ = triple
        texts = [f"upos\t{upos}", "\t".join(("tag", *triple))]
        if xpos not in ("_", upos):
            texts.append(f"xpos\t{xpos}")
        texts += [f"feat\t{upos}\t{name}={value}" for name, value in features.items()]
        return texts


class OtherXpos:
    """XPOS where it is no part of the tag: the most frequent one of a form with its tag.

    Where that is wrong too often, XPOS tells of more than the word, and is left empty.
    """

    def __init__(
        self,
        entry: Mapping[tuple[str, int], int],
        values: Sequence[str],
        of_tag: Sequence[int],
        of_entry: Sequence[int],
    ) -> None:
        self.values, self.of_tag, self.of_entry = tuple(values), tuple(of_tag), tuple(of_entry)
        self._entry = entry

    @classmethod
    def learned(
        cls,
        entry: Mapping[tuple[str, int], int],
        n_tags: int,
        counts: Mapping[tuple[str, int, str], int],
    ) -> OtherXpos:
        """From counts of (form, tag, XPOS)."""
        values = sorted({xpos for _, _, xpos in counts})
        number = {xpos: k for k, xpos in enumerate(values)}
        of_entry = np.full(len(entry), -1)
        totals: Counter[tuple[int, int]] = Counter()
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        for (form, tag, xpos), count in ranked:
            totals[tag, number[xpos]] += count
            if of_entry[entry[form, tag]] < 0:
                of_entry[entry[form, tag]] = number[xpos]
        words = {((form, tag), xpos): count for (form, tag, xpos), count in counts.items()}
        if not tells_xpos(words):
            return cls(entry, ["_"], [0] * n_tags, [0] * len(entry))
        of_tag = np.full(n_tags, -1)
        for (tag, value), _ in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
            if of_tag[tag] < 0:
                of_tag[tag] = value
        return cls(entry, values, of_tag.tolist(), of_entry.tolist())

    def of(self, forms: Sequence[str], tags: Sequence[int]) -> list[str]:
        """The XPOS of words with these tags."""
        entry, values, of_tag, of_entry = self._entry, self.values, self.of_tag, self.of_entry
        answers = []
        for pair in zip(forms, tags, strict=True):
            at = entry.get(pair)
            answers.append(values[of_tag[pair[1]] if at is None else of_entry[at]])
        return answers
