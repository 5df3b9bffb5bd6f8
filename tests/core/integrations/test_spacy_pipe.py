"""``eigentext_pipe``: everything that a pipeline knows, on spaCy's tokens."""

from __future__ import annotations

import pickle
from functools import cache

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from eigentext.errors import EigentextError, SettingsError
from eigentext.integrations.spacy_pipe import PipeComponent, PipeTokenizer
from eigentext.pipeline import Pipeline
from eigentext.tagging.sequence import SequenceTagger
from helpers.toy_treebank import SMALL, sentences, toy_pipeline

TEXT = " Ana va al mar.  Luis viene del\tparque.\n\nEl puerto corre."


def blank(**config):
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config=config).use(toy_pipeline())
    return nlp


blank_once = cache(blank)  # not before a test asks: it trains


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("spacy") / "toy.pipe"
    toy_pipeline().save(path)
    return str(path)


def rows(doc):
    return [
        (t.text, t.lemma_, t.pos_, t.tag_, str(t.morph), t.dep_, t.head.i, t.is_sent_start)
        for t in doc
    ]


def test_every_attribute_is_filled():
    doc = blank()("Ana va al mar. El puerto corre.")
    assert rows(doc) == [
        ("Ana", "Ana", "PROPN", "PROPN", "", "nsubj", 1, True),
        ("va", "ir", "VERB", "VERB", "Number=Sing|Person=3", "ROOT", 1, False),
        ("al", "a", "ADP", "ADP", "", "case", 3, False),
        ("mar", "mar", "NOUN", "NOUN", "Number=Sing", "obl", 1, False),
        (".", ".", "PUNCT", "PUNCT", "", "punct", 1, False),
        ("El", "el", "DET", "DET", "Definite=Def", "det", 6, True),
        ("puerto", "puerto", "NOUN", "NOUN", "Number=Sing", "nsubj", 7, False),
        ("corre", "correr", "VERB", "VERB", "Number=Sing|Person=3", "ROOT", 7, False),
        (".", ".", "PUNCT", "PUNCT", "", "punct", 7, False),
    ]
    assert [token._.words for token in doc[1:4]] == [None, ("a", "el"), None]
    assert [sentence.text for sentence in doc.sents] == ["Ana va al mar.", "El puerto corre."]
    assert all(doc.has_annotation(name) for name in ("TAG", "POS", "LEMMA", "DEP", "MORPH"))


def test_the_library_and_the_component_agree_and_text_is_kept():
    doc = blank()(TEXT)
    expected = toy_pipeline()(TEXT).to_spacy()
    assert doc.text == TEXT
    assert rows(doc) == rows(expected)
    assert sum(token.is_space for token in doc) == 4


def test_the_tokenizer_alone_annotates_nothing():
    nlp = blank()
    assert isinstance(nlp.tokenizer, PipeTokenizer)
    made = nlp.make_doc(TEXT)
    assert [t.text for t in made] == [t.text for t in nlp(TEXT)]
    assert not made.has_annotation("DEP")
    assert {token.lemma_ for token in made} == {""}
    with nlp.select_pipes(disable="eigentext_pipe"):
        assert not nlp(TEXT).has_annotation("DEP")


def test_spacys_tokens_stay_without_retokenize():
    nlp = blank(retokenize=False)
    doc = nlp("Ana va al mar. Luis viene\n del parque.")
    assert "PipeTokenizer" not in type(nlp.tokenizer).__name__
    assert [t.text for t in doc] == [t.text for t in spacy.blank("xx")(doc.text)]
    assert [sentence.text.strip() for sentence in doc.sents] == [
        "Ana va al mar.",
        "Luis viene\n del parque.",
    ]
    joint = doc[2]
    assert (joint.text, joint.lemma_, joint.dep_, joint.head.text) == ("al", "a", "case", "mar")
    assert joint._.words == ("a", "el")
    space = next(token for token in doc if token.is_space)
    assert (space.dep_, space.head.text) == ("dep", "viene")


def test_sentences_that_are_set_stay():
    nlp = spacy.blank("xx")
    words = ["Ana", "va", "al", "mar", ".", "Eva", "corre"]
    doc = Doc(nlp.vocab, words=words, sent_starts=[True, False, False, True, False, False, False])
    component = PipeComponent()
    component.use(toy_pipeline())
    component(doc)
    assert [len(sentence) for sentence in doc.sents] == [3, 4]
    assert [token.text for token in doc] == words
    assert all(token.pos_ for token in doc)


