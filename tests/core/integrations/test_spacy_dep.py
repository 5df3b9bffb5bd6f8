"""The spaCy component on a blank English pipeline, trained on our own sample."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from eigentext.datasets import load_english
from eigentext.dependency import DependencyParser
from eigentext.errors import EigentextError, SettingsError
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies

spacy = pytest.importorskip("spacy", exc_type=ImportError)

import eigentext.integrations.spacy_dep  # noqa: E402, F401  (registers the component)

TEXT = "The farmer sold the horse. He slept."
_UPOS = {"NN": "NOUN", "NNS": "NOUN", "VBD": "VERB", "DT": "DET", "PRP": "PRON", ".": "PUNCT"}


def _sentences():
    for line in load_english("train")[:150]:
        tree = to_dependencies(Tree.from_brackets(line))
        upos = [_UPOS.get(tag, "X") for tag in tree.tags]
        yield conllu.from_dependency_tree(tree, tags="xpos").with_columns(upos=upos)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One parser with taggers of its own, one that needs tags, one that knows of none."""
    folder = tmp_path_factory.mktemp("spacy-dep")
    sentences = list(_sentences())
    blank = [one.with_columns(upos=["_"] * len(one), xpos=["_"] * len(one)) for one in sentences]
    settings = {"epochs": 3, "bits": 16}
    found = {
        "own": DependencyParser(tags="own", **settings).fit(sentences),
        "given": DependencyParser(**settings).fit(sentences),
        "none": DependencyParser(**settings).fit(blank),
    }
    for name, parser in found.items():
        parser.save(folder / f"{name}.dep")
    return {name: str(folder / f"{name}.dep") for name in found}


