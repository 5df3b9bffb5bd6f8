"""The pipeline: what it learns, what it keeps of its input, its file and its work folder."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import eigentext
from eigentext.dependency import DependencyParser
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.language import Doc
from eigentext.language.formats.conllu import make_sentence, write_sentences
from eigentext.pipeline import Pipeline
from eigentext.pipeline.scoring import score
from helpers.sample_pipeline import SMALL, pipeline, treebank

TEXT = "Anna can't sleep. The old dog saw a cat in the kitchen.\n\nWe walked home."


def test_the_file_is_the_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "english.pipe"
    pipeline().save(path)
    again = eigentext.load(path)
    assert isinstance(again, Pipeline)
    assert again(TEXT) == pipeline()(TEXT)
    assert (
        again.counts_
        == pipeline().counts_
        == {"sentences": 302, "words": 2715, "multiword_tokens": 18}
    )
    assert "NOUN" in again.values_["upos"]
    assert "Number=Sing" in again.values_["feats"]
    assert again.to_bytes() == pipeline().to_bytes()


def test_trained_twice_it_is_the_same_file() -> None:
    assert Pipeline(**SMALL).fit(treebank()).to_bytes() == pipeline().to_bytes()


def test_files_and_their_dev_scores(tmp_path: Path) -> None:
    write_sentences(treebank(), tmp_path / "a.conllu")
    write_sentences(treebank("treebank-dev"), tmp_path / "dev.conllu")
    made = Pipeline(**SMALL).fit([tmp_path / "a.conllu"], dev=[tmp_path / "dev.conllu"])
    assert made(TEXT) == pipeline()(TEXT)
    found = score(pipeline(), treebank("treebank-dev"))
    assert made.dev_scores_ == {name: measure.f1 for name, measure in found.items()}
    assert made.dev_scores_["Words"] > 95
    assert made.dev_scores_["LAS"] > 60
    assert Pipeline.from_bytes(made.to_bytes()).dev_scores_ == made.dev_scores_


@pytest.mark.long
def test_many_texts_by_two_processes() -> None:
    texts = [TEXT, "", "No.", TEXT[::-1]] * 10
    one = list(pipeline().pipe(texts))
    assert one == list(pipeline().pipe(texts, jobs=2))
    assert one[0] == pipeline()(TEXT)


def test_threads_may_share_it() -> None:
    words = [word for sentence in treebank() for word in sentence.forms]
    texts = [f"{' '.join(words[at : at + 9])} x{at} y{at}." for at in range(0, 900, 9)]
    expected = [pipeline()(text) for text in texts]
    shared = Pipeline.from_bytes(pipeline().to_bytes())
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(shared, texts)) == expected
    finally:
        sys.setswitchinterval(interval)


def test_what_is_given_stays() -> None:
    nlp, gold = pipeline(), Doc.from_conllu(treebank("treebank-dev"))
    tagged = nlp(gold, keep="tags")
    for mine, right in zip(tagged.sentences, gold.sentences, strict=True):
        assert mine.comments == right.comments
        assert mine.tokens == right.tokens
        for column in ("forms", "lemmas", "upos", "xpos", "feats"):
            assert getattr(mine.columns, column) == getattr(right.columns, column)
    assert tagged != gold  # the trees are the parser's
    words = nlp(treebank("treebank-dev"), keep="words")
    assert [s.forms for s in words.sentences] == [s.forms for s in gold.sentences]
    assert words != tagged
    tokens = nlp(gold, keep="tokens")
    assert [[t.form for t in s.tokens] for s in tokens.sentences] == [
        [t.form for t in s.tokens] for s in gold.sentences
    ]
    sentences = nlp(gold, keep="sentences")
    assert [s.text for s in sentences.sentences] == [s.text for s in gold.sentences]
    assert [s.sent_id for s in sentences.sentences] == [s.sent_id for s in gold.sentences]


def test_tokens_with_white_space_inside() -> None:
    doc = pipeline()([["10\t000", "dogs"], ["a\n b"]], keep="tokens")
    assert doc.text == "10\t000 dogs\na\n b"
    assert [token.form for s in doc.sentences for token in s.tokens] == ["10 000", "dogs", "a b"]
    for sentence in doc.sentences:
        for token in sentence.tokens:
            assert doc.text[token.start : token.end].split() == token.form.split()
    back = Doc.from_conllu(doc.to_conllu())
    assert [list(s.forms) for s in back.sentences] == [["10 000", "dogs"], ["a b"]]
    with pytest.raises(SettingsError, match="nothing but white space"):
        pipeline()([["a", " \t"]], keep="tokens")


def test_a_sentence_that_the_segmenter_sees_nothing_in() -> None:
    mark = Doc.from_conllu("1\t\ufeff\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    found = pipeline()(mark, keep="sentences")
    assert [list(s.forms) for s in found.sentences] == [["\ufeff"]]


def test_gold_columns_do_not_count_as_answers() -> None:
    part = Pipeline.from_bytes(pipeline().to_bytes())
    gold = treebank("treebank-dev")
    assert score(part, gold, keep="tags")["Lemmas"].f1 == 100
    assert score(part, gold, keep="words")["LAS"].f1 < 100
    part.use("parser", None)
    assert "LAS" not in score(part, gold, keep="words")
    part.use("morphology", None)
    found = score(part, gold, keep="words")
    assert found["Words"].f1 == 100
    assert found["UPOS"].f1 == 0
    with_tags = score(part, gold, keep="tags")
    assert with_tags["UPOS"].f1 == 100
    assert "LAS" not in with_tags


def test_lines_and_lists_of_tokens() -> None:
    nlp = pipeline()
    lines = nlp("Anna slept. We sang.\n\nThe dog", keep="sentences")
    assert [s.text for s in lines.sentences] == ["Anna slept. We sang.", "The dog"]
    assert [s.new_paragraph for s in lines.sentences] == [True, True]
    spaced = nlp("Anna can't sleep.\nWe sang .", keep="tokens")
    listed = nlp([["Anna", "can't", "sleep."], ["We", "sang", "."]], keep="tokens")
    assert [s.columns for s in spaced.sentences] == [s.columns for s in listed.sentences]
    assert [t.form for t in spaced.sentences[0].tokens] == ["Anna", "can't", "sleep."]
    assert spaced.text == listed.text
    assert spaced.sentences[0].forms == ["Anna", "ca", "n't", "sleep."]
    with pytest.raises(SettingsError, match="keep='words'"):
        nlp("text", keep="words")
    with pytest.raises(SettingsError, match="keep is 'nothing'"):
        nlp("text", keep="nothing")
    with pytest.raises(SettingsError, match="keep='tokens'"):
        nlp([["Anna"]])


def test_how_sure_it_is() -> None:
    found = pipeline().kbest("The dog saw a cat.", 3)
    assert found.readings is not None
    assert found.trees is not None
    assert found.tags_p is not None
    assert found.arcs_p is not None
    assert [len(found.readings), len(found.trees)] == [6, 3]
    assert sum(tree.probability for tree in found.trees) == pytest.approx(1)
    scores = [tree.score for tree in found.trees]
    assert scores == sorted(scores, reverse=True)
    for word in found.readings:
        chances = [reading.probability for reading in word]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) < 1.001
    assert all(0 <= p <= 1.001 for p in (*found.tags_p, *found.arcs_p))
    sentence = pipeline()("The dog saw a cat.").sentences[0]
    assert pipeline().kbest(sentence, 3) == found
    assert pipeline().kbest(["The", "dog", "saw", "a", "cat", "."], 3) == found
    asked = pipeline()("The dog saw a cat.", top=3, probabilities=True).sentences[0]
    assert asked.alternatives == found
    assert "TagProb=" in pipeline()("A dog.", probabilities=True).to_conllu(probabilities=True)


def test_trees_under_demands() -> None:
    nlp = pipeline()
    for sentence in nlp(TEXT).sentences:
        heads, names = list(sentence.columns.heads or ()), list(sentence.columns.deprels or ())
        listed = nlp.parses(sentence, 3)
        for best in (nlp.parses(sentence)[0], listed[0]):
            assert (best.tree.heads.tolist(), list(best.tree.relations or ())) == (heads, names)
        assert len({tuple(one.tree.heads.tolist()) for one in listed}) == len(listed)
        known = nlp.kbest(sentence, 3).trees
        assert known is not None
        assert [one.heads for one in known] == [tuple(one.tree.heads.tolist()) for one in listed]
        chances = nlp.marginals(sentence)
        assert chances[:, 1:].sum(axis=0) == pytest.approx(1.0, abs=1e-6)
        word = (heads.index(0) + 1) % len(heads) + 1  # any but the root's
        (other,) = nlp.parses(sentence, forbidden_arcs=[(heads[word - 1], word)])
        assert other.tree.heads[word - 1] != heads[word - 1]
        arc = (heads.index(0) + 1, word, "obj")
        (asked,) = nlp.parses(sentence, required_arcs=[arc])
        assert (asked.tree.heads[word - 1], (asked.tree.relations or ())[word - 1]) == arc[::2]
        assert nlp.marginals(sentence, required_arcs=[arc])[arc[0], word] == pytest.approx(1.0)
    with pytest.raises(SettingsError, match="k is 0"):
        nlp.parses(sentence, 0)
    bare = Pipeline(**{**SMALL, "without": ("parser",)}).fit(treebank())
    with pytest.raises(SettingsError, match="has no parser"):
        bare.parses(bare(TEXT).sentences[0])


def test_stages_are_left_out_and_replaced(tmp_path: Path) -> None:
    tagger = Pipeline(**SMALL, without=("parser",)).fit(treebank())
    assert tagger.parser_ is None
    word = tagger(TEXT).sentences[0].words[0]
    assert (word.upos, word.head, word.deprel) == ("PROPN", None, "_")
    gold = treebank("treebank-dev")
    assert list(score(tagger, gold)) == list(score(pipeline(), gold))[:8]
    # heads that are given are not lost where there is no parser
    assert tagger(gold, keep="tags").sentences[0].columns.heads == gold[0].heads

    parser = DependencyParser(order=1, epochs=1, bits=12).fit(treebank())
    parser.save(tmp_path / "my.dep")
    taken = Pipeline(**SMALL).fit(treebank(), models={"parser": tmp_path / "my.dep"})
    assert taken.parser_ is not None
    assert taken.parser_.to_bytes() == parser.to_bytes()
    stages = taken.stages(), pipeline().stages()
    assert stages[0]["segmenter"].to_bytes() == stages[1]["segmenter"].to_bytes()
    bare = Pipeline(**SMALL, without=("segmenter",)).fit(treebank())
    assert len(bare([["We", "sang"]], keep="tokens").sentences) == 1
    with pytest.raises(SettingsError, match="no segmenter"):
        bare("We sang.")
    with pytest.raises(ModelFileError, match="needs"):
        Pipeline(**SMALL).fit(treebank(), models={"segmenter": parser})
    with pytest.raises(SettingsError, match="one of them"):
        Pipeline(**SMALL, without=("parser",)).fit(treebank(), models={"parser": parser})


def test_constituents_and_entities_beside() -> None:
    from eigentext import LPCFG, SequenceTagger
    from helpers.small_models import constituent_trees

    names = SequenceTagger(epochs=3).fit(
        [["Anna", "slept"], ["the", "dog"]] * 5, [["B-PER", "O"], ["O", "O"]] * 5
    )
    grammar = LPCFG(n_states=1).fit(constituent_trees())
    nlp = Pipeline.from_bytes(pipeline().to_bytes())
    nlp.use("ner", names)
    nlp.use("const", grammar)
    doc = Pipeline.from_bytes(nlp.to_bytes())("Anna slept.")
    written = doc.to_conllu()
    assert "NER=B-PER" in written
    assert "\n# constituency = (" in written
    assert Doc.from_json(doc.to_json()).to_conllu() == written
    assert nlp([["(", "10\u00a0000", ")"]], keep="tokens").sentences[0].brackets
    with pytest.raises(SettingsError, match="stage 'nonsense'"):
        nlp.use("nonsense", names)


def test_a_work_folder_has_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eigentext.tagging.morphology import MorphTagger
    from eigentext.tagging.segmentation import Segmenter

    fit = DependencyParser.fit
    monkeypatch.setattr(DependencyParser, "fit", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Pipeline(**SMALL).fit(treebank(), work=tmp_path / "work")
    monkeypatch.setattr(DependencyParser, "fit", fit)
    monkeypatch.setattr(Segmenter, "fit", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(MorphTagger, "fit", lambda *_, **__: 1 / 0)
    made = Pipeline(**SMALL).fit(treebank(), work=tmp_path / "work")
    assert made.to_bytes() == pipeline().to_bytes()
    with pytest.raises(ZeroDivisionError):  # another treebank is another key
        Pipeline(**SMALL).fit(treebank()[:100], work=tmp_path / "work")


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a training that has ended."""
    work = tmp_path_factory.mktemp("worked")
    Pipeline(**SMALL).fit(treebank(), work=work)
    return work


