"""``/api/parse``: answers of library and command line, constraints that hold, refusals."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.constituency import LPCFG
from eigentext.constituency.chart.constraints import Constraints
from eigentext.dependency import DependencyParser
from eigentext.language.trees.constituent import Tree
from eigentext.studio.api.parse_models import OfPipeline, sentences_to_parse
from eigentext.studio.api.schemas_parse import ParseRequest
from eigentext.studio.service.limits import TooMuchError
from eigentext.studio.service.settings import ServiceSettings
from helpers.commands import eigentext
from helpers.toy_treebank import toy_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]

TEXT = 'He said "no" (twice). The farmer sold the old horse with a rope.\n\nThe man slept.'
TOKENS = ["The", "farmer", "sold", "the", "horse", "."]


@pytest.fixture(scope="module")
def service(connect: Connect, const_model: str, dep_model: str) -> TestClient:
    return connect(
        models=(const_model, dep_model),
        max_words=30,
        max_tree_words=400,
        max_trees=4,
        max_characters=500,
    )


@pytest.fixture(scope="module")
def piped(connect: Connect, pipe_models: tuple[str, str]) -> TestClient:
    return connect(pipes=pipe_models)


def parsed(client: TestClient, **request: Any) -> Any:
    answer = client.post("/api/parse", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, status: int, **request: Any) -> str:
    answer = client.post("/api/parse", json=request)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"path", "line", "why"}
    return str(error["why"])


def command(folder: Path, *line: object) -> None:
    done = eigentext(*line, cwd=folder)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- the same answers


@pytest.mark.parametrize("k", [1, 4])
def test_constituents_are_those_of_the_command_line(
    service: TestClient, const_model: str, tmp_path: Path, k: int
) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    line = ("const", "apply", const_model, tmp_path / "text.txt", "--raw", "--kbest", k)
    command(tmp_path, *line, "-o", tmp_path / "trees.mrg")
    command(tmp_path, *line, "--marginals", "-o", tmp_path / "trees.jsonl")
    found = parsed(service, text=TEXT, kbest=k, marginals=True)["sentences"]
    trees = [
        choice["brackets"]
        for one in found
        for choice in (one["constituents"]["kbest"] or [one["constituents"]])
    ]
    assert "".join(f"{tree}\n" for tree in trees) == (tmp_path / "trees.mrg").read_text()
    records = [json.loads(one) for one in (tmp_path / "trees.jsonl").read_text().splitlines()]
    assert len(records) == len(found) == 3
    for record, one in zip(records, found, strict=True):
        view = one["constituents"]
        for name in ("log_score", "log_prob", "flags"):
            assert view[name] == record[name]
        assert [(each["log_score"], each["log_prob"]) for each in view["kbest"]] == [
            (each["log_score"], each["log_prob"]) for each in record.get("kbest", [])
        ]
        posterior = {
            (each["start"], each["end"], each["label"]): min(1.0, max(0.0, each["marginal"]))
            for each in record["marginals"]
        }
        for span in view["spans"]:
            key = span["start"], span["end"], span["label"]
            assert span["posterior"] == posterior.get(key)
            assert (span["label"] == "TOP") == (span["posterior"] is None)


@pytest.mark.parametrize("more", [(), ("--marginals",), ("--kbest", 3)])
def test_dependencies_are_those_of_the_command_line(
    service: TestClient, dep_model: str, tmp_path: Path, more: tuple[str | int, ...]
) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    line = ("dep", "apply", dep_model, tmp_path / "text.txt", "--from", "raw")
    command(tmp_path, *line, *more, "-o", tmp_path / "out.conllu")
    k = 3 if "--kbest" in more else 1
    found = parsed(service, text=TEXT, kbest=k, marginals="--marginals" in more)["sentences"]
    written = [
        choice["conllu"]
        for one in found
        for choice in (one["dependencies"]["kbest"] or [one["dependencies"]])
    ]
    assert "".join(written) == (tmp_path / "out.conllu").read_text()


@pytest.fixture(scope="module")
def reranker(dep_model: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small reranker of the parser's trees."""
    from eigentext.datasets import load_english
    from eigentext.dependency import Reranker
    from eigentext.language.formats import conllu
    from eigentext.language.trees.heads import to_dependencies

    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english("train")[:60]]
    sentences = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
    path = tmp_path_factory.mktemp("reranker") / "small.rerank"
    small = Reranker(experts=("valence", "distance"), kbest=4, folds=2)
    small.fit(sentences, DependencyParser.load(dep_model)).save(path)
    return str(path)