def _pipeline(model, *before, **config):
    nlp = spacy.blank("en")
    for name in before or ("sentencizer",):
        nlp.add_pipe(name)
    nlp.add_pipe("eigentext_dep", config={"model": model, **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(models):
    return _pipeline(models["own"])


def _links(doc):
    return [(token.head.i, token.dep_, token.is_sent_start) for token in doc]


def test_sentences_have_the_trees_of_the_parser(nlp, models):
    parser = DependencyParser.load(models["own"])
    doc = nlp(TEXT)
    assert doc.has_annotation("DEP")
    sentences = list(doc.sents)
    assert [len(one) for one in sentences] == [6, 3]
    for sentence in sentences:
        tree = parser.parse([token.text for token in sentence]).tree
        for token, head, relation in zip(sentence, tree.heads, tree.relations, strict=True):
            assert token.head.i - sentence.start == (
                head - 1 if head else token.i - sentence.start
            )
            assert token.dep_ == (relation if head else "ROOT")
        assert sentence.root.dep_ == "ROOT"
    # what spaCy makes of the heads
    farmer, sold = doc[1], doc[2]
    assert farmer.head == sold
    assert [child.text for child in farmer.children] == ["The"]
    assert [token.text for token in farmer.subtree] == ["The", "farmer"]
    assert doc._.dep_approximate is False


def test_without_boundaries_a_doc_is_one_sentence(models):
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_dep", config={"model": models["own"]})
    doc = nlp("The farmer slept")
    assert len(list(doc.sents)) == 1
    assert sum(token.dep_ == "ROOT" for token in doc) == 1


def test_the_name_of_the_root_can_be_chosen(models):
    doc = _pipeline(models["own"], root="root")("He slept.")
    assert [token.dep_ for token in doc if token.head == token] == ["root"]


def test_white_space_hangs_from_words_and_moves_no_boundary(nlp):
    odd = nlp("  The farmer  sold the\n horse. \n He slept. ")
    plain = nlp(TEXT)
    words = [token for token in odd if not token.is_space]
    assert [token.text for token in words] == [token.text for token in plain]
    place = {token.i: k for k, token in enumerate(words)}
    for token, other in zip(words, plain, strict=True):
        assert place[token.head.i] == other.head.i
        assert token.dep_ == other.dep_
    for token in odd:
        if token.is_space:
            assert not token.head.is_space
            assert token.head.sent == token.sent
            assert token.dep_ == "dep"
    before = spacy.blank("en")
    before.add_pipe("sentencizer")
    text = "  The farmer  sold the\n horse. \n He slept. "
    assert [s.text for s in odd.sents] == [s.text for s in before(text).sents]


def test_odd_docs(nlp):
    assert len(nlp("")) == 0
    doc = nlp(" \n ")
    assert next((token.head.i, token.dep_) for token in doc) == (0, "ROOT")
    (one,) = nlp("Yes").sents
    assert one.root.text == "Yes"
    strange = nlp("كتاب 漢字 🐎 ( ] «x».")
    assert sum(token.head == token for token in strange) == len(list(strange.sents))
    long = nlp("the farmer " * 60)
    assert len(list(long.sents)) == 1


def test_pipe_keeps_the_order_and_the_answers(nlp):
    texts = [TEXT, "", "He slept.", " ", "The old teacher opened the door."] * 4
    one_by_one = [_links(nlp(text)) for text in texts]
    assert [_links(doc) for doc in nlp.pipe(texts, batch_size=3)] == one_by_one
    component = nlp.get_pipe("eigentext_dep")
    docs = [nlp.get_pipe("sentencizer")(nlp.make_doc(text)) for text in texts]
    assert [_links(doc) for doc in component.pipe(iter(docs), batch_size=7)] == one_by_one


def test_tags_of_the_doc_are_used_when_the_model_has_none(models):
    nlp = _pipeline(models["given"])
    with pytest.raises(SettingsError, match="put a tagger before it"):
        nlp("He slept.")
    words = ["zork", "blick", "frob"]
    parser = DependencyParser.load(models["given"])

    def doc_with(xpos, upos):
        return spacy.tokens.Doc(nlp.vocab, words=words, tags=xpos, pos=upos)

    component = nlp.get_pipe("eigentext_dep")
    orders = (
        (["DT", "NN", "VBD"], ["DET", "NOUN", "VERB"]),
        (["VBD", "DT", "NN"], ["VERB", "DET", "NOUN"]),
    )
    for xpos, upos in orders:
        tree = parser.parse(words, upos=upos, xpos=xpos).tree
        doc = component(doc_with(xpos, upos))
        heads = [0 if token.head == token else token.head.i + 1 for token in doc]
        assert heads == tree.heads.tolist()
    roots = [component(doc_with(*tags))[:].root.text for tags in orders]
    assert roots == ["frob", "zork"]  # it is the tags that tell the verb
    # a model that knows no tags asks for none
    assert sum(t.dep_ == "ROOT" for t in _pipeline(models["none"])("He slept.")) == 1


def test_own_tags_fill_a_doc_without_tags(models):
    nlp = _pipeline(models["own"])
    doc = nlp("The farmer slept.")
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBD", "."]
    assert [token.pos_ for token in doc] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert [token.tag_ for token in _pipeline(models["own"], set_tags=False)(doc.text)] == [""] * 4
    # tags that are there stay, unless ours are asked for
    words, tags = ["The", "farmer", "slept"], ["A", "B", "C"]
    component = nlp.get_pipe("eigentext_dep")
    given = component(spacy.tokens.Doc(nlp.vocab, words=words, tags=tags))
    assert [token.tag_ for token in given] == tags
    asked = _pipeline(models["own"], set_tags=True).get_pipe("eigentext_dep")
    given = asked(spacy.tokens.Doc(nlp.vocab, words=words, tags=tags))
    assert [token.tag_ for token in given] == ["DT", "NN", "VBD"]


@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_tags_of_a_treebank_with_one_column_of_them(column):
    other = {"upos": "xpos", "xpos": "upos"}[column]
    sentences = [one.with_columns(**{other: ["_"] * len(one)}) for one in _sentences()][:60]
    parser = DependencyParser(tags="own", epochs=1, bits=14).fit(sentences)
    words = ["The", "farmer", "slept", "."]
    expected = getattr(parser.tagged(words), column)
    assert "_" not in expected
    assert parser.parse(words).tree.tags == expected
    assert parser.kbest(words, k=2)[1].tree.tags == expected
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_dep").use(parser)
    assert tuple(token.tag_ for token in nlp("The farmer slept.")) == expected


def test_a_model_is_needed(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_dep")
    with pytest.raises(SettingsError, match="has no model"):
        nlp("The farmer slept.")
    nlp = _pipeline(str(tmp_path / "gone.dep"))
    with pytest.raises(EigentextError, match=r"gone\.dep"):
        nlp("The farmer slept.")


def test_pipelines_on_disk_and_as_bytes(nlp, models, tmp_path):
    other = tmp_path / "copy.dep"
    shutil.copy(models["own"], other)
    moved = _pipeline(str(other))
    moved.to_disk(tmp_path / "pipeline")
    other.unlink()  # the pipeline has its own copy
    for again in (spacy.load(tmp_path / "pipeline"), spacy.blank("en").from_config(nlp.config)):
        again.from_bytes(nlp.to_bytes())
        assert _links(again(TEXT)) == _links(nlp(TEXT))


def test_docs_keep_their_trees_as_bytes(nlp):
    from spacy.tokens import Doc, DocBin

    doc = nlp(TEXT)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert _links(again) == _links(doc)
    packed = DocBin(attrs=["HEAD", "DEP"], docs=[doc], store_user_data=True).to_bytes()
    (third,) = DocBin().from_bytes(packed).get_docs(nlp.vocab)
    assert _links(third) == _links(doc)


def test_a_greedy_search_is_told(tmp_path):
    sentences = list(_sentences())[:30]
    parser = DependencyParser(order=2, projective=False, tags="own", epochs=1, bits=14)
    nlp = spacy.blank("en")
    nlp.add_pipe("eigentext_dep").use(parser.fit(sentences))
    assert nlp("He slept.")._.dep_approximate is True


def test_the_diagram_of_spacy_takes_the_trees(nlp):
    from spacy import displacy

    (sentence,) = nlp("The farmer slept.").sents
    drawn = displacy.parse_deps(sentence)
    assert [word["text"] for word in drawn["words"]] == ["The", "farmer", "slept."]
    assert {arc["label"] for arc in drawn["arcs"]} == {"DT<NP", "NP<S"}


def test_without_spacy_the_extra_is_named():
    script = (
        "import sys; sys.modules['spacy'] = None\n"
        "from eigentext.errors import MissingExtraError\n"
        "try:\n    import eigentext.integrations.spacy_dep\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert b"pip install spacy" in done.stdout
