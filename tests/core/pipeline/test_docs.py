"""Docs: offsets into any text, CoNLL-U that is valid and comes back, JSON, spaCy."""

from __future__ import annotations

import io
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.language import Doc, Token
from eigentext.language.formats.conll import controls_as_blanks, single_blanks
from eigentext.language.formats.conllu import parse_sentences
from eigentext.pipeline import Pipeline
from helpers.sample_pipeline import SMALL, TEXTS, pipeline, treebank

ODD = " \tHello  there.\r\n\r\nHe can't see 10\u00a0000 dogs | cats\\s\n\n\n😀 x\u0302 שלום  \n "


@settings(max_examples=150)
@given(TEXTS)
@example("")
@example(" \n ")
@example(ODD)
@example("no final newline")
@example("a\rb\x85c\x1cd\x0ce")
@example("\x00The\x00 dog\x07\x1bslept www.a.org/\x00b 10\x00000 .\x00\n\x00\n\ud800")
def test_offsets_point_back_into_the_text(text: str) -> None:
    doc = pipeline()(text)
    covered = [" "] * len(text)
    end = 0
    for sentence in doc.sentences:
        number = 1
        for token in sentence.tokens:
            assert end <= token.start < token.end <= len(text)
            end = token.end
            assert single_blanks(text[token.start : token.end]) == token.form
            assert token.first == number
            number = token.last + 1
            if token.first == token.last:
                assert sentence.forms[token.first - 1] == token.form
            covered[token.start : end] = text[token.start : end]
        assert number - 1 == len(sentence.forms)
    # nothing but white space and control characters is outside a token
    assert controls_as_blanks("".join(covered)).split() == controls_as_blanks(text).split()
    # all that was typed can be put together again
    assert Doc.from_conllu(doc.to_conllu()).text == (text if doc.sentences else "")


@cache
def _validator() -> Any:
    return pytest.importorskip("udtools.validator").Validator(
        lang="ud", level=2, output=io.StringIO()
    )


def faults(conllu: str, folder: Path) -> str:
    """What udtools finds wrong up to level 2."""
    path = folder / "answer.conllu"
    path.write_bytes(conllu.encode())
    state = _validator().validate_files([str(path)])
    return "" if state.passed() else str(state)


@settings(max_examples=60)
@given(TEXTS)
@example(ODD)
@example("no final newline")
def test_its_conllu_is_valid(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    text = unicodedata.normalize("NFC", text)  # which udtools asks of a text
    folder = tmp_path_factory.mktemp("valid")
    doc = pipeline()(text)
    if doc.sentences:
        written = doc.to_conllu(offsets=True) + pipeline()("Anna").to_conllu(first_id=len(doc) + 1)
        assert faults(written, folder) == ""


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
CELLS = st.text(st.sampled_from("ab1.\x00\x07\x1b\x7f\x85\x9f\ud800 \xa0"), min_size=1, max_size=5)


@settings(max_examples=80)
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=3))
@example([["\x00"], ["a\x00b", "\x00\x01", "\x1b[0m"]])
def test_no_control_character_is_written_whatever_is_known(sentences: list[list[str]]) -> None:
    """Raw text, sentences, tokens in lists, in text and in CoNLL-U, words, tags: all levels."""
    kept = [[form for form in forms if controls_as_blanks(form).strip()] for forms in sentences]
    kept = [forms for forms in kept if forms]
    lines = "\n".join(map(" ".join, sentences))
    columns = [[str(n), f, f, "X", f"{f}", "_", "_", "_", "_", "_"] for n, f in enumerate("ab", 1)]
    for row, form in zip(columns, (sentences[0][0], sentences[-1][-1]), strict=True):
        row[1] = row[2] = row[4] = f"x{form}"
    conllu = "# text = \x00?\n" + "".join("\t".join(row) + "\n" for row in columns) + "\n"
    asked: list[tuple[Any, str | None]] = [(lines, None), (lines, "sentences"), (lines, "tokens")]
    asked += [(kept, "tokens")] if kept else []
    parsed = list(parse_sentences(conllu))
    asked += [(parsed, level) for level in ("sentences", "tokens", "words", "tags")]
    for source, level in asked:
        doc = pipeline()(source, keep=level)
        written = doc.to_conllu(offsets=True)
        assert not CONTROL.search(written)
        back = list(parse_sentences(written))
        assert [sentence.forms for sentence in back] == [tuple(s.forms) for s in doc.sentences]
        for token in (token for sentence in doc.sentences for token in sentence.tokens):
            typed = single_blanks(doc.text[token.start : token.end])
            assert typed == single_blanks(token.form)
        if doc.sentences:
            assert Doc.from_conllu(back).text.split() == doc.text.split()
    if kept:
        tokens = pipeline()(kept, keep="tokens")
        assert [[t.form for t in s.tokens] for s in tokens.sentences] == [
            list(map(single_blanks, forms)) for forms in kept
        ]


