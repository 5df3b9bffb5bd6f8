"""The simulated annotator: the keystroke model by hand; on the sample all ends with the gold."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.constituency import LPCFG
from eigentext.datasets.sample import load_english, write_sample
from eigentext.dependency import DependencyParser
from eigentext.language.formats.conllu import make_sentence, read_sentences
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.lexical import LexDocument, LexicalRanker, LexWord, load_scheme
from eigentext.lexical.documents import read_documents

SCRIPT = Path(__file__).parents[3] / "examples" / "annotation_simulation.py"
sim = SimpleNamespace(**runpy.run_path(str(SCRIPT), run_name="simulation"))


# ---------------------------------------------------------------- the keystroke model


@pytest.mark.parametrize(
    ("place", "keys", "looked"), [(0, 1, 1), (8, 1, 9), (9, 2, 10), (17, 2, 18), (18, 3, 19)]
)
def test_a_digit_and_a_key_for_each_page(place: int, keys: int, looked: int) -> None:
    effort = sim.Effort()
    assert effort.choose(list(range(30)), place)
    assert (effort.keys, effort.looked) == (keys, looked)


def test_what_is_not_listed_is_typed_after_all_was_read() -> None:
    """Twelve candidates: one page turned, 0, lemma of three letters, Enter, two more elements."""
    gold = ("abc", "N", "-", "0", "d")
    effort = sim.read_off([(str(k), "N", "-", "0", "d") for k in range(12)], gold)
    assert (effort.keys, effort.looked) == (1 + 1 + 3 + 1 + 2, 12)
    assert sim.read_off([], gold).keys == 1 + 3 + 1 + 2


@given(st.permutations(range(25)), st.integers(0, 24), st.integers(0, 24))
def test_a_list_with_the_right_one_higher_never_takes_more(
    order: list[int], right: int, better: int
) -> None:
    """So ranking that puts the right candidate no lower never needs more keys, nor more looks."""
    place = order.index(right)
    rest = [one for one in order if one != right]
    rest.insert(min(better, place), right)
    listed, ranked = sim.Effort(), sim.Effort()
    listed.choose(order, right)
    ranked.choose(rest, right)
    assert ranked.keys <= listed.keys
    assert ranked.looked <= listed.looked


def test_names_are_completed() -> None:
    names = ["nsubj", "nmod", "n", "nsubj:pass", "obj"]
    assert [sim.beginning(name, names) for name in names] == [5, 2, 1, 6, 1]


# ---------------------------------------------------------------- words


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = write_sample(tmp_path_factory.mktemp("words"))
    scheme = load_scheme("arabic14")
    documents = read_documents([str(folder / "arabic.jsonl")], scheme)
    # one document of several sentences, so that they could condition each other
    held_out = [LexDocument("a", [s for d in documents[:4] for s in d.sentences])]
    held_out.append(LexDocument("b", [s for d in documents[4:8] for s in d.sentences]))
    return LexicalRanker(analyzer="sample", scheme=scheme).fit(documents[8:]), held_out


def test_deciding_all_sentences_at_once_is_deciding_in_order(words) -> None:
    ranker, documents = words
    found = sim.annotate_words(ranker, documents)["ranked, decided words condition"]
    in_order = Counter()
    for document in documents:
        fixed, at = {}, 0
        for number, sentence in enumerate(document.sentences):
            for k, word in enumerate(sentence):
                (ranked,) = ranker.rank_documents([document], fixed=fixed)
                if word.label is not None:
                    if word.scored:
                        labels = [c.label for c in ranked[number][k].candidates]
                        effort = sim.read_off(labels, word.label)
                        in_order += Counter(keys=effort.keys, looked=effort.looked)
                    fixed[at] = word.label
                at += 1
    whole = sim.total(found)
    assert (whole.keys, whole.looked) == (in_order["keys"], in_order["looked"])


def test_ranking_saves_looking_on_the_sample(words) -> None:
    arms = {name: sim.total(some) for name, some in sim.annotate_words(*words).items()}
    assert len({effort.words for effort in arms.values()}) == 1
    ranked, unranked = arms["ranked, decided words condition"], arms["unranked: alphabetical"]
    assert ranked.looked < unranked.looked
    assert max(effort.keys for effort in arms.values()) == arms["no proposals"].keys
    assert arms["no proposals"].looked == 0


def test_only_wrong_ones_are_chosen_by_hand(words) -> None:
    """Right words cost Enter alone; the second of two, wrong, an arrow, a digit and Enter."""
    ranker, _ = words
    arm, tokens = "ranked, only wrong ones chosen", ["من", "علم"]
    first = ranker.rank(tokens)[0].best.label
    second = ranker.rank(tokens, fixed={0: first})[1].candidates
    assert len(second) > 1
    for place, expected in ((0, (1, 2, 0)), (1, (3, 3, 1))):
        labels = first, second[place].label
        text = LexDocument("x", [list(map(LexWord, tokens, labels))])
        (effort,) = sim.annotate_words(ranker, [text])[arm]
        assert (effort.keys, effort.looked, effort.chosen) == expected


# ---------------------------------------------------------------- dependency trees


@pytest.fixture(scope="module")
def arcs(tmp_path_factory):
    folder = write_sample(tmp_path_factory.mktemp("arcs"))
    training = list(read_sentences(folder / "treebank.conllu"))
    parser = DependencyParser(epochs=3, bits=18, projective=True).fit(training[:120])
    return parser, list(read_sentences(folder / "treebank-dev.conllu"))


def test_arcs_end_as_gold_in_every_arm(arcs) -> None:
    parser, sentences = arcs
    arms = {name: sim.total(some) for name, some in sim.annotate_arcs(parser, sentences).items()}
    assert {effort.words for effort in arms.values()} == {sum(len(s.forms) for s in sentences)}
    ranked, unranked = arms["ranked, not re-parsed"], arms["unranked, not re-parsed"]
    assert ranked.chosen == unranked.chosen > 0  # the same corrections of the same trees
    assert arms["no proposals"].chosen == 2 * ranked.words
    assert max(effort.keys for effort in arms.values()) == arms["no proposals"].keys


WAYS = [
    {"reparse": reparse, "ranked": ranked, "undo": undo, "passed_bind": bind}
    for reparse in (True, False)
    for ranked in (True, False)
    for undo in (True, False)
    for bind in (True, False)
]


@pytest.mark.parametrize("how", WAYS)
def test_a_tree_the_parser_cannot_make(arcs, how: dict) -> None:
    """Crossing arcs of a projective parser, and a relation that training never had."""
    parser, _ = arcs
    gold = make_sentence(
        ["dogs", "bark", "loudly", "here"],
        upos=["NOUN", "VERB", "ADV", "ADV"],
        head=[3, 4, 2, 0],
        deprel=["obl:odd", "advcl", "advmod", "root"],
    )
    sentence = sim.Arcs(parser, gold)
    effort, tree = sim.correct_arcs(sentence, sentence.parsed({}), **how)
    assert tree == sentence.gold
    assert effort.keys > 1


def test_a_right_tree_costs_one_key(arcs) -> None:
    parser, sentences = arcs
    sentence = sim.Arcs(parser, sentences[0])
    effort, _ = sim.correct_arcs(sentence, sentence.gold, reparse=True, ranked=True)
    assert (effort.keys, effort.looked, effort.chosen) == (1, sentence.n, 0)


def test_one_wrong_arc_by_hand(arcs) -> None:
    """Two arrows to word 3, h, then arrows to its head and Enter; nothing else is wrong."""
    parser, sentences = arcs
    sentence = sim.Arcs(parser, next(s for s in sentences if len(s.forms) > 4))
    wrong = list(sentence.gold)
    head, relation = wrong[2]
    other = next(h for h in (1, 2, 4) if h != head)
    wrong[2] = (other, relation)
    effort, _ = sim.correct_arcs(sentence, wrong, reparse=False, ranked=False)
    assert effort.keys == 1 + 2 + 1 + (1 if head == 0 else abs(head - 3) + 1)
    assert effort.chosen == 1


def test_likelier_relations_come_first(arcs) -> None:
    """The parser's own relation of each word is the first of the list."""
    parser, sentences = arcs
    sentence = sim.Arcs(parser, sentences[1])
    tree = sentence.parsed({})
    root = [head for head, _ in tree].index(0) + 1
    for word in range(1, sentence.n + 1):
        if word != root:  # it has no choice
            assert sentence.relations(tree, word)[0] == tree[word - 1][1]


