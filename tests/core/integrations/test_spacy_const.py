"""The spaCy component on a blank English pipeline, trained on our own sample."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.errors import EigentextError, SettingsError
from eigentext.language.trees.constituent import Tree

spacy = pytest.importorskip("spacy", exc_type=ImportError)

from eigentext.integrations import spacy_const  # noqa: E402

TEXT = "The farmer sold the horse. He slept."


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    trees = [Tree.from_brackets(line) for line in load_english("train")]
    path = tmp_path_factory.mktemp("spacy") / "m.lpcfg"
    LPCFG(n_states=2, estimator="clustering").fit(trees).save(path)
    return str(path)


def _pipeline(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("eigentext_const", config={"model": model, **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(model):
    return _pipeline(model)


def test_sentences_have_the_trees_of_the_parser(nlp, model):
    parser = LPCFG.load(model)
    for sentence in nlp(TEXT).sents:
        expected = parser.parse([token.text for token in sentence]).tree
        assert f"(TOP {sentence._.parse_string})" == str(expected)
        assert sentence._.labels == ("S",)
        assert sentence._.parent is None


def test_constituents_in_preorder_with_parents_and_children(nlp):
    first, second = nlp(TEXT).sents
    found = [(span.text, span._.labels) for span in first._.constituents]
    assert found == [
        ("The farmer sold the horse.", ("S",)),
        ("The farmer", ("NP",)),
        ("The", ()),
        ("farmer", ()),
        ("sold the horse", ("VP",)),
        ("sold", ()),
        ("the horse", ("NP",)),
        ("the", ()),
        ("horse", ()),
        (".", ()),
    ]
    for span in first._.constituents:
        for child in span._.children:
            assert child._.parent == span
            assert span.start <= child.start < child.end <= span.end
        if list(span._.children):
            joined = [token for child in span._.children for token in child]
            assert joined == list(span)
    noun_phrase = first[3:5]
    assert noun_phrase._.parse_string == "(NP (DT the) (NN horse))"
    assert [span.text for span in noun_phrase._.constituents] == ["the horse", "the", "horse"]
    assert noun_phrase._.parent.text == "sold the horse"
    # a unary chain is one constituent with several labels
    he = second[0]
    assert he._.labels == ("NP",)
    assert he._.parse_string == "(NP (PRP He))"
    assert he._.parent == second[0 : len(second)]
    assert list(he._.children) == []
    assert [span.text for span in he._.constituents] == ["He"]
    assert second[1]._.labels == ("VP",)
    assert first[0]._.labels == ()
    assert first[0]._.parse_string == "(DT The)"


def test_what_is_no_constituent_says_so(nlp):
    doc = nlp(TEXT)
    for span in (doc[1:3], doc[2:4], doc[4:7]):
        with pytest.raises(spacy_const.NotAConstituentError, match=r"is not a constituent"):
            _ = span._.labels
    with pytest.raises(SettingsError, match="not been parsed"):
        _ = spacy.blank("en")("No parser here")[0:2]._.labels


def test_boundaries_are_needed(model):
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_const", config={"model": model})
    with pytest.raises(EigentextError, match="sentencizer"):
        nlp("The farmer slept.")


def test_a_model_is_needed(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    component = nlp.add_pipe("eigentext_const")
    assert not hasattr(component, "model")  # spaCy asks for it, in any order of attributes
    with pytest.raises(SettingsError, match="has no model"):
        nlp("The farmer slept.")
    nlp = _pipeline(str(tmp_path / "gone.lpcfg"))
    with pytest.raises(EigentextError, match=r"gone\.lpcfg"):
        nlp("The farmer slept.")


def test_odd_docs(nlp):
    assert nlp("")._.const_trees == []
    assert nlp(" \n ")._.const_trees == []
    doc = nlp("Go!\n\n  ( The\tfarmer )  slept. \n")
    for sentence in doc.sents:
        if sentence.text.strip():
            assert sentence._.parse_string.startswith("(")
    (one,) = nlp("Yes").sents
    assert one[0]._.parse_string == one._.parse_string
    brackets = nlp("The ( horse ) slept.")
    (sentence,) = brackets.sents
    assert "-LRB-" in sentence._.parse_string
    assert Tree.from_brackets(sentence._.parse_string).words[1] == "-LRB-"


def test_white_space_tokens_do_not_disturb(nlp):
    plain, odd = nlp("The farmer sold the horse."), nlp("  The farmer  sold the\n horse. ")
    (one,), (two,) = plain.sents, odd.sents
    assert one._.parse_string == two._.parse_string
    assert [" ".join(span.text.split()) for span in two._.constituents] == [
        span.text for span in one._.constituents
    ]


def test_pipe_keeps_the_order_and_the_answers(nlp):
    texts = [TEXT, "", "He slept.", "The old teacher opened the door."] * 5
    one_by_one = [nlp(text)._.const_trees for text in texts]
    assert [doc._.const_trees for doc in nlp.pipe(texts, batch_size=3)] == one_by_one
    component = nlp.get_pipe("eigentext_const")
    docs = [nlp.make_doc(text) for text in texts]
    for doc in docs:
        nlp.get_pipe("sentencizer")(doc)
    assert [doc._.const_trees for doc in component.pipe(iter(docs), batch_size=4)] == one_by_one


def test_tags_on_request(model):
    doc = _pipeline(model, set_tags=True)("The farmer slept.")
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBD", "."]
    assert [token.tag_ for token in _pipeline(model)("The farmer slept.")] == [""] * 4


def test_pipelines_on_disk_and_as_bytes(nlp, model, tmp_path):
    other = tmp_path / "copy.lpcfg"
    shutil.copy(model, other)
    moved = _pipeline(str(other))
    moved.to_disk(tmp_path / "pipeline")
    other.unlink()  # the pipeline has its own copy
    for again in (spacy.load(tmp_path / "pipeline"), spacy.blank("en").from_config(nlp.config)):
        again.from_bytes(nlp.to_bytes())
        assert again(TEXT)._.const_trees == nlp(TEXT)._.const_trees


def test_docs_keep_their_trees_as_bytes(nlp):
    from spacy.tokens import Doc, DocBin

    doc = nlp(TEXT)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [s._.parse_string for s in again.sents] == [s._.parse_string for s in doc.sents]
    packed = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (third,) = DocBin().from_bytes(packed).get_docs(nlp.vocab)
    assert [s._.labels for s in third.sents] == [("S",), ("S",)]


def test_the_decoder_is_passed_on(model):
    nlp = _pipeline(model, decoder="viterbi")
    assert nlp.get_pipe("eigentext_const").decoder == "viterbi"
    assert nlp(TEXT)._.const_trees
    nlp = _pipeline(model, decoder="best")
    with pytest.raises(SettingsError, match="decoder"):
        nlp(TEXT)


def test_without_spacy_the_extra_is_named():
    script = (
        "import sys; sys.modules['spacy'] = None\n"
        "from eigentext.errors import MissingExtraError\n"
        "try:\n    import eigentext.integrations.spacy_const\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert b"pip install spacy" in done.stdout