def test_control_characters_of_a_treebank_are_not_learned() -> None:
    rows = [("1", "Hi\x00", "hi\x00", "INTJ"), ("2", "\x92", "\x92", "PUNCT")]
    lines = ["\t".join((*row, *"____", "_", "_")) for row in rows]
    sentence = next(parse_sentences("\n".join(lines) + "\n\n"))
    model = Pipeline(**SMALL, without=("parser",)).fit([*treebank()[:20], sentence, sentence])
    assert not CONTROL.search(model("Hi \x92 hi\x00").to_conllu())


def test_what_is_written() -> None:
    doc = pipeline()("Anna  can't sleep.\n\nThe dog\tslept")
    lines = doc.to_conllu(offsets=True).split("\n")
    assert lines[:4] == ["# newdoc", "# newpar", "# sent_id = 1", "# text = Anna can't sleep."]
    assert [line.split("\t")[0] for line in lines[4:10]] == ["1", "2-3", "2", "3", "4", "5"]
    misc = [line.split("\t")[9] for line in lines if "\t" in line]
    assert misc == [
        "SpacesAfter=\\s\\s|TokenRange=0:4",
        "TokenRange=6:11",
        "_",
        "_",
        "SpaceAfter=No|TokenRange=12:17",
        "SpacesAfter=\\n\\n|TokenRange=17:18",
        "TokenRange=20:23",
        "SpacesAfter=\\t|TokenRange=24:27",
        "TokenRange=28:33",
    ]
    assert "# newpar" in lines[10:]
    assert doc.sentences[1].tokens[1] == Token("dog", 24, 27, "SpacesAfter=\\t", 2, 2)
    word = doc.sentences[0].words[1]
    assert (word.id, word.form, word.lemma, word.upos) == (2, "ca", "can", "AUX")
    assert [word.head for word in doc.sentences[1].words].count(0) == 1


def test_the_name_of_a_document_is_one_line(tmp_path: Path) -> None:
    doc = pipeline()("Anna slept.", doc_id="odd\nname\t.txt")
    assert doc.to_conllu().startswith("# newdoc id = odd name .txt\n# newpar\n")
    assert faults(doc.to_conllu(), tmp_path) == ""
    assert pipeline()("Anna", doc_id="\n").to_conllu().startswith("# newdoc\n")


def test_a_treebank_comes_back_to_the_byte() -> None:
    for name in ("treebank", "treebank-dev"):
        text = "".join(sentence.verbatim for sentence in treebank(name))
        assert Doc.from_conllu(text).to_conllu() == text
    enhanced = (
        "# newdoc id = d\n# sent_id = a\n# text = du sel\n# odd comment\n"
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tTyp=x\n1\tde\tde\tADP\t_\t_\t3\tcase\t3:case\tA=b\n"
        "2\tle\tle\tDET\t_\t_\t3\tdet\t3:det\t_\n3\tsel\tsel\tNOUN\t_\t_\t0\troot\t0:root\t_\n"
        "3.1\tx\t_\t_\t_\t_\t_\t_\t3:y\t_\n\n"
    )
    doc = Doc.from_conllu(enhanced)
    assert doc.to_conllu() == enhanced
    assert doc.text == "du sel"
    assert doc.sentences[0].metadata["sent_id"] == "a"


@settings(max_examples=30)
@given(TEXTS)
def test_json_comes_back(text: str) -> None:
    doc = pipeline()(text, top=2, probabilities=True)
    line = doc.to_json()
    assert "\n" not in line
    back = Doc.from_json(line)
    assert back.to_json() == line
    assert back.to_conllu(probabilities=True) == doc.to_conllu(probabilities=True)


@pytest.mark.parametrize("bad", ["", "{", "[]", "{}", '{"text": 1, "sentences": [{}]}'])
def test_json_of_something_else_is_an_error(bad: str) -> None:
    with pytest.raises(DataError):
        Doc.from_json(bad)


@settings(max_examples=40)
@given(TEXTS)
@example(ODD)
def test_spacy_has_the_same_text_and_trees(text: str) -> None:
    pytest.importorskip("spacy")
    doc = pipeline()(text)
    made = doc.to_spacy()
    assert made.text.removesuffix(" ") == text.removesuffix(" ")
    if doc.sentences:
        spoken = [token for token in made if not token.is_space]
        roots = [token for token in spoken if token.head.i == token.i]
        assert len(roots) == len(doc.sentences)


def test_spacy_keeps_what_is_known() -> None:
    pytest.importorskip("spacy")
    doc = pipeline()("Anna can't sleep.")
    made = doc.to_spacy()
    words = doc.sentences[0].words
    assert [token.text for token in made] == [word.form for word in words]
    assert [token.lemma_ for token in made] == [word.lemma for word in words]
    assert [str(token.morph) or "_" for token in made] == [word.feats for word in words]
    heads = [0 if token.head.i == token.i else token.head.i + 1 for token in made]
    assert heads == [word.head for word in words]


def test_parse_sentences_tells_the_line() -> None:
    good = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    with pytest.raises(DataError, match="<text>:4"):
        list(parse_sentences(good + "\n1\tb\n"))
