"""``eval MODEL GOLD``: a model is scored as its answers are, which may stand in MODEL's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.commands import eigentext

# what is trained, its group, the gold, and what is answered to
LINES = {
    "tag": ("tag train sample/entities.bio -o m --epochs 1", "sample/entities.bio", "out.bio"),
    "const": ("const train sample/train.mrg -o m -k 1", "sample/test.mrg", "out.mrg"),
    "dep": ("dep train train.conllu -o m --order 1 --epochs 1", "train.conllu", "out.conllu"),
    "pipe": ("pipe train sample/treebank.conllu -o m --folds 2 --without parser",
             "sample/treebank-dev.conllu", "out.conllu"),
}  # fmt: skip


@pytest.mark.parametrize("group", LINES)
def test_a_model_is_scored_as_its_answers_are(group: str, tmp_path: Path) -> None:
    def done(line: str, code: int = 0) -> str:
        result = eigentext(*line.split(), cwd=tmp_path)
        assert result.returncode == code, result.stderr.decode()
        return (result.stdout if code == 0 else result.stderr).decode()

    train, gold, answers = LINES[group]
    done("data get sample -o . -q")
    done("convert sample/train.mrg -o train.conllu -q")
    done(f"{train} -q")
    source = gold
    if group == "const":
        source = "words.txt"
        done(f"convert {gold} -o words.txt -q")
    if group != "pipe":  # which answers to the raw text of the treebank
        done(f"{group} apply m {source} -o {answers} -q")
        assert done(f"{group} eval m {gold} --json") == done(
            f"{group} eval {answers} {gold} --json"
        )
    assert done(f"{group} eval {gold} {gold}") != done(f"{group} eval m {gold}")
    done("words count sample/text.txt -o counts -q")
    assert "holds counts of words" in done(f"{group} eval counts {gold}", code=2)
    (tmp_path / "cut").write_bytes((tmp_path / "m").read_bytes()[:200])
    assert "cut: truncated" in done(f"{group} eval cut {gold}", code=2)
