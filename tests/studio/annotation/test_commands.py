"""``eigentext annotate``: the commands as a user meets them, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentext.base.model import load
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from helpers.commands import blocks, eigentext, run_block, started

TREEBANK = """\
# sent_id = s1
# text = It rains
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_
2\trains\train\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No

"""


def _run(*arguments, cwd, code=0):
    done = eigentext("annotate", *arguments, cwd=cwd)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done.stdout.decode(), done.stderr.decode()


def test_a_project_from_beginning_to_end(place, tmp_path):
    (tmp_path / "en.conllu").write_text(TREEBANK)
    (tmp_path / "rules.md").write_text("Read aloud.\n")
    _run("init", place, cwd=tmp_path)
    _run("init", place, cwd=tmp_path)
    create = ("project", place, "Trees", "--task", "dependency")
    _run(*create, "--guidelines", "rules.md", "--language", "en", cwd=tmp_path)
    _run("import", place, "Trees", "en.conllu", cwd=tmp_path)
    _run("user", place, "ada", "--new", "--role", "annotator", "--no-password", cwd=tmp_path)
    _run("assign", place, "Trees", "en", "ada", cwd=tmp_path)
    store = AnnotationStore(place)
    project = store.project_named("Trees")
    assert project.guidelines == "Read aloud.\n"
    (facts,) = store.documents(project.id)
    ada = Accounts(store).user_named("ada").id
    layer = store.layer(facts.id, user=ada).id
    analysis = {"head": [2, 0], "deprel": ["expl", "root"]}
    store.decide(layer, Change(0, "done", {"analysis": analysis}), by=ada)
    store.close()
    out, _ = _run("project", place, "Trees", "--format", "jsonl", cwd=tmp_path)
    shown = json.loads(out)
    assert shown["assigned"] == ["ada"]
    assert shown["layers"]["ada"]["sentences_done"] == 1
    out, _ = _run("project", place, "Trees", cwd=tmp_path)
    assert "ada 1/1" in out
    out, _ = _run("export", place, "Trees", "--layer", "ada", cwd=tmp_path)
    assert out.splitlines()[-3].split("\t")[6:8] == ["2", "expl"]
    history = ("export", place, "Trees", "--document", "en", "--layer", "ada")
    out, _ = _run(*history, "--to", "decisions", "--sentence", "1", cwd=tmp_path)
    assert json.loads(out)["user"] == "ada"
    _run("assign", place, "Trees", "en", "ada", "--remove", cwd=tmp_path)
    out, _ = _run("log", place, "--format", "jsonl", cwd=tmp_path)
    actions = [json.loads(line)["action"] for line in out.splitlines()]
    assert actions == [
        "project.create",
        "document.add",
        "user.add",
        "document.assign",
        "document.unassign",
    ]
    _run("delete", place, "Trees", "--confirm", "Trees", cwd=tmp_path)
    out, _ = _run("project", place, "--deleted", "--format", "jsonl", cwd=tmp_path)
    assert json.loads(out)["name"] == "Trees"
    _run("delete", place, json.loads(out)["number"], "--undo", cwd=tmp_path)
    _run("delete", place, "Trees", "--confirm", "Trees", "--purge", cwd=tmp_path)
    out, _ = _run("project", place, "--deleted", "--format", "jsonl", cwd=tmp_path)
    assert out == ""


def test_the_page_about_the_store_runs(tmp_path):
    assert eigentext("data", "get", "sample", "-o", ".", cwd=tmp_path).returncode == 0
    page = Path(__file__).parents[3] / "docs" / "guide" / "annotation-store.md"
    assert sum(run_block(block, tmp_path) for block in blocks(page)) >= 9


def test_backup_and_restore(new_place, tmp_path):
    place, other = new_place(), new_place()
    _run("init", place, cwd=tmp_path)
    _run("project", place, "Trees", "--task", "tags", cwd=tmp_path)
    _run("backup", place, "-o", "all.jsonl.gz", cwd=tmp_path)
    out, _ = _run("init", other, "--from", "all.jsonl.gz", "--json", cwd=tmp_path)
    assert json.loads(out)["projects"] == 1
    _run("init", other, "--backup", "before.jsonl", cwd=tmp_path)
    out, _ = _run("project", other, "--format", "jsonl", cwd=tmp_path)
    assert json.loads(out)["name"] == "Trees"


def test_passwords_come_from_standard_input_where_there_is_no_terminal(tmp_path):
    _run("init", "a.db", cwd=tmp_path)
    add = ("annotate", "user", "a.db", "ada", "--new", "--role", "admin")
    done = started(*add, cwd=tmp_path, given=b"correct horse\nmore")
    assert done.returncode == 0, done.stderr.decode()
    done = started("annotate", "user", "a.db", "ada", "--password", cwd=tmp_path, given=b"short\n")
    assert done.returncode == 2
    assert done.stderr.decode() == "eigentext: a password has at least 10 characters\n"
    done = started("annotate", "user", "a.db", "ada", "--password", cwd=tmp_path, given=b"")
    assert "no password" in done.stderr.decode()
    store = AnnotationStore(tmp_path / "a.db")
    assert Accounts(store).log_in("ada", "correct horse").user.role == "admin"
    store.close()


def test_users_and_tokens(tmp_path):
    _run("init", "a.db", cwd=tmp_path)
    for name, role in (("ada", "admin"), ("ben", "reader")):
        _run("user", "a.db", name, "--new", "--role", role, "--no-password", cwd=tmp_path)
    _run("user", "a.db", "ben", "--role", "annotator", "--disabled", cwd=tmp_path)
    out, _ = _run("user", "a.db", "--format", "jsonl", cwd=tmp_path)
    ben = json.loads(out.splitlines()[1])
    assert (ben["name"], ben["role"], ben["active"]) == ("ben", "annotator", False)
    _run("user", "a.db", "ben", "--active", cwd=tmp_path)
    secret, _ = _run("user", "a.db", "ben", "--token", "nightly", "--days", "3", cwd=tmp_path)
    store = AnnotationStore(tmp_path / "a.db")
    assert Accounts(store).token(secret.strip())[0].name == "ben"
    _run("user", "a.db", "--revoke", "1", cwd=tmp_path)
    assert Accounts(store).token(secret.strip()) is None
    store.close()
    out, _ = _run("user", "a.db", "ben", "--tokens", cwd=tmp_path)
    assert "nightly" in out
    assert secret.strip() not in out
    out, _ = _run("user", "a.db", cwd=tmp_path)
    assert "yes" in out


BAD = {
    "no store": (["project", "none.db"], "none.db: no such file of annotations"),
    "no database": (["project", "text.txt"], "text.txt: not a file of annotations"),
    "no server": (["init", "postgresql://a:b@127.0.0.1:1/x"], "Connection refused"),
    "other database": (["init", "mysql://x"], "not in mysql"),
    "no project": (["export", "a.db", "None"], "there is no project 'None'"),
    "no task": (["project", "a.db", "x", "--task", "poetry"], "task 'poetry'"),
    "twice": (["project", "a.db", "One", "--task", "tags"], "there is a project 'One'"),
    "not confirmed": (["delete", "a.db", "One", "--confirm", "Two"], "not with 'Two'"),
    "no file": (["import", "a.db", "One", "none.txt"], "none.txt"),
    "no document": (["export", "a.db", "One", "--document", "none"], "no document 'none'"),
    "no user": (["user", "a.db", "eve", "--disabled"], "there is no user 'eve'"),
    "no role": (["user", "a.db", "x", "--new", "--role", "king", "--no-password"], "role 'king'"),
    "no token": (["user", "a.db", "--revoke", "7"], "there is no token 7"),
    "no backup": (["init", "b.db", "--from", "none.jsonl"], "none.jsonl: no such file"),
    "over a store": (["init", "a.db", "--from", "text.txt"], "is there already"),
    "no dump": (
        ["init", "b.db", "--from", "text.txt"],
        "text.txt:1: expected the first line of a dump",
    ),
    "no confirmation": (["delete", "a.db", "One"], "expected --confirm"),
    "undo by name": (["delete", "a.db", "One", "--undo"], "expected the number"),
    "nothing to set": (["user", "a.db", "ada"], "expected --role, --password"),
    "sentence of trees": (["export", "a.db", "One", "--sentence", "1"], "is for --to decisions"),
    "new without a role": (["user", "a.db", "x", "--new"], "expected --role"),
    "nobody": (["user", "a.db", "--role", "admin"], "expected the name of a user"),
    "days of no token": (["user", "a.db", "x", "--days", "3"], "expected --token"),
    "no task for a project": (["project", "a.db", "Two", "--model", "x"], "and --task"),
    "no name of a project": (["project", "a.db", "--task", "tags"], "expected the name"),
    "deleted of one": (["project", "a.db", "One", "--deleted"], "expected no name"),
    "two ways to begin": (
        ["init", "b.db", "--from", "text.txt", "--backup", "c.jsonl"],
        "--from and --backup: expected one of them",
    ),
    "no format": (["export", "a.db", "One", "--to", "pdf"], "expected conllu"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_goes_wrong_is_told_in_one_line(case, tmp_path):
    (tmp_path / "text.txt").write_text("It rains.\n" * 20)
    _run("init", "a.db", cwd=tmp_path)
    _run("project", "a.db", "One", "--task", "tags", cwd=tmp_path)
    arguments, why = BAD[case]
    out, err = _run(*arguments, cwd=tmp_path, code=2)
    assert out == ""
    assert err.startswith("eigentext: ")
    assert err.count("\n") == 1
    assert why in err
    assert not (tmp_path / "b.db").exists()


def test_without_the_packages_it_says_which(tmp_path, monkeypatch):
    monkeypatch.setattr("eigentext.studio.cli.annotate_admin.find_spec", lambda name: None)
    for command in (["init", "a.db"], ["init", "b.db", "--from", "a.jsonl"]):
        _, err = _run(*command, cwd=tmp_path, code=2)
        assert "annotations need sqlalchemy, alembic, argon2-cffi" in err


def test_a_model_learns_and_measures_are_told(tmp_path: Path) -> None:
    path = str(tmp_path / "team.db")
    store = AnnotationStore(path)
    project = store.create_project("Tags", "tags")
    user = Accounts(store).add_user("Ada", "annotator")
    text = tmp_path / "d.conllu"
    text.write_text("1\tdogs\t_\t_\t_\t_\t_\t_\t_\t_\n\n" * 6)
    _run("import", path, "Tags", str(text), cwd=tmp_path)
    (facts,) = store.documents(project.id)
    layer = store.layer(facts.id, kind="annotator", user=user.id)
    done = {"analysis": {"upos": ["NOUN"]}}
    _, early = _run("retrain", path, "Tags", cwd=tmp_path, code=2)
    assert "0 finished sentences" in early
    store.decide(layer.id, [Change(k, "done", done) for k in range(6)], by=user.id)
    told, _ = _run("measure", path, "Tags", "--format", "jsonl", cwd=tmp_path)
    assert json.loads(told)["annotators"] == ["Ada"]
    learned, _ = _run("retrain", path, "Tags", "--format", "jsonl", cwd=tmp_path)
    report = json.loads(learned)
    assert report["kept"]
    assert Path(report["file"]).parent == Path(f"{path}.models")
    (model,) = store.models(project.id)
    assert (model.file, model.in_use) == (report["file"], True)
    _, again = _run("retrain", path, "Tags", cwd=tmp_path, code=2)
    assert "no new sentences" in again
    store.close()


def _row(form: str, upos: str) -> str:
    return f"1\t{form}\t_\t{upos}\t_\t_\t0\troot\t_\t_\n\n"


def test_a_model_learns_beside_a_base_that_the_project_keeps(tmp_path: Path) -> None:
    """What only the base has is known to the new model, and without --base to the next one."""
    path = str(tmp_path / "team.db")
    base = tmp_path / "base.conllu"
    base.write_text((_row("zzyx", "INTJ") + _row("dogs", "NOUN")) * 20)
    (tmp_path / "d.conllu").write_text(_row("dogs", "_") * 12)
    _run("init", path, cwd=tmp_path)
    _run("project", path, "Tags", "--task", "tags", cwd=tmp_path)
    _run("import", path, "Tags", "d.conllu", cwd=tmp_path)
    store = AnnotationStore(path)
    project = store.project_named("Tags")
    (facts,) = store.documents(project.id)
    layer = store.layer(facts.id, kind="adjudication").id
    done = {"analysis": {"upos": ["NOUN"]}}
    store.decide(layer, [Change(k, "done", done) for k in range(6)])
    retrain = ("retrain", path, "Tags")
    _, err = _run(*retrain, "--keep-base", cwd=tmp_path, code=2)
    assert err == "eigentext: --keep-base needs --base\n"
    (tmp_path / "bad.conllu").write_text(_row("a", "X") + "1\tb\tX\n\n")
    for wrong, why in (("none.conllu", "none.conllu: no such file"), ("bad.conllu", ":3: ")):
        _, err = _run(*retrain, "--base", wrong, "--keep-base", cwd=tmp_path, code=2)
        assert err.startswith(f"eigentext: {wrong}")
        assert err.count("\n") == 1
        assert why in err
    assert store.models(project.id) == []
    assert "base_treebank" not in store.project(project.id).settings
    out, err = _run(*retrain, "--base", "base.conllu", "--keep-base", cwd=tmp_path)
    assert out.startswith("The new model is the first model")
    assert err.endswith(": in use\n")
    assert store.project(project.id).settings["base_treebank"] == str(base)
    store.decide(layer, [Change(k, "done", done) for k in range(6, 12)])
    out, _ = _run(*retrain, cwd=tmp_path)
    assert out.startswith("The new model is as good")
    made = store.models(project.id)
    assert [one.in_use for one in made] == [False, True]
    for one in made:
        (tagged,) = load(one.file).tag([["zzyx"]])
        assert tagged.upos == ("INTJ",)
    store.close()
