"""Features of labelled trees against a plain twin; relations of lists; the table of a reranker."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.dependency import DependencyParser, Reranker
from eigentext.dependency.graph.answer import judged, tree_score
from eigentext.dependency.graph.encode import TokenEncoder
from eigentext.dependency.graph.labels import (
    LabelledList,
    LabelModel,
    LabelSettings,
    label_templates,
)
from eigentext.dependency.rerank.lists import KBestLists, lists_of
from eigentext.dependency.rerank.tree_features import (
    COLUMNS,
    TreeFeatures,
    TreeTable,
    list_features,
    relation_keys,
)
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import ModelFileError, SettingsError
from eigentext.language.formats.conllu import make_sentence, to_dependency_tree
from eigentext.linear.lists import ListWeights
from helpers.changed_files import changed
from helpers.tree_hashes import EDGE, bucket, features_of_trees, more, start_of
from helpers.tree_hashes import hash_of as _hash

NAMES = ("root", "nsubj", "obj", "conj", "punct")
UPOS = ("NOUN", "VERB", "PUNCT")


# -- features ----------------------------------------------------------------------------------


def _below(heads, w):
    """All words below w, itself included."""
    found = {w}
    for d, h in enumerate(heads, start=1):
        if h == w:
            found |= _below(heads, d)
    return found


def _plain_features(words, heads, relations, keys):
    """All features of one tree, word by word."""
    upos, xpos, lower, lemma, feats = ([*map(int, column), EDGE] for column in words)
    n = len(heads)
    head = [None, *heads]
    rel = [EDGE, *(int(keys[number]) for number in relations)]
    children = {w: [d for d in range(1, n + 1) if head[d] == w] for w in range(n + 1)}
    found = Counter()
    for h in range(n + 1):
        g = head[h]
        ug, xg, lg, rg = (EDGE,) * 4 if g is None else (upos[g], xpos[g], lemma[g], rel[g])
        frame = start_of(7)
        sides = {side: [d for d in children[h] if (d > h) == side] for side in (False, True)}
        for d in children[h]:
            side = d > h
            r = more(rel[d], int(side))
            frame = more(more(frame, rel[d]), int(side))
            at = sides[side].index(d)
            s, t = ([None, None, *sides[side]][at + k] for k in (1, 0))
            rs, us, xs, ms = (EDGE,) * 4 if s is None else (rel[s], upos[s], xpos[s], lemma[s])
            rt, ut = (EDGE, EDGE) if t is None else (rel[t], upos[t])
            span = _below(heads, d)
            first, last = min(span), max(span)
            size, rest = bucket(last - first + 1), min(n - last, 2)
            u0, u1, u2, u3 = upos[first - 1], upos[first], upos[last], upos[last + 1]
            own = _below(heads, h) if h else {0}  # the root is a word alone
            many = min(len(children[h]), 5) * 6 + min(len(children[d]), 5)
            far = bucket(abs(d - h))
            found.update(
                [
                    _hash(1, r, upos[h], upos[d], far), _hash(2, r, lemma[h], upos[d]),
                    _hash(3, r, upos[h], lemma[d]), _hash(4, r, lemma[h], lemma[d]),
                    _hash(5, r, xpos[h], xpos[d], far), _hash(6, r, feats[h], feats[d]),
                    _hash(10, r, rel[h], ug, upos[h], upos[d]), _hash(11, r, rel[h], rg, upos[h]),
                    _hash(12, r, rel[h], lemma[h], upos[d]),
                    _hash(13, r, rel[h], upos[h], lemma[d]), _hash(14, r, rel[h], lg, lemma[d]),
                    _hash(15, r, int(g is None or h > g), xg, xpos[h], xpos[d], rel[h]),
                    _hash(16, r, rel[h], lg, upos[d]),
                    _hash(20, r, rs, upos[h], upos[d]), _hash(21, r, rs, upos[h], us, upos[d]),
                    _hash(22, r, rs, lemma[h], upos[d]), _hash(23, r, rs, ms, lemma[d]),
                    _hash(24, r, rs, xpos[h], xs, xpos[d]), _hash(25, r, rs, lemma[h]),
                    _hash(26, r, rs, us, lemma[d]), _hash(27, r, rs, ms, upos[d]),
                    _hash(30, r, rs, rel[h], upos[h], us, upos[d]),
                    _hash(31, r, rs, rel[h], ug, upos[h]), _hash(32, r, rs, rt, upos[h]),
                    _hash(33, r, ut, us, upos[d], upos[h]), _hash(34, r, rs, rt, lemma[h]),
                    _hash(40, r, upos[d], size), _hash(41, r, u0, u1, upos[d]),
                    _hash(42, r, u2, u3, upos[d]), _hash(43, r, u0, u3, size),
                    _hash(44, r, lower[first]), _hash(45, r, lower[first - 1]),
                    _hash(46, r, lower[last + 1]), _hash(47, r, upos[h], size, rest),
                    _hash(48, r, lower[first], lemma[h]),
                    _hash(60, rel[d], rel[h], feats[d], feats[h]),
                    _hash(61, rel[d], upos[h], upos[d], many),
                    _hash(62, rel[d], bucket(max(own) - min(own) + 1), size),
                ]
            )  # fmt: skip
        valence = min(len(sides[False]), 4) * 5 + min(len(sides[True]), 4)
        found.update(
            [
                _hash(50, frame, upos[h]), _hash(51, frame, lemma[h]),
                _hash(52, frame, rel[h], upos[h]), _hash(53, upos[h], rel[h], valence),
                _hash(54, xpos[h], valence), _hash(55, lemma[h], valence),
            ]
        )  # fmt: skip
        for i, d in enumerate(children[h]):
            for e in children[h][i + 1 :]:
                found[_hash(56, rel[d], rel[e], upos[h], (d > h) + 2 * (e > h))] += 1
                if rel[d] == rel[e]:
                    found.update([_hash(57, rel[d], rel[h]), _hash(58, rel[d], upos[h])])
    return found


@st.composite
def some_lists(draw):
    """A tagged sentence, and heads and relations (K, n) of some of its trees."""
    n = draw(st.integers(1, 8))
    words = st.lists(st.sampled_from(["a", "B", "c"]), min_size=n, max_size=n)
    tags = draw(st.lists(st.sampled_from(UPOS), min_size=n, max_size=n))
    feats = draw(st.lists(st.sampled_from(["_", "Case=Nom"]), min_size=n, max_size=n))
    sentence = TaggedSentence.of(draw(words), upos=tags, feats=feats, lemmas=draw(words))
    heads, relations = [], []
    for _ in range(draw(st.integers(1, 4))):
        order = draw(st.permutations(range(1, n + 1)))
        tree = [0] * n
        for done, word in enumerate(order[1:], start=1):
            tree[word - 1] = draw(st.sampled_from(order[:done]))
        heads.append(tree)
        relations.append(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return sentence, np.array(heads), np.array(relations, np.int32)


@given(some_lists())
@settings(max_examples=60, deadline=None)
def test_features_are_those_of_a_plain_twin(drawn):
    sentence, heads, relations = drawn
    (words,) = TreeFeatures().of_words([sentence])
    keys = relation_keys(NAMES)
    plain = [
        _plain_features(words, tree, names, keys)
        for tree, names in zip(heads.tolist(), relations.tolist(), strict=True)
    ]
    assert features_of_trees(list_features(words, heads, relations, keys, every=True)) == plain
    # what all trees have is left out, and nothing else: their differences are the same
    found = features_of_trees(list_features(words, heads, relations, keys, every=False))
    for mine, expected in zip(found, plain, strict=True):
        assert mine - found[0] == expected - plain[0]
        assert found[0] - mine == plain[0] - expected


def test_words_are_known_by_their_tags():
    bare = TaggedSentence.of(["Dogs", "bark"], xpos=["NNS", "VBP"])
    both = TaggedSentence.of(["Dogs", "bark"], upos=["NNS", "VBP"], xpos=["NNS", "VBP"])
    one, other = TreeFeatures().of_words([bare, both])
    for mine, theirs in zip(one, other, strict=True):
        assert mine.tolist() == theirs.tolist()  # XPOS stands for a UPOS that is not there
    cased = [
        TaggedSentence.of(["a", "b"], upos=["N", "N"], feats=["Case=A", "Case=B"])
        for _ in range(50)
    ]
    assert TreeFeatures.of(cased, [["subj", "obj"]] * 50).fine == ("Case",)


# -- relations of lists -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bank():
    """Sentences whose words have a relation by what they are."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(60):
        subject, thing = (str(word) for word in rng.choice(["dog", "cat", "bird"], 2))
        made.append(
            make_sentence(
                ["the", subject, "saw", "a", thing, "today"],
                upos=["DET", "NOUN", "VERB", "DET", "NOUN", "ADV"],
                head=[2, 3, 0, 5, 3, 3],
                deprel=["det", "nsubj", "root", "det", "obj", "advmod:tmod"],
            )
        )
    return made