@pytest.mark.parametrize(
    ("stage", "changed"),
    [
        ("segmenter", {"segmenter_settings": {"epochs": 4, "bits": 12}}),
        ("segmenter", {"seed": 1}),
        ("morphology", {"morphology_settings": {"epochs": 3, "bits": 12}}),
        ("morphology", {"folds": 3}),
        ("morphology", {"analyzer": "sample"}),
        ("parser", {"parser_settings": {"order": 1, "epochs": 3, "bits": 12}}),
    ],
)
def test_other_settings_are_not_gone_on_with(
    worked: Path, stage: str, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from eigentext.tagging.morphology import MorphTagger
    from eigentext.tagging.segmentation import Segmenter

    trained = {"segmenter": Segmenter, "morphology": MorphTagger, "parser": DependencyParser}
    for model in trained.values():
        monkeypatch.setattr(model, "fit", lambda *_, **__: pytest.fail("trained anew"))
    Pipeline(**SMALL).fit(treebank(), work=worked)
    monkeypatch.setattr(trained[stage], "fit", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Pipeline(**SMALL | changed).fit(treebank(), work=worked)


@pytest.mark.parametrize(
    "features",
    [
        ("clusters",),
        pytest.param(("vectors",), marks=pytest.mark.long),
        pytest.param(("clusters", "vectors"), marks=pytest.mark.long),
    ],
)
def test_text_without_annotation_tells_of_words(
    features: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eigentext.words import CCAEmbedding, SpectralClusters

    text = tmp_path / "raw.txt"
    text.write_text("".join(sentence.text + "\n" for sentence in treebank()))
    settings = {**SMALL, "text_vocabulary": 1000, "text_features": features}
    made = Pipeline(**settings).fit(treebank(), text=text, work=tmp_path / "work")
    for stage in (made.morphology_, made.parser_):
        assert stage is not None
        for name, found in (("clusters", stage.clusters_), ("vectors", stage.near_)):
            assert bool(found) == (name in features)
            assert len(found) <= 1001  # with the word for all others
    again = Pipeline.from_bytes(made.to_bytes())
    assert again(TEXT) == made(TEXT)
    assert made(TEXT).sentences
    for model in (CCAEmbedding, SpectralClusters):  # the work folder has them
        monkeypatch.setattr(model, "fit", lambda *_, **__: 1 / 0)
    resumed = Pipeline(**settings).fit(treebank(), text=text, work=tmp_path / "work")
    assert resumed.to_bytes() == made.to_bytes()


def test_text_with_nothing_in_it(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.txt"):
        Pipeline(**SMALL).fit(treebank(), text=empty)
    with pytest.raises(SettingsError, match="text_features is empty"):
        Pipeline(text_features=()).check()


def test_relations_of_another_kind_stay_as_they_are() -> None:
    words = ["a", "b", "."]
    trees = [make_sentence(words, upos=["X", "Y", "Z"], head=[2, 0, 2], deprel=["l", "top", "p"])]
    made = Pipeline(**SMALL).fit(trees * 10)
    assert list(made([words], keep="tokens").sentences[0].columns.deprels or ()) == [
        "l",
        "top",
        "p",
    ]
    assert pipeline()([words], keep="tokens").sentences[0].columns.deprels.count("root") == 1


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sentences"):
        Pipeline().fit([])
    (tmp_path / "empty.conllu").write_bytes(b"")
    with pytest.raises(DataError, match="no sentences in this file"):
        Pipeline().fit(tmp_path / "empty.conllu")
    with pytest.raises(DataError, match="no sentences in this file"):
        Pipeline().fit([tmp_path / "empty.conllu"])
    with pytest.raises(SettingsError, match="without"):
        Pipeline(without=("nothing",)).fit(treebank())