@pytest.mark.parametrize("k", [1, 3])
def test_a_reranker_puts_trees_in_order(
    connect: Connect,
    dep_model: str,
    reranker: str,
    pipe_models: tuple[str, str],
    tmp_path: Path,
    k: int,
) -> None:
    client = connect(models=(dep_model, reranker, pipe_models[0]))
    (tmp_path / "text.txt").write_text(TEXT)
    line = ("dep", "apply", dep_model, "text.txt", "--from", "raw", "--kbest", k)
    command(tmp_path, *line, "--rerank", reranker, "-o", "out.conllu")
    found = parsed(client, text=TEXT, kbest=k, rerank="small")["sentences"]
    views = [one["dependencies"] for one in found]
    written = [choice["conllu"] for view in views for choice in (view["kbest"] or [view])]
    assert "".join(written) == (tmp_path / "out.conllu").read_text()
    assert "no reranker" in refused(client, 422, text=TEXT, rerank="large")
    assert "own order" in refused(client, 422, text=TEXT, dep="spanish-toy", rerank="small")


def test_a_pipeline_parses_as_its_command_does(
    piped: TestClient, pipe_models: tuple[str, str], tmp_path: Path
) -> None:
    text = "El perro duerme. Vamos al mar.\n\nLa casa es roja."
    (tmp_path / "text.txt").write_text(text)
    command(tmp_path, "pipe", "apply", pipe_models[0], "text.txt", "-o", "out.conllu")
    answer = parsed(piped, text=text, kbest=2, marginals=True)
    assert answer["dep"] == "spanish-toy"
    assert answer["const"] is None
    views = [one["dependencies"] for one in answer["sentences"]]
    expected = (tmp_path / "out.conllu").read_text()
    body = "".join(view["conllu"] for view in views)
    assert body.splitlines()[1:] == expected.splitlines()[1:]  # the first names the document
    for one in answer["sentences"]:
        assert one["constituents"] is None
        for token in one["tokens"]:
            assert text[token["start"] : token["end"]]
        assert [word["form"] for word in one["dependencies"]["words"]] == [
            token["text"] for token in one["tokens"]
        ]
    given_ = parsed(piped, sentences=[["El", "perro", "duerme", "."]], dep="pipeline:spanish-toy")
    assert given_["sentences"][0]["dependencies"]["words"][1]["form"] == "perro"
    assert given_["sentences"][0]["tokens"][0]["start"] is None
    assert "spanish-short" in refused(piped, 422, text="No.", dep="spanish-short")
    assert parsed(piped, text="")["sentences"] == []
    assert parsed(piped, sentences=[])["sentences"] == []


def test_the_library_and_the_service_agree(
    service: TestClient, const_model: str, dep_model: str
) -> None:
    answer = parsed(service, sentences=[TOKENS], kbest=5, marginals=True)
    (sentence,) = answer["sentences"]
    assert (answer["const"], answer["dep"]) == ("english", "english")
    assert [token["text"] for token in sentence["tokens"]] == TOKENS
    assert "NP" in answer["labels"]
    assert "NN" in answer["tags"]
    assert "NN" not in answer["labels"]
    const, dep = LPCFG.load(const_model), DependencyParser.load(dep_model)
    assert answer["relations"] == list(dep.relations_.relations if dep.relations_ else ())
    best = const.parse(TOKENS, kbest=5, marginals=True)
    view = sentence["constituents"]
    assert view["brackets"] == str(best.tree) == view["kbest"][0]["brackets"]
    assert [one["brackets"] for one in view["kbest"]] == [str(one.tree) for one in best.kbest]
    words = sentence["dependencies"]["words"]
    parse, chances = dep.parse(TOKENS), dep.marginals(TOKENS)
    assert [word["head"] for word in words] == parse.tree.heads.tolist()
    for word in words:
        assert word["probability"] == pytest.approx(chances[word["head"], word["id"]], abs=1e-6)
    assert [one["heads"] for one in sentence["dependencies"]["kbest"]] == [
        one.tree.heads.tolist() for one in dep.kbest(TOKENS, k=5)
    ]


