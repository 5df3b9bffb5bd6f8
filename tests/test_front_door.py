"""``from eigentext import ...``: names, ``load``, and what a notebook shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import eigentext
from eigentext.base.registry import KINDS


def words_of(svg: str) -> str:
    return " ".join("".join(node.itertext()) for node in ET.fromstring(svg).iter())


def test_a_parse_draws_its_tree() -> None:
    from eigentext.constituency import Parse

    tree = eigentext.Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    drawn = words_of(Parse(tree, 0.0)._repr_svg_())
    assert all(word in drawn for word in ("the", "dog", "barks", "NP", "VBZ"))


def test_a_dependency_parse_draws_its_arcs() -> None:
    from eigentext.dependency import Parse
    from eigentext.language.trees.dependency import DependencyTree

    tree = DependencyTree(("a", "dog"), np.array([2, 0]), ("det", "root"), ("DET", "NOUN"))
    drawn = words_of(Parse(tree, 0.0)._repr_svg_())
    assert all(word in drawn for word in ("dog", "det", "NOUN"))


def test_a_ranked_word_is_a_table() -> None:
    from eigentext.lexical import RankedCandidate, RankedWord

    candidates = [
        RankedCandidate(("do<g", "N"), 0.75, 0.0, (), "fixed"),
        RankedCandidate(("dog", "V"), 0.25, 0.0, (), "fixed"),
    ]
    table = ET.fromstring(RankedWord("dog", candidates, 0.5, False)._repr_html_())
    rows = [[cell.text or "" for cell in row] for row in table.iter("tr")]
    assert rows == [["do<g N", "0.75", ""], ["dog V", "0.25", ""]]


def test_a_fitted_hmm_shows_where_its_states_lead() -> None:
    model = eigentext.HMM(2, start="random", min_count=1)
    assert "<figure>" not in model._repr_html_()
    shown = model.fit([["red", "green"] * 5] * 4)._repr_html_()
    drawn = words_of(shown[shown.index("<svg") : shown.index("</svg>") + 6])
    assert "red" in drawn
    assert "green" in drawn


def test_load_refuses_what_is_no_model(tmp_path) -> None:
    (tmp_path / "text").write_text("not a model")
    with pytest.raises(eigentext.ModelFileError, match="no eigentext model"):
        eigentext.load(tmp_path / "text")


def test_every_kind_has_a_class_with_load_and_save() -> None:
    from importlib import import_module

    assert len(KINDS) == 27
    for kind, known in KINDS.items():
        module, name = known.home.split(":")
        home = getattr(import_module(f"eigentext.{module}"), name)
        assert callable(home.load), kind
        assert callable(home.save), kind
