"""What `hmm train-tagger`, `hmm apply` and `hmm eval` do with tagged text."""

from __future__ import annotations

import json

import pytest

from eigentext.cli import hmm
from eigentext.cli.inputs import kind_of_model
from eigentext.cli.main import run
from eigentext.sequences.tagger.model import LatentTagger

CONLLU = """# text = the cat sat
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\t_

1\ta\ta\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\t_

"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.conllu").write_text(CONLLU * 10, encoding="utf-8")
    (tmp_path / "text.txt").write_text("the dog sat\n\na newt sat\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(files, capsys) -> str:
    path = str(files / "latent.model")
    train = str(files / "train.conllu")
    assert run(["hmm", "train-tagger", train, "-k", "2", "-o", path, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["sentences"], figures["tokens"], figures["tags"]) == (20, 60, 3)
    return path


def test_a_tagger_is_told_from_other_models(model):
    assert kind_of_model(model, "hmm", "latent-tagger") == "latent-tagger"


def test_tokens_come_out_beside_their_tags(model, files):
    out = files / "out.txt"
    hmm.apply(model, [str(files / "text.txt")], str(out))
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines() if line]
    assert rows[:3] == [["the", "DET"], ["dog", "NOUN"], ["sat", "VERB"]]
    assert rows[4] == ["newt", "NOUN"]


def test_conllu_keeps_everything_but_the_column(model, files):
    out = files / "out.conllu"
    wrong = CONLLU.replace("NOUN", "X")
    (files / "wrong.conllu").write_text(wrong, encoding="utf-8")
    hmm.apply(model, [str(files / "wrong.conllu")], str(out))
    assert out.read_text(encoding="utf-8") == CONLLU


def test_json_lines_have_shares_and_marginals(model, files, capsys):
    hmm.apply(model, [str(files / "text.txt")], kbest=2, marginals=True, quiet=True)
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["tags"] for answer in answers] == [
        ["DET", "NOUN", "VERB"],
        [],
        ["DET", "NOUN", "VERB"],
    ]
    for answer in answers:
        for row in answer["marginals"]:
            assert sum(row.values()) == pytest.approx(1.0, abs=1e-4)
        shares = [one["share"] for one in answer["kbest"]]
        assert shares == sorted(shares, reverse=True)
        assert len(shares) == (2 if answer["tokens"] else 0)
    assert answers[1]["log_prob"] == 0.0


@pytest.mark.parametrize("estimator", ["moments", "mixed"])
def test_signed_models_report_their_negative_rate(files, capsys, estimator):
    path, train = str(files / "signed.model"), str(files / "train.conllu")
    chosen = ["--estimator", estimator, "--n-models", "2", "-k", "2", "--quiet"]
    assert run(["hmm", "train-tagger", train, "-o", path, *chosen]) == 0
    out = files / "out.jsonl"
    hmm.apply(path, [str(files / "text.txt")], str(out), kbest=2, json=True, quiet=True)
    assert 0 <= json.loads(capsys.readouterr().out)["negative_rate"] <= 1
    assert "negative_rate" in json.loads(out.read_text(encoding="utf-8").splitlines()[0])


def test_evaluation_by_known_words_and_tags(model, files, capsys):
    held_out = CONLLU.replace("cat", "newt")
    (files / "test.conllu").write_text(held_out, encoding="utf-8")
    assert run(["hmm", "eval", model, str(files / "test.conllu"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["accuracy"] == figures["known"] == figures["unknown"] == 100.0
    assert figures["unknown_tokens"] == 1
    assert figures["tags"]["NOUN"]["gold"] == 2
    assert run(["hmm", "eval", model, str(files / "train.conllu"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unknown"] is None  # no word is
    assert run(["hmm", "eval", model, str(files / "test.conllu")]) == 0
    assert "f1 NOUN" in capsys.readouterr().out


def test_xpos_and_errors(files, capsys):
    path = str(files / "x.model")
    train = ["hmm", "train-tagger", "-o", path, "--quiet"]
    assert run([*train, str(files / "train.conllu"), "--column", "xpos"]) == 0
    assert LatentTagger.load(path).tags_ == ("DT", "NN", "VBD")
    assert run([*train, str(files / "text.txt")]) == 2
    assert "without tags" in capsys.readouterr().err


def test_the_whole_way_through_the_command_line(files, capsys):
    train, text, model = (str(files / name) for name in ("train.conllu", "text.txt", "m.model"))
    assert run(["hmm", "train-tagger", train, "-k", "2", "-o", model, "--quiet"]) == 0
    assert run(["hmm", "apply", model, text, "-o", str(files / "out.txt")]) == 0
    capsys.readouterr()
    assert run(["hmm", "eval", model, train, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 100.0
    assert run(["hmm", "apply", train, text]) == 2
    assert run(["hmm", "train-tagger", text, "-o", model]) == 2