def nodes(brackets: str) -> list[tuple[int, int, str]]:
    tree = Tree.from_brackets(brackets)
    spans = tree.spans().tolist()
    return [
        (*spans[node], tree.labels[node]) for node in range(tree.n_nodes) if tree.sizes[node] > 1
    ]


def test_differences_from_the_best_tree(service: TestClient) -> None:
    (one,) = parsed(service, sentences=[TOKENS], kbest=5, marginals=True)["sentences"]
    first, *others = one["constituents"]["kbest"]
    assert first["added"] == first["missing"] == []
    best = nodes(first["brackets"])
    assert others
    for other in others:
        added = [(span["start"], span["end"], span["label"]) for span in other["added"]]
        missing = [(span["start"], span["end"], span["label"]) for span in other["missing"]]
        assert added or missing
        assert sorted(nodes(other["brackets"])) == sorted(
            [node for node in best if node not in missing] + added
        )
        drawn = ElementTree.fromstring(other["svg"])
        marks = [part for part in drawn.iter() if part.get("class") == "et-mark"]
        assert len(marks) == (len(added) + 1 if added else 0)
    first, *others = one["dependencies"]["kbest"]
    assert first["differs"] == []
    for other in others:
        both = zip(
            zip(other["heads"], other["relations"], strict=True),
            zip(first["heads"], first["relations"], strict=True),
            strict=True,
        )
        assert other["differs"] == [k for k, (a, b) in enumerate(both, start=1) if a != b]
        assert "only the best tree" in other["svg"]


def test_offsets_count_characters(service: TestClient) -> None:
    text = "😀 The farmer can't sleep."
    (one,) = parsed(service, text=text)["sentences"]
    for token in one["tokens"]:
        assert text[token["start"] : token["end"]] == token["text"]
    assert [token["text"] for token in one["tokens"]][-4:] == ["ca", "n't", "sleep", "."]
    assert one["constituents"]["kbest"] == one["dependencies"]["kbest"] == []
    assert all(span["posterior"] is None for span in one["constituents"]["spans"])


# ---------------------------------------------------------------- what is asked of trees


def constrained(client: TestClient, **constraints: Any) -> Any:
    asked = [{"sentence": 0, **constraints}]
    (one,) = parsed(client, sentences=[TOKENS], constraints=asked, marginals=True, kbest=3)[
        "sentences"
    ]
    return one


def test_spans_tags_and_arcs(service: TestClient, const_model: str, dep_model: str) -> None:
    span = {"start": 3, "end": 5, "label": "NP"}
    one = constrained(service, required=[span], tags=[{"word": 4, "tag": "NNS"}])
    view = one["constituents"]
    for choice in view["kbest"]:
        assert (3, 5, "NP") in nodes(choice["brackets"])
        assert (4, 5, "NNS") in nodes(choice["brackets"])
    asked = Constraints([(3, 5, "NP")], [], {4: "NNS"})
    expected = LPCFG.load(const_model).parse(TOKENS, constraints=asked, kbest=3)
    assert view["brackets"] == str(expected.tree)
    assert view["log_score"] == expected.log_score
    posterior = {(s["start"], s["end"], s["label"]): s["posterior"] for s in view["spans"]}
    assert posterior[3, 5, "NP"] == pytest.approx(1.0, abs=1e-4)
    forbidden = constrained(service, forbidden=[{"start": 3, "end": 5}])
    assert not [
        node for node in nodes(forbidden["constituents"]["brackets"]) if node[:2] == (3, 5)
    ]
    arc = {"head": 1, "dependent": 4}
    one = constrained(service, required_arcs=[arc], forbidden_arcs=[{"head": 0, "dependent": 3}])
    parser = DependencyParser.load(dep_model)
    best = parser.parse(TOKENS, required_arcs=[(1, 4)], forbidden_arcs=[(0, 3)])
    words = one["dependencies"]["words"]
    assert [word["head"] for word in words] == best.tree.heads.tolist()
    assert words[3]["head"] == 1
    assert words[3]["probability"] == pytest.approx(1.0)
    relation = next(name for name in parser.relations_.relations if name != "root")  # type: ignore[union-attr]
    one = constrained(service, required_arcs=[{**arc, "relation": relation}])
    assert (words[3]["head"], one["dependencies"]["words"][3]["relation"]) == (1, relation)