@pytest.fixture(scope="module")
def parser(bank):
    return DependencyParser(epochs=2, bits=16).fit(bank)


def test_relations_of_a_list_are_those_of_its_trees(parser, bank):
    tagged = [TaggedSentence.from_conllu(sentence) for sentence in bank[:5]]
    lists = lists_of(parser, bank[:5], k=12)
    assert lists.relations.names == parser.relations_.relations
    batch = parser.encoder_.batch(tagged)
    for number in range(5):
        heads = lists[number].heads
        relations = lists.relations_of(number)
        assert len({tuple(tree) for tree in heads.tolist()}) == len(heads) > 5
        for tree, found in zip(heads, relations, strict=True):
            one = parser.encoder_.batch([tagged[number]])
            alone = parser.relations_.label(one, np.array([-1, *tree], np.int32))
            assert alone[1:].tolist() == found.tolist()
        # told to keep these relations, the model is as sure of them
        rows = slice(batch.starts[number], batch.starts[number + 1])
        chosen = parser.relations_.label_list(batch.keys[rows], heads)
        told = parser.relations_.label_list(batch.keys[rows], heads, relations)
        assert np.array_equal(chosen.margins, told.margins)
        assert (chosen.margins >= 0).all()
        assert np.array_equal(lists.relations.margins[lists.tree_at[number]], told.columns()[0])
        # any other relation is beaten by at least as much as the best beats the next
        worse = relations.copy()
        worse[:, 1] = (worse[:, 1] + 1) % len(lists.relations.names)
        other = parser.relations_.label_list(batch.keys[rows], heads, worse)
        assert (other.margins[:, 1] <= -chosen.margins[:, 1]).all()


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_relations_of_any_list_are_those_of_its_trees(seed):
    # crossing arcs, one word, several relations of the root's word
    rng = np.random.default_rng(seed)
    n, n_trees, n_labels = rng.integers(1, 9), rng.integers(1, 7), rng.integers(1, 5)
    heads = np.zeros((n_trees, n), np.int32)
    for tree in heads:
        order = rng.permutation(n) + 1
        for done in range(1, n):
            tree[order[done] - 1] = order[rng.integers(done)]
    words = TaggedSentence.of(
        rng.choice(["a", "b"], n).tolist(), upos=rng.choice(["N", "V"], n).tolist()
    )
    model = LabelModel(
        LabelSettings(bits=10),
        label_templates(),
        tuple("abcde"[:n_labels]),
        int(rng.integers(-1, n_labels)),
        rng.integers(-9, 9, (1 << 10) + n_labels).astype(np.int16),
    )
    batch = TokenEncoder().batch([words] * n_trees)
    rows = np.full((n_trees, n + 1), -1, np.int32)
    rows[:, 1:] = heads
    alone = model.label(batch, rows.ravel()).reshape(n_trees, n + 1)[:, 1:]
    together = model.label_list(batch.keys[: n + 1], heads)
    assert together.relations.tolist() == alone.tolist()
    told = model.label_list(batch.keys[: n + 1], heads, together.relations)
    assert told.margins.tolist() == together.margins.tolist()
    # arcs that must or must not have a relation: the best of those that are left
    demands = np.array(
        [
            (rng.integers(n + 1), rng.integers(1, n + 1), rng.integers(n_labels), k % 2)
            for k in range(rng.integers(4))
        ],
        np.int64,
    ).reshape(-1, 4)
    asked = model.label_list(batch.keys[: n + 1], heads, demands=demands).relations
    for own, tree in zip(asked, heads, strict=True):
        for word, (head, relation) in enumerate(zip(tree, own, strict=True), start=1):
            free = head > 0 or model.root < 0
            about = [(r, must) for h, d, r, must in demands if (h, d) == (head, word) and free]
            musts = {r for r, must in about if must}
            nots = {r for r, must in about if not must}
            left = set(range(n_labels)) - nots - {model.root}
            if len(musts) == 1 and musts <= left:
                assert {relation} == musts
            elif not musts and left:
                assert relation not in nots
    wrong = np.full_like(together.relations, -1)  # relations that training did not see
    assert (model.label_list(batch.keys[: n + 1], heads, wrong).margins < 0).all()


