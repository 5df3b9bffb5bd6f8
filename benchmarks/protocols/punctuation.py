"""Sentences without punctuation, as Dhillon et al. (2012) parse and score them."""

from __future__ import annotations

import numpy as np

from eigentext.language.formats.conllu import ConlluBlock, make_sentence

_PTB_SIGNS = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "#"})


def without_punctuation(sentence: ConlluBlock) -> ConlluBlock | None:
    """The sentence without its punctuation; None when nothing else is in it.

    What hung from punctuation hangs from the next head above that stays.  When the root goes, its
    first dependent takes its place, and the others hang from that.

    >>> dash = make_sentence(["yes", "-", "no"], upos=["INTJ", "PUNCT", "INTJ"], head=[2, 0, 2])
    >>> bare = without_punctuation(dash)
    >>> bare.forms, bare.heads
    (('yes', 'no'), (0, 1))
    """
    upos, xpos, heads = sentence.column("upos"), sentence.column("xpos"), sentence.heads
    keep = [
        not (u == "PUNCT" or (u == "_" and x in _PTB_SIGNS))
        for u, x in zip(upos, xpos, strict=True)
    ]
    if not any(keep):
        return None
    number = dict(zip(np.flatnonzero(keep).tolist(), range(1, sum(keep) + 1), strict=True))
    new: list[int | None] | None = None
    if heads is not None:
        new, root = [], 0
        for index in number:  # up to the next head that stays
            above = heads[index]
            while above and not keep[above - 1]:
                above = heads[above - 1]
            new.append(number[above - 1] if above else 0)
        # several words may now hang from the root: the first is the root, the others below it
        for at, head in enumerate(new):
            if head == 0:
                if root:
                    new[at] = root
                root = root or at + 1
    picked = {
        name: [cell for cell, stays in zip(sentence.column(name), keep, strict=True) if stays]
        for name in ("form", "lemma", "upos", "xpos", "feats", "deprel")
    }
    return make_sentence(
        picked["form"],
        lemma=picked["lemma"],
        upos=picked["upos"],
        xpos=picked["xpos"],
        feats=picked["feats"],
        deprel=picked["deprel"],
        head=new,
    )
