"""Plots of grammars: what is drawn, and where."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from eigentext.cli.main import run
from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.drawing.plots import PALETTE, line_plot
from eigentext.language.trees.constituent import Tree


def _paths(svg, colour):
    """Points of the line in this colour, in pixels."""
    paths = re.findall(r'<path d="([^"]+)"[^>]*stroke: ' + re.escape(colour), svg)
    line = max(paths, key=len) if paths else ""
    return [tuple(map(float, pair)) for pair in re.findall(r"[ML] (\S+) (\S+)", line)]


@pytest.mark.parametrize("axis", [0, 1])
def test_equal_factors_are_equal_steps_on_a_logarithmic_axis(axis):
    series = {"@>VP|NP": ([1, 10, 100], [1, 2, 3]) if axis == 0 else ([1, 2, 3], [8, 4, 2])}
    svg = line_plot(series, log_x=axis == 0, log_y=axis == 1).svg()
    ElementTree.fromstring(svg)
    first, second, third = (point[axis] for point in _paths(svg, PALETTE[0]))
    assert second > first  # down is a larger y
    assert third - second == pytest.approx(second - first, abs=0.01)


def test_png_shows_the_same_size():
    png = line_plot({"ours": ([1, 2], [1, 2])}, size=(5.0, 3.0)).png()
    assert png.startswith(b"\x89PNG")
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (720, 432)
    assert png == line_plot({"ours": ([1, 2], [1, 2])}, size=(5.0, 3.0)).png()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    trees = [Tree.from_brackets(line) for line in load_english("train")]
    LPCFG(n_states=3, estimator="clustering").fit(trees).save(folder / "clusters")
    LPCFG(n_states=3, estimator="moments").fit(trees).save(folder / "moments")
    LPCFG(n_states=2, estimator="em", n_iter=1).fit(trees[:30]).save(folder / "em")
    return folder


def test_inspect_draws_and_tells_theorem_3(models, tmp_path, capsys):
    svg, png = str(tmp_path / "s.svg"), str(tmp_path / "s.png")
    assert run(["const", "inspect", str(models / "moments"), "--top", "2", "--plot", svg]) == 0
    shown = capsys.readouterr().out
    assert "sigma_a" in shown
    assert "Lambda_a" in shown
    assert re.search(r"theorem 3: sigma \S+, Lambda \S+;", shown)
    ElementTree.parse(svg)
    assert ">NP<" in (tmp_path / "s.svg").read_text()
    assert run(["const", "inspect", str(models / "clusters"), "--label", "NP", "--plot", png]) == 0
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    assert "contexts: " in capsys.readouterr().out
    assert run(["const", "inspect", str(models / "clusters"), "--top", "1"]) == 0
    assert "no Lambda" in capsys.readouterr().out


def test_inspect_without_singular_values(models, tmp_path, capsys):
    em, target = str(models / "em"), str(tmp_path / "s.svg")
    assert run(["const", "inspect", em, "--top", "1"]) == 0
    assert "no sigma and no Lambda" in capsys.readouterr().out
    assert run(["const", "inspect", em, "--plot", target]) == 2
    assert "no singular values" in capsys.readouterr().err
    arguments = ["const", "inspect", str(models / "clusters"), "--plot", str(tmp_path / "s.pdf")]
    assert run(arguments) == 2
    assert ".svg or .png" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_inspect_of_moments_shows_the_spectrum_of_a_label(models, capsys):
    arguments = ["const", "inspect", str(models / "moments"), "--label", "NP"]
    assert run([*arguments, "--format", "jsonl"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()][-1]
    assert found["kind"] == "dimensions"
    assert found["states"] == 3
    assert found["sigma"] == found["singular_values"][-1]
    assert run([*arguments[:-1], "QQ"]) == 2


def test_contexts_are_shares_of_the_treebank(models):
    from eigentext.constituency.inspection import _context_counts, states_of

    grammar = LPCFG.load(models / "clusters").grammar_
    a = grammar.labels.index("NN")
    counts, names = _context_counts(grammar, a, int(grammar.params[0].m[a]))
    rules, p = grammar.coarse.rules, grammar.coarse.prior
    for name in ("NP -> DT _", "PP -> IN _"):
        if name in names:
            parent, left = name.split(" -> ")[0], name.split()[2]
            rule = [grammar.labels.index(x) for x in (parent, left, "NN")]
            (r,) = (rules == rule).all(axis=1).nonzero()[0]
            expected = p[rule[0]] * grammar.coarse.rule_p[r]
            assert counts[names.index(name)].sum() == pytest.approx(expected, rel=0.15)
    # what hangs below something, and nothing that is a root only
    assert counts.sum() == pytest.approx(p[a], rel=0.1)
    assert all(0 <= share <= 1 for s in states_of(grammar, "NN") for _, share in s.contexts)
