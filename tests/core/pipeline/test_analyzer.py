"""Analyzers given to the pipeline: they reach the tagger, and the file says when one is away."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import eigentext as package
from eigentext.errors import MissingExtraError, ModelFileError, SettingsError
from eigentext.language.formats.conllu import make_sentence, write_sentences
from eigentext.pipeline import Pipeline
from helpers.commands import eigentext
from helpers.sample_pipeline import SMALL

# the words do not tell what they are; the lexicon does
WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
TAG = {word: ("VERB", "NOUN")[sum(map(ord, word)) % 2] for word in WORDS}
TREEBANK = [
    make_sentence(
        [a, b, "."],
        upos=[TAG[a], TAG[b], "PUNCT"],
        head=[0, 1, 1],
        deprel=["root", "obj", "punct"],
    )
    for a, b in pairwise(WORDS[:81])
]
UNSEEN = WORDS[81:]
SETTINGS = {**SMALL, "without": ("segmenter",)}


def _lexicon(folder: Path) -> str:
    path = folder / "words.tsv"
    lines = [f"{word}\t{word}\t{tag}" for word, tag in TAG.items()]
    path.write_text("\n".join(["form\tlemma\ttag", *lines]) + "\n")
    return f"lexicon:{path}"


def _right(nlp: Pipeline) -> float:
    found = nlp([[word] for word in UNSEEN], keep="tokens").sentences
    return sum(s.columns.upos[0] == TAG[s.forms[0]] for s in found) / len(UNSEEN)


def test_it_tells_the_tagger_of_words_never_seen(tmp_path: Path) -> None:
    analyzer = _lexicon(tmp_path)
    with_it = Pipeline(**SETTINGS, analyzer=analyzer).fit(TREEBANK)
    assert _right(with_it) > 0.95 > _right(Pipeline(**SETTINGS).fit(TREEBANK))
    with_it.save(tmp_path / "a.pipe")
    again = package.load(tmp_path / "a.pipe")
    assert again.analyzer == analyzer
    assert _right(again) == _right(with_it)
    assert again.to_bytes() == with_it.to_bytes()
    (tmp_path / "words.tsv").unlink()
    with pytest.raises(ModelFileError, match=r"learned with the analyzer 'lexicon:.*words\.tsv'"):
        package.load(tmp_path / "a.pipe")


def test_the_command(tmp_path: Path) -> None:
    _lexicon(tmp_path)
    write_sentences(TREEBANK, tmp_path / "a.conllu")
    line = "pipe train a.conllu -o a.pipe --folds 0 --without segmenter,parser --quiet".split()
    done = eigentext(*line, "--analyzer", "lexicon:words.tsv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "words.tsv").unlink()
    (tmp_path / "in.txt").write_text("bal bel\n")
    ask = "pipe apply a.pipe in.txt -o out.conllu --input horizontal --quiet".split()
    done = eigentext(*ask, cwd=tmp_path)
    assert done.returncode == 2
    assert b"a.pipe: " in done.stderr
    assert b"the analyzer 'lexicon:words.tsv', which cannot be opened" in done.stderr
    done = eigentext(*line, "--analyzer", "oracle", cwd=tmp_path)
    assert done.returncode == 2
    assert b"unknown analyzer 'oracle'" in done.stderr


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = Pipeline(**SETTINGS, analyzer="sample").fit(TREEBANK)
    raw = nlp.to_bytes()

    def missing(*_: object) -> None:
        raise MissingExtraError("analyses by sample", modules=["sample"])

    monkeypatch.setattr("eigentext.lexical.analyzers.open_analyzer", missing)
    with pytest.raises(ModelFileError, match=r"analyzer 'sample', which .* pip install sample"):
        Pipeline.from_bytes(raw)
    with pytest.raises(MissingExtraError):  # before anything is trained
        Pipeline(**SETTINGS, analyzer="sample").fit(TREEBANK)


def test_a_work_folder_knows_the_analyzer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eigentext.tagging.morphology import MorphTagger

    settings = {**SETTINGS, "analyzer": _lexicon(tmp_path)}
    made = Pipeline(**settings).fit(TREEBANK, work=tmp_path / "work")
    fit = MorphTagger.fit
    monkeypatch.setattr(MorphTagger, "fit", lambda *_, **__: 1 / 0)
    assert Pipeline(**settings).fit(TREEBANK, work=tmp_path / "work").to_bytes() == made.to_bytes()
    with pytest.raises(ZeroDivisionError):
        Pipeline(**SETTINGS).fit(TREEBANK, work=tmp_path / "work")
    with (tmp_path / "words.tsv").open("a") as more:
        more.write("new\tnew\tNOUN\n")
    with pytest.raises(ZeroDivisionError):
        Pipeline(**settings).fit(TREEBANK, work=tmp_path / "work")
    monkeypatch.setattr(MorphTagger, "fit", fit)


def test_what_does_not_go_together() -> None:
    with pytest.raises(SettingsError, match="which is left out"):
        Pipeline(analyzer="sample", without=("morphology",)).check()
    tagger = Pipeline(**SETTINGS).fit(TREEBANK).morphology_
    with pytest.raises(SettingsError, match="one is given"):
        Pipeline(**SETTINGS, analyzer="sample").fit(TREEBANK, models={"morphology": tagger})
