"""Files in, decisions out: what came with a file comes out again, and bad files are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.files.opening import atomic_write
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import read_sentences
from eigentext.language.formats.ptb import read_trees
from eigentext.studio.store import files
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.files import export_lines, import_files, kind_of, read_documents
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from eigentext.studio.tasks import TASKS, open_task, task_class
from eigentext.studio.tasks.records import AnnotatedDocument

TREEBANK = """\
# newdoc id = first
# sent_id = a
# text = Vámonos ya
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\tMood=Imp\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj\t_
2.1\t_\t_\tVERB\t_\t_\t_\t_\t1:conj\tNote=Empty
3\tya\tya\tADV\t_\t_\t1\tadvmod\t1:advmod\tSpaceAfter=No

# newdoc id = second
# text = No
1\tNo\tno\tINTJ\t_\t_\t0\troot\t0:root\t_

# newdoc id = first
1\tSí\tsí\tINTJ\t_\t_\t0\troot\t0:root\tSpacesAfter=\\n\\n

"""


@pytest.fixture
def one(tmp_path: Path):
    store = AnnotationStore(tmp_path / "store.db")
    yield store
    store.close()


def _accept_all(store: AnnotationStore, project: int, user: int | None = None) -> None:
    """Take everything as it was imported."""
    task = open_task(store.project(project).task)
    kind = "adjudication" if user is None else "annotator"
    for facts in store.documents(project):
        document = store.document(facts.id).doc
        layer = store.layer(facts.id, kind=kind, user=user).id
        for number in range(len(document.sentences)):
            value = task.accepted(document, store.state(layer).values, number)
            store.decide(layer, Change(number, "done", value), by=user)


def test_conllu_comes_out_as_it_went_in(one, tmp_path):
    file = tmp_path / "es.conllu"
    file.write_text(TREEBANK, "utf-8")
    project = one.create_project("es", "dependency").id
    facts = import_files(one, project, [str(file)])
    assert [(f.name, f.n_words) for f in facts] == [("first", 3), ("second", 1), ("first-2", 1)]
    assert facts[0].about == {"format": "conllu", "file": "es.conllu"}
    document = one.document(facts[0].id)
    assert document.text.startswith("Vámonos ya")
    assert [token["start"] for token in document.sentences[0]["tokens"]] == [0, 0, 8]
    assert list(export_lines(one, project)) == []  # nothing is done yet
    _accept_all(one, project)
    written = "".join(f"{line}\n" for line in export_lines(one, project))
    assert written == TREEBANK.replace(
        "1\tSí", "# sent_id = first-2-1\n# text = Sí\n1\tSí"
    ).replace("# text = No", "# text = No\n# sent_id = second-1")


@pytest.mark.requires("data")
@pytest.mark.parametrize("treebank", ["ewt", "gum", "tr-imst", "pt-bosque"])
def test_treebanks_come_out_as_they_went_in(data, treebank):
    path = str(data / "dependency" / treebank / "dev.conllu")
    documents = read_documents(path)
    task = open_task("dependency")
    sentences = read_sentences(path)
    for document in documents:
        text = document.doc
        accepted = {
            (number, "done"): task.accepted(text, {}, number)
            for number in range(len(text.sentences))
        }
        written = "".join(f"{line}\n" for line in task.lines(AnnotatedDocument(text, accepted)))
        given = [next(sentences) for _ in text.sentences]
        assert written == "".join(sentence.verbatim for sentence in given)
        for sentence in text.sentences:
            assert len({(t.start, t.end) for t in sentence.tokens}) >= 1
    assert next(sentences, None) is None


@pytest.mark.requires("data")
def test_trees_come_out_as_they_went_in(data, one):
    path = data / "constituency" / "gum" / "dev.mrg"
    project = one.create_project("gum", "constituency").id
    (facts,) = import_files(one, project, [str(path)])
    text = one.document(facts.id).doc
    task = open_task("constituency")
    numbers = range(0, len(text.sentences), 10)
    accepted = {(n, "done"): task.accepted(text, {}, n) for n in numbers}
    trees = list(read_trees(path))
    assert list(task.lines(AnnotatedDocument(text, accepted))) == [str(trees[n]) for n in numbers]


def test_raw_text_is_cut_by_a_scheme(one, tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("It rains. We can't go.\n\nStay!\n", "utf-8")
    project = one.create_project("letters", "tags").id
    (facts,) = import_files(one, project, [str(file)], scheme="ptb")
    document = one.document(facts.id)
    assert (facts.name, facts.about["scheme"], facts.n_sentences) == ("letter", "ptb", 3)
    for sentence in document.sentences:
        for token in sentence["tokens"]:
            assert document.text[token["start"] : token["end"]] == token["text"]
    assert [t["text"] for t in document.sentences[1]["tokens"]] == ["We", "ca", "n't", "go", "."]
    with pytest.raises(SettingsError, match="scheme 'klingon'"):
        import_files(one, project, [str(file)], scheme="klingon")


def test_for_segmentation_text_stays_as_it_is(one, tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("It rains. We go.\n\nStay!\n", "utf-8")
    project = one.create_project("cuts", "segmentation").id
    (facts,) = import_files(one, project, [str(file)])
    tokens = [s["tokens"][0]["text"] for s in one.document(facts.id).sentences]
    assert tokens == ["It rains. We go.", "Stay!"]


def test_a_pipeline_cuts_text(one, tmp_path, monkeypatch):
    from eigentext.tagging.segmentation import Segmenter

    (tmp_path / "es.conllu").write_text(TREEBANK * 3, "utf-8")
    segmenter = Segmenter().fit(list(read_sentences(tmp_path / "es.conllu")))

    class Pipeline:
        segmenter_ = segmenter

    (tmp_path / "a.txt").write_text("Vámonos ya. No", "utf-8")
    (document,) = read_documents(str(tmp_path / "a.txt"), segmenter=Pipeline())
    assert document.about["scheme"] == "segmenter"
    assert document.text == "Vámonos ya. No\n"
    assert document.n_words >= 3
    Pipeline.segmenter_ = None
    with pytest.raises(SettingsError, match="has no segmenter"):
        read_documents(str(tmp_path / "a.txt"), segmenter=Pipeline())


BAD = {
    "a.conllu": (TREEBANK.replace("1\tNo\tno", "1\tNo"), ":12:"),
    "b.conllu": ("", "found no sentences"),
    "c.mrg": ("(S (NN dog))\n(S (NN", ":2: unbalanced brackets"),
    "d.txt": ("one\ntw\0o\n", r":2: the character U\+0000 cannot be stored"),
    "e.txt": ("", "found no sentences"),
    "f.bio": ("Ada B-PER\nran\n", ":2:"),
    "g.xyz": ("x", "cannot tell the format of '.*g.xyz' by its name"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_their_line_and_nothing_is_imported(one, tmp_path, name):
    content, why = BAD[name]
    (tmp_path / name).write_text(content, "utf-8")
    (tmp_path / "good.txt").write_text("It rains.", "utf-8")
    project = one.create_project("p", "entities").id
    with pytest.raises((DataError, SettingsError), match=why) as caught:
        import_files(one, project, [str(tmp_path / "good.txt"), str(tmp_path / name)])
    assert name in str(caught.value)
    assert one.documents(project) == []


def test_a_file_comes_in_once(one, tmp_path):
    (tmp_path / "a.txt").write_text("It rains.", "utf-8")
    project = one.create_project("p", "tags").id
    import_files(one, project, [str(tmp_path / "a.txt")])
    with pytest.raises(SettingsError, match="there is a document 'a' in this project already"):
        import_files(one, project, [str(tmp_path / "a.txt")])
    with pytest.raises(DataError, match=r"none\.txt"):
        import_files(one, project, [str(tmp_path / "none.txt")])
    with pytest.raises(SettingsError, match="unknown kind of file 'pdf'"):
        import_files(one, project, [str(tmp_path / "a.txt")], kind="pdf")


@pytest.mark.parametrize("name", ["a.txt.gz", "a.conllu.xz", "a.mrg.zst", "a.bio.bz2", "a.txt"])
def test_a_file_that_unpacks_to_more_than_can_be_held_is_refused(one, tmp_path, monkeypatch, name):
    path = tmp_path / name
    with atomic_write(path) as out:
        for _ in range(4):
            out.write(b"\n" * 1_000_000)
    monkeypatch.setattr(files, "MOST_BYTES", 2_000_000)
    project = one.create_project("p", "tags").id
    with pytest.raises(DataError, match=f"{name}: more than 2,000,000 bytes"):
        import_files(one, project, [str(path)])
    assert not one.documents(project)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_is_taken_or_refused(text):
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(text.encode())
        try:
            (document,) = read_documents(str(path))
        except DataError:
            return
        for sentence in document.sentences:
            for token in sentence["tokens"]:
                assert 0 <= token["start"] < token["end"] <= len(document.text)


# ---- what comes out


def test_every_task_has_formats():
    for task in TASKS:
        assert {"jsonl", "decisions"} < {*task_class(task).all_formats(), "conllu"}


def test_a_layer_is_chosen_by_name(one, tmp_path):
    file = tmp_path / "es.conllu"
    file.write_text(TREEBANK, "utf-8")
    project = one.create_project("es", "tags").id
    first, second, _ = import_files(one, project, [str(file)])
    ada = Accounts(one).add_user("ada", "annotator").id
    layer = one.layer(second.id, user=ada).id
    one.decide(layer, Change(0, "t0", {"upos": "PART"}, seconds=2.5, note="?"), by=ada)
    assert list(export_lines(one, project, layer="ada")) == []
    (line,) = export_lines(one, project, layer="ada", format="jsonl", unfinished=True)
    assert json.loads(line) == {
        "document": "second",
        "sentence": 0,
        "tokens": ["No"],
        "items": {"t0": {"upos": "PART"}},
        "done": False,
    }
    written = list(export_lines(one, project, layer="ada", unfinished=True))
    assert "# annotator = ada" in written
    assert any(line.startswith("1\tNo\t") and "\tPART\t" in line for line in written)
    one.undo(layer, by=ada)
    (line,) = export_lines(one, project, layer="ada", format="decisions")
    decision = json.loads(line)
    assert (decision["user"], decision["undone_by"], decision["seconds"]) == ("ada", "ada", 2.5)
    assert (decision["layer"], decision["undone_version"]) == ("annotator", 2)
    assert list(export_lines(one, project, layer="ada", documents=[first.id])) == []
    with pytest.raises(MissingError, match="there is no user 'eve'"):
        export_lines(one, project, layer="eve")
    with pytest.raises(MissingError, match="there is no document 99"):
        export_lines(one, project, documents=[99])
    with pytest.raises(SettingsError, match="tags is not exported as 'ptb'"):
        export_lines(one, project, format="ptb")


def test_kinds_of_files():
    assert [kind_of(name) for name in ("x/a.conllu.xz", "b.prd", "c.txt.gz", "d.bio")] == [
        "conllu",
        "ptb",
        "text",
        "columns",
    ]
