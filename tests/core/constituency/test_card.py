"""Parsing on a graphics card: its kernels, compiled for the processor, against the compiled loops.

``EmulatedCard`` runs the same source with so many threads a block; one is fastest, and several
show that nothing is read before it is written.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from gpu_parse import card_posteriors, processor_posteriors

from eigentext.accel.constituency import parser as card_parser
from eigentext.accel.constituency.engine import fields
from eigentext.accel.constituency.parser import CardParser
from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from helpers.commands import eigentext
from helpers.emulated_card import EmulatedCard

pytestmark = pytest.mark.requires("compiler")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    return tmp_path_factory.mktemp("card")


@pytest.fixture(scope="session")
def engine(compiled):
    return EmulatedCard(compiled)


@pytest.fixture(scope="session")
def sentences():
    lines = [*load_english("dev"), *load_english("test")]
    return [list(Tree.from_brackets(line).words) for line in lines]


@pytest.fixture(scope="session")
def signed(english):
    """Tensors in low rank, and negative numbers."""
    return LPCFG(n_states=6).fit(english)


@pytest.fixture
def card_there(monkeypatch, engine):
    """As if there were a card."""
    monkeypatch.setattr(card_parser, "why_no_cupy", lambda: None)
    monkeypatch.setattr(card_parser, "Card", lambda: engine)


def _same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.tree == other.tree
        assert one.flags == other.flags
        assert one.log_score == pytest.approx(other.log_score, abs=1e-3)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


@pytest.mark.parametrize("decoder", ["max-constituents", "max-rule-product", "max-recall"])
@pytest.mark.parametrize("model", ["parser", "signed"])
def test_trees_and_scores_are_those_of_the_processor(
    model, decoder, request, engine, sentences
) -> None:
    parser = request.getfixturevalue(model)
    found = list(CardParser(parser, engine).parse_many(sentences, decoder))
    _same(found, [parser.parse(tokens, decoder=decoder) for tokens in sentences])


@pytest.mark.parametrize("model", ["parser", "signed"])
def test_posteriors_are_those_of_the_processor(model, request, engine, sentences) -> None:
    parser = request.getfixturevalue(model)
    card = CardParser(parser, engine)
    several = [tokens for tokens in sentences if len(tokens) > 1]
    job = card.job([parser.grammar_.forms(tokens) for tokens in several], "max-constituents")
    assert not job["status"].any()
    for tokens, found in zip(several, card_posteriors(card, job), strict=True):
        expected = processor_posteriors(parser, tokens)
        assert expected
        assert found.keys() == expected.keys()
        for key, p in expected.items():
            assert found[key] == pytest.approx(p, abs=1e-4)


def test_negative_posteriors_are_settled_as_by_the_processor(signed, engine, sentences) -> None:
    """Every twelfth rule has a negative score: moments of more trees have such rules as well."""
    params = signed.grammar_.params[0]
    sign = np.where(np.arange(len(params.rules)) % 12, 1, -1).astype(np.float32)
    low = params.low_rank._replace(factor=params.low_rank.factor * sign)
    other = pickle.loads(pickle.dumps(signed))
    other.grammar_ = replace(signed.grammar_, params=(replace(params, low_rank=low),))
    card = CardParser(other, engine)
    several = [tokens for tokens in sentences if len(tokens) > 1]
    job = card.job([other.grammar_.forms(tokens) for tokens in several], "max-constituents")
    steady = (np.abs(job["z"]) > 0.01) & (job["negative"] > 0)
    assert steady.sum() > 10
    for b, found in enumerate(card_posteriors(card, job)):
        if steady[b]:
            expected = processor_posteriors(other, several[b])
            assert found == pytest.approx(expected, abs=1e-3)
            assert min(found.values()) >= 0


def test_several_threads_answer_as_one(signed, compiled, engine, sentences) -> None:
    several = sorted((s for s in sentences if len(s) > 1), key=len)[:3:2]
    words = [signed.grammar_.forms(tokens) for tokens in several]
    one = CardParser(signed, engine)
    many = CardParser(signed, EmulatedCard(compiled, lanes=2, warps=2))
    job, other = (card.job(words, "max-constituents") for card in (one, many))
    for name in ("status", "node_label", "node_rule", "app_count"):
        assert np.array_equal(job[name], other[name])
    for name in ("score", "log_p"):
        assert np.allclose(job[name], other[name], atol=1e-4)
    for found, expected in zip(
        card_posteriors(many, other), card_posteriors(one, job), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_grammar_without_brackets(toy, engine) -> None:
    parser = LPCFG(n_states=2, estimator="clustering", bracket_weight=0, threshold=0).fit(toy)
    text = ["x y x y", "y x y", "z x", "x x y y x", "x y"]
    sentences = [line.split() for line in text]
    found = CardParser(parser, engine).parse_window(sentences, "max-constituents")
    _same(found, [parser.parse(tokens) for tokens in sentences])


def test_odd_sentences_are_answered_in_their_order(signed, engine, monkeypatch, sentences) -> None:
    signed = pickle.loads(pickle.dumps(signed)).set_params(longest=12)
    odd = [[], ["Yes"], sentences[0], [], ["Xyzzy", "qux", "!"], ["the"] * 30, *sentences[1:8]]
    monkeypatch.setattr(card_parser, "_WINDOW", 5)
    monkeypatch.setattr(card_parser, "_MOST_ENTRIES", 20_000)
    found = list(CardParser(signed, engine).parse_many(odd, "max-constituents"))
    assert [answer is None for answer in found] == [not tokens for tokens in odd]
    expected = [signed.parse(tokens) for tokens in odd if tokens]
    _same([answer for answer in found if answer is not None], expected)


def test_what_the_card_has_no_room_for_is_parsed_by_the_processor(
    signed, engine, monkeypatch, sentences
) -> None:
    monkeypatch.setattr(CardParser, "_room", lambda self, n: 3)
    card = CardParser(signed, engine)
    job = card.job([signed.grammar_.forms(sentences[0])], "max-constituents")
    assert job["status"].tolist() == [2]
    some = sentences[:5]
    _same(card.parse_window(some, "max-constituents"), [signed.parse(s) for s in some])


def test_pruning_that_leaves_no_tree_is_loosened_by_the_processor(
    engine, english, sentences
) -> None:
    parser = LPCFG(n_states=2, bracket_threshold=0.5).fit(english[::4])
    found = CardParser(parser, engine).parse_window(sentences, "max-constituents")
    expected = [parser.parse(tokens) for tokens in sentences]
    assert any("relaxed" in answer.flags for answer in expected)
    _same(found, expected)


def test_parse_many_on_the_card(signed, card_there, sentences) -> None:
    expected = list(signed.parse_many(sentences))
    _same(signed.parse_many(sentences, device="cuda"), expected)
    _same(signed.parse_many(sentences, device="auto"), expected)
    known = signed._on_the_card()
    assert signed._on_the_card() is known  # the grammar goes to the card once
    _same(pickle.loads(pickle.dumps(signed)).parse_many(sentences), expected)
    with pytest.raises(SettingsError, match="empty token"):
        list(signed.parse_many([["a", ""]], device="cuda"))


def test_what_only_the_processor_does(signed, card_there, sentences) -> None:
    with pytest.raises(SettingsError, match="more than the best tree is for the processor"):
        signed.parse_many(sentences, device="cuda", kbest=2)
    found = list(signed.parse_many(sentences[:3], device="auto", kbest=2))
    assert [len(answer.kbest) for answer in found] == [2, 2, 2]
    with pytest.raises(SettingsError, match="device must be one of cpu, cuda, auto, not 'gpu'"):
        signed.parse_many(sentences, device="gpu")


def test_without_a_card(signed, monkeypatch, sentences) -> None:
    why = "CuPy is not installed (the extra `gpu` of eigentext has it)"
    monkeypatch.setattr(card_parser, "why_no_cupy", lambda: why)
    with pytest.raises(SettingsError, match="the extra `gpu`"):
        signed.parse_many(sentences, device="cuda")
    _same(signed.parse_many(sentences, device="auto"), signed.parse_many(sentences))


def test_the_command(signed, card_there, monkeypatch, tmp_path, sentences) -> None:
    model, text = tmp_path / "english.lpcfg", tmp_path / "text.txt"
    signed.save(model)
    text.write_text("".join(" ".join(tokens) + "\n" for tokens in sentences))

    def parse(*more):
        return eigentext("const", "apply", model, text, *more, cwd=tmp_path)

    plain = parse()
    assert plain.stdout.count(b"\n") == len(sentences)
    assert parse("--device", "cuda").stdout == plain.stdout
    monkeypatch.setattr(card_parser, "why_no_cupy", lambda: "there is no graphics card")
    auto = parse("--device", "auto")
    assert auto.stdout == plain.stdout
    assert b"parsing on the processor: there is no graphics card" in auto.stderr
    missing = parse("--device", "cuda")
    assert missing.returncode == 2
    assert b"there is no graphics card" in missing.stderr


def test_every_field_of_the_job_is_known() -> None:
    assert fields()["closed"] == (np.uint8, True)
    assert fields()["bracket_bits"] == (np.int64, False)
    assert len(fields()) > 80
