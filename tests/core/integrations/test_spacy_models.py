"""spaCy components of taggers, entities and analyses on blank pipelines."""

from __future__ import annotations

import pytest

from eigentext.datasets import load_english
from eigentext.errors import ModelFileError, SettingsError
from eigentext.language.trees.constituent import Tree
from eigentext.sequences import HMM, LatentTagger
from eigentext.tagging.sequence import SequenceTagger

spacy = pytest.importorskip("spacy", exc_type=ImportError)

from eigentext.integrations import spacy_models  # noqa: E402, F401  (registers the components)

TEXT = "The farmer sold\nthe horse. He slept."


@pytest.fixture(scope="module")
def tagger():
    trees = [Tree.from_brackets(line) for line in load_english("train")[:120]]
    words, tags = [tree.words for tree in trees], [tree.tags for tree in trees]
    return SequenceTagger(epochs=3, scheme="plain").fit(words, tags)


@pytest.fixture(scope="module")
def entities():
    X = [["Ada", "Lovelace", "met", "Charles"], ["she", "met", "Ada", "Lovelace"]] * 5
    y = [["B-PER", "I-PER", "O", "B-PER"], ["O", "O", "B-PER", "I-PER"]] * 5
    return SequenceTagger(epochs=3).fit(X, y)


@pytest.fixture(scope="module")
def ranker():
    from eigentext.lexical import LexDocument, LexicalRanker, LexWord, load_scheme

    scheme = load_scheme("arabic14")

    def word(form, pos):
        return LexWord(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))

    text = [LexDocument(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]
    return LexicalRanker(analyzer="sample", scheme="arabic14", bits=0).fit(text)


def pipeline(factory, model, *before):
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe(factory).use(model)
    return nlp


def test_tags_are_the_taggers_own_sentence_by_sentence(tagger):
    doc = pipeline("eigentext_tag", tagger, "sentencizer")(TEXT)
    for sentence in doc.sents:
        words = [token for token in sentence if not token.is_space]
        assert [token.tag_ for token in words] == tagger.tag([token.text for token in words])
    assert [token.tag_ for token in doc if token.is_space] == [""]


def test_universal_tags_are_parts_of_speech_too():
    universal = LatentTagger(n_states=1).fit([["a", "dog"]] * 9, [["DET", "NOUN"]] * 9)
    doc = pipeline("eigentext_tag", universal)("a dog")
    assert [token.pos_ for token in doc] == ["DET", "NOUN"]


def test_entities_are_spans_and_leave_those_that_are_there(entities):
    nlp = pipeline("eigentext_ner", entities)
    doc = nlp("Ada Lovelace met Charles")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        ("Ada Lovelace", "PER"),
        ("Charles", "PER"),
    ]
    made = nlp.make_doc("Ada Lovelace met Charles")
    made.ents = [spacy.tokens.Span(made, 1, 2, label="NAME")]
    assert [ent.label_ for ent in nlp.get_pipe("eigentext_ner")(made).ents] == ["NAME", "PER"]


def test_analyses_give_lemma_tag_and_morphology(ranker):
    doc = pipeline("eigentext_lex", ranker)("من علم")
    answer = ranker.rank(["من", "علم"])
    for token, ranked in zip(doc, answer, strict=True):
        values = ranker.scheme_.as_mapping(ranked.best.label)
        assert token.lemma_ == values["lemma"]
        assert token.tag_ == values["pos"]
        assert token.morph.get("Det") == [values["det"]]


@pytest.mark.parametrize("way", ["disk", "bytes"])
def test_a_pipeline_comes_back_with_its_models(entities, way, tmp_path):
    nlp = pipeline("eigentext_ner", entities)
    if way == "disk":
        nlp.to_disk(tmp_path / "p")
        back = spacy.load(tmp_path / "p")
    else:
        back = spacy.blank("en")
        back.add_pipe("eigentext_ner")
        back.from_bytes(nlp.to_bytes())
    assert [ent.text for ent in back("Ada Lovelace met Charles").ents] == [
        "Ada Lovelace",
        "Charles",
    ]


def test_no_model_and_the_wrong_model_say_so(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_tag")
    with pytest.raises(
        SettingsError, match=r"eigentext_tag has no model: .*`eigentext tag train`"
    ):
        nlp("a dog")
    HMM(1, start="random", n_iter=1).fit([["a", "b"]]).save(tmp_path / "hmm")
    with pytest.raises(ModelFileError, match=r"holds a hidden Markov model .* needs a tagger"):
        spacy.blank("en").add_pipe("eigentext_tag", config={"model": str(tmp_path / "hmm")})