def test_right_words_have_head_and_relation():
    lists = KBestLists.of([([[2, 0], [0, 1]], [2, 1]), ([[0]], [1])])
    assert lists.right_words([([2, 0], ["x", "y"]), ([0], ["root"])]).tolist() == [2, 0, 1]
    labels = [
        LabelledList(np.array(rows), np.zeros((len(rows), len(rows[0])), np.int32))
        for rows in ([[0, 1], [0, 1]], [[2]])
    ]
    lists = KBestLists.of([([[2, 0], [2, 0]], [2, 1]), ([[0]], [1])], (NAMES, labels))
    gold = [([2, 0], ["root:x", "obj"]), ([0], ["unheard"])]
    assert lists.right_words(gold).tolist() == [1, 1, 0]  # subtypes do not count
    with pytest.raises(SettingsError, match="1 gold trees for 2"):
        lists.right_words(gold[:1])
    with pytest.raises(SettingsError, match="has 1 words, its list 2"):
        lists.right_words([gold[1], gold[1]])
    both = KBestLists.joined([lists, lists.part(1, 2)])
    assert both.relations_of(2).tolist() == [[2]]
    with pytest.raises(SettingsError, match="no relations"):
        KBestLists.of([([[0]], [1])]).relations_of(0)


def test_lists_keep_their_relations(parser, bank, tmp_path):
    lists = lists_of(parser, bank[:3], k=4)
    lists.save(tmp_path / "a.kbest")
    back = KBestLists.load(tmp_path / "a.kbest")
    assert back.relations.names == lists.relations.names
    assert np.array_equal(back.relations.numbers, lists.relations.numbers)
    assert np.array_equal(back.relations.margins, lists.relations.margins)
    lists.relations = lists.relations._replace(names=lists.relations.names[:1])
    with pytest.raises(ModelFileError, match="without a name"):
        KBestLists.from_bytes(lists.to_bytes())


