"""The reranker on a real treebank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eigentext.dependency import DependencyParser, Reranker
from eigentext.dependency.rerank.lists import tagged_lists
from eigentext.dependency.sentence import TaggedSentence
from eigentext.language.formats.conllu import read_sentences


@pytest.mark.long
@pytest.mark.requires("data")
def test_a_reranker_of_hungarian_chooses_better_than_by_chance(data):
    folder = Path(data) / "dependency" / "hu-szeged"
    train, dev = (list(read_sentences(folder / f"{part}.conllu")) for part in ("train", "dev"))
    train, dev = train[:300], dev[:150]
    parser = DependencyParser(epochs=4, projective=True).fit(train)
    reranker = Reranker(experts=("generative",), kbest=10, generative={"language": "generic"})
    reranker.fit(train, parser, measure=True)
    tagged = [TaggedSentence.from_conllu(sentence) for sentence in dev]
    lists = tagged_lists(parser, tagged, k=10)
    right = lists.right_words([(one.heads, one.column("deprel")) for one in dev])
    heads, relations = reranker.trees(parser, tagged)
    chosen = 0
    for number, sentence in enumerate(dev):
        one = lists[number].heads.tolist()
        place = one.index(heads[number])  # it is one of the list, with its relations
        named = [lists.relations.names[at] for at in lists.relations_of(number)[place]]
        assert relations[number] == named
        pairs = zip(heads[number], relations[number], strict=True)
        gold = zip(sentence.heads, sentence.column("deprel"), strict=True)
        same = [
            (h, r.partition(":")[0]) == (g, q.partition(":")[0])
            for (h, r), (g, q) in zip(pairs, gold, strict=True)
        ]
        assert sum(same) == right[lists.tree_at[number] + place]
        chosen += sum(same)
    first, best, mean = 0.0, 0.0, 0.0
    for begin, end in zip(lists.tree_at[:-1], lists.tree_at[1:], strict=True):
        some = right[begin:end]
        first, best, mean = first + some[0], best + some.max(), mean + np.mean(some)
    # a third of the way from a tree taken at random to the best of each list, at the least
    assert chosen > mean + (best - mean) / 3
    assert chosen >= first
    assert reranker.held_out_.words == sum(map(len, train))
