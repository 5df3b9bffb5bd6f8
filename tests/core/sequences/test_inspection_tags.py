"""What is shown of a latent tagger: tags, their words, and what follows them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from eigentext.sequences import LatentTagger
from eigentext.sequences.inspection import graph_of_tags, tags_of

SENTENCES = [
    ("the cat sat".split(), "D N V".split()),
    ("the dog saw a cat".split(), "D N V D N".split()),
    ("cats sat".split(), "N V".split()),
    ("see the dog".split(), "V D N".split()),
] * 10


def fitted(**settings: object) -> LatentTagger:
    return LatentTagger(**settings).fit([w for w, _ in SENTENCES], [t for _, t in SENTENCES])


def test_with_one_state_transitions_are_those_of_the_bigram_tagger() -> None:
    tagger = fitted(n_states=1)
    pairs = Counter(pair for _, tags in SENTENCES for pair in pairwise([*tags, "end"]))
    total = Counter(tag for _, tags in SENTENCES for tag in tags)
    n = sum(total.values()) + len(SENTENCES)
    k = tagger.k_next
    p_next = {**{tag: total[tag] / n for tag in total}, "end": len(SENTENCES) / n}
    found = tagger.chains_[0].tag_transitions()
    names = [*tagger.tags_, "end"]
    for a, tag in enumerate(tagger.tags_):
        expected = [(pairs[tag, b] + k * p_next[b]) / (total[tag] + k) for b in names]
        np.testing.assert_allclose(found[a], expected, rtol=1e-6)


@pytest.mark.parametrize("estimator", ["clustering", "moments", "em"])
def test_rows_are_distributions_whatever_the_estimator(estimator: str) -> None:
    tagger = fitted(n_states=2, estimator=estimator)
    for chain in tagger.chains_:
        p = chain.tag_transitions()
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    verb = next(view for view in tags_of(tagger) if tagger.tags_[view.state] == "D")
    assert tagger.tags_[verb.after[0][0]] == "N"  # every determiner has its noun


def test_tags_and_their_words() -> None:
    tagger = fitted(n_states=2)
    views = tags_of(tagger, top=2)
    counts = Counter(tag for _, tags in SENTENCES for tag in tags)
    assert [tagger.tags_[view.state] for view in views] == ["N", "D", "V"]
    assert [view.share for view in views] == pytest.approx(
        [counts[tag] / sum(counts.values()) for tag in ("N", "D", "V")]
    )
    assert [word for word, _ in views[0].words] == ["cat", "dog"]
    assert [p for _, p in views[1].words] == pytest.approx([0.75, 0.25])
    drawn = graph_of_tags(tagger, title="3 tags")
    assert "D: the a" in drawn
    assert "3 tags" in drawn
