"""Parts that have to agree: lists with scores, rerankers with their base parser, the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.dependency import DependencyParser
from eigentext.dependency.rerank.lists import lists_of
from eigentext.dependency.rerank.reranker import _tagged, _untrained
from eigentext.language.formats.conllu import make_sentence, read_sentences, write_sentences

SMALL = {"bits": 15, "epochs": 3, "clip": 0.1}
TREES = [
    make_sentence(
        ["the", "dog", "barks"],
        upos=["DET", "NOUN", "VERB"],
        head=[2, 3, 0],
        deprel=["det", "nsubj", "root"],
    ),
    make_sentence(
        ["dogs", "see", "a", "big", "cat"],
        upos=["NOUN", "VERB", "DET", "ADJ", "NOUN"],
        head=[2, 0, 5, 5, 2],
        deprel=["nsubj", "root", "det", "amod", "obj"],
    ),
    make_sentence(
        ["a", "dog", "came", "big"],
        upos=["DET", "NOUN", "VERB", "ADJ"],
        head=[2, 3, 0, 2],
        deprel=["det", "nsubj", "root", "amod"],
    ),
] * 4


def test_order_2_with_crossing_arcs_has_lists_and_says_they_are_approximate():
    model = DependencyParser(order=2, projective=False, **SMALL).fit(TREES)
    forms, tags = TREES[1].forms, TREES[1].column("upos")
    best = model.parse(forms, upos=tags)
    listed = model.kbest(forms, upos=tags, k=6)
    assert listed[0].tree == best.tree
    assert listed[0].score == pytest.approx(best.score)
    assert all(one.approximate for one in listed)
    assert len({tuple(one.tree.heads.tolist()) for one in listed}) == len(listed) > 1
    scores = [one.score for one in listed]
    assert scores == sorted(scores, reverse=True)
    demanded = {"required_arcs": [(1, 3), (2, 4)], "forbidden_arcs": [(2, 5)]}  # they cross
    for one in model.kbest(forms, upos=tags, k=4, **demanded):
        assert (one.tree.heads[2], one.tree.heads[3]) == (1, 2)
        assert one.tree.heads[4] != 2


@pytest.mark.parametrize(
    "options", [{"order": 1}, {"order": 2}, {"order": 2, "grandparents": True}]
)
def test_dep_score_is_the_score_of_the_parser_and_every_tree_has_one(options, tmp_path, capsys):
    model = DependencyParser(projective=True, **options, **SMALL).fit(TREES)
    model.save(tmp_path / "m")
    odd = TREES[1].with_columns(head=[3, 1, 4, 0, 4])  # far from what the parser would look at
    found = model.predict(TREES[:2])
    write_sentences([*found, odd], tmp_path / "t.conllu")
    assert run(["dep", "score", str(tmp_path / "m"), str(tmp_path / "t.conllu"), "-q"]) == 0
    scores = [float(line) for line in capsys.readouterr().out.split()]
    for sentence, score in zip(TREES[:2], scores[:2], strict=True):
        answer = model.parse(sentence.forms, upos=sentence.column("upos"))
        assert score == pytest.approx(answer.score, abs=1e-5)
    assert np.isfinite(scores[2])


def test_lists_for_a_reranker_are_those_of_the_parser():
    model = DependencyParser(order=2, grandparents=True, projective=True, **SMALL).fit(TREES)
    made = lists_of(model, TREES[:2], k=5)
    for number, sentence in enumerate(TREES[:2]):
        listed = model.kbest(sentence.forms, upos=sentence.column("upos"), k=5)
        assert made[number].heads.tolist() == [one.tree.heads.tolist() for one in listed]
        assert made[number].scores == pytest.approx([one.score for one in listed], abs=1e-4)


def test_fold_parsers_take_clusters_and_vectors_of_a_stored_parser(tmp_path):
    clusters, vectors = {"dog": "01", "cat": "10"}, {"dog": [1.0, 0.0], "cat": [0.0, 1.0]}
    base = DependencyParser(clusters=clusters, vectors=vectors, **SMALL).fit(TREES)
    base.save(tmp_path / "m")
    again = _untrained(DependencyParser.load(tmp_path / "m"), labels=False).fit(TREES)
    assert again.clusters_ == clusters
    assert again.near_ == base.near_
    assert again.arcs_.weights.tolist() == base.arcs_.weights.tolist()


def test_a_reranker_of_a_parser_with_taggers_learns_from_predicted_tags():
    odd = TREES[0].with_columns(upos=["X", "X", "X"])
    found = _tagged([*TREES, odd], DependencyParser(tags="own"))
    assert found[-1].column("upos") != ("X", "X", "X")
    assert found[-1].heads == odd.heads
    assert _tagged([odd], DependencyParser()) == [odd]


def test_generative_parser_by_commands(tmp_path, capsys):
    write_sentences(TREES, tmp_path / "t.conllu")
    trees, model = str(tmp_path / "t.conllu"), str(tmp_path / "m")
    train = ["dep", "train-generative", trees, "-o", model, "--n-states", "1"]
    assert run([*train, "--dev", trees, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["dev_uas"] > 60
    out = str(tmp_path / "out.conllu")
    assert run(["dep", "apply", model, trees, "-o", out, "--marginals", "-q"]) == 0
    found = list(read_sentences(out))
    assert all(one.heads.count(0) == 1 for one in found)
    assert all(cell.startswith("Prob=") for one in found for cell in one.column("misc"))
    for asked in (["--kbest", "2"], ["--rerank", model], ["--from", "tokens"]):
        assert run(["dep", "apply", model, trees, "-o", out, *asked]) == 2
        assert f"{asked[0]}: not with" in capsys.readouterr().err
    assert run([*train, "--tags", "own"]) == 2


@pytest.mark.parametrize("kind", ["generative-parser", "reranker"])
def test_a_file_that_lacks_a_part_is_told(kind, tmp_path):
    from eigentext.base import modelfile
    from eigentext.dependency import GenerativeParser, Reranker
    from eigentext.errors import ModelFileError

    path = tmp_path / "model"
    made = {"generative-parser": GenerativeParser, "reranker": Reranker}[kind]
    modelfile.save(path, made.KIND, {"dense": np.zeros(1)}, settings={}, format_version=1)
    with pytest.raises(ModelFileError, match="is missing"):
        made.load(path)