# -- the reranker -------------------------------------------------------------------------------


def test_a_table_has_the_columns_of_each_tree(parser, bank):
    tagged = [TaggedSentence.from_conllu(sentence) for sentence in bank[:4]]
    lists = lists_of(parser, bank[:4], k=3)
    column = np.arange(len(lists.scores))
    gold = [(sentence.heads, sentence.column("deprel")) for sentence in bank[:4]]
    table = TreeTable.of(tagged, lists, TreeFeatures(), {"expert": column}, gold)
    assert table.names == (*COLUMNS, "expert")
    assert table.dense[:, 0].tolist() == lists.scores.tolist()
    assert table.dense[:, 3].tolist() == column.tolist()
    part = table.part(np.array([2, 0]))
    assert part.tree_at.tolist() == [0, 3, 6]
    assert part.right.tolist() == [*table.right[6:9], *table.right[:3]]
    assert [one.dense[0, 3] for one in part.lists()] == [6, 0]
    weights = ListWeights(
        np.empty(0, np.uint64), np.empty(0, np.float32), np.array([0, 0, 0, 2.0])
    )
    assert part.scores(weights).tolist() == [12, 14, 16, 0, 2, 4]
    with pytest.raises(SettingsError, match="3 sentences for 4"):
        TreeTable.of(tagged[:3], lists, TreeFeatures())
    with pytest.raises(SettingsError, match="sentence 0 has 1 words, its list 6"):
        TreeTable.of([TaggedSentence.of(["a"], upos=["X"])] * 4, lists, TreeFeatures())
    with pytest.raises(SettingsError, match="finite"):
        TreeTable.of(tagged, lists, TreeFeatures(), {"expert": np.full(len(column), np.inf)})