@pytest.mark.parametrize(
    ("constraints", "why"),
    [
        (
            {"required": [{"start": 0, "end": 3}, {"start": 2, "end": 5}]},
            "required spans (0, 3) and (2, 5) cross",
        ),
        (
            {"required": [{"start": 0, "end": 2}], "forbidden": [{"start": 0, "end": 2}]},
            "span (0, 2) is required, and (0, 2) is forbidden",
        ),
        ({"tags": [{"word": 0, "tag": "NN"}, {"word": 0, "tag": "DT"}]}, "word 0 has to have two"),
        ({"required": [{"start": 0, "end": 9}]}, "not within a sentence of 6 words"),
        ({"required": [{"start": 3, "end": 2}]}, "not within"),
        ({"required": [{"start": 0, "end": 2, "label": "<b>"}]}, "no label '<b>'"),
        ({"forbidden": [{"start": 0, "end": 6}]}, "every tree spans the whole sentence"),
        (
            {"required_arcs": [{"head": 1, "dependent": 2}, {"head": 2, "dependent": 1}]},
            "required arcs form a cycle: 2 -> 1 -> 2",
        ),
        (
            {"required_arcs": [{"head": 1, "dependent": 2}, {"head": 3, "dependent": 2}]},
            "required arcs give word 2 two heads: 1 and 3",
        ),
        ({"required_arcs": [{"head": 2, "dependent": 2}]}, "leads from a word to itself"),
        ({"required_arcs": [{"head": 9, "dependent": 2}]}, "expected a head from 0 to 6"),
        (
            {"required_arcs": [{"head": 1, "dependent": 2, "relation": "what"}]},
            "no relation 'what'",
        ),
    ],
)
def test_contradictions_are_told(
    service: TestClient, constraints: dict[str, Any], why: str
) -> None:
    asked = [{"sentence": 0, **constraints}]
    assert why in refused(service, 422, sentences=[TOKENS], constraints=asked)
    asked[0]["sentence"] = 1
    told = refused(service, 422, sentences=[["Yes", "."], TOKENS], constraints=asked)
    assert told.startswith("sentence 1: ")
    assert why in told


def test_what_no_tree_of_the_grammar_meets_is_told(service: TestClient) -> None:
    across = {"start": 1, "end": 3, "label": "NP"}
    asked: dict[str, Any] = {"sentence": 0, "required": [across]}
    answer = parsed(service, sentences=[TOKENS], constraints=[asked])
    (one,) = answer["sentences"]
    assert one["constituents"]["flags"] == ["fallback"]  # of pieces, and as it must be
    assert (1, 3, "NP") in nodes(one["constituents"]["brackets"])
    # a word must have some tag
    asked["forbidden"] = [{"start": 1, "end": 2, "label": tag} for tag in answer["tags"]]
    why = refused(service, 422, sentences=[TOKENS], constraints=[asked])
    assert why.startswith(
        "the grammar has no tree that meets all constraints: (1, 3, 'NP') required, (1, 2, "
    )
    assert "(1, 2, 'NN') forbidden" in why


def test_a_layer_that_is_not_shown_asks_for_nothing(service: TestClient) -> None:
    asked = [{"sentence": 0, "required_arcs": [{"head": 2, "dependent": 2}]}]
    (one,) = parsed(service, sentences=[TOKENS], constraints=asked, layers=["const"])["sentences"]
    assert one["dependencies"] is None
    (one,) = parsed(service, sentences=[TOKENS], layers=["dep"])["sentences"]
    assert one["constituents"] is None


