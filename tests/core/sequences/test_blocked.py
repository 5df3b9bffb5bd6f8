"""Blocked emissions: the dense model, enumeration and plain loops say the same."""

from __future__ import annotations

import json
import re
import textwrap
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from eigentext.base.cores import using_cores
from eigentext.base.files.opening import numbered_lines
from eigentext.cli.main import run
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.sequences import BlockedHMM, Encoded, Parameters, Symbols
from eigentext.sequences.blocked import inference
from eigentext.sequences.blocked import model as blocked_model
from eigentext.sequences.blocked.learn import (
    NONE,
    BlockedCounts,
    BlockedSmoothing,
    Discounts,
    Trainer,
    choose_states,
    lifted,
)
from eigentext.sequences.blocked.model import _check_memory
from eigentext.sequences.blocked.parameters import Blocks
from eigentext.sequences.hmm import inference as dense_inference
from eigentext.sequences.hmm.em import baum_welch
from eigentext.sequences.inspection import kneser_ney_trigram_surprisals
from helpers.changed_files import changed
from oracle import hmm_paths

OF_WORD, SIZES = np.array([0, 1, 1, 2, 0, 3]), np.array([2, 3, 1, 2])
SEEN = Encoded.of([[0, 1, 3, 4], [2, 5, 0], [1, 1, 5], [3], [5, 2, 0, 4, 1]])
ASKED = Encoded.of([[0, 1, 3, 4, 5], [3, 3, 0], [], [5, 4], [2]])  # with pairs never seen
EVERY = np.arange(len(SEEN))


def _smoothing(seed: int = 0, dtype: type = np.float64) -> tuple[Trainer, BlockedSmoothing]:
    """Counts at random for the text above; groups 0 to 2, the beginning 3."""
    rng = np.random.default_rng(seed)
    blocks = Blocks.of(OF_WORD, SIZES)
    trainer = Trainer(SEEN, blocks, dtype)
    moved = rng.gamma(0.8, 2.0, trainer.pairs.at[-1]).astype(dtype)
    emitted = rng.gamma(1.0, 2.0, blocks.emit[-1])
    group = np.append(rng.integers(3, size=blocks.n_states), 3).astype(np.int32)
    return trainer, BlockedSmoothing(BlockedCounts(moved, emitted), blocks, trainer.pairs, group)


