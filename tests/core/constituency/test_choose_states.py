"""Numbers of states: planted spectra, noise by a dense twin, the search on dev."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.constituency import LPCFG, Parse
from eigentext.constituency.learn.search import f1_on, search_states
from eigentext.constituency.settings import AUTO_MOST
from eigentext.datasets import load_english
from eigentext.errors import SettingsError
from eigentext.evaluate.parseval import evaluate
from eigentext.features.spectrum import FeatureRows, noise_level, omega_svd, significant
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees, write_trees
from eigentext.language.trees.constituent import Tree


def _rows(columns, width):
    values = np.ones(columns.shape, np.float32)
    return FeatureRows(np.asarray(columns, np.int32), values, width)


def _dense(rows):
    X = np.zeros((len(rows.columns), rows.width))
    np.add.at(X, (np.arange(len(X))[:, None], rows.columns), rows.values)
    return X


def _planted(k, n, rng):
    """Inside and outside features that know of each other only through k hidden classes."""
    hidden = rng.integers(k, size=n)
    sides = []
    for _ in range(2):
        symbols = 4 * hidden + rng.integers(4, size=n)
        symbols = np.where(rng.random(n) < 0.3, rng.integers(4 * k, size=n), symbols)
        sides.append(_rows(symbols[:, None], 4 * k))
    return sides


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_as_many_directions_as_hidden_classes(k):
    rng = np.random.default_rng(k)
    Phi, Psi = _planted(k, 20_000, rng)
    s = omega_svd(Phi, Psi, min(12, 4 * k), rng).s
    assert significant(s, noise_level(Phi, Psi, rng)) == k


def test_noise_level_is_that_of_the_dense_shuffled_omega():
    rng = np.random.default_rng(3)
    Phi, Psi = _planted(3, 500, rng)
    found = noise_level(Phi, Psi, np.random.default_rng(11))
    dealt = np.random.default_rng(11).permutation(500)
    Omega = _dense(Phi).T @ _dense(Psi)[dealt] / 500
    expected = np.linalg.svd(Omega, compute_uv=False)[1]
    assert found == pytest.approx(expected, rel=0.02)  # block iteration, close values


@pytest.fixture(scope="module")
def two_kinds():
    """What is under X and what is under Y differ: N has two kinds and no more."""
    return [
        Tree.from_nested(
            (
                "S",
                (side, ("D", "d"), ("P", (f"A{side}", "a"), ("N", f"{side}{(k * 7) % 3}"))),
                ("V", "v"),
            )
        )
        for k in range(120)
        for side in ("X", "Y")
    ]


@pytest.mark.parametrize("estimator", ["clustering", "em", "moments"])
def test_auto_finds_the_two_kinds(two_kinds, estimator, tmp_path):
    em = None if estimator == "moments" else 1
    parser = LPCFG(n_states="auto", estimator=estimator, n_iter=em).fit(two_kinds)
    m = dict(zip(parser.grammar_.labels, parser.grammar_.params[0].m.tolist(), strict=True))
    assert m["N"] == 2
    assert m["V"] == 1
    fixed = LPCFG(n_states=AUTO_MOST, estimator=estimator, n_iter=em).fit(two_kinds)
    most = dict(zip(fixed.grammar_.labels, fixed.grammar_.params[0].m.tolist(), strict=True))
    assert most["N"] > 2 or estimator == "moments"
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    assert again.n_states == "auto"
    assert again.parse(two_kinds[0].words) == parser.parse(two_kinds[0].words)


def test_auto_stays_within_its_bounds(english):
    parser = LPCFG(n_states="auto", per_state=10).fit(english)
    m, n_nodes = parser.grammar_.params[0].m, parser.grammar_.coarse.prior
    assert 1 < m.max() <= AUTO_MOST
    assert m[np.argmin(n_nodes)] == 1
    plain = LPCFG(n_states="auto", plain=True, estimator="moments").fit(english)
    assert plain.parse(["The", "farmer", "slept", "."]).tree.words[1] == "farmer"


def test_what_states_may_be():
    for bad in (0, 65, "many", 2.5, None):
        with pytest.raises(SettingsError, match="'auto'"):
            LPCFG(n_states=bad).check()


class _Fake:
    """A parser that gets the first so many sentences right."""

    def __init__(self, states, dev, right):
        self.states = states
        self._answers = {
            tree.words: tree if k < right else _flat(tree) for k, tree in enumerate(dev)
        }

    def parse(self, words):
        return Parse(self._answers[tuple(words)], 0.0)


def _flat(tree):
    pairs = [(tag, word) for tag, word in zip(tree.tags, tree.words, strict=True)]
    return Tree.from_nested(("TOP", ("X", *pairs)))


def test_the_search_keeps_the_best_and_of_equals_the_first():
    dev = [Tree.from_brackets(line) for line in load_english("dev")[:6]]
    right = {2: 3, 4: 5, 8: 5, "auto": 1}
    made = []

    def fit(states):
        made.append(states)
        return _Fake(states, dev, right[states])

    best, tried = search_states(fit, dev, tuple(right))
    assert made == list(right)
    assert best.states == 4
    assert [trial.n_states for trial in tried] == list(right)
    assert tried[1].f1 == tried[2].f1 > tried[0].f1 > tried[3].f1
    assert tried[0].f1 == f1_on(_Fake(2, dev, 3), dev)
    with pytest.raises(SettingsError, match="no number of states"):
        search_states(fit, dev, ())
    with pytest.raises(SettingsError, match="no words"):
        f1_on(best, [])


def test_f1_is_that_of_evalb(parser):
    dev = [Tree.from_brackets(line) for line in load_english("dev")[:10]]
    found = [parser.parse(tree.words).tree for tree in dev]
    assert f1_on(parser, dev) == evaluate(dev, found, EvalbSettings.collins()).all.f1
    traced = Tree.from_brackets(
        "(TOP (S (NP-SBJ (DT The) (NN farmer)) (VP (VBD slept) (NP (-NONE- *T*))) (. .)))"
    )
    assert f1_on(parser, [traced]) == 100.0


def test_train_reports_dev_and_the_search(english, tmp_path, capsys):
    write_trees(english[:80], tmp_path / "train.mrg")
    write_trees(map(Tree.from_brackets, load_english("dev")[:12]), tmp_path / "dev.mrg")
    train, dev, model = (str(tmp_path / name) for name in ("train.mrg", "dev.mrg", "m"))
    assert run(["const", "train", train, "-o", model, "--dev", dev, "--json", "-q"]) == 0
    figures = json.loads(capsys.readouterr().out)
    gold = list(read_trees(dev))
    assert figures["dev_f1"] == f1_on(LPCFG.load(model), gold)
    assert "tried" not in figures
    arguments = ["const", "train", train, "-o", model, "--dev", dev, "--search-states"]
    assert run([*arguments, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    best = LPCFG.load(model)
    assert figures["n_states"] == best.n_states
    assert list(figures["tried"]) == ["4", "8", "16", "24", "32", "auto"]
    assert figures["tried"][str(best.n_states)] == max(figures["tried"].values())
    assert figures["dev_f1"] == f1_on(best, gold)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--search-states", "needs --dev"),
        ("--search-states --dev t.mrg --n-states 2", "no --n-states"),
        ("--n-states some", "n_states is 'some', expected a whole number, or 'auto'"),
        ("--n-states 65", "from 1 to 64, or 'auto'"),
        ("--n-states -3", "from 1 to 64, or 'auto'"),
        ("--n-states 2.5", "expected a whole number, or 'auto'"),
    ],
)
def test_bad_states_on_the_command_line(line, why, tmp_path, capsys):
    (tmp_path / "t.mrg").write_text("(S (A x) (B y))\n")
    model = tmp_path / "m"
    arguments = ["const", "train", str(tmp_path / "t.mrg"), "-o", str(model), *line.split()]
    assert run(arguments) == 2
    assert why in capsys.readouterr().err
    assert not model.exists()
