"""A segmenter as a whole: its file, its offsets in odd text, and real treebanks."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.cores import using_cores
from eigentext.base.values import Packed
from eigentext.errors import ModelFileError
from eigentext.language.formats.conllu import make_sentence, parse_sentence, read_sentences
from eigentext.tagging.segmentation import Segmenter, model, raw_text
from eigentext.tagging.segmentation.model import _chance, _keeps_addresses, form_of
from eigentext.tagging.segmentation.raw import lay_out, surface
from helpers.changed_files import changed
from helpers.sample_pipeline import TEXTS, treebank
from helpers.toy_treebank import sentences as spanish


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter(epochs=3, bits=14).fit(treebank())


@pytest.fixture(scope="module")
def toy() -> Segmenter:
    return Segmenter(epochs=4, bits=12).fit(spanish())


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("which", ["segmenter", "toy"])
def test_a_file_keeps_all_that_was_learned(which, request) -> None:
    model = request.getfixturevalue(which)
    again = Segmenter.from_bytes(model.to_bytes())
    assert again.to_bytes() == model.to_bytes()
    assert np.array_equal(again.tokens_.weights, model.tokens_.weights)
    assert np.array_equal(again.sentences_.weights, model.sentences_.weights)
    assert np.array_equal(again.multiwords_.weights, model.multiwords_.weights)
    assert again.multiwords_.rules == model.multiwords_.rules
    assert again.multiwords_.forms == model.multiwords_.forms
    assert again.multiwords_.words == model.multiwords_.words
    assert again.multiwords_.general == model.multiwords_.general
    assert (again.line_breaks_, again.addresses_) == (model.line_breaks_, model.addresses_)
    assert again.tokens_.spaces == model.tokens_.spaces
    assert again.sentences_.threshold == model.sentences_.threshold
    for ours, theirs in (
        (again.tokens_.vocabulary, model.tokens_.vocabulary),
        (again.sentences_.habits, model.sentences_.habits),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@settings(max_examples=40)
@given(st.lists(st.integers(-127, 127), min_size=3, max_size=3), st.integers(3, 6))
def test_weights_are_packed_by_which_are_not_0(values, bits) -> None:
    weights = np.zeros(1 << bits, np.int8)
    weights[[0, 5, -1]] = values
    part, packed = model._weights("x"), Packed()
    part.pack("", weights, packed)
    assert len(packed.arrays["x_mask"]) == (1 << bits) // 8
    assert len(packed.arrays["x_weights"]) == sum(value != 0 for value in values)
    assert np.array_equal(part.unpack("", packed), weights)


@pytest.mark.parametrize(
    ("part", "value", "why"),
    [
        ("rule_mask", np.zeros(3, np.uint8), "the mask of rule has length 3"),
        ("token_mask", np.zeros(0, np.uint8), "the mask of token has length 0"),
        ("sentence_weights", np.zeros(0, np.int8), "0 weights of sentence, expected"),
        ("form_starts", None, "a form has no rule"),
    ],
)
def test_parts_that_do_not_hold_together(toy, part, value, why) -> None:
    if value is None:  # the first form has none of the rules
        value = toy._pack().arrays[part].copy()
        value[1] = 0
    with pytest.raises(ModelFileError, match=why):
        Segmenter.from_bytes(changed(toy, arrays={part: value}))


@pytest.mark.parametrize(
    "text", ['["a", ["b", 1], "", "", [], "c", true]', '["a", [], "", "", [], "c", 1]']
)
def test_what_is_no_rule(text) -> None:
    with pytest.raises(ValueError, match="is no rule"):
        model._rule(text)


def test_training_is_the_same_for_any_cores_and_depends_on_the_seed() -> None:
    with using_cores(2):
        two = Segmenter(epochs=2, bits=10).fit(treebank()[:60]).to_bytes()
    with using_cores(1):
        assert Segmenter(epochs=2, bits=10).fit(treebank()[:60]).to_bytes() == two
        assert Segmenter(epochs=2, bits=10, seed=1).fit(treebank()[:60]).to_bytes() != two


def test_progress_tells_of_both_stages() -> None:
    steps: list[tuple] = []
    Segmenter(epochs=2, bits=8).fit(treebank()[:9], progress=lambda *step: steps.append(step))
    assert steps == [(k, 2, stage) for stage in ("tokens", "sentences") for k in (1, 2)]


# ---------------------------------------------------------------- offsets


def tokens_of(segmenter, text):
    return [token for one in segmenter.segment(text) for token in one.tokens]


@settings(max_examples=60)
@given(TEXTS)
def test_a_file_answers_as_the_model_does(segmenter, text) -> None:
    again = Segmenter.from_bytes(segmenter.to_bytes())
    assert again.segment(text) == segmenter.segment(text)
    assert again.segment_sentence(text) == segmenter.segment_sentence(text)


@settings(max_examples=80)
@given(TEXTS, st.sampled_from([" ", "\n", " \n\n ", "\t", "\u2029"]))
def test_white_space_around_a_text_moves_its_offsets(segmenter, text, space) -> None:
    """And a paragraph begins at a blank line, nowhere else."""
    text = text.removeprefix("\ufeff")
    plain = segmenter.segment(text)
    moved = segmenter.segment(space + text + space)
    shift = len(space)
    assert [[(t.start - shift, t.end - shift, t.words) for t in one.tokens] for one in moved] == [
        list(map(tuple, one.tokens)) for one in plain
    ]
    assert [one.new_paragraph for one in moved] == [one.new_paragraph for one in plain]
    last = 0
    breaks = r"\r\n|[\n\r\x0b\x0c\x85\u2028]"
    for n, one in enumerate(plain):
        gap = text[last : one.tokens[0].start]
        lines = len(re.findall(breaks, gap)) + 2 * gap.count("\u2029")
        assert one.new_paragraph == (n == 0 or lines > 1)
        last = one.tokens[-1].end


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["Anna", "sleeps", ".", "can't", "漢字", "10"]), max_size=9),
       st.sampled_from(["\u3000", "\xa0", "\t", "  ", "\x1f"]))  # fmt: skip
def test_any_space_is_a_space(segmenter, pieces, space) -> None:
    assert not segmenter.line_breaks_
    one, other = " ".join(pieces), space.join(pieces)
    found = [[form_of(text[t.start : t.end]) for t in tokens_of(segmenter, text)]
             for text in (one, other)]  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), (" \n\n\t", []), ("\ufeff", []), ("a", ["a"]), ("\x00", []), (".", ["."]),
        ("\u0301", ["\u0301"]), ("\u200d", ["\u200d"]), ("\ud800", []),
        ("Anna\x00 sleeps\x07", ["Anna", "sleeps"]),  # control characters are white space
        ("👩\u200d👩\u200d👧", ["👩\u200d👩\u200d👧"]),
        ("\u202bשלום\u202c", ["\u202bשלום\u202c"]),
    ],
)  # fmt: skip
def test_the_letters_of_odd_texts_are_all_in_tokens(segmenter, text, expected) -> None:
    found = [text[t.start : t.end] for t in tokens_of(segmenter, text)]
    assert "".join(found) == "".join(expected)
    if len(expected) < 2 and len(text) < 6:
        assert found == expected


@pytest.mark.parametrize("order", [1, -1])
def test_words_without_spaces_are_found_by_the_dictionary(order) -> None:
    """Chinese-like words of one to three letters; the same from right to left in Hebrew."""
    words = [["我们", "爱", "北京人"], ["你", "们的", "好"]]
    if order < 0:
        words = [["אב", "ג", "דהו"], ["ז", "חט", "י"]]
    rng = np.random.default_rng(0)
    flat = [word for three in words for word in three]
    made = [[flat[k] for k in rng.integers(0, len(flat), 6)] for _ in range(60)]
    misc = ["SpaceAfter=No"] * 6
    model = Segmenter(epochs=6, bits=14).fit([make_sentence(one, misc=misc) for one in made])
    new = [flat[k] for k in rng.integers(0, len(flat), 30)]
    text = "".join(new)
    found = model.segment_sentence(text).tokens
    assert [text[t.start : t.end] for t in found] == new


def test_a_token_that_a_person_joined_has_words_of_one_line(toy) -> None:
    """What is joined over white space is looked at as its FORM is written."""
    text = "Ana va d\nel mar."
    assert not toy.tokens_.spaces
    found = toy.segment_decided(text, {text.index("el"): "none"})
    assert found.followed
    (token,) = [t for one in found.sentences for t in one.tokens if t.start == text.index("d\n")]
    assert text[token.start : token.end] == "d\nel"
    assert all(not re.search(r"\s\s|[^\S ]", word) for word in token.words)


def test_joined_forms_are_split_as_their_form_is() -> None:
    words = {f"{stem}lo": (stem, "lo") for stem in ("dar", "ver", "ser", "ter", "por", "mar")}
    made = [make_sentence(["Ana", stem, "."]) for stem in ("dar", "cor", "mar")]
    rows = "1-2\t{0}lo" + "\t_" * 8 + "\n1\t{0}" + "\t_" * 8 + "\n2\tlo" + "\t_" * 8 + "\n"
    made += [parse_sentence(rows.format(parts[0])) for parts in words.values()]
    model = Segmenter(epochs=6, bits=12).fit(made * 3)
    text = "cor\nlo"
    found = model.segment_decided(text, {4: "none"}).sentences[0].tokens
    assert [t[:2] for t in found] == [(0, 6)]
    assert found[0].words == model.words_of(["cor lo"])[0]


def test_chances_are_those_of_the_odds() -> None:
    assert _chance(0) == 0.5
    assert _chance(100) == pytest.approx(1 / (1 + np.exp(-3)))
    assert 0 < _chance(-(10**9)) < 1e-12 < 1 - 1e-12 < _chance(10**9) <= 1


@pytest.mark.parametrize(
    ("cut", "kept"), [([], True), ([0], True), ([0, 1], True), ([0, 1, 2], False)]
)
def test_addresses_are_kept_where_most_are(cut, kept) -> None:
    made = []
    for n in range(4):
        pieces = ["www", ".a.org"] if n in cut else ["www.a.org"]
        misc = ["SpaceAfter=No"] * (len(pieces) - 1) + ["_"]
        made.append(make_sentence([*pieces, "x"], misc=[*misc, "_"]))
    assert _keeps_addresses(lay_out(made)) == kept


# ---------------------------------------------------------------- real text


def f1(gold: set, found: set) -> float:
    return 200 * len(gold & found) / (len(gold) + len(found))


def judged(name, data, *, train: int, bits: int = 16):
    """F1 of tokens, words and sentences of the development part."""
    folder = data / "dependency" / name
    parts = [list(read_sentences(folder / f"{part}.conllu")) for part in ("train", "dev")]
    model = Segmenter(epochs=4, bits=bits).fit(parts[0][:train])
    layout = lay_out(parts[1])
    found = model.segment(layout.text)
    tokens = [t for one in found for t in one.tokens]
    letters = "".join(layout.text[t.start : t.end] for t in tokens)
    assert re.sub(r"\s", "", letters) == re.sub(r"\s", "", layout.text)
    spans = set(layout.spans)
    words = {(*s, w) for s, w in zip(layout.spans, layout.words, strict=True)}
    cuts = [0, *layout.ends]
    sentences = {(layout.spans[a][0], layout.spans[b - 1][1]) for a, b in pairwise(cuts)}
    return (
        f1(spans, {t[:2] for t in tokens}),
        f1(words, {tuple(t) for t in tokens}),
        f1(sentences, {(one.tokens[0].start, one.tokens[-1].end) for one in found}),
    )


@pytest.mark.requires("data")
@pytest.mark.parametrize(
    ("name", "tokens", "words", "sentences"),
    [("fr-partut", 99.5, 98.5, 95), ("hu-szeged", 99.5, 99.5, 93), ("tr-imst", 99, 96.5, 90)],
)
def test_little_of_a_treebank_is_enough_to_cut_its_text(
    data, name, tokens, words, sentences
) -> None:
    found = judged(name, data, train=500)
    assert found[0] > tokens
    assert found[1] > words
    assert found[2] > sentences


@pytest.mark.requires("data")
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "tokens", "words", "sentences"),
    [("pt-bosque", 99.5, 99, 88), ("ewt", 98, 98, 70), ("fr-sequoia", 99.5, 99, 88)],
)
def test_treebanks_are_cut(data, name, tokens, words, sentences) -> None:
    found = judged(name, data, train=6000, bits=18)
    assert found[0] > tokens
    assert found[1] > words
    assert found[2] > sentences


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["fr-partut", "pt-bosque", "tr-imst", "gum"])
def test_the_text_of_a_treebank_is_the_one_that_it_tells(data, name) -> None:
    """`# text` and the offsets of the forms in it agree for nearly every sentence."""
    made = list(read_sentences(data / "dependency" / name / "dev.conllu"))[:400]
    told = [one for one in made if one.text]
    assert len(told) > 100
    same = [surface(one).text == one.text.strip() for one in told]
    assert np.mean(same) > 0.99
    text = raw_text(made)
    assert "".join(text.split()) == "".join("".join(surface(one).text.split()) for one in made)
