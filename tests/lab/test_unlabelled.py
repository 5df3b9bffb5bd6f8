"""Sentences without trees: expected counts against all trees, and EM that never loses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentext.dependency import GenerativeParser
from eigentext.dependency.generative.learn import Corpus, TreeSmoothing, em_counts, empty_counts
from eigentext.dependency.settings import Unlabelled
from eigentext.errors import SettingsError
from eigentext.lab.unlabelled.learn import TaggedText, all_trees_counts, best_trees, improve
from eigentext.language.formats.conllu import make_sentence, read_sentences, write_sentences
from helpers.commands import eigentext
from oracle.dependency_trees import projective_trees

WORDS = {"NOUN": ("dog", "cat"), "VERB": ("sees", "runs"), "DET": ("a", "the")}


def _sentence(rng: np.random.Generator, n: int) -> Any:
    upos = [str(tag) for tag in rng.choice(list(WORDS), n)]
    words = [str(rng.choice(WORDS[tag])) for tag in upos]
    trees = projective_trees(n)
    heads = list(trees[int(rng.integers(len(trees)))])
    return make_sentence(words, upos=upos, head=heads, deprel=["x"] * n)


@pytest.fixture(scope="module")
def trees() -> list[Any]:
    rng = np.random.default_rng(0)
    return [_sentence(rng, int(rng.integers(1, 6))) for _ in range(60)]


@pytest.fixture(scope="module")
def parser(trees: list[Any]) -> GenerativeParser:
    """Two states a tag, learned from trees of chance."""
    settings: dict[str, Any] = {"tagset": "upos", "min_count": 1, "per_state": 1}
    return GenerativeParser(n_states=2, n_iter=2, **settings).fit(trees)


def _corpus(parser: GenerativeParser, sentences: list[Any]) -> tuple[Corpus, TaggedText]:
    word, tag = parser._numbers(sentences, new_tags=False)
    ptr = np.cumsum([0, *map(len, sentences)])
    heads = np.array([head for s in sentences for head in s.heads])
    zeros = np.zeros(len(heads), np.int64)
    corpus = Corpus(ptr, word, tag, heads, zeros, parser._tag_of, parser._kinds)
    return corpus, TaggedText(ptr, word, tag)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_expected_counts_are_those_of_all_trees(parser: GenerativeParser, n: int) -> None:
    sentence = _sentence(np.random.default_rng(n), n)
    upos = sentence.column("upos")
    assert parser.params_.m.max() == 2
    every = projective_trees(n)
    logs = parser.log_probs(sentence.forms, every, upos=upos)
    log_z = np.logaddexp.reduce(logs)
    corpus, text = _corpus(parser, [sentence])
    wanted = empty_counts(corpus, parser.params_.m)
    for heads, log_p in zip(every, logs, strict=True):
        one, _ = em_counts(corpus._replace(heads=np.array(heads)), parser.params_)
        for total, part in zip(wanted, one, strict=True):
            total += 0.5 * np.exp(log_p - log_z) * part
    found = empty_counts(corpus, parser.params_.m)
    likelihood = all_trees_counts(text, corpus, parser.params_, 0.5, found)
    assert likelihood == pytest.approx(0.5 * log_z, rel=1e-12)
    for name, total, expected in zip(found._fields, found, wanted, strict=True):
        np.testing.assert_allclose(total, expected, atol=1e-12, err_msg=name)
    assert found.E.sum() == pytest.approx(0.5 * n)


def test_the_weighted_likelihood_never_falls(parser: GenerativeParser, trees: list[Any]) -> None:
    corpus, _ = _corpus(parser, trees[:20])
    _, text = _corpus(parser, trees[20:])
    settings = Unlabelled([], rounds=12)
    result = improve(
        corpus, text, parser.params_, settings, 0.7, smoothing=TreeSmoothing(*[1e-9] * 4)
    )
    # the first step leaves smoothing behind; its own likelihood is below the second's all the same
    gains = np.diff(result.log_likelihoods)
    assert gains.min() > -1e-4
    assert gains[0] > 0.1


def test_best_trees_are_the_parsers(parser: GenerativeParser, trees: list[Any]) -> None:
    corpus, text = _corpus(parser, trees[:9])
    heads = best_trees(text, corpus, parser.params_).heads
    said = [head for one in parser.parse_many(trees[:9]) if one for head in one.tree.heads]
    assert heads.tolist() == said


def test_no_weight_is_no_text(trees: list[Any]) -> None:
    settings: dict[str, Any] = {"n_states": 1, "tagset": "upos", "min_count": 1}
    plain = GenerativeParser(**settings).fit(trees[:20])
    unused = Unlabelled(trees[20:], weight=0.0)
    other = GenerativeParser(**settings).fit(trees[:20], unlabelled=unused)
    assert other.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize("way", ["all", "best"])
def test_words_that_no_tree_has_are_learned(trees: list[Any], way: Any) -> None:
    new = make_sentence(["a", "zebra", "runs"], upos=["DET", "NOUN", "VERB"])
    text = Unlabelled([new] * 3 + trees[20:], weight=0.5, rounds=1, trees=way)
    parser = GenerativeParser(n_states=1, tagset="upos", min_count=2)
    parser.fit(trees[:20], unlabelled=text)
    noun = parser._tag_ids["NOUN"]
    assert ("zebra", noun) in parser._word_ids
    # E of a tag's words still sums to one
    of_noun = parser._tag_of == noun
    assert parser.params_.E[of_noun, 0].sum() == pytest.approx(1.0)
    assert parser.unlabelled_.n_used == 43


def test_the_weight_is_chosen_by_held_out_trees(trees: list[Any]) -> None:
    parser = GenerativeParser(n_states=1, tagset="upos", min_count=1)
    parser.fit(trees[:12], unlabelled=Unlabelled(trees[12:30], rounds=1))
    report = parser.unlabelled_
    assert report.weight in report.held_out
    assert report.held_out[report.weight] == max(report.held_out.values())
    long = make_sentence(["dog"] * 26, upos=["NOUN"] * 26)
    parser.fit(trees[:12], unlabelled=Unlabelled([long, trees[12]], weight=0.1))
    assert parser.unlabelled_.n_left_out == 1
    with pytest.raises(SettingsError, match="among those without trees, but 1 of more words"):
        parser.fit(trees[:12], unlabelled=Unlabelled([long]))
    with pytest.raises(SettingsError, match="by two trees or more"):
        parser.fit(trees[:1], unlabelled=Unlabelled(trees[12:]))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"weight": -1.0}, "weight is -1.0"),
        ({"rounds": -1}, "rounds is -1"),
        ({"trees": "none"}, "trees is 'none'"),
    ],
)
def test_wrong_settings_are_told(trees: list[Any], wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        GenerativeParser().fit(trees, unlabelled=replace(Unlabelled([]), **wrong))


def test_the_command(trees: list[Any], tmp_path: Path) -> None:
    write_sentences(trees[:20], str(tmp_path / "trees.conllu"))
    write_sentences(trees[20:], str(tmp_path / "text.conllu"))
    line = "dep train-generative trees.conllu -o m --unlabelled text.conllu --json"
    line += " --unlabelled-weight 0.1"
    done = eigentext(*line.split(), "--n-states", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b'"unlabelled_used": 40' in done.stdout
    assert GenerativeParser.load(tmp_path / "m").parse(["a", "dog"], upos=["DET", "NOUN"])
    refused = eigentext(*line.replace("-generative", "").split(), cwd=tmp_path)
    assert refused.returncode == 2
    assert b"No such option: --unlabelled" in refused.stderr


@pytest.mark.parametrize("command", ["dep train-latent", "dep train-generative"])
def test_what_cannot_be_learned_from_is_told(
    trees: list[Any], tmp_path: Path, command: str
) -> None:
    write_sentences(trees[:20], str(tmp_path / "trees.conllu"))
    bare = make_sentence(["dogs", "bark"])
    write_sentences([trees[20], bare], str(tmp_path / "bare.conllu"))
    (tmp_path / "empty.conllu").write_text("")
    after = len((tmp_path / "bare.conllu").read_text().splitlines()) - 2
    for flags, why in {
        "--unlabelled bare.conllu": f"bare.conllu:{after}: no word of this sentence has a tag",
        "--unlabelled empty.conllu": "no sentence of up to 25 words",
        "--unlabelled-weight 0.5": "--unlabelled-weight is about sentences without trees",
        "--unlabelled-trees best": "--unlabelled-trees is about sentences without trees",
    }.items():
        line = f"{command} trees.conllu -o m {flags}"
        refused = eigentext(*line.split(), cwd=tmp_path)
        assert refused.returncode == 2
        assert why in refused.stderr.decode()
        assert refused.stderr.count(b"\n") == 1
    assert not (tmp_path / "m").exists()


def test_an_unseen_tag_counts_as_one_tag_in_learning_and_parsing(trees: list[Any]) -> None:
    """The tag of most different words, not that of the most tokens."""
    many = make_sentence(["a"] * 9, upos=["DET"] * 9, head=[0, *range(1, 9)])
    names = [make_sentence([name], upos=["PROPN"], head=[0]) for name in "qrstuvw"]
    new = make_sentence(["oh"], upos=["INTJ"])
    parser = GenerativeParser(n_states=1, tagset="upos", min_count=1)
    parser.fit([many] * 5 + names, unlabelled=Unlabelled([new], weight=0.1, rounds=1))
    propn = parser._tag_ids["PROPN"]
    assert ("oh", propn) in parser._word_ids
    assert parser._tag_number("INTJ") == propn


@pytest.mark.requires("data")
def test_real_text(data: Path) -> None:
    read = read_sentences(str(data / "dependency" / "hu-szeged" / "train.conllu"))
    some = [sentence for sentence, _ in zip(read, range(160), strict=False)]
    parser = GenerativeParser(n_states=1, tagset="upos", language="generic")
    parser.fit(some[:60], unlabelled=Unlabelled(some[60:120], weight=0.1, rounds=2))
    gains = np.diff(parser.log_likelihoods_[-2:])
    assert gains.min() > 0
    assert parser.score(some[120:]) > 0.3