def test_of_several_sentences_only_some(service: TestClient) -> None:
    every = parsed(service, text=TEXT)
    some = parsed(service, text=TEXT, only=[2, 0])
    assert every["n_sentences"] == some["n_sentences"] == 3
    assert some["sentences"] == [every["sentences"][0], every["sentences"][2]]
    assert "there is no sentence 3" in refused(service, 422, text=TEXT, only=[3])
    assert "no sentence 7" in refused(service, 422, text=TEXT, constraints=[{"sentence": 7}])
    twice = [{"sentence": 0}, {"sentence": 0}]
    assert "two sets" in refused(service, 422, text=TEXT, constraints=twice)


spans = st.fixed_dictionaries(
    {"start": st.integers(0, 6), "end": st.integers(1, 6)},
    optional={"label": st.sampled_from(["NP", "VP", "S", "TOP", "PP", "NN", "DT", "nothing"])},
)
arcs = st.fixed_dictionaries(
    {"head": st.integers(0, 6), "dependent": st.integers(1, 6)},
    optional={"relation": st.sampled_from(["root", "sbj", "obj", "dep", "NP", "P"])},
)
tags = st.fixed_dictionaries(
    {"word": st.integers(0, 6), "tag": st.sampled_from(["NN", "DT", "VBD", ".", "nothing"])}
)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(spans, max_size=2),
            "forbidden": st.lists(spans, max_size=3),
            "tags": st.lists(tags, max_size=2),
            "required_arcs": st.lists(arcs, max_size=2),
            "forbidden_arcs": st.lists(arcs, max_size=3),
        },
    )
)
def test_any_constraints_hold_or_are_refused(service: TestClient, asked: dict[str, Any]) -> None:
    body = {"sentences": [TOKENS], "kbest": 3, "constraints": [{"sentence": 0, **asked}]}
    answer = service.post("/api/parse", json=body)
    if answer.status_code == 422:
        assert answer.json()["error"]["why"]
        return
    assert answer.status_code == 200, answer.text
    (one,) = answer.json()["sentences"]
    for choice in one["constituents"]["kbest"] or [one["constituents"]]:
        there = nodes(choice["brackets"])
        for span in asked.get("required", ()):
            assert _fitting(span, there)
        for span in asked.get("forbidden", ()):
            assert not _fitting(span, there)
        for tag in asked.get("tags", ()):
            assert Tree.from_brackets(choice["brackets"]).tags[tag["word"]] == tag["tag"]
    for choice in one["dependencies"]["kbest"]:
        columns = zip(choice["heads"], range(1, 7), choice["relations"], strict=True)
        there = [(head, word, name) for head, word, name in columns]
        for arc in asked.get("required_arcs", ()):
            assert _fitting(arc, there)
        for arc in asked.get("forbidden_arcs", ()):
            assert not _fitting(arc, there)


def _fitting(asked: dict[str, Any], there: list[tuple[int, int, str]]) -> bool:
    """Is it there?"""
    first, second = (
        asked[key] for key in (("start", "end") if "end" in asked else ("head", "dependent"))
    )
    name = [asked[key] for key in ("label", "relation") if key in asked]
    return any(one[:2] == (first, second) and one[2] in (name or [one[2]]) for one in there)


# ---------------------------------------------------------------- refusals


def test_refusals(service: TestClient) -> None:
    assert "either text or sentences" in refused(service, 400)
    assert "either text or sentences" in refused(service, 400, text="a", sentences=[["a"]])
    assert "empty" in refused(service, 400, sentences=[["a"], []])
    assert "white space" in refused(service, 400, sentences=[["a\tb"]])
    assert "at most 30" in refused(service, 413, sentences=[["a"] * 31])
    assert "at most 4" in refused(service, 413, sentences=[["a"]] * 5)
    assert "at most 400" in refused(service, 413, sentences=[["a"] * 21] * 4, kbest=5)
    assert "at most 500" in refused(service, 413, text="a" * 501)
    assert "kbest" in refused(service, 422, text="a", kbest=51)
    assert "klingon" in refused(service, 422, text="a", scheme="klingon")
    assert "no parser is called 'x'" in refused(service, 422, text="a", dep="x")
    assert "no parser is called 'x'" in refused(service, 422, text="a", const="x")
    assert "layers" in refused(service, 422, text="a", layers=[])
    assert "colour" in refused(service, 422, text="a", colour=1)