def _tables(parameters: Parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return parameters.initial, parameters.transition, parameters.emission


@pytest.fixture(scope="module")
def random():
    return _smoothing()[1].parameters(Discounts(mix=0.2))


def test_every_row_sums_to_one(random):
    rows = random.rows(np.arange(random.n_states + 1))
    assert rows.sum(axis=1) == pytest.approx(np.ones(random.n_states + 1), abs=1e-12)
    assert (rows > 0).all()
    shown = random.shown(np.eye(random.n_states))
    assert shown.sum(axis=1) == pytest.approx(np.ones(random.n_states), abs=1e-12)


def test_probabilities_are_those_of_the_dense_model_and_of_all_paths(random):
    values = inference.surprisals(random, ASKED)
    dense = random.dense()
    assert values == pytest.approx(dense_inference.surprisals(dense, ASKED), abs=1e-10)
    sums = ASKED.sums(values)
    for number in (0, 1, 3, 4):
        p = hmm_paths.probability(*_tables(dense), ASKED[number].tolist())
        assert np.exp(-sums[number]) == pytest.approx(p, rel=1e-10)
    assert sums[2] == 0


def test_states_are_those_of_the_dense_model(random):
    dense = random.dense()
    best = inference.viterbi(random, ASKED)
    assert best.tolist() == dense_inference.viterbi(dense, ASKED).tolist()
    values, place = inference.posteriors(random, ASKED)
    smoothed = dense_inference.smoothed(dense, ASKED)
    for t, x in enumerate(ASKED.ids):
        b = random.blocks.of_word[x]
        own = smoothed[t, random.blocks.first[b] : random.blocks.first[b + 1]]
        assert values[place[t] : place[t + 1]] == pytest.approx(own, abs=1e-10)
    after = inference.next_symbols(random, ASKED)
    assert after == pytest.approx(dense_inference.next_symbols(dense, ASKED), abs=1e-10)


def test_few_numbers_at_once_say_the_same(random, monkeypatch):
    whole = inference.surprisals(random, ASKED), inference.viterbi(random, ASKED)
    monkeypatch.setattr(inference, "_CELLS", 3)
    assert (inference.surprisals(random, ASKED) == whole[0]).all()
    assert (inference.viterbi(random, ASKED) == whole[1]).all()
    assert inference.posteriors(random, ASKED)[0].sum() == pytest.approx(ASKED.n_tokens)


def test_an_em_step_is_that_of_the_dense_model():
    trainer, smoothing = _smoothing()
    start = smoothing.parameters(NONE)
    assert (start.dense().transition == 0).any()
    value, counts = trainer.expect(start, EVERY)
    step = (
        BlockedSmoothing(counts, start.blocks, start.pairs, smoothing.group)
        .parameters(NONE)
        .dense()
    )
    other = baum_welch(start.dense(), SEEN, n_iter=1)
    assert value == pytest.approx(other.log_likelihoods[0], rel=1e-12)
    for ours, theirs in zip(_tables(step), _tables(other.params), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_em_never_lowers_the_likelihood():
    trainer, smoothing = _smoothing(1)
    values = []
    for _ in range(12):
        parameters = smoothing.parameters(NONE)
        value, counts = trainer.expect(parameters, EVERY)
        assert trainer.log_likelihood(parameters, EVERY) == pytest.approx(value, rel=1e-12)
        values.append(value)
        smoothing = BlockedSmoothing(counts, trainer.blocks, trainer.pairs, smoothing.group)
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > values[0]


def _lost(n: float, d: float, e: float) -> float:
    return d * min(n, 1) + e * (min(n, 3) - min(n, 1)) / 2


def test_smoothing_is_what_the_equations_say():
    trainer, smoothing = _smoothing(2)
    d = Discounts(0.7, 0.4, 0.6, 0.3, 0.5, 0.15)
    found = smoothing.parameters(d).rows(np.arange(9))
    first, sizes = trainer.blocks.first, trainer.blocks.sizes
    S, group = trainer.blocks.n_states, smoothing.group
    n = np.zeros((S + 1, S))  # counts, written out
    for a, b, at in zip(trainer.pairs.before, trainer.pairs.block, trainer.pairs.at, strict=False):
        table = smoothing.counts.moved[at : at + sizes[a] * sizes[b]]
        n[first[a] : first[a + 1], first[b] : first[b + 1]] = table.reshape(sizes[a], sizes[b])
    once = np.minimum(n, 1)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    m_block = np.array([(once if sizes[a] > 1 else n)[owner == a].sum(axis=0) for a in range(5)])
    m_group = np.array([once[group == g].sum(axis=0) for g in range(4)])
    kinds = np.minimum(m_block, 1).sum(axis=0)
    lost = d.unigram * np.minimum(kinds, 1)
    unigram = (kinds - lost + lost.sum() / S) / kinds.sum()
    for i in range(S + 1):
        g, a = m_group[group[i]], m_block[owner[i]]
        back = sum(_lost(x, d.group, 0) for x in np.minimum(g, 1)) / g.sum()
        R = [
            (x - _lost(min(x, 1), d.group, 0)) / g.sum() + back * u
            for x, u in zip(g, unigram, strict=True)
        ]
        back = sum(_lost(x, d.block, d.block_more) for x in a) / a.sum()
        L = [
            (x - _lost(x, d.block, d.block_more)) / a.sum() + back * r
            for x, r in zip(a, R, strict=True)
        ]
        L = [(1 - d.mix) * one + d.mix * r for one, r in zip(L, R, strict=True)]
        row = np.array(L)
        if sizes[owner[i]] > 1:
            back = sum(_lost(x, d.state, d.state_more) for x in n[i]) / n[i].sum()
            left = [x - _lost(x, d.state, d.state_more) for x in n[i]]
            row = np.array(left) / n[i].sum() + back * row
        assert found[i] == pytest.approx(row, abs=1e-12)


def test_with_all_states_the_lifted_model_is_the_small_one():
    small = Parameters.random(3, 6, seed=4)
    chosen = choose_states(small, np.ones(6), OF_WORD, 99)
    assert chosen.blocks.n_states == 12
    trainer = Trainer(SEEN, chosen.blocks, np.float64)
    large = lifted(small, chosen, trainer.pairs, np.float64)
    value = dense_inference.log_likelihoods(small, SEEN).sum()
    assert trainer.log_likelihood(large, EVERY) == pytest.approx(value, rel=1e-12)


def test_each_block_keeps_its_likeliest_states():
    small = Parameters([1, 0], [[0.5, 0.5], [0.5, 0.5]], [[0.6, 0.4, 0], [0.3, 0, 0.7]])
    chosen = choose_states(small, np.array([50, 2, 3]), np.arange(3), 4)
    assert chosen.blocks.sizes.tolist() == [2, 1, 1, 1]
    assert chosen.group.tolist() == [0, 1, 0, 1, 2]


# ---------------------------------------------------------------- the model


def _sentences(n: int) -> list[list[str]]:
    kinds = [["the", "a", "my"], ["cat", "dog", "cow", "sun"], ["sat", "ran", "rose"]]
    rng = np.random.default_rng(0)
    text = []
    for _ in range(n):
        state, words = 0, []
        for _ in range(rng.integers(1, 7)):
            words.append(str(rng.choice(kinds[state])))
            state = (state + 1) % 3 if rng.random() < 0.85 else int(rng.integers(3))
        text.append(words)
    return text


TEXT = _sentences(1200)


@pytest.fixture(scope="module")
def model():
    return BlockedHMM(30, n_groups=3, n_iter=2).fit(TEXT)


def test_a_model_answers_and_comes_back_from_its_file(model, tmp_path):
    assert 1 <= len(model.history_) <= 3
    assert model.parameters_.n_states == 30
    asked = [["the", "cat", "newt"], [], ["ran"]]
    model.save(tmp_path / "m.hmm")
    back = BlockedHMM.load(tmp_path / "m.hmm")
    assert back.fingerprint() == model.fingerprint()
    assert back.perplexity(asked) == model.perplexity(asked)
    assert back.discounts_ == model.discounts_
    assert model.perplexity(TEXT[:50]) < 5
    assert np.isfinite(model.perplexity(asked))
    assert model.log_prob(asked)[1] == 0
    assert model.next_symbols(asked).sum(axis=1) == pytest.approx(np.ones(3))
    assert [len(one) for one in model.predict(asked)] == [3, 0, 1]
    shares = model.predict_proba(asked)
    best = model.predict(asked, method="posterior")
    for states, tokens in zip(best, shares, strict=True):
        for state, (own, p) in zip(states, tokens, strict=True):
            assert p.sum() == pytest.approx(1)
            assert own[p.argmax()] == state
    assert model.sample(2, 5, seed=1) == back.sample(2, 5, seed=1)
    assert "30 states" in str(model._summary())


def test_the_same_for_any_number_of_cores(model):
    with using_cores(2):
        again = BlockedHMM(30, n_groups=3, n_iter=2).fit(TEXT)
    assert again.fingerprint() == model.fingerprint()


def test_words_may_share_blocks():
    shared = BlockedHMM(8, n_groups=3, n_blocks=4).fit(TEXT)
    assert len(shared.parameters_.blocks.first) == 6
    assert shared.parameters_.n_states == 8
    assert shared.perplexity(TEXT[:50]) < 6


def test_bad_settings_and_data(model):
    with pytest.raises(SettingsError, match="5 states for 11 blocks"):
        BlockedHMM(5, n_groups=2).fit(TEXT)
    with pytest.raises(SettingsError, match="n_groups"):
        BlockedHMM(n_groups=0).fit(TEXT)
    with pytest.raises(SettingsError, match="method"):
        model.predict([["a"]], method="best")
    with pytest.raises(DataError, match="no tokens"):
        BlockedHMM().fit([[]])
    with pytest.raises(DataError, match="no tokens"):
        model.score([[]])


@pytest.mark.parametrize("name", ["first", "emission", "transition", "block"])
def test_a_wrong_file_is_refused(model, name):
    array = model._pack().arrays[name].copy()
    if name == "first":
        array[1] = 0
    elif name == "block":
        array[:2] = array[1], array[0]
    else:
        array = array[:-1]
    with pytest.raises(ModelFileError, match=name):
        BlockedHMM.from_bytes(changed(model, arrays={name: array}))


def test_the_example_of_the_page():
    page = Path(__file__).parents[3] / "docs" / "guide" / "blocked-hmm.md"
    code = re.search(r"\n\n(    from .*?)\n\n`--n-blocks", page.read_text("utf-8"), re.DOTALL)
    assert code is not None
    exec(textwrap.dedent(code[1]), {})


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocked")
    lines = "\n".join(" ".join(words) for words in TEXT)
    (path / "text.txt").write_text(lines + "\n", encoding="utf-8")
    given = [str(path / "text.txt"), "-o", str(path / "m.hmm"), "--quiet"]
    assert run(["hmm", "train-blocked", *given, "-k", "30", "--n-groups", "3"]) == 0
    return path


def test_commands(folder, capsys):
    text, model = str(folder / "text.txt"), str(folder / "m.hmm")
    capsys.readouterr()
    assert run(["hmm", "eval", model, text, "--train", text, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["perplexity"] < figures["unigram"]
    assert figures["kneser_ney_trigram"] < figures["unigram"]
    assert run(["hmm", "score", model, text, "--summary", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == pytest.approx(
        figures["perplexity"]
    )
    assert run(["hmm", "inspect", model, "--sample", "2", "--length", "4"]) == 0
    assert [len(line.split()) for line in capsys.readouterr().out.splitlines()] == [4, 4]
    own = BlockedHMM.load(model)
    for method in ("viterbi", "posterior"):
        out = folder / f"{method}.txt"
        assert (
            run(["hmm", "apply", model, text, "--method", method, "-o", str(out), "--quiet"]) == 0
        )
        sentences = out.read_text(encoding="utf-8").strip().split("\n\n")
        rows = [[line.split("\t") for line in one.splitlines()] for one in sentences]
        assert [[token for token, _ in one] for one in rows] == TEXT
        states = own.predict(TEXT, method=method)
        assert [[int(state) for _, state in one] for one in rows] == [s.tolist() for s in states]


def test_a_bound_on_memory_is_refused_or_changes_nothing(folder, capsys, monkeypatch):
    given = ["hmm", "train-blocked", str(folder / "text.txt"), "-k", "30", "--n-groups", "3"]
    same = folder / "bounded.hmm"
    assert run([*given, "-o", str(same), "--quiet", "--memory", "360MB"]) == 0
    assert same.read_bytes() == (folder / "m.hmm").read_bytes()
    trainers = []
    monkeypatch.setattr(Trainer, "expect", lambda self, *_: trainers.append(self))
    none = [*given, "-o", str(folder / "none.hmm"), "--memory", "350MB"]
    capsys.readouterr()
    assert run(none) == 2  # by its text alone
    assert re.search(
        r"too small for [\d,]+ tokens: 360MB is the least$", capsys.readouterr().err, re.M
    )
    monkeypatch.setattr(blocked_model, "_TOKEN", 0)
    assert run(none) == 2  # by its transitions
    told = capsys.readouterr().err
    assert re.search(
        r"[\d,]+ tokens, 30 states and [\d,]+ transitions: 360MB is the least, or", told
    )
    assert not trainers  # before EM begins
    assert not (folder / "none.hmm").exists()


def test_what_em_needs_grows_with_all_that_it_holds(monkeypatch):
    """Two sets of counts and two of parameters are in memory at once, in float32."""
    monkeypatch.setattr(blocked_model, "_LIBRARIES", 10**9)

    def least(n_groups, times, n_tokens=1):
        trainer = Trainer(SEEN, Blocks.of(OF_WORD, SIZES * times))
        with pytest.raises(SettingsError) as refused:
            _check_memory("1GB", n_tokens, trainer, n_groups)
        megabytes = re.search(r"([\d,]+)MB is the least", str(refused.value))[1]
        return int(megabytes.replace(",", "")) - 1000, int(trainer.pairs.at[-1])

    megabytes, transitions = least(3, 1000)
    assert megabytes >= 16 * transitions / 10**6 > 100
    assert least(10**6, 1)[0] > least(3, 1)[0]
    assert least(3, 1, 10**6)[0] > least(3, 1)[0]
    _check_memory(None, 10**12)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("train-blocked {0}/text.txt -o {0}/x -k 3 --n-groups 2", "3 states for 11 blocks"),
        ("train-blocked {0}/text.txt -o {0}/x --n-groups 99", "--n-groups"),
        ("train-blocked {0}/text.txt -o {0}/x --start random", "No such option: --start"),
        ("train {0}/text.txt -o {0}/x --memory 2GB", "No such option: --memory"),
        ("train-blocked {0}/text.txt -o {0}/x --memory lots", "expected a size"),
        ("train-blocked {0}/text.txt -o {0}/x --n-groups 3 --memory 300MB", "MB is the least"),
        ("apply {0}/m.hmm {0}/text.txt --kbest 2", "--kbest is for latent taggers"),
        ("inspect {0}/m.hmm", "too many states"),
    ],
)
def test_bad_commands(folder, line, why, capsys):
    assert run(["hmm", *line.format(folder).split()]) == 2
    assert why in capsys.readouterr().err


# ---------------------------------------------------------------- real text


@pytest.mark.requires("data")
def test_it_predicts_real_text_better_than_trigrams(data):
    lines = numbered_lines(str(data / "text" / "wiki.txt.xz"))
    text = [line.split() for _, line in islice(lines, 4500)]
    symbols = Symbols.fit(text[:4000], vocab_size=1000, unknown="one")
    train, test = symbols.encode(text[:4000]), symbols.encode(text[4000:])
    ours = BlockedHMM(4000, n_groups=20).fit_encoded(train, symbols).surprisals_encoded(test)
    trigrams = kneser_ney_trigram_surprisals(train, test, len(symbols))
    assert np.exp(ours.mean()) < 0.97 * np.exp(trigrams.mean())


def test_of_a_short_text_nothing_is_held_out_and_nothing_told():
    text = [["a", "b", "a", "b", "a"], ["b", "a", "b"]]
    few = BlockedHMM(4, n_groups=2, n_iter=2).fit(text * 20)
    assert few.history_ == ()
    assert BlockedHMM(4, n_groups=2, n_iter=2).fit(text * 300).history_
    with pytest.raises(SettingsError, match="length -5"):
        few.sample(2, -5)
