"""Automata of characters beside the shapes of unknown words: Bayes, power, files, command."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.errors import ModelFileError, SettingsError
from eigentext.lab.automata.classes import POWERS, RANKS, CharacterAutomata, ClassAutomata
from eigentext.lab.automata.model import STOP
from eigentext.sequences.tagger.model import LatentTagger
from eigentext.sequences.tagger.words import WordTags
from helpers.changed_files import changed

NAMES = ("A", "B", "C")


def hidden_in_the_middle(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of words that come once; their tags cannot be seen at their ends.

    All begin and end alike, and are equally long; in the middle, which the shapes of words do not
    name, letters of the first half of the alphabet are A, those of the second half B.
    """
    rng = np.random.default_rng(seed)
    tags = rng.integers(2, size=n)
    letters = [("bcdfg", "mnprs")[tag] for tag in tags]
    words = [f"kal{''.join(rng.choice(list(one), size=5))}atol" for one in letters]
    found = [(word, NAMES[tag]) for word, tag in dict(zip(words, tags, strict=True)).items()]
    pairs = [found[at : at + 4] for at in range(0, len(found), 4)]
    return [[w for w, _ in row] for row in pairs], [[t for _, t in row] for row in pairs]


def without_a_rule(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """The same words with tags by chance."""
    X, y = hidden_in_the_middle(n, seed)
    rng = np.random.default_rng(seed + 1)
    return X, [[NAMES[rng.integers(2)] for _ in row] for row in y]


@pytest.fixture(scope="module")
def tagger() -> LatentTagger:
    return LatentTagger(1, characters="automata").fit(*hidden_in_the_middle(240, 0))


@pytest.fixture(scope="module")
def small() -> CharacterAutomata:
    """Automata of short words; no word has the tag B."""
    words = [("ab", 0), ("aab", 0), ("abb", 0), ("b", 2), ("ba", 2), ("bba", 2), ("bab", 0)]
    return CharacterAutomata.learned(NAMES, words, 0.3)


def test_the_product_is_that_of_bayes_over_all_strings(small):
    """p(w | t) by its definition: characters one after the other, and the end."""
    p = np.array([0.2, 0.5, 0.3])
    for word in map("".join, product("ab", repeat=3)):
        of_tag = np.zeros(3)
        for tag, name in enumerate(small.automata.classes_):
            model = small.automata.models_[small.automata.model_of_[tag]]
            names = model.symbols_.names
            share = small.automata.sizes_[tag] / small.automata.sizes_.sum()
            for at, symbol in enumerate([*word, STOP]):
                share *= model.next_symbols([word[:at]])[0][names.index(symbol)]
            of_tag[NAMES.index(name)] = share
        of_tag = np.maximum(of_tag / of_tag.sum(), 1e-6)  # B has no words, and some share
        of_tag /= of_tag.sum()
        assert small.p([word])[0] == pytest.approx(of_tag, rel=1e-9)
        both = np.array([p[tag] * of_tag[tag] ** 0.3 for tag in range(3)])
        assert small.joined(p, word) == pytest.approx(both / both.sum(), rel=1e-9)


def test_power_and_rank_are_the_best_of_all_and_small_where_they_are_alike(small):
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(["a", "b"], size=4)) for _ in range(50)]
    own = small.p(words)
    tags = [int(rng.choice(3, p=row)) for row in own]
    p = rng.dirichlet(np.ones(3), size=50)

    def nats(power: float) -> float:
        both = p * own**power
        return -float(np.log(both[np.arange(50), tags] / both.sum(axis=1)).mean())

    power, rank = small.chosen(words, tags, p)
    assert power > 0
    assert nats(power) == min(map(nats, POWERS))
    assert rank == RANKS[0]  # a few words have no rank of more
    assert small.chosen(words, tags, np.eye(3)[tags])[0] == 0.0  # nothing to gain


def test_a_larger_rank_is_taken_where_it_is_better(small, monkeypatch):
    """The automata of rank 50 know all tags, those of 25 nothing, those of 100 no more."""
    words, tags = ["ab", "ba", "aa"] * 5, [0, 2, 1] * 5

    def p(self, asked):
        rank = self.automata.n_states
        return np.full((15, 3), 1 / 3) if rank == 25 else 0.01 / 3 + 0.99 * np.eye(3)[tags]

    monkeypatch.setattr(CharacterAutomata, "p", p)
    assert small.chosen(words, tags, np.full((15, 3), 1 / 3)) == (1.0, 50)


def test_automata_cut_to_a_rank_are_those_learned_with_it():
    words = ["ab", "aab", "abba", "b", "ba", "bba", "bab", "aabb"]
    tags = ["A", "A", "B", "B", "A", "B", "B", "A"]
    settings = {"basis": 9, "min_strings": 1, "unigram_weight": 0.1}
    cut = ClassAutomata(4, **settings).fit(words, tags).truncated(2)
    assert cut.get_params() == ClassAutomata(2, **settings).get_params()
    want = ClassAutomata(2, **settings).fit(words, tags).log_probs(["abab", "bbb"])
    assert cut.log_probs(["abab", "bbb"]) == pytest.approx(want, rel=1e-6)


def test_what_is_held_out_is_not_learned_from(monkeypatch):
    X, y = hidden_in_the_middle(100, 2)
    learned: list[set[str]] = []
    asked: list[str] = []

    def spy(cls, names, words, power=1.0, rank=10):
        learned.append({word for word, _ in words})
        return true(names, words, power, rank)

    def spy_best(self, words, tags, p):
        asked.extend(words)
        return 0.5, 7

    true = CharacterAutomata.learned
    monkeypatch.setattr(CharacterAutomata, "learned", classmethod(spy))
    monkeypatch.setattr(CharacterAutomata, "chosen", spy_best)
    found = WordTags.count(
        NAMES, X, [[NAMES.index(t) for t in row] for row in y], characters="automata"
    )
    everything = {word for row in X for word in row}
    assert len(asked) == pytest.approx(len(everything) / 5, abs=1)
    assert learned == [everything - set(asked), everything]
    assert found.characters.power == 0.5
    assert found.characters.automata.n_states == 7