@pytest.mark.parametrize("bring", [{"text": "a b c d"}, {"sentences": [["a", "b", "c", "d"]]}])
def test_too_much_is_refused_before_the_pipeline_works(bring: dict[str, Any]) -> None:
    """Only sentences and words are found until then."""

    class Lazy:
        segmenter_ = toy_pipeline().segmenter_

        def __call__(self, *_: object, **__: object) -> None:
            raise AssertionError("the pipeline worked")

    lazy: Any = Lazy()
    told: list[int] = []

    def check(lengths: Sequence[int]) -> None:
        told.extend(lengths)
        raise TooMuchError("too much")

    with pytest.raises(TooMuchError):
        sentences_to_parse(ParseRequest(**bring), OfPipeline(lazy, lazy), ServiceSettings(), check)
    assert sum(told) == 4


def test_of_two_models_of_one_name(
    connect: Connect, dep_model: str, pipe_models: tuple[str, str]
) -> None:
    both = connect(models=(dep_model, pipe_models[0]))
    for name, found in (
        (None, "english"),
        ("spanish-toy", "spanish-toy"),
        ("pipeline:spanish-toy", "spanish-toy"),
        ("dep:english", "english"),
    ):
        assert parsed(both, text="No.", dep=name)["dep"] == found
    assert "no parser is called 'pipeline:english'" in refused(
        both, 422, text="No.", dep="pipeline:english"
    )


def test_odd_words(service: TestClient) -> None:
    for tokens in (
        ["Yes"],
        ["<script>", "&", "كتاب"],
        ["_"],
        ["\u202eabc"],
        ["🐎"] * 30,
        ["#"],
        ["a\u00a0b", "\u200b"],
    ):
        (one,) = parsed(service, sentences=[tokens], kbest=2, marginals=True)["sentences"]
        assert [token["text"] for token in one["tokens"]] == tokens
        for svg in (one["constituents"]["svg"], one["dependencies"]["svg"]):
            assert "<script>" not in svg
            assert "\u202e" not in svg
            ElementTree.fromstring(svg)


def test_without_models_it_says_how_to_get_one(client: TestClient, service: TestClient) -> None:
    assert "--dep-model" in refused(client, 404, text="He slept.")
    assert "--model" in refused(client, 404, text="He slept.", layers=["const"])
    route = service.get("/openapi.json").json()["paths"]["/api/parse"]["post"]
    assert "400 words times `kbest`" in route["description"]


def test_no_request_waits_for_compilers(
    const_model: str, dep_model: str, pipe_models: tuple[str, str]
) -> None:
    from eigentext.studio.api.parse import ParseService
    from eigentext.studio.api.schemas_parse import ParseRequest
    from eigentext.studio.service.models import Served, survey
    from eigentext.studio.service.settings import ServiceSettings

    limits = ServiceSettings(models=(const_model, dep_model), pipes=pipe_models[:1])
    service = ParseService(Served(survey(limits)))
    ready = _compiled()
    span = {"start": 3, "end": 5}
    arc = {"head": 5, "dependent": 4}
    for demands in ({}, {"required": [span], "required_arcs": [arc]}, {"forbidden_arcs": [arc]}):
        for kbest in (1, 3):
            for dep in (None, "spanish-toy"):
                request: dict[str, Any] = {"sentences": [TOKENS], "dep": dep, "kbest": kbest}
                asked = [{"sentence": 0, **demands}]
                service.answer(ParseRequest(**request, marginals=True, constraints=asked), limits)
    assert _compiled() == ready


def _compiled() -> dict[str, int]:
    """How many versions of each kernel there are."""
    modules = [module for name, module in sys.modules.items() if ".kernels." in name]
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in modules
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures") and kernel.signatures
    }


def test_many_requests_in_one(service: TestClient) -> None:
    asked = [
        {"text": "He slept."},
        {"sentences": [TOKENS], "kbest": 3},
        {"text": TEXT, "only": [1]},
    ]
    lines = "".join(f"{json.dumps(one)}\n" for one in asked)
    answer = service.post("/api/batch/parse", content=lines)
    assert answer.status_code == 200, answer.text
    alone = [service.post("/api/parse", json=one).text for one in asked]
    assert answer.text.splitlines() == alone
