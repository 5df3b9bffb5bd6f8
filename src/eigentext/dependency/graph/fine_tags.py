"""Which fine tag says most of the relations: xpos, or upos with some of the features?

Treebanks differ: in some xpos is empty, in some it says less than the features, in some it is all
of them at once, which is too much.  A tag t is worth what it says of the relation r of its word,
less what its parameters cost (BIC)::

    sum over words of log p(r | t) / p(r)  -  1/2 (number of tags) (number of relations) log N

Features are put beside upos one by one, the best first, as long as that is worth something; then
xpos is taken if it is worth at least as much.
"""

from __future__ import annotations

from collections import Counter
from math import log
from operator import itemgetter
from typing import TYPE_CHECKING

from eigentext.dependency.graph.encode import fine_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.dependency.sentence import TaggedSentence

MOST = 4  # features in a tag


def chosen_features(
    sentences: Sequence[TaggedSentence], relations: Sequence[Sequence[str]]
) -> tuple[str, ...] | None:
    """Names of the features that make the fine tag, with upos; None: xpos does.

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
    while len(chosen) < MOST:
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
