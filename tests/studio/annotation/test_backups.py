"""A store as a file and back, between both databases; files of other versions and kinds."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import LONGEST_LINE
from eigentext.cli.main import run
from eigentext.errors import DataError, SettingsError
from eigentext.studio.store import migrating
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.backups import back_up, dump, dump_lines, restore
from eigentext.studio.store.database import Database
from eigentext.studio.store.problems import StoreError, StoreVersionError
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from helpers.small_store import CHEAP, add_document, fill

GOLDEN = Path(__file__).parents[2] / "golden" / "annotations-0001.db.xz"


def _lines(store: Database) -> list[str]:
    return store.reading(lambda c: list(dump_lines(c, store.name)))


def test_a_dump_restored_anywhere_is_the_same_store(store, new_place, tmp_path):
    fill(store)
    before = _lines(store)
    assert back_up(store, str(tmp_path / "all.jsonl.gz")) == "dump"
    assert (tmp_path / "all.jsonl.gz").stat().st_mode & 0o77 == 0
    for where in (new_place(), str(tmp_path / "restored.db")):
        counts = restore(str(tmp_path / "all.jsonl.gz"), where)
        assert counts["decisions"] == len([line for line in before if '"decisions"' in line]) - 1
        restored = AnnotationStore(where, create=False)
        assert _lines(restored) == before
        # and it goes on as the other does: the next numbers are the same, passwords are known
        assert Accounts(restored, hasher=CHEAP).log_in("ada", "a long password").user.id == 1
        assert restored.create_project("next", "tags").id == 4
        layer = restored.layers(1)[0].id
        version = restored.layer_numbered(layer).version
        assert (
            restored.decide(layer, Change(0, "w1", {"x": 1}), base_version=version) == version + 1
        )
        restored.close()


def test_numbers_that_were_given_once_are_not_given_again_after_a_restore(
    store, new_place, tmp_path
):
    number = store.create_project("gone", "tags").id
    store.delete("project", number, confirm="gone")
    store.purge("project", number, confirm="gone")
    dump(store, str(tmp_path / "a.jsonl"))
    where = new_place()
    restore(str(tmp_path / "a.jsonl"), where)
    restored = AnnotationStore(where)
    assert restored.create_project("new", "tags").id > number
    restored.close()


def test_a_copy_of_a_file_is_made_while_it_is_in_use(tmp_path):
    store = AnnotationStore(tmp_path / "a.db")
    fill(store)
    before = _lines(store)
    assert back_up(store, str(tmp_path / "copy.db")) == "copy"
    store.create_project("later", "tags")
    restore(str(tmp_path / "copy.db"), str(tmp_path / "again.db"))
    for name in ("copy.db", "again.db"):
        with_it = AnnotationStore(tmp_path / name, create=False)
        assert _lines(with_it) == before
        with_it.close()
    with pytest.raises(SettingsError, match="is the store itself"):
        back_up(store, str(tmp_path / "a.db"))
    store.close()


@pytest.mark.requires("postgres")
def test_a_copy_of_a_file_goes_to_a_server_and_a_server_is_dumped_alone(server, tmp_path):
    store = AnnotationStore(tmp_path / "a.db")
    fill(store)
    back_up(store, str(tmp_path / "copy.db"))
    where = server.new_database()
    restore(str(tmp_path / "copy.db"), where)
    on_server = AnnotationStore(where)
    assert _lines(on_server) == _lines(store)
    with pytest.raises(SettingsError, match=r"a name that ends in \.jsonl"):
        back_up(on_server, str(tmp_path / "server.db"))
    with pytest.raises(StoreVersionError, match="there are annotations in it already"):
        restore(str(tmp_path / "copy.db"), where)
    store.close()
    on_server.close()


def _edited(lines: list[str], kind: str) -> list[str]:
    if kind == "cut off":
        return lines[:-1]
    if kind == "row lost":
        return lines[:3] + lines[4:]
    if kind == "more":
        return [*lines, lines[3]]
    if kind == "not JSON":
        return [*lines[:2], "{", *lines[2:]]
    if kind == "unknown table":
        return [lines[0], '{"table":"secrets","row":{}}', *lines[1:]]
    if kind == "unknown column":
        return [lines[0], '{"table":"users","row":{"id":1}}', *lines[1:]]
    if kind == "twice":
        return [*lines[:2], lines[1], *lines[2:]]
    if kind == "bad role":
        return [line.replace('"role":"admin"', '"role":"king"') for line in lines]
    if kind == "newer":
        return [lines[0].replace("0003", "0777"), *lines[1:]]
    return ['{"kind":"something"}', *lines[1:]]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("cut off", "the dump ends in the middle"),
        ("row lost", "rows are missing"),
        ("more", "found more behind the end"),
        ("not JSON", ":3: expected a JSON object"),
        ("unknown table", ":2: expected a row of a table"),
        ("unknown column", ":2: expected the columns of the table users"),
        ("twice", "a row of projects before this line"),
        ("bad role", "a row of users before this line"),
        ("newer", "a dump of version 0777 of the tables"),
        ("other", ":1: expected the first line of a dump of annotations"),
    ],
)
def test_a_damaged_dump_is_refused_and_leaves_nothing(store, new_place, tmp_path, kind, why):
    fill(store)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join(_edited(_lines(store), kind)) + "\n", "utf-8")
    where = new_place()
    with pytest.raises(DataError, match=why):
        restore(str(bad), where)
    if "://" not in where:
        assert not list(tmp_path.glob(f"{Path(where).name}*"))
    again = AnnotationStore(where)  # it is as empty as before
    assert again.projects() == []
    again.close()


def test_restoring_never_overwrites(tmp_path):
    (tmp_path / "a.db").write_text("mine")
    (tmp_path / "b.jsonl").write_text("{}")
    with pytest.raises(SettingsError, match="is there already"):
        restore(str(tmp_path / "b.jsonl"), str(tmp_path / "a.db"))
    with pytest.raises(DataError, match="no such file"):
        restore(str(tmp_path / "none"), str(tmp_path / "c.db"))
    assert (tmp_path / "a.db").read_text() == "mine"


# ---- files of others beside ours

_BESIDE = ("-wal", "-shm", "-journal")
_ENDINGS = [
    made + more
    for made in (".part", ".tmp", ".bak", ".unfinished", ".version-0001.bak", "~", ".models")
    for more in ("", *_BESIDE)
]


def _planted(folder: Path, name: str, endings: Sequence[str]) -> dict[str, str]:
    for ending in endings:
        (folder / f"{name}{ending}").write_text(f"mine, {ending}")
    return _texts(folder, name)


def _texts(folder: Path, name: str) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.glob(f"{name}?*")}


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("kind", ["dump", "copy", "restored dump", "restored copy", "init"])
def test_files_of_others_beside_a_store_stay_as_they_are(tmp_path, kind, works, capsys):
    store = AnnotationStore(tmp_path / "a.db")
    fill(store)
    dump(store, str(tmp_path / "b.jsonl"))
    back_up(store, str(tmp_path / "b.db"))
    store.close()
    source = "b.db" if "copy" in kind else "b.jsonl"
    if not works:
        (tmp_path / source).write_bytes((tmp_path / source).read_bytes()[:5000])
        (tmp_path / "a.db").write_bytes((tmp_path / "a.db").read_bytes()[:5000])
    name = "new.jsonl" if kind == "dump" else "new.db"
    planted = _planted(tmp_path, name, _ENDINGS)
    target = tmp_path / name
    line = {
        "dump": ["backup", tmp_path / "a.db", "-o", target],
        "copy": ["backup", tmp_path / "a.db", "-o", target],
        "init": ["init", target if works else tmp_path / "none" / name],
    }.get(kind, ["init", target, "--from", tmp_path / source])
    assert run(["annotate", *map(str, line)]) == (0 if works else 2), capsys.readouterr().err
    assert _texts(tmp_path, name) == planted
    assert target.exists() == works
    assert not list(tmp_path.glob("*eigentext*"))


@pytest.mark.parametrize("ending", _BESIDE)
@pytest.mark.parametrize("kind", ["copy", "restore", "init"])
def test_what_sqlite_would_take_for_its_own_is_not_taken(tmp_path, kind, ending, capsys):
    store = AnnotationStore(tmp_path / "a.db")
    back_up(store, str(tmp_path / "b.db"))
    store.close()
    planted = _planted(tmp_path, "new.db", [ending])
    target = str(tmp_path / "new.db")
    line = {
        "copy": ["backup", str(tmp_path / "a.db"), "-o", target],
        "restore": ["init", target, "--from", str(tmp_path / "b.db")],
        "init": ["init", target],
    }[kind]
    assert run(["annotate", *line]) == 2
    assert f"beside it is new.db{ending}" in capsys.readouterr().err
    assert _texts(tmp_path, "new.db") == planted
    assert not (tmp_path / "new.db").exists()


def test_a_backup_that_was_restored_has_nothing_beside_it_and_is_replaced(tmp_path):
    store = AnnotationStore(tmp_path / "a.db")
    fill(store)
    back_up(store, str(tmp_path / "b.db"))
    restore(str(tmp_path / "b.db"), str(tmp_path / "c.db"))
    assert not list(tmp_path.glob("b.db?*"))
    store.create_project("later", "tags")
    back_up(store, str(tmp_path / "b.db"))
    again = AnnotationStore(tmp_path / "b.db", create=False)
    assert _lines(again) == _lines(store)
    # now it is in use: its log would be played into a file in its place
    again.create_project("its own", "tags")
    with pytest.raises(StoreError, match=r"beside it is b\.db-wal"):
        back_up(store, str(tmp_path / "b.db"))
    assert again.project_named("its own")
    again.close()
    store.close()


def test_a_migration_leaves_copies_that_are_there_alone(tmp_path, next_version):
    AnnotationStore(tmp_path / "a.db").close()
    planted = _planted(tmp_path, "a.db", [".version-0003.bak", ".version-0003-2.bak"])
    next_version()
    AnnotationStore(tmp_path / "a.db").close()
    copy = tmp_path / "a.db.version-0003-3.bak"
    assert copy.read_bytes().startswith(b"SQLite")
    copy.unlink()
    assert _texts(tmp_path, "a.db") == planted


def test_a_restore_that_was_killed_leaves_nothing_for_long(tmp_path, monkeypatch):
    (tmp_path / "b.jsonl").write_text('{"kind":"something"}')
    left = tmp_path / "eigentext-left"
    left.mkdir()
    (left / ".eigentext-work").touch()
    with pytest.raises(DataError):
        restore(str(tmp_path / "b.jsonl"), str(tmp_path / "c.db"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["b.jsonl"]


# ---- versions


def test_a_store_of_version_1_is_read_as_it_was(tmp_path):
    path = tmp_path / "golden.db"
    path.write_bytes(lzma.decompress(GOLDEN.read_bytes()))
    found = Database(path, any_version=True)
    assert found.version() == "0001"
    found.close()
    store = AnnotationStore(path, create=False)
    assert store.version() == migrating.newest_version()
    project = store.project_named("Words")
    assert (project.task, project.settings) == ("lexical", {"k": 5})
    (document,) = store.documents(project.id)
    ada = Accounts(store).user_named("ada")
    state = store.state(store.layer(document.id, user=ada.id).id)
    assert state.values == {(0, "w0"): {"label": {"lemma": "it"}}, (0, "w1"): {"none": True}}
    assert (state.version, [one.item for one in state.redoable]) == (4, ["w1"])
    assert Accounts(store, hasher=CHEAP).log_in("ada", "a long password")
    store.close()


_NEXT = '''
"""A version of the future."""
import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    with op.batch_alter_table("projects") as table:
        table.add_column(sa.Column("colour", sa.Text(), nullable=False, server_default="green"))
'''


@pytest.fixture
def next_version(monkeypatch, tmp_path):
    """Call it, and this release has one more version of the tables."""

    def begin():
        folder = tmp_path / "versions"
        shutil.copytree(migrating.VERSIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "0004_next.py").write_text(_NEXT)
        monkeypatch.setattr(migrating, "VERSIONS", folder)

    return begin


def test_a_file_of_an_earlier_version_is_migrated_after_a_copy(tmp_path, next_version):
    path = tmp_path / "a.db"
    store = AnnotationStore(path)
    fill(store)
    before = _lines(store)
    store.close()
    next_version()
    migrated = AnnotationStore(path)
    assert migrated.version() == "0004"
    copy = Database(tmp_path / "a.db.version-0003.bak", any_version=True)
    assert copy.version() == "0003"
    assert _lines(copy) == before
    after = [line for line in _lines(migrated) if '"table":"projects"' in line]
    assert all('"colour":"green"' in line for line in after)
    assert after
    copy.close()
    migrated.close()


def test_a_dump_of_an_earlier_version_is_restored(place, new_place, tmp_path, next_version):
    store = AnnotationStore(place)
    fill(store)
    dump(store, str(tmp_path / "old.jsonl"))
    store.close()
    where = new_place()
    next_version()
    restore(str(tmp_path / "old.jsonl"), where)
    restored = AnnotationStore(where)
    assert restored.version() == "0004"
    assert len(restored.projects()) == 2
    restored.close()


@pytest.mark.requires("postgres")
def test_a_server_is_migrated_only_when_asked(server, tmp_path, next_version):
    where = server.new_database()
    AnnotationStore(where).close()
    next_version()
    with pytest.raises(
        StoreVersionError, match="`eigentext annotate init --backup FILE` brings it up"
    ):
        AnnotationStore(where)
    store = AnnotationStore(where, migrate=True)
    assert store.version() == "0004"
    store.close()


def test_a_newer_version_is_refused(place, next_version, monkeypatch):
    with monkeypatch.context():
        next_version()
        AnnotationStore(place).close()
        newer = migrating.VERSIONS
    monkeypatch.setattr(migrating, "VERSIONS", migrating.FOLDER / "versions")
    assert newer != migrating.VERSIONS
    with pytest.raises(StoreVersionError, match=r"written by a newer release.*reads up to 0003"):
        AnnotationStore(place)


def _other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as c:
        c.execute("CREATE TABLE users (id)")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_text("some text, of more than nothing"), "not a file of annot"),
        (_other_database, "a database, but not one of annotations"),
        (lambda path: path.mkdir(), "a folder, expected a file"),
        (lambda path: path.write_bytes(gzip.compress(b"x")), "not a file of annotations"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, make, why):
    path = tmp_path / "other"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=why):
        AnnotationStore(path)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other"]


@pytest.mark.requires("postgres")
def test_a_database_of_something_else_is_refused_and_left_alone(server):
    import psycopg

    where = server.new_database()
    with psycopg.connect(where, autocommit=True) as c:
        c.execute("CREATE TABLE users (id integer)")
    with pytest.raises(StoreVersionError, match="a database, but not one of annotations"):
        AnnotationStore(where)


def test_addresses_that_are_none_are_refused(tmp_path):
    for where, why in (
        ("", "need a file or a URL"),
        ("mysql://x/y", "not in mysql"),
        ("sqlite://", "not in sqlite"),
        ("://x", "not the URL of a database"),
    ):
        with pytest.raises(SettingsError, match=why):
            AnnotationStore(where)
    with pytest.raises(StoreError, match="no such file of annotations"):
        AnnotationStore(tmp_path / "none.db", create=False)
    with pytest.raises(StoreError, match="there is no folder"):
        AnnotationStore(tmp_path / "none" / "a.db")
    assert not list(tmp_path.iterdir())
    store = AnnotationStore(f"sqlite:///{tmp_path}/url.db")
    assert (tmp_path / "url.db").stat().st_mode & 0o77 == 0
    store.close()


@pytest.mark.parametrize(
    "where",
    ["postgresql://ada:geheim@127.0.0.1:1/x", "postgresql://ada@127.0.0.1:1/x?password=geheim"],
)
def test_a_password_in_a_url_is_in_no_message(where):
    with pytest.raises(StoreError) as caught:
        AnnotationStore(where)
    assert "geheim" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_dump_is_json_lines(store, tmp_path):
    fill(store)
    dump(store, str(tmp_path / "a.jsonl"))
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    records = list(map(json.loads, lines))
    assert records[0] == {"kind": "eigentext annotations", "version": "0003"}
    assert records[-1]["end"]["projects"] == 3


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(10**30), "\ud800", "\0"])
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


@pytest.fixture(scope="module")
def good_lines(tmp_path_factory) -> list[str]:
    store = AnnotationStore(tmp_path_factory.mktemp("good") / "a.db")
    fill(store)
    lines = _lines(store)
    store.close()
    return lines


def _measured(where: Path) -> set[int]:
    """Restored or refused; then projects are measured, listed and written out, or refused."""
    store = str(where.with_suffix(".db"))
    codes = {run(["annotate", "init", store, "--from", str(where)])}
    for project in ("Words", "Trees") if codes == {0} else ():
        for command in ("measure", "project"):
            codes.add(run(["annotate", command, store, project]))
        for form in ("conllu", "decisions"):
            line = ["annotate", "export", store, project, "--to", form, "--unfinished"]
            codes.add(run([*line, "-o", str(where.with_suffix(f".{form}"))]))
    return codes


@settings(max_examples=40)
@given(draw=st.data())
def test_a_dump_with_anything_in_it_is_restored_or_refused(good_lines, draw):
    lines = list(good_lines)
    number = draw.draw(st.integers(0, len(lines) - 1))
    record = json.loads(lines[number])
    inside = record.get("row") or record
    field = draw.draw(st.sampled_from(sorted(inside)))
    inside[field] = draw.draw(_JSON)
    lines[number] = json.dumps(record)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        assert _measured(path) <= {0, 2}
        if not path.with_suffix(".db").exists():
            assert sorted(file.name for file in Path(folder).iterdir()) == ["a.jsonl"]


_RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.just("eigentext annotations") | _JSON,
        "version": st.just("0001") | _JSON,
        "table": st.sampled_from(["users", "decisions", "projects"]) | _JSON,
        "row": _JSON,
        "end": _JSON,
        "numbers": _JSON,
    },
)


@settings(max_examples=60)
@given(
    lines=st.lists(_RECORDS.map(json.dumps) | _JSON.map(json.dumps) | st.text(max_size=9)),
    begun=st.booleans(),
)
def test_any_lines_are_restored_or_refused(good_lines, lines, begun):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n".join([*good_lines[:begun], *lines]), "utf-8", "surrogatepass")
        assert _measured(path) <= {0, 2}


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("decisions", "seconds", "long"),
        ("decisions", "keys", True),
        ("decisions", "value", ["label"]),
        ("decisions", "version", 1.5),
        ("contents", "sentences", {"tokens": []}),
        ("contents", "sentences", [{"tokens": 3}]),
        ("contents", "sentences", [{"tokens": [{"text": 3}]}]),
        ("contents", "sentences", [{"tokens": [{"text": "a", "start": "b"}]}]),
        ("contents", "sentences", [{"tokens": [], "comments": [{}]}]),
        ("contents", "sentences", [{"tokens": [], "columns": [1]}]),
        ("contents", "sentences", [{"tokens": [{"text": "a"}], "columns": {"upos": 5}}]),
        ("contents", "sentences", [{"tokens": [{"text": "a"}], "columns": {"upos": ["X", "X"]}}]),
        ("contents", "sentences", [{"tokens": [], "columns": {"brackets": []}}]),
        ("contents", "sentences", [{"tokens": [], "columns": {"ranges": [[1, 2, "a"]]}}]),
        ("contents", "sentences", [{"tokens": [], "columns": {"empty": [["1", "a"]]}}]),
        ("contents", "sentences", [{"tokens": [{"text": "a"}], "columns": {"head": ["x"]}}]),
        ("contents", "sentences", [{"tokens": [], "columns": {"ranges": [[2, 1, "a", "_"]]}}]),
        ("contents", "sentences", [{"tokens": [], "columns": {"ranges": [[1, 2, "a", "_"]]}}]),
        ("projects", "settings", []),
        ("users", "active", 1),
        ("users", "name", None),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_line(
    good_lines, tmp_path, capsys, table, column, value
):
    number = next(n for n, line in enumerate(good_lines) if f'"table":"{table}"' in line)
    record = json.loads(good_lines[number])
    record["row"][column] = value
    lines = [*good_lines[:number], json.dumps(record), *good_lines[number + 1 :]]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert (
        run(["annotate", "init", str(tmp_path / "b.db"), "--from", str(tmp_path / "a.jsonl")]) == 2
    )
    why = f"a.jsonl:{number + 1}: a row of {table}: no value of the column {column}"
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("settings", [{"labels": 5}, {"labels": ["a", 3]}, {"scheme": ["a"]}])
def test_settings_that_no_project_has_are_named(good_lines, tmp_path, capsys, settings):
    number = next(n for n, line in enumerate(good_lines) if '"table":"projects"' in line)
    record = json.loads(good_lines[number])
    record["row"]["settings"] = settings
    lines = [*good_lines[:number], json.dumps(record), *good_lines[number + 1 :]]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert _measured(tmp_path / "a.jsonl") == {0, 2}
    setting = next(iter(settings))
    assert f"the setting {setting} of a project cannot be" in capsys.readouterr().err


@pytest.mark.parametrize("value", [{"analysis": 3}, {"analysis": {"words": 7}}, {"label": {}}])
@pytest.mark.parametrize("item", ["done", "w0", "w", "x"])
def test_a_decision_that_is_none_of_the_task_is_named_when_it_is_measured(
    good_lines, tmp_path, capsys, item, value
):
    number = next(n for n, line in enumerate(good_lines) if '"table":"decisions"' in line)
    record = json.loads(good_lines[number])
    record["row"] |= {"item": item, "value": value}
    lines = [*good_lines[:number], json.dumps(record), *good_lines[number + 1 :]]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    codes = _measured(path)
    bad = item in ("w", "x") or (item == "done" and "analysis" in value)
    assert codes == ({0, 2} if bad else {0})
    assert ("document one: it has a decision that is none of" in capsys.readouterr().err) == bad


def test_json_without_an_end_is_refused_with_its_line(good_lines, tmp_path, capsys):
    for depth in (500, 200_000):
        deep = "[" * depth + "]" * depth
        inside = good_lines[1].replace('"settings":{"k":5}', f'"settings":{{"k":{deep}}}')
        for number, line in ((1, deep), (2, deep), (2, inside)):
            lines = [*good_lines[: number - 1], line, *good_lines[number:]]
            (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
            assert run(["annotate", "init", "b.db", "--from", str(tmp_path / "a.jsonl")]) == 2
            assert f"a.jsonl:{number}: " in capsys.readouterr().err


def test_of_what_is_no_dump_little_is_read(tmp_path, capsys):
    with gzip.open(tmp_path / "a.jsonl.gz", "wb") as file:
        for _ in range(60):
            file.write(bytes(1 << 20))
    line = ["annotate", "init", str(tmp_path / "b.db"), "--from", str(tmp_path / "a.jsonl.gz")]
    tracemalloc.start()
    try:
        assert run(line) == 2
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "a.jsonl.gz:1: a line of more than 65,536 bytes" in capsys.readouterr().err
    assert peak < 30 << 20


def test_a_long_text_comes_back_from_its_dump(tmp_path):
    store = AnnotationStore(tmp_path / "a.db")
    project = store.create_project("long", "tags").id
    word = {"text": "a" * (LONGEST_LINE + 1), "start": 0, "end": LONGEST_LINE + 1}
    add_document(store, project, "one", [{"tokens": [word]}])
    dump(store, str(tmp_path / "a.jsonl"))
    before = _lines(store)
    store.close()
    restore(str(tmp_path / "a.jsonl"), str(tmp_path / "b.db"))
    restored = AnnotationStore(tmp_path / "b.db")
    assert _lines(restored) == before
    restored.close()
