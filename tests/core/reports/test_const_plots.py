"""Plots of grammars: what is drawn, and where."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from eigentext.cli.main import run
from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.drawing.plots import PALETTE, line_plot
from eigentext.language.trees.constituent import Tree
from eigentext.reports.const_plots import CurvePoint, learning_curve, singular_value_plot

POINTS = [
    CurvePoint("ours", 1000, 9.0, 80.0),
    CurvePoint("ours", 10, 0.1, 40.0),
    CurvePoint("ours", 100, 1.0, 60.0),
    CurvePoint("a peer", 1000, 900.0, 78.0),
]


def _paths(svg, colour):
    """Points of the line in this colour, in pixels."""
    found = re.findall(r'<path d="([^"]+)"[^>]*stroke: ' + re.escape(colour), svg)
    line = max(found, key=len) if found else ""
    return [tuple(map(float, pair)) for pair in re.findall(r"[ML] (\S+) (\S+)", line)]


def test_the_curve_runs_by_trees_in_order_and_on_a_logarithmic_axis():
    svg = learning_curve(POINTS, title="GUM").svg()
    ElementTree.fromstring(svg)
    assert all(text in svg for text in ("ours", "a peer", "training trees", "F1", "GUM"))
    xs = [x for x, _ in _paths(svg, PALETTE[0])]
    assert xs == sorted(xs)
    assert len(xs) == 3
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.01)  # equal factors of ten
    heights = [y for _, y in _paths(svg, PALETTE[0])]
    assert heights == sorted(heights, reverse=True)  # up is a smaller y
    by_seconds = learning_curve(POINTS, against="seconds").svg()
    assert "CPU seconds" in by_seconds
    assert svg != by_seconds


@pytest.mark.parametrize(
    "point", [CurvePoint("x", 0, 1.0, 1.0), CurvePoint("x", 5, 1.0, float("nan"))]
)
def test_points_without_a_place(point):
    with pytest.raises(ValueError, match="logarithmic"):
        learning_curve([*POINTS, point])
    with pytest.raises(ValueError, match="trees or seconds"):
        learning_curve(POINTS, against="hours")


def test_spectra_fall():
    svg = singular_value_plot({"NP": [8.0, 4.0, 2.0, 1.0], "@>VP|NP": [3.0, 1.0]}).svg()
    ElementTree.fromstring(svg)
    assert "@&gt;VP|NP" in svg
    line = _paths(svg, PALETTE[0])
    drops = [b[1] - a[1] for a, b in pairwise(line)]
    assert drops == pytest.approx([drops[0]] * 3, abs=0.01)  # halving each time: a straight line
    assert drops[0] > 0
    for bad in ({"NP": []}, {"NP": [1.0, 0.0]}):
        with pytest.raises(ValueError, match="'NP'"):
            singular_value_plot(bad)


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
