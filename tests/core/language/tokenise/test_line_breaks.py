"""Which line breaks of raw text end a sentence."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.files.opening import atomic_write
from eigentext.cli.main import run
from eigentext.counting.raw_text import read_tokenised, tokenise_document
from eigentext.errors import SettingsError
from eigentext.language.tokenise.sentences import stretches

PROSE = (
    "The old farmer sold the brown horse to a trader from Bristol last Monday and Ann was not "
    "told of it until Friday evening. On Saturday she drove to Bristol and asked Mr Low about "
    "the horse, the saddle and the Cart."
)
HEADLINES = ["Mayor resigns", "Government announces new plan for schools", "Two hurt in Bristol"]


@pytest.mark.parametrize("width", [55, 60, 72, 100])
def test_wrapped_prose_is_joined(width):
    lines = textwrap.wrap(PROSE, width)
    assert list(stretches(lines)) == [(0, len(lines))]


@pytest.mark.parametrize("width", [55, 72])
def test_a_headline_above_wrapped_prose_stands_alone(width):
    lines = ["Farmer Sells Horse", *textwrap.wrap(PROSE, width)]
    assert list(stretches(lines)) == [(0, 1), (1, len(lines))]


def test_short_lines_stand_alone():
    assert list(stretches(HEADLINES)) == [(0, 1), (1, 2), (2, 3)]
    longest_first = sorted(HEADLINES, key=len, reverse=True)
    assert list(stretches(longest_first)) == [(0, 1), (1, 2), (2, 3)]


def test_long_lines_of_their_own():
    lines = [PROSE[:90], "Two hurt", PROSE[:60], "Three hurt", PROSE[:50]]
    assert list(stretches(lines)) == [(k, k + 1) for k in range(5)]


@pytest.mark.parametrize("end", [",", ";", ":", " -", " —", "،"])
def test_a_sentence_that_plainly_goes_on(end):
    assert list(stretches([f"Dear Ann{end}", "Thank you"])) == [(0, 2)]
    assert list(stretches(["Mayor of the", "town resigns", "Storm"])) == [(0, 2), (2, 3)]


@given(st.lists(st.text("ab A,", min_size=1).filter(str.strip), min_size=1), st.booleans())
def test_nothing_is_lost(lines, always):
    for newlines in ("auto", "end", "join"):
        found = list(stretches(lines, newlines))
        assert [k for first, after in found for k in range(first, after)] == [*range(len(lines))]
        if newlines != "auto":
            assert len(found) == (len(lines) if newlines == "end" else 1)


def test_readers_and_their_offsets():
    text = "Mayor resigns\nStorm. It hits\nthe coast\n\nTwo hurt\n"
    with atomic_write("memory://line-breaks.txt") as out:
        out.write(text.encode())
    expected = {
        "auto": ["Mayor resigns", "Storm .", "It hits the coast", "Two hurt"],
        "end": ["Mayor resigns", "Storm .", "It hits", "the coast", "Two hurt"],
        "join": ["Mayor resigns Storm .", "It hits the coast", "Two hurt"],
    }
    for newlines, sentences in expected.items():
        read = read_tokenised("memory://line-breaks.txt", "ptb", newlines=newlines)
        assert [" ".join(tokens) for tokens in read] == sentences
        found = tokenise_document(text, "ptb", newlines=newlines)
        assert [" ".join(token.form for token in tokens) for tokens in found] == sentences
        assert all(text[t.start : t.end] == t.form for tokens in found for t in tokens)
    with pytest.raises(SettingsError, match="auto, end, join"):
        list(read_tokenised("memory://line-breaks.txt", "ptb", newlines="never"))


def test_the_option(tmp_path, capsys):
    (tmp_path / "raw.txt").write_text("Mayor resigns\nStorm hits the coast\n")
    for newlines, n_sentences in (("auto", 2), ("end", 2), ("join", 1)):
        out = str(tmp_path / newlines)
        arguments = [str(tmp_path / "raw.txt"), "-o", out, "--raw", "--newlines", newlines]
        assert run(["words", "count", *arguments, "--contexts", "r1", "--json", "-q"]) == 0
        assert f'"sentences": {n_sentences}' in capsys.readouterr().out
    for command in ("const apply", "dep apply", "hmm train", "hmm score", "hmm eval", "lex apply"):
        run([*command.split(), "--help"])
        assert "--newlines" in capsys.readouterr().out