# ---------------------------------------------------------------- constituents


@pytest.fixture(scope="module")
def spans():
    training = [Tree.from_brackets(line) for line in load_english("train")]
    labels = sorted({label for tree in training for label, _, _ in tree.constituents()})
    return LPCFG(n_states=4, seed=0).fit(training), labels


def test_spans_end_as_gold_in_every_arm(spans) -> None:
    parser, labels = spans
    trees = [Tree.from_brackets(line) for line in load_english("dev")][:12]
    arms = {n: sim.total(some) for n, some in sim.annotate_spans(parser, trees, labels).items()}
    ranked, unranked = arms["ranked, not re-parsed"], arms["unranked, not re-parsed"]
    assert ranked.chosen == unranked.chosen > 0
    assert max(effort.keys for effort in arms.values()) == arms["no proposals"].keys


@pytest.mark.parametrize(
    "brackets",
    [
        "(TOP (S (NP (DT The) (NN dog)) (ODD (VBZ barks)) (. .)))",  # a label that is not known
        "(TOP (S (NP (NP (NP (DT The) (NN dog)))) (VP (VBZ barks)) (. .)))",  # one label thrice
        "(TOP (S (NP (ZZ The) (NN dog) (VP (VBZ barks))) (. .)))",  # a tag that is not known
        "(TOP (S (DT The) (X (NN dog) (VBZ barks) (. .))))",
    ],
)
@pytest.mark.parametrize("undo", [True, False])
@pytest.mark.parametrize("ranked", [True, False])
def test_a_tree_the_grammar_cannot_make(spans, brackets: str, undo: bool, ranked: bool) -> None:
    parser, labels = spans
    sentence = sim.Spans(parser, Tree.from_brackets(brackets), [*labels, "ODD", "X"])
    answer = sentence.proposed()
    for reparse in (True, False):
        effort, found = sim.correct_spans(
            sentence, answer, reparse=reparse, ranked=ranked, undo=undo
        )
        assert found == sentence.gold
        assert effort.chosen > 0


# ---------------------------------------------------------------- real trees


@pytest.mark.requires("data")
def test_real_trees_end_as_gold(data: Path) -> None:
    """Hungarian, a fifth of whose sentences have crossing arcs; English constituents."""
    folder = data / "dependency" / "hu-szeged"
    parser = DependencyParser(epochs=2, bits=18).fit(
        sim.spread(list(read_sentences(folder / "train.conllu")), 80)
    )
    held_out = sim.spread(list(read_sentences(folder / "dev.conllu")), 12)
    arms = sim.annotate_arcs(parser, held_out)
    assert {len(some) for some in arms.values()} == {12}
    folder = data / "constituency" / "gum"
    training = sim.spread(list(read_trees(folder / "train.mrg")), 300)
    labels = sorted({label for tree in training for label, _, _ in tree.constituents()})
    trees = [tree for tree in read_trees(folder / "test.mrg") if len(tree.words) <= 25]
    arms = sim.annotate_spans(
        LPCFG(n_states=4, seed=0).fit(training), sim.spread(trees, 12), labels
    )
    totals = {name: sim.total(some) for name, some in arms.items()}
    assert max(effort.keys for effort in totals.values()) == totals["no proposals"].keys
