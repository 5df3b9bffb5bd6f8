"""A task that only this file knows goes all the way; what decisions and exports are made of.

Workers are other processes, which would not know the toy: here all jobs are done in this one.
"""

from __future__ import annotations

import json
import pickle
import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from eigentext.cli.main import run
from eigentext.studio.service.app import create_app
from eigentext.studio.service.jobs import ServiceFacts, builder
from eigentext.studio.service.settings import ServiceSettings
from eigentext.studio.service.workers import WorkerPool
from eigentext.studio.store.files import export_lines
from eigentext.studio.store.store import AnnotationStore
from eigentext.studio.tasks import TASKS, open_task
from eigentext.studio.tasks.records import Finished, ItemCandidate, Proposal, TaskItem, TaskScore
from eigentext.studio.tasks.task import SentenceExport, SentenceState, Task, bad, scored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from starlette.testclient import TestClient

    from eigentext.language import Sentence
    from eigentext.studio.tasks.records import Answers

MOODS = ("calm", "cross")


class MoodTask(Task):
    """Item ``m0`` -> {"mood": "calm"}: the mood of a sentence."""

    name = "mood"
    formats = ("moods",)
    ITEMS = re.compile("m0")
    WORDS = "m"

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        if value.get("mood") not in MOODS:
            raise bad(item, f"expected one of {', '.join(MOODS)}")
        return dict(value)

    def _check_analysis(self, sentence: Sentence, analysis: Any) -> dict[str, Any]:
        return self._check(sentence, "done", analysis)

    def items_of(self, analysis: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [("m0", {"mood": analysis["mood"]})]

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        decided = state.decided.get("m0")
        loud = "!" in state.sentence.forms
        value = decided or {"mood": "cross" if loud else "calm"}
        item = TaskItem("m0", value, decided is not None, 1.0 if decided else 0.75)
        return self._proposal(state, [item], analysis=dict(value))

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        return [ItemCandidate({"mood": mood}, rank) for rank, mood in enumerate(MOODS, start=1)]

    def decided_only(self, state: SentenceState) -> dict[str, Any]:
        return {"mood": state.decided.get("m0", {}).get("mood", "?")}

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        answers.values.setdefault("mood", {})[word] = json.loads(value)["mood"]

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        yield f"{export.analysis['mood']}\t{' '.join(export.sentence.forms)}"

    def train(self, examples: Sequence[Finished], **_: Any) -> Any:
        raise NotImplementedError

    def score(self, model: Any, held_out: Sequence[Finished]) -> TaskScore:
        return scored("moods", [(1.0, 1.0, 1.0)])


class HerePool(WorkerPool):
    """Does every job in this process, and remembers what it was asked."""

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(
            builder(settings, ServiceFacts()), size=1, waiting=9, patience=60, seconds=60
        )
        self._jobs, self.known = self._build(lambda _: None)
        self.questions: list[tuple[str, tuple[object, ...]]] = []

    async def facts(self) -> Any:
        return self.known

    async def run(self, name: str, *arguments: object, **_: Any) -> Any:
        self.questions.append((name, arguments))
        return self._jobs[name](*pickle.loads(pickle.dumps(arguments)))


@pytest.fixture
def pool_and_client(tmp_path: Path) -> tuple[HerePool, TestClient]:
    settings = ServiceSettings(annotations=str(tmp_path / "team.db"))
    pool = HerePool(settings)
    with warnings.catch_warnings():
        # newer starlettes would rather have httpx's successor; either will do
        warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")
        from starlette.testclient import TestClient
    client = TestClient(create_app(settings, pool=pool), headers={"X-Annotator": "Ada"})
    return pool, client


def posted(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def imported(client: TestClient, task: str, text: str, form: str = "text") -> int:
    posted(client, "/api/projects", name="Toy", task=task)
    body = {"name": "letter", "format": form, "text": text}
    return int(posted(client, "/api/projects/1/documents", **body)["documents"][0]["id"])


def test_a_task_of_ones_own_needs_a_class_and_a_line(
    pool_and_client: tuple[HerePool, TestClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(TASKS, "mood", f"{__name__}:MoodTask")
    _, client = pool_and_client
    assert isinstance(open_task("mood"), MoodTask)
    document = imported(client, "mood", "It is late. Go away !")
    (project,) = client.get("/api/projects").json()["projects"]
    assert project["formats"] == ["moods", "jsonl", "decisions"]

    path = f"/api/documents/{document}"
    proposal = client.get(f"{path}/sentences/1").json()
    assert proposal["analysis"] == {"mood": "cross"}
    values = client.get(f"{path}/sentences/1/candidates?item=m0&search=cro").json()
    assert [one["value"] for one in values["candidates"]] == [{"mood": "cross"}]

    bad_mood = {"sentence": 0, "item": "m0", "value": {"mood": "blue"}}
    assert client.post(f"{path}/decisions", json={"changes": [bad_mood]}).status_code == 400
    for sentence, mood in ((0, "cross"), (1, "calm")):
        change = {"sentence": sentence, "item": "m0", "value": {"mood": mood}}
        done = {"sentence": sentence, "item": "done", "value": {"analysis": {"mood": mood}}}
        answer = posted(client, f"{path}/decisions", changes=[change, done])
        assert answer["proposals"][0]["source"] == "done"
    assert answer["progress"]["done_sentences"] == 2

    told = client.get("/api/projects/1/export").text
    assert told == "cross\tIt is late .\ncalm\tGo away !\n"
    certainty = client.get(f"{path}/certainty").json()["sentences"]
    assert [one["done"] for one in certainty] == [True, True]
    store = AnnotationStore(tmp_path / "team.db")
    ben = posted(client, "/api/session", name="Ben", password="x")["user"]["id"]
    other = store.layer(document, user=ben)
    store.decide(other.id, [_mood(0, "cross"), _mood(1, "cross")], by=ben)
    store.close()
    measures = client.get("/api/projects/1/measures").json()["measures"]
    (pair,) = measures["agreement"]["pairs"]
    assert pair["measures"][0]["measure"] == "mood: agreement"
    assert pair["measures"][0]["value"] == 50.0


def _mood(sentence: int, mood: str) -> Any:
    from eigentext.studio.store.records import Change

    return Change(sentence, "m0", {"mood": mood})


TREE = """\
# sent_id = {0}
1	Dogs	_	NOUN	_	_	2	nsubj	_	_
2	bark	_	VERB	_	_	0	root	_	_

"""


@pytest.mark.parametrize("layer", ["mine", "adjudication"])
@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize("form", ["conllu", "jsonl", "decisions"])
def test_page_command_and_python_export_the_same_bytes(
    pool_and_client: tuple[HerePool, TestClient],
    tmp_path: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    layer: str,
    unfinished: bool,
    form: str,
) -> None:
    _, client = pool_and_client
    document = imported(client, "dependency", "".join(map(TREE.format, range(4))), "conllu")
    tree = {"head": [2, 0], "deprel": ["nsubj", "root"]}
    changes = [
        {"sentence": 0, "item": "done", "value": {"analysis": tree, "note": "sure"}},
        {"sentence": 1, "item": "a1", "value": {"head": 2, "deprel": "obj"}, "seconds": 1.5},
        {"sentence": 2, "item": "a2", "value": {"head": 1}},
        {"sentence": 3, "item": "done", "value": {}},  # accepted by a program, without a tree
    ]
    path = f"/api/documents/{document}"
    posted(client, f"{path}/decisions", layer=layer, changes=changes)
    posted(client, f"{path}/decisions", layer=layer, changes=changes[1:2])
    posted(client, f"{path}/undo", layer=layer)
    more = f"&unfinished={unfinished}".lower()
    page = client.get(f"/api/projects/1/export?layer={layer}&format={form}{more}").content
    assert page
    name = "Ada" if layer == "mine" else layer
    store = AnnotationStore(tmp_path / "team.db")
    lines = export_lines(store, 1, layer=name, format=form, unfinished=unfinished)
    assert "".join(f"{line}\n" for line in lines).encode() == page
    store.close()
    command = ["annotate", "export", str(tmp_path / "team.db"), "Toy", "--layer", name]
    command += ["--to", form, *(["--unfinished"] if unfinished else [])]
    assert run(command) == 0
    assert capsysbinary.readouterr().out == page
    assert (b"# annotator = Ada" in page) == (form == "conllu" and layer == "mine")


def test_a_decision_carries_and_reads_its_sentence_alone(
    pool_and_client: tuple[HerePool, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, client = pool_and_client
    document = imported(client, "dependency", "".join(map(TREE.format, range(300))), "conllu")
    path = f"/api/documents/{document}/decisions"

    def decide(sentence: int, item: str = "a1") -> None:
        change = {"sentence": sentence, "item": item, "value": {"head": 2}}
        posted(client, path, changes=[change])

    decide(7)
    first = [name for name, _ in pool.questions[-4:]]
    assert first[-2:] == ["annotate/check", "annotate/propose"]
    for sentence in range(30, 200, 30):  # what is decided elsewhere goes nowhere
        decide(sentence)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the whole document was read")

    monkeypatch.setattr(AnnotationStore, "document", never)
    monkeypatch.setattr(AnnotationStore, "state", never)
    pool.questions.clear()
    decide(9)
    assert [name for name, _ in pool.questions] == ["annotate/check", "annotate/propose"]
    assert max(len(pickle.dumps(arguments)) for _, arguments in pool.questions) < 1_000
    (_, arguments) = pool.questions[-1]
    assert {place[0] for place in arguments[0].decisions} == {9}


def test_a_worker_that_has_not_got_the_document_is_given_it(
    pool_and_client: tuple[HerePool, TestClient],
) -> None:
    pool, client = pool_and_client
    document = imported(client, "dependency", TREE.format(0), "conllu")
    path = f"/api/documents/{document}/sentences/0"
    pool.questions.clear()
    assert client.get(path).json()["analysis"]["head"] == [2, 0]
    assert client.get(path).json()["analysis"]["head"] == [2, 0]
    given = [arguments[0].content is not None for _, arguments in pool.questions]
    assert given == [False, True, False]