def test_automata_see_what_shapes_do_not(tagger):
    """Half of the unknown words are right by chance."""
    known = set(tagger.words_.words)
    X, y = hidden_in_the_middle(200, 9)
    pairs = [
        ([word], [tag])
        for words, tags in zip(X, y, strict=True)
        for word, tag in zip(words, tags, strict=True)
        if word not in known
    ]
    assert len(pairs) > 100
    plain = LatentTagger(1).fit(*hidden_in_the_middle(240, 0))
    X, y = zip(*pairs, strict=True)
    assert plain.score(X, y) < 0.7
    assert tagger.score(X, y) > 0.95
    assert tagger.words_.characters.power > 0


def test_where_nothing_is_gained_they_are_left_out():
    X, y = without_a_rule(200, 3)
    found = LatentTagger(1, characters="automata").fit(X, y)
    plain = LatentTagger(1).fit(X, y)
    assert found.words_.characters is None
    for tokens in (*X[:5], ["unseen", "Unheard"]):
        assert (found.marginals(tokens) == plain.marginals(tokens)).all()


def test_power_zero_and_known_words_are_as_before(tagger):
    words = tagger.words_
    silent = replace(words, characters=replace(words.characters, power=0.0))
    without = replace(words, characters=None)
    differ = []
    for word in ("kalbbbbbatol", "Unheard", "x" * 5000, "≠", *words.words[:20]):
        for first in (False, True):
            p = without.p_given_word(word, first=first)
            assert silent.p_given_word(word, first=first) == pytest.approx(p, rel=1e-9)
            found = words.p_given_word(word, first=first)
            assert found.sum() == pytest.approx(1.0, rel=1e-9)
            assert (found > 0).all()
            if words.knows(word):
                assert (found == p).all()
            else:
                differ.append(np.abs(found - p).max())
    assert max(differ) > 0.1


def test_a_model_file_gives_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(CharacterAutomata, "chosen", lambda self, *held_out: (0.35, 10))
    tagger = LatentTagger(1, characters="automata").fit(*hidden_in_the_middle(100, 0))
    tagger.save(tmp_path / "one", data={"name": "made"})
    again = LatentTagger.load(tmp_path / "one")
    assert again.characters == "automata"
    assert again.words_.characters.power == 0.35
    for tokens in (["kalbbbbbatol", "never"], ["kalmmmmmatol"], ["Kalbcdmnatol"]):
        assert (again.marginals(tokens) == tagger.marginals(tokens)).all()
        assert again.log_prob(tokens) == tagger.log_prob(tokens)
    again.save(tmp_path / "two", data={"name": "made"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("missing", ["characters", "characters_power"])
def test_half_of_it_is_no_model(tagger, missing):
    with pytest.raises(ModelFileError, match=f"'{missing}'.* some are there, some missing"):
        LatentTagger.from_bytes(changed(tagger, arrays={missing: None}))


def test_automata_of_other_tags_are_refused(tagger):
    other = CharacterAutomata.learned(["Z"], [("ab", 0)]).automata.to_bytes()
    raw = changed(tagger, arrays={"characters": np.frombuffer(other, np.uint8)})
    with pytest.raises(ModelFileError, match="the tag 'Z', which is not known"):
        LatentTagger.from_bytes(raw)


def test_other_opinions_there_are_none():
    with pytest.raises(SettingsError, match="characters"):
        LatentTagger(characters="n-grams").fit([["a"]], [["X"]])


def test_little_text_will_do():
    found = LatentTagger(1, characters="automata").fit([["a"]], [["X"]])
    assert found.tag(["b"]) == ["X"]


@pytest.mark.parametrize("seed", range(4))
def test_a_few_held_out_words_choose_nothing(seed):
    """One word held out is right by chance in every other case."""
    X, y = without_a_rule(5, seed)
    assert LatentTagger(1, characters="automata").fit(X, y).words_.characters is None


def test_held_out_words_are_judged_as_the_tagger_judges(monkeypatch):
    X, y = hidden_in_the_middle(150, 2)
    seen: list[np.ndarray] = []

    def spy(self, words, tags, p):
        seen.append(p)
        return 0.0, RANKS[0]

    monkeypatch.setattr(CharacterAutomata, "chosen", spy)
    numbers = [[NAMES.index(t) for t in row] for row in y]
    for k_shape in (3.0, 300.0):
        WordTags.count(NAMES, X, numbers, characters="automata", k_shape=k_shape)
    assert np.abs(seen[0] - seen[1]).max() > 0.01


def test_the_command_tells_the_power(tmp_path, capsys):
    X, y = hidden_in_the_middle(200, 0)
    rows = [
        "".join(f"{word}\t{tag}\n" for word, tag in zip(*one, strict=True))
        for one in zip(X, y, strict=True)
    ]
    (tmp_path / "a.tsv").write_text("\n".join(rows), encoding="utf-8")
    train = ["hmm", "train-tagger", str(tmp_path / "a.tsv"), "-k", "1", "--json"]
    assert run([*train, "-o", str(tmp_path / "m"), "--characters", "automata"]) == 0
    assert json.loads(capsys.readouterr().out)["characters_power"] > 0
    assert run([*train, "-o", str(tmp_path / "m")]) == 0
    assert "characters_power" not in json.loads(capsys.readouterr().out)