def test_lists_that_are_no_trees_do_no_harm(bank):
    lists = KBestLists.of([([[2, 1, 2, 5, 4, 0], [2, 3, 0, 5, 3, 3]], [1.0, 0.5])] * 6)
    found = Reranker(experts=(), folds=2).fit(bank[:6], lists=lists)
    assert found.n_features >= 0  # it ends
    with pytest.raises(SettingsError, match="no training lists"):
        Reranker(experts=()).fit([], lists=KBestLists.of([]))


def test_choosing_one_by_one_and_all_at_once_are_the_same(parser, bank, tmp_path):
    reranker = Reranker(experts=(), kbest=6, folds=2).fit(bank, parser, measure=True)
    first, chosen = reranker.held_out_.attachment
    assert 0 < first <= 100
    assert 0 < chosen <= 100
    reranker.save(tmp_path / "r")
    back = Reranker.load(tmp_path / "r")
    tagged = [TaggedSentence.from_conllu(sentence) for sentence in bank]
    heads, relations = back.trees(parser, tagged)
    for number in range(0, 60, 7):
        listed = parser.kbest(tagged[number], k=6)
        order = reranker.choose(tagged[number], listed)
        assert order[0].tree.heads.tolist() == heads[number]
        assert list(order[0].tree.relations) == relations[number]
        assert [one.score for one in order] == sorted((p.score for p in order), reverse=True)
        # the score of a tree does not hang on those beside it
        alone = [reranker.choose(tagged[number], [one])[0].score for one in listed]
        assert sorted(alone, reverse=True) == [one.score for one in order]


def test_any_tree_can_be_judged(parser, bank):
    sentence, tagged = bank[0], TaggedSentence.from_conllu(bank[0])
    best = parser.parse(tagged)
    tree = to_dependency_tree(sentence.with_columns(deprel=list(best.tree.relations)))
    assert best.tree.heads.tolist() == list(sentence.heads)
    found = judged(parser, sentence, tree)
    assert found.score == tree_score(parser, sentence, tree)
    assert found.margins == best.margins
    odd = judged(parser, sentence, to_dependency_tree(sentence.with_columns(deprel=["x"] * 6)))
    assert odd.margins[0] < best.margins[0]
    plain = DependencyParser(epochs=1, bits=14, labels=False).fit(bank[:10])
    assert judged(plain, sentence, tree).margins == (0.0, 0.0)


def test_an_expert_that_cannot_be_unpacked_is_refused(parser, bank):
    reranker = Reranker(experts=("valence",), kbest=3, folds=2).fit(bank[:10], parser)
    whole = reranker._pack().arrays["expert.valence"]
    for broken in (whole[:-3], whole[5:], np.concatenate([whole, whole])):
        with pytest.raises(ModelFileError, match=r"expert\.valence"):
            Reranker.from_bytes(changed(reranker, arrays={"expert.valence": broken}))
