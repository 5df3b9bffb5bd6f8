"""A vocalised treebank and its words as typed, put together."""

from __future__ import annotations

import json

import pytest

from eigentext.errors import DataError
from eigentext.language.formats.conllu import make_sentence, parse_sentence
from eigentext.recipes.gathering import as_typed


def write(path, *sentences):
    words = [[{"form": form, "vocalised": said} for form, said in words] for words in sentences]
    path.write_text("".join(json.dumps({"words": each}) + "\n" for each in words))
    return str(path)


def test_words_become_what_is_typed(tmp_path):
    tree = make_sentence(
        ["لِ", "اَلبَيتِ", "(", "+", ")", "."],
        head=[2, 0, 4, 2, 4, 2],
        deprel=["case", "root", "punct", "dep", "punct", "punct"],
        misc=["Gloss=to", "_", "_", "_", "_", "_"],
        metadata={"sent_id": "s1"},
    )
    other = [("x", "x")]
    typed = [("للبيت", "لِ+اَلبَيتِ"), ("(", "("), ("+", "+"), (")", ")"), (".", ".")]
    (found,) = as_typed([tree], write(tmp_path / "w.jsonl", other, typed))
    assert found.text == "للبيت (+)."
    assert found.forms == ("ل", "البيت", "(", "+", ")", ".")
    assert [(r.start, r.end, r.form, r.misc) for r in found.ranges] == [(1, 2, "للبيت", "_")]
    assert found.heads == tree.heads
    assert found.metadata == {"sent_id": "s1"}
    assert parse_sentence(found.verbatim).words == found.words


def test_a_mark_that_stands_alone_stays(tmp_path):
    tree = make_sentence(["a", "\u064b"])
    (found,) = as_typed([tree], write(tmp_path / "w.jsonl", [("a", "a"), ("", "\u064b")]))
    assert found.forms == ("a", "\u064b")


def test_words_that_are_missing_or_bad_are_told(tmp_path):
    tree = make_sentence(["a", "b"])
    with pytest.raises(DataError, match="no typed words for the sentence"):
        list(as_typed([tree], write(tmp_path / "w.jsonl", [("a", "a")], [("a", "a+c")])))
    for line in ('{"words": [{"form": 3}]}', "[", "3", '{"words": 3}'):
        (tmp_path / "bad.jsonl").write_text(line)
        with pytest.raises(DataError, match=r"bad\.jsonl:1: expected words with form"):
            list(as_typed([tree], str(tmp_path / "bad.jsonl")))


@pytest.mark.requires("data")
def test_the_arabic_treebank_is_found_whole(data):
    from eigentext.language.formats.conllu import read_sentences

    folder = data / "lexical" / "ar-padt"
    for part, sentences in (("a", 786), ("b", 704)):
        found = list(as_typed(read_sentences(folder / f"{part}.conllu"), folder / "words.jsonl"))
        assert len(found) == sentences
        assert all(form.strip() for sentence in found for form in sentence.forms)
        assert sum(len(sentence.ranges) for sentence in found) > 3500


def test_only_what_is_typed_says_that_no_blank_follows(tmp_path):
    tree = make_sentence(["a", "b", "."], head=[0, 1, 1], misc=["Gloss=x", "Gloss=y", "_"])
    (found,) = as_typed([tree], write(tmp_path / "w.jsonl", [("ab", "a+b"), (".", ".")]))
    assert [(r.start, r.end, r.form, r.misc) for r in found.ranges] == [
        (1, 2, "ab", "SpaceAfter=No")
    ]
    assert found.column("misc") == ("_", "_", "_")
    assert found.text == "ab."
