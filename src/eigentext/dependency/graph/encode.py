"""Words and tags as numbers: sentences in, flat arrays out, and kernels read nothing else.

The keys of a token's attributes are made once per different token; a word that training saw too
seldom has the key of unknown words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from operator import itemgetter

import numpy as np

from eigentext.base.types import Int32s, Int64s, UInt64s
from eigentext.dependency.sentence import TaggedSentence
from eigentext.features.attributes import PARSING, KeyedWord
from eigentext.features.signatures import lowered
from eigentext.features.symbols import looked_up
from eigentext.language.tokenise.typed_forms import familiar_forms

KINDS = {"VERB": 1, "AUX": 1, "PUNCT": 2, "CCONJ": 3}
AGREEING = ("Case", "Number", "Gender", "Person")
_MOST_REMEMBERED = 50_000
MOST_FEATURES = 4  # in a fine tag
ROOT = "\t<root>"  # no form has a TAB in it
Token = tuple[str, str, str, str, str, str]  # form, upos, xpos, feats, lemma, other upos


@dataclass(frozen=True, eq=False)
class ArcBatch:
    """Sentences end to end; row ``starts[k]`` is the root of sentence k."""

    starts: Int64s
    keys: UInt64s  # (rows, attributes)
    tags: Int32s  # (rows, 7) numbers of upos and xpos, kind, numbers of the AGREEING features
    heads: Int32s  # (rows,) head of each word in its sentence, -1 for a root row
    labels: Int32s  # (rows,) number of the relation, -1 where there is none

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        """Words in all, roots not counted."""
        return len(self.keys) - len(self)

    def part(self, sentences: Int64s) -> ArcBatch:
        """A batch of these sentences alone, in this order."""
        cut = self.starts
        starts = np.concatenate([[0], np.cumsum(cut[sentences + 1] - cut[sentences])])
        rows = np.concatenate([np.arange(cut[k], cut[k + 1]) for k in sentences])
        return ArcBatch(
            starts, self.keys[rows], self.tags[rows], self.heads[rows], self.labels[rows]
        )


class TokenEncoder:
    """Numbers of tokens."""

    def __init__(
        self,
        *,
        vocabulary: frozenset[str] | None = None,  # None: every word is in it
        clusters: Mapping[str, str] | None = None,  # word -> bits
        near: Mapping[str, str] | None = None,  # word -> bits of a hierarchy of vectors
        upos: Sequence[str] = (),  # upos, xpos: tags with a number of their own; others share 0
        xpos: Sequence[str] = (),
        fine: Sequence[str] | None = None,  # features beside upos in the place of xpos; None: xpos
        upos_of: Mapping[str, str] | None = None,  # for words that have xpos and not upos
    ) -> None:
        self.upos_of = dict(upos_of or {})
        self.fine = None if fine is None else tuple(fine)
        self.vocabulary = vocabulary
        self.clusters, self.near = clusters or {}, near or {}
        self.upos, self.xpos = tuple(upos), tuple(xpos)
        self._numbers = [
            {tag: number for number, tag in enumerate(tags, start=1)} for tags in (upos, xpos)
        ]
        self.n_tags = 1 + max(len(self.upos), len(self.xpos))
        self._forget()

    def _forget(self) -> None:
        self._row_of: dict[Token, int] = {}
        self._new: list[tuple[list[int], tuple[int, ...]]] = []  # rows not in arrays yet
        self._keys = np.zeros((1024, len(PARSING)), np.uint64)
        self._tags = np.zeros((1024, 3 + len(AGREEING)), np.int32)
        self._values: dict[str, int] = {}  # numbers of the values of features
        self._add((ROOT,) * 6)

    def _add(self, token: Token) -> int:
        row = self._row_of[token] = len(self._row_of)
        word = self.word(*token)
        self._new.append((PARSING.keys(word), self._tag_numbers(word)))
        return row

    def _store_new(self) -> None:
        """New rows go to the arrays, all at once."""
        if not self._new:
            return
        end = len(self._row_of)
        while end > len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
            self._tags = np.concatenate([self._tags, np.zeros_like(self._tags)])
        first = end - len(self._new)
        self._keys[first:end] = np.array([keys for keys, _ in self._new], np.uint64)
        self._tags[first:end] = np.array([tags for _, tags in self._new], np.int32)
        self._new.clear()

    def word(
        self, form: str, upos: str, xpos: str, feats: str, lemma: str = "_", other: str = "_"
    ) -> KeyedWord:
        """What is known of a token.

        >>> PARSING.texts(TokenEncoder().word("Cats", "NOUN", "_", "Number=Plur"))["xpos"]
        'NOUN'
        """
        xpos = fine_tag(upos, xpos, feats, self.fine)
        bits, near = (
            looked_up(table, form, capital=False) for table in (self.clusters, self.near)
        )
        word = KeyedWord(form, upos, xpos, feats, lemma, other, bits, near)
        word.frequent = self.vocabulary is None or word.lower in self.vocabulary or form == ROOT
        return word

    def _tag_numbers(self, word: KeyedWord) -> tuple[int, ...]:
        """Numbers of the tags, the kind, and the features in which words agree."""
        numbers = (self._numbers[0].get(word.upos, 0), self._numbers[1].get(word.xpos, 0))
        agreeing = dict.fromkeys(AGREEING, 0)
        for pair in word.pairs:
            name, _, value = pair.partition("=")
            if name in agreeing:
                agreeing[name] = self._values.setdefault(value, 1 + len(self._values))
        return (*numbers, KINDS.get(word.upos, 0), *agreeing.values())

    def familiar(self, forms: Sequence[str]) -> tuple[str, ...]:
        """The words in spellings that training saw: ``“`` is looked up as `` `` `` or ``"``."""
        vocabulary = self.vocabulary
        if vocabulary is None:
            return tuple(forms)
        return familiar_forms(forms, lambda form: lowered(form) in vocabulary)

    def batch(
        self,
        sentences: Sequence[TaggedSentence],
        heads: Sequence[Sequence[int]] | None = None,
        labels: Sequence[Sequence[int]] | None = None,
    ) -> ArcBatch:
        """Flat arrays of the sentences."""
        # a token that was met before has its row already: texts repeat themselves
        if len(self._row_of) > _MOST_REMEMBERED:
            self._forget()
        rows: list[int] = []
        starts = np.zeros(len(sentences) + 1, np.int64)
        row_of, add = self._row_of, self._add
        for number, plain in enumerate(sentences, start=1):
            sentence = with_upos(plain, self.upos_of)
            rows.append(0)
            forms = self.familiar(sentence.forms)
            others = sentence.others or ("_",) * len(forms)
            for token in zip(forms, *sentence[1:5], others, strict=True):
                row = row_of.get(token)
                rows.append(add(token) if row is None else row)
            starts[number] = len(rows)
        self._store_new()
        # row 0 is the root's, which comes before the words of each sentence and has no head
        picked = np.array(rows, np.int64)
        governors = np.full(len(rows), -1, np.int32)
        relations = np.full(len(rows), -1, np.int32)
        for column, values in ((governors, heads), (relations, labels)):
            if values is not None and len(values):
                flat = np.concatenate([np.asarray(numbers, np.int32) for numbers in values])
                column[picked != 0] = flat
        return ArcBatch(starts, self._keys[picked], self._tags[picked], governors, relations)


