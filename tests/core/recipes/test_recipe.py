"""What recipes say: those of the package hold together, and a user's own is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from eigentext.datasets import check, entries
from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.conll18 import evaluate
from eigentext.pipeline import scoring
from eigentext.recipes import training
from eigentext.recipes.gathering import gathered
from eigentext.recipes.recipe import FilePart, find_recipe, read_recipe, recipes
from eigentext.recipes.training import SCORES, check_settings

OWN = """
name = "mine"
title = "Mine"
kind = "constituency"
language = "en"
sources = [{ name = "my trees", licence = "CC0" }]
train = "train.mrg"
test = ["test.mrg"]
"""


def own(tmp_path, text=OWN):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_there_is_a_recipe_for_every_data_set_that_models_are_made_of():
    listed = list(recipes())
    assert {recipe.name for recipe in listed} >= {
        *"english french turkish arabic polish portuguese hungarian".split(),
        *"english-gum-const english-craft-const icelandic-const".split(),
        *"english-wnut17-ner english-litbank-ner sample".split(),
    }
    used = {entry.name for recipe in listed for entry in recipe.sets}
    others = "almor wiki elife eltec openstax wordsim"
    assert used >= {entry.name for entry in entries()} - set(others.split())


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_our_recipes_are_whole(recipe):
    check_settings(recipe)
    known = {file.path for entry in recipe.sets for file in entry.files}
    assert set(recipe.files) <= known
    assert recipe.licence
    assert recipe.path is None
    assert set(recipe.expected) <= set(SCORES[recipe.kind])
    assert "XPOS" not in recipe.expected or recipe.expected["XPOS"] < recipe.expected["Words"]
    nc = any("NC" in entry.licence for entry in recipe.sets)
    assert recipe.non_commercial == nc


def test_a_column_that_the_treebank_lacks_has_no_score(tmp_path, monkeypatch):
    row = "1\tdogs\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "test.conllu").write_text(row, encoding="utf-8")
    monkeypatch.setattr(scoring, "score", lambda pipeline, gold, **options: evaluate(gold, gold))
    scores = training._score_pipeline(None, [str(tmp_path / "test.conllu")], jobs=1, progress=None)
    assert set(scores) == set(SCORES["pipeline"]) - {"XPOS", "UFeats"}


def test_the_page_of_models_shows_what_the_recipes_expect():
    page = (Path(__file__).parents[3] / "docs" / "guide" / "models.md").read_text("utf-8")
    header = next(line for line in page.splitlines() if line.startswith("| recipe | Sentences"))
    columns = [cell.strip() for cell in header.strip("|").split("|")][1:]
    for recipe in recipes():
        if "LAS" in recipe.expected:
            figures = " | ".join(f"{recipe.expected[column]:.2f}" for column in columns)
            assert f"| `{recipe.name}` | {figures} |" in page


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["hu-szeged", "pt-bosque"])
def test_the_catalogue_knows_the_files(name, data):
    assert check(name, data) == []


def test_an_own_recipe_is_found_by_its_path(tmp_path):
    recipe = find_recipe(own(tmp_path))
    assert recipe == read_recipe(tmp_path / "mine.toml")
    assert recipe.files == ["train.mrg", "test.mrg"]
    assert (recipe.licence, recipe.non_commercial) == ("CC0", False)
    assert recipe.command == "eigentext model make mine.toml"


@pytest.mark.parametrize(
    ("said", "licence"),
    [(True, "CC BY-NC 4.0"), (True, "Non-commercial"), (False, "free, also for commercial use")],
)
def test_licences_that_bind_are_marked(said, licence, tmp_path):
    recipe = read_recipe(own(tmp_path, OWN.replace("CC0", licence)))
    assert recipe.non_commercial == said


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name = "mine"', 'name = "../mine"', "expected letters, digits"),
        ('name = "mine"', "", "name: Field required"),
        ('kind = "constituency"', 'kind = "poem"', "kind: Input should be"),
        ('kind = "constituency"', 'kinds = "ner"', "kind"),
        ('licence = "CC0"', 'licence = ""', "licence"),
        ('[{ name = "my trees", licence = "CC0" }]', '["ewd"]', "did you mean ewt"),
        ('[{ name = "my trees", licence = "CC0" }]', '["ewt"]', "train.mrg is not a file of ewt"),
        ('[{ name = "my trees", licence = "CC0" }]', "[]", "sources"),
        ('["test.mrg"]', '["train.mrg"]', "train.mrg is in test, too"),
        ('["test.mrg"]', "[]", "test"),
        ('["test.mrg"]', '[{ file = "t", sentences = "9-3" }]', "no sentence in it"),
        ('["test.mrg"]', '[{ file = "t", sentences = "x" }]', "expected numbers of sentences"),
        ('["test.mrg"]', '["test.mrg"]\npath = "x"', "no such entry"),
        ('["test.mrg"]', '["test.mrg"]\nmore = 1', "more"),
        ('["test.mrg"]', '["test.mrg"]\ntext = ["a.txt"]', "text is for pipelines and entities"),
        ('["test.mrg"]', '["test.mrg"]\ntolerance = -1', "tolerance"),
        ('["test.mrg"]', '["test.mrg"', "expected TOML"),
        ('["test.mrg"]', '["test.mrg"]\nexpected = {F1 = "high"}', "expected.F1"),
    ],
)
def test_a_bad_recipe_names_its_file_and_what_is_wrong(old, new, why, tmp_path):
    assert old in OWN
    path = own(tmp_path, OWN.replace(old, new))
    with pytest.raises(DataError) as caught:
        read_recipe(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)


def test_a_recipe_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        find_recipe(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="did you mean turkish"):
        find_recipe("turkisch")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="expected TOML"):
        find_recipe(tmp_path / "bytes.toml")


def test_parts_that_meet_are_found():
    text = OWN.replace('"train.mrg"', '[{ file = "a", sentences = "1-10" }]').replace(
        '["test.mrg"]', '[{ file = "a", sentences = "%s" }]'
    )
    from eigentext.recipes.recipe import _parse

    for apart in ("11-20", "11-"):
        _parse((text % apart).encode(), "x")
    for meeting in ("10-20", "1-1", "-3", "5-6"):
        with pytest.raises(DataError, match="is in test, too"):
            _parse((text % meeting).encode(), "x")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("\n[settings]\ncolour = 3\n", "a constituency has no setting 'colour'"),
        ("\n[expected]\nLAS = 3\n", "expected 'LAS', but there are F1, tags"),
    ],
)
def test_settings_and_scores_must_be_those_of_the_kind(more, why, tmp_path):
    with pytest.raises(SettingsError, match=why):
        check_settings(read_recipe(own(tmp_path, OWN + more)))


def test_settings_that_are_files_are_refused(tmp_path):
    text = OWN.replace("constituency", "ner") + '\n[settings]\nclusters = "c.paths"\n'
    with pytest.raises(SettingsError, match="cannot name files"):
        check_settings(read_recipe(own(tmp_path, text)))


def test_so_are_analyzers_with_files(tmp_path):
    text = OWN.replace("constituency", "pipeline")
    check_settings(read_recipe(own(tmp_path, text + '\n[settings]\nanalyzer = "morfeusz2"\n')))
    text += '\n[settings]\nanalyzer = "lexicon:words.tsv"\n'
    with pytest.raises(SettingsError, match="cannot name files"):
        check_settings(read_recipe(own(tmp_path, text)))


def test_own_files_are_beside_the_recipe_and_checked(tmp_path):
    path = own(tmp_path)
    with pytest.raises(DataError, match=r"train\.mrg: no such file"), gathered(read_recipe(path)):
        pass
    for name in ("train.mrg", "test.mrg"):
        (tmp_path / name).write_text("(S (NN dog))\n")
    with gathered(read_recipe(path)) as files:
        recipe = files.recipe
        assert files.paths(recipe.train) == [str(tmp_path / "train.mrg")]
        assert set(files.sha256) == {"train.mrg", "test.mrg"}
    wrong = f'licence = "CC0", sha256 = {{ "train.mrg" = "{"0" * 64}" }}'
    path = own(tmp_path, OWN.replace('licence = "CC0"', wrong))
    with pytest.raises(DataError, match="the recipe says 000"), gathered(read_recipe(path)):
        pass


def test_sentences_of_a_file_are_cut_out(tmp_path):
    from eigentext.language.formats.conllu import make_sentence, read_sentences, write_sentences

    made = (make_sentence([f"w{number}"], head=[0], deprel=["root"]) for number in range(1, 8))
    write_sentences(made, str(tmp_path / "a.conllu"))
    text = OWN.replace("constituency", "pipeline").replace('"train.mrg"', '"b"')
    text = text.replace('["test.mrg"]', '[{ file = "a.conllu", sentences = "3-4" }]')
    (tmp_path / "b").write_bytes(b"")
    with gathered(read_recipe(own(tmp_path, text))) as files:
        found = files.paths((*files.recipe.test, FilePart(file="a.conllu", sentences="7-")))
        forms = [[sentence.forms[0] for sentence in read_sentences(file)] for file in found]
        assert forms == [["w3", "w4"], ["w7"]]
        with pytest.raises(DataError, match="has no sentences 8-9"):
            files.paths((FilePart(file="a.conllu", sentences="8-9"),))


def test_no_data_folder_and_missing_files_say_what_helps(tmp_path, monkeypatch):
    monkeypatch.delenv("EIGENTEXT_DATA", raising=False)
    with (
        pytest.raises(SettingsError, match="give --data FOLDER, or set EIGENTEXT_DATA"),
        gathered(find_recipe("english-litbank-ner")),
    ):
        pass
    with (
        pytest.raises(DataError, match=r"--download fetches UD English EWT \(17\.8 MB, CC BY-SA"),
        gathered(find_recipe("english"), tmp_path),
    ):
        pass
    with (
        pytest.raises(DataError, match="Take the entity annotations of"),
        gathered(find_recipe("english-litbank-ner"), tmp_path),
    ):
        pass
    wrong = tmp_path / "ner" / "litbank" / "train.bio"
    wrong.parent.mkdir(parents=True)
    wrong.write_text("x")
    with (
        pytest.raises(DataError, match="has 1 bytes, expected 1,258,764"),
        gathered(find_recipe("english-litbank-ner"), tmp_path),
    ):
        pass


def test_data_is_downloaded_only_when_asked(tmp_path, monkeypatch):
    import io

    monkeypatch.delenv("EIGENTEXT_DATA", raising=False)
    asked = []

    def opener(url):
        asked.append(url)
        return io.BytesIO(b"not the treebank")

    recipe = find_recipe("hungarian")
    with pytest.raises(DataError, match="not there"), gathered(recipe, tmp_path, opener=opener):
        pass
    assert not asked
    with (
        pytest.raises(DataError, match="expected 1,456,431 bytes, found 16"),
        gathered(recipe, tmp_path, download=True, opener=opener),
    ):
        pass
    assert len(asked) == 1
    assert not list(tmp_path.iterdir())