def test_tokens_of_others_get_the_pipelines_sentences():
    nlp = spacy.blank("xx")
    words = ["Ana", "va", "al", "mar.", "Eva", "corre."]  # not as the pipeline would cut
    doc = Doc(nlp.vocab, words=words)
    component = PipeComponent()
    component.use(toy_pipeline())
    component(doc)
    assert [sentence.text for sentence in doc.sents] == ["Ana va al mar.", "Eva corre."]


def test_batches_are_as_single_texts():
    nlp = blank()
    texts = [TEXT, "", "Eva corre.", " \n ", "Juan va del mar."] * 3
    for batch_size in (1, 4, 100):
        found = list(nlp.pipe(texts, batch_size=batch_size))
        assert [rows(doc) for doc in found] == [rows(nlp(text)) for text in texts]


def test_processes(model):
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config={"model": model})
    texts = [TEXT, "Eva corre."] * 2
    found = list(nlp.pipe(texts, n_process=2, batch_size=1))
    assert [rows(doc) for doc in found] == [rows(nlp(text)) for text in texts]


def test_entities_and_a_pipeline_without_a_parser():
    pipeline = Pipeline(**{**SMALL, "without": ("parser",)}).fit(sentences())
    tokens = [["Ana", "va", "."], ["Luis", "va", "."], ["el", "mar", "va", "."]] * 8
    tags = [["B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "B-LOC", "O", "O"]] * 8
    pipeline.use("ner", SequenceTagger(epochs=4).fit(tokens, tags))
    for retokenize in (True, False):
        nlp = spacy.blank("xx")
        nlp.add_pipe("eigentext_pipe", config={"retokenize": retokenize}).use(pipeline)
        doc = nlp("Ana va. Luis va.")
        assert [(e.text, e.label_) for e in doc.ents] == [("Ana", "PER"), ("Luis", "PER")]
        assert [sentence.text for sentence in doc.sents] == ["Ana va.", "Luis va."]
        assert not doc.has_annotation("DEP")
        assert doc[0].pos_ == "PROPN"


def test_a_pipeline_on_disk_and_in_bytes_brings_its_model(model, tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config={"model": model})
    expected = rows(nlp(TEXT))
    nlp.to_disk(tmp_path / "nlp")
    moved = nlp.config["components"]["eigentext_pipe"]["model"]
    assert moved == model
    again = spacy.load(tmp_path / "nlp")
    assert isinstance(again.tokenizer, PipeTokenizer)
    assert rows(again(TEXT)) == expected
    raw = nlp.to_bytes()
    other = spacy.blank("xx")
    other.add_pipe("eigentext_pipe")
    assert rows(other.from_bytes(raw)(TEXT)) == expected
    assert rows(pickle.loads(pickle.dumps(nlp))(TEXT)) == expected


def test_docs_travel(model):
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config={"model": model})
    doc = nlp(TEXT)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (back,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert rows(back) == rows(doc)
    assert [t._.words for t in back] == [t._.words for t in doc]


def test_a_name_does(model, tmp_path, monkeypatch):
    from eigentext.recipes import get_ready

    monkeypatch.setenv("EIGENTEXT_MODELS", str(tmp_path))
    get_ready(model, name="toy")
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config={"model": "toy"})
    assert [t.text for t in nlp("Eva corre.")] == ["Eva", "corre", "."]


def test_what_will_not_do(tmp_path):
    nlp = spacy.blank("xx")
    component = nlp.add_pipe("eigentext_pipe")
    with pytest.raises(SettingsError, match="has no model"):
        nlp("Eva corre.")
    with pytest.raises(EigentextError, match="this needs a pipeline"):
        component.use(SequenceTagger(epochs=1).fit([["a"]], [["X"]]))
    nlp = spacy.blank("xx")
    nlp.add_pipe("eigentext_pipe", config={"model": "klingon"})
    with pytest.raises(EigentextError, match="no model of this name"):
        nlp("x")


@settings(max_examples=60)
@given(st.text(st.sampled_from("Ana va al mar.\n\t 🙂é\u0301שׁ\u00a0\u200b"), max_size=30))
def test_any_text_comes_back(text):
    for nlp in (blank_once(), blank_once(retokenize=False)):
        doc = nlp(text)
        assert doc.text == text
        for token in doc:
            assert token.is_space or token.pos_