def usual_upos(tokens: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each xpos that (upos, xpos) of words have, the upos it most often goes with.

    >>> usual_upos([("NOUN", "NN"), ("VERB", "NN"), ("NOUN", "NN"), ("_", "X"), ("DET", "_")])
    {'NN': 'NOUN'}
    """
    counts = Counter((xpos, upos) for upos, xpos in tokens if "_" not in (upos, xpos))
    usual: dict[str, str] = {}
    for (xpos, upos), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        usual.setdefault(xpos, upos)
    return dict(sorted(usual.items()))


def with_upos(sentence: TaggedSentence, upos_of: Mapping[str, str]) -> TaggedSentence:
    """The sentence with the usual upos of words that have an xpos only."""
    if "_" not in sentence.upos:
        return sentence
    tags = zip(sentence.upos, sentence.xpos, strict=True)
    return sentence._replace(
        upos=tuple(upos_of.get(xpos, upos) if upos == "_" else upos for upos, xpos in tags)
    )


def fine_tag(upos: str, xpos: str, feats: str, fine: Sequence[str] | None) -> str:
    """The tag that stands for xpos: upos with the features named, or xpos, or upos for none.

    >>> fine_tag("NOUN", "NNS", "Case=Acc|Number=Plur", ["Case"])
    'NOUN|Case=Acc'
    >>> fine_tag("NOUN", "NNS", "_", None), fine_tag("NOUN", "_", "_", None)
    ('NNS', 'NOUN')
    """
    if fine is None:
        return upos if xpos == "_" else xpos
    pairs = (pair for pair in feats.split("|") if pair.partition("=")[0] in fine)
    return "|".join([upos, *pairs])


def chosen_features(
    sentences: Sequence[TaggedSentence], relations: Sequence[Sequence[str]]
) -> tuple[str, ...] | None:
    """Names of the features that make the fine tag, with upos; None: xpos does.

    Treebanks differ: in some xpos is empty, in some it says less than the features, in some it is
    all of them at once, which is too much.  A tag t is worth what it says of the relation r of its
    word, less what its parameters cost (BIC)::

        sum over words of log p(r | t) / p(r)  -  1/2 (number of tags) (number of relations) log N

    Features are put beside upos one by one, the best first, as long as that is worth something;
    then xpos is taken if it is worth at least as much.

    >>> from eigentext.dependency.sentence import TaggedSentence
    >>> one = TaggedSentence.of(["a", "b"], upos=["N", "N"], feats=["Case=A", "Case=B"])
    >>> chosen_features([one] * 50, [["subj", "obj"]] * 50)
    ('Case',)
    """
    tokens: Counter[tuple[str, str, str, str]] = Counter()
    for sentence, names in zip(sentences, relations, strict=True):
        universal = (name.partition(":")[0] for name in names)
        tokens.update(zip(sentence.upos, sentence.xpos, sentence.feats, universal, strict=True))
    if all(upos == "_" for upos, *_ in tokens):
        return None
    names = sorted(
        {pair.partition("=")[0] for _, _, feats, _ in tokens for pair in feats.split("|")} - {"_"}
    )
    chosen: list[str] = []
    best = _worth(tokens, chosen)
    while len(chosen) < MOST_FEATURES:
        tried = [(_worth(tokens, [*chosen, name]), name) for name in names if name not in chosen]
        top, name = max(tried, key=itemgetter(0), default=(best, ""))
        if top <= best:
            break
        best = top
        chosen.append(name)
    if _worth(tokens, None) >= best:
        return None
    return tuple(sorted(chosen))


def _worth(tokens: Counter[tuple[str, str, str, str]], fine: Sequence[str] | None) -> float:
    """What the tags say of the relations, less what they cost, in nats."""
    joint: Counter[tuple[str, str]] = Counter()
    memo: dict[tuple[str, str, str], str] = {}
    for (upos, xpos, feats, relation), count in tokens.items():
        key = upos, xpos, feats
        if key not in memo:
            memo[key] = fine_tag(upos, xpos, feats, fine)
        joint[memo[key], relation] += count
    tags: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for (tag, relation), count in joint.items():
        tags[tag] += count
        relations[relation] += count
    total = sum(tags.values())
    said = sum(
        count * log(count * total / (tags[tag] * relations[relation]))
        for (tag, relation), count in sorted(joint.items())
    )
    return said - 0.5 * len(tags) * len(relations) * log(total)
