from __future__ import annotations

import asyncio
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eigentext
import eigentext.studio.service
from eigentext.errors import MissingExtraError
from eigentext.language.formats.convert import convert
from eigentext.language.formats.registry import CONVERTIBLE
from eigentext.language.tokenise.tokens import SCHEMES, tokenise_text
from eigentext.language.trees.binarise import expand
from eigentext.language.trees.constituent import Tree
from eigentext.studio.service.answering import MEANING
from eigentext.studio.service.limits import InFlight
from eigentext.studio.service.middleware import BodyLimit
from eigentext.studio.service.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient
    from starlette.types import Message

    Connect = Callable[..., TestClient]

DOG = "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks) (NP (-NONE- *T*-1))))"


def trees(client: TestClient, brackets: str, **more: Any) -> Any:
    answer = client.post("/api/trees", json={"brackets": brackets, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["trees"]


def fault(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    content = answer.json()
    assert set(content) == {"error"}
    assert set(content["error"]) == {"path", "line", "why"}
    return dict(content["error"])


class TestTrees:
    def test_everything_about_one_tree(self, client: TestClient) -> None:
        (tree,) = trees(client, DOG)
        assert tree["line"] == 1
        assert tree["n_words"] == 3
        assert tree["brackets"] == "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
        assert tree["binarised"] == "(S (NP (DT the) (NN dog)) (VP>VBZ barks))"
        assert str(expand(Tree.from_brackets(tree["binarised"]))) == tree["brackets"]
        words = [(d["id"], d["form"], d["tag"], d["head"]) for d in tree["dependencies"]]
        assert words == [(1, "the", "DT", 2), (2, "dog", "NN", 3), (3, "barks", "VBZ", 0)]
        assert tree["dependencies"][2]["relation"] == "root"
        for svg in tree["drawings"].values():
            assert "dog" in ElementTree.fromstring(svg).itertext()
        assert tree["note"] is None

    def test_many_trees_on_many_lines(self, client: TestClient) -> None:
        found = trees(client, f"\n{DOG}\r\n\n(NP\n  (NN cat)) (NP (NN owl))")
        assert [tree["line"] for tree in found] == [2, 4, 5]

    def test_head_rules_can_be_chosen(self, client: TestClient) -> None:
        english = trees(client, "(PP (IN of) (NP (NN air)))")
        neutral = trees(client, "(X (A a) (B b))", head_rules="neutral")
        assert english[0]["n_words"] == neutral[0]["n_words"] == 2
        fault(client.post("/api/trees", json={"brackets": DOG, "head_rules": "no"}), 422)

    @pytest.mark.parametrize(
        ("brackets", "line", "why"),
        [
            ("(S (NP (NN dog))\n(VP (VBZ barks))", 1, "unbalanced"),
            (f"{DOG}\n{DOG})\n", 2, "too many"),
            (f"{DOG}\nstray\n", 2, "stray"),
            ("\n\n()", 3, "empty"),
            ("(S (-NONE- *))", 1, "traces"),
            ("", None, "no tree"),
            (" \n ", None, "no tree"),
        ],
    )
    def test_faults_name_the_line_of_the_pasted_text(
        self, client: TestClient, brackets: str, line: int | None, why: str
    ) -> None:
        error = fault(client.post("/api/trees", json={"brackets": brackets}), 400)
        assert error["path"] == "input"
        assert error["line"] == line
        assert why in error["why"]

    def test_markup_in_trees_stays_text(self, client: TestClient) -> None:
        (tree,) = trees(client, "(S (<script>alert&lt; <b>))")
        assert "<script>" not in tree["drawings"]["tree"]
        assert "<script>alert&lt;" in ElementTree.fromstring(tree["drawings"]["tree"]).itertext()

    def test_a_tree_too_large_to_draw_still_gets_its_answer(self, connect: Connect) -> None:
        client = connect(max_drawn_nodes=5)
        (tree,) = trees(client, DOG)
        assert tree["drawings"] is None
        assert "at most 5" in tree["note"]
        assert tree["dependencies"]

    def test_a_very_deep_tree_is_no_danger(self, client: TestClient) -> None:
        (tree,) = trees(client, "(X " * 20_000 + "w" + ")" * 20_000)
        assert tree["n_words"] == 1

    def test_too_many_trees(self, connect: Connect) -> None:
        client = connect(max_trees=2)
        assert len(trees(client, DOG * 2)) == 2
        error = fault(client.post("/api/trees", json={"brackets": DOG * 3}), 413)
        assert "more than 2 trees" in error["why"]

    @given(st.text(st.sampled_from("() \nSNPx-<é")))
    @settings(
        max_examples=100,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    def test_no_text_is_a_fault_of_ours(self, client: TestClient, text: str) -> None:
        answer = client.post("/api/trees", json={"brackets": text})
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            fault(answer, 400)


class TestTokenise:
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_the_library_and_the_service_agree(self, client: TestClient, scheme: str) -> None:
        text = "Dr. Low can't (yet). 漢字 😀 كتاب!\nDone."
        answer = client.post("/api/tokenise", json={"text": text, "scheme": scheme}).json()
        found = [
            [(t["text"], t["start"], t["end"]) for t in s["tokens"]] for s in answer["sentences"]
        ]
        assert found == [[t[:3] for t in s] for s in tokenise_text(text, scheme)]
        assert answer["n_tokens"] == sum(map(len, found))

    def test_options(self, client: TestClient) -> None:
        request = {"text": "a (b\nc d", "one_per_line": True, "escape_brackets": True}
        answer = client.post("/api/tokenise", json=request).json()
        words = [[t["text"] for t in s["tokens"]] for s in answer["sentences"]]
        assert words == [["a", "-LRB-", "b"], ["c", "d"]]

    def test_an_unknown_scheme_is_a_bad_request(self, client: TestClient) -> None:
        error = fault(client.post("/api/tokenise", json={"text": "a", "scheme": "klingon"}), 422)
        assert "klingon" in error["why"]
        assert "generic" in error["why"]

    def test_empty_text(self, client: TestClient) -> None:
        answer = client.post("/api/tokenise", json={"text": ""}).json()
        assert answer == {"sentences": [], "n_tokens": 0}


class TestConvert:
    @pytest.mark.parametrize("target", CONVERTIBLE)
    def test_the_library_and_the_service_agree(
        self, client: TestClient, tmp_path: Path, target: str
    ) -> None:
        (tmp_path / "in.mrg").write_text(DOG + "\n", encoding="utf-8")
        n = convert(str(tmp_path / "in.mrg"), str(tmp_path / "out"), target_format=target)
        request = {"text": DOG, "source_format": "ptb", "target_format": target}
        answer = client.post("/api/convert", json=request).json()
        expected = (tmp_path / "out").read_bytes().decode("utf-8")
        assert answer == {"text": expected, "n_sentences": n}

    @pytest.mark.parametrize(
        ("text", "source", "target", "status", "line", "why"),
        [
            (f"{DOG}\n{DOG})", "ptb", "tokens", 400, 2, "too many"),
            ("1\tdog\n", "conllu", "tokens", 400, 1, "column"),
            ("a b", "tokens", "ptb", 422, None, "constituents"),
            ("a b", "tokens", "/etc/passwd", 422, None, "unknown format"),
        ],
    )
    def test_faults(
        self,
        client: TestClient,
        text: str,
        source: str,
        target: str,
        status: int,
        line: int | None,
        why: str,
    ) -> None:
        request = {"text": text, "source_format": source, "target_format": target}
        error = fault(client.post("/api/convert", json=request), status)
        assert error["line"] == line
        assert why in error["why"]
        assert error["path"] == ("input" if status == 400 else "request")


class TestLimitsAndErrors:
    def test_health(self, client: TestClient) -> None:
        health = client.get("/api/health").json()
        assert health["status"] == "ok"
        assert health["version"] == eigentext.__version__
        assert {"trees", "tokenise"} <= set(health["features"])
        assert health["schemes"] == list(SCHEMES)
        assert health["formats"] == list(CONVERTIBLE)

    def test_too_long_a_text(self, connect: Connect) -> None:
        client = connect(max_characters=10)
        error = fault(client.post("/api/tokenise", json={"text": "x" * 11}), 413)
        assert "at most 10" in error["why"]
        fault(client.post("/api/trees", json={"brackets": "x" * 11}), 413)
        assert client.post("/api/tokenise", json={"text": "x" * 10}).status_code == 200

    def test_too_long_a_body_is_not_read_whatever_it_claims(self) -> None:
        sent: list[Message] = []
        pieces = iter([60, 60])  # a third look at the line would be one too many

        async def receive() -> Message:
            return {"type": "http.request", "body": b" " * next(pieces), "more_body": True}

        async def send(message: Message) -> None:
            sent.append(message)

        async def never(*_: Any) -> None:
            raise AssertionError("too long a request reached the application")

        limit = BodyLimit(never, max_bytes=100, seconds=600, flight=InFlight(1000))
        asyncio.run(limit({"type": "http", "headers": []}, receive, send))
        assert sent[0]["status"] == 413
        assert "100 bytes" in json.loads(sent[1]["body"])["error"]["why"]

    def test_a_body_may_be_as_long_as_the_limit(self, connect: Connect) -> None:
        client = connect(max_body_bytes=100)
        headers = {"Content-Type": "application/json"}
        body = b'{"brackets": "(A a)"}'
        for length, status in ((100, 200), (101, 413)):
            content = body.ljust(length)
            answer = client.post("/api/trees", content=content, headers=headers)
            assert answer.status_code == status

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            (b"{", "not valid JSON"),
            (b"", "required"),
            (b"[]", "body"),
            (b'{"brackets": 3}', "brackets"),
            (b'{"brackets": "(A a)", "colour": 1}', "colour"),
            (b'{"brackets": "\\ud800"}', "brackets"),
            (b"\xff\xfe", ""),
            (b"[" * 90_000, ""),
        ],
    )
    def test_requests_that_make_no_sense(self, client: TestClient, body: bytes, why: str) -> None:
        headers = {"Content-Type": "application/json"}
        answer = client.post("/api/trees", content=body, headers=headers)
        assert answer.status_code in (400, 422)
        assert why in fault(answer, answer.status_code)["why"]

    def test_half_a_character_is_no_text(self, client: TestClient) -> None:
        headers = {"Content-Type": "application/json"}
        for body in (b'{"text": "ab\\udc00"}', b'{"text": "a", "scheme": "\\ud800"}'):
            error = fault(client.post("/api/tokenise", content=body, headers=headers), 422)
            assert "surrogate" in error["why"] or "unicode" in error["why"]

    def test_unknown_paths_and_methods(self, client: TestClient) -> None:
        fault(client.get("/api/nothing"), 404)
        answer = client.get("/api/trees")
        fault(answer, 405)
        assert answer.headers["allow"] == "POST"
        fault(client.get("/static/../app.py"), 404)
        fault(client.get("/static/%2e%2e/app.py"), 404)

    def test_foreign_host_names_are_refused_when_hosts_are_named(self, connect: Connect) -> None:
        client = connect(allowed_hosts=("localhost", "[::1]", "*.b.org"))
        for host in (
            "evilb.org",
            "b.org",
            "b.org.evil.example",
            "evil.example",
            "localhost.evil.example",
            "xlocalhost",
            "",
            "localhost:80:80",
        ):
            error = fault(client.get("/api/health", headers={"host": host}), 400)
            assert "host name" in error["why"]
        for host in ("localhost:8000", "localhost", "LOCALHOST", "[::1]", "[::1]:8000", "a.b.org"):
            assert client.get("/api/health", headers={"host": host}).status_code == 200

    def test_settings_are_checked(self) -> None:
        with pytest.raises(ValueError, match="max_trees"):
            ServiceSettings(max_trees=0)

    def test_openapi_is_there_and_pages_from_elsewhere_are_not(self, client: TestClient) -> None:
        schema = client.get("/openapi.json").json()
        assert set(schema["paths"]) >= {
            f"/api/{name}"
            for name in ("convert parse health lex/rank models pipe tokenise trees".split())
        } | {f"/api/documents/{{number}}{name}" for name in ("", "/decisions", "/undo", "/redo")}
        assert "ErrorAnswer" in json.dumps(
            schema["paths"]["/api/trees"]["post"]["responses"]["422"]
        )
        assert client.get("/redoc").status_code == 404

    def test_the_page_about_the_service_tells_its_limits_and_errors(self) -> None:
        page = (Path(__file__).parents[3] / "docs" / "reference" / "service.md").read_text("utf-8")
        for status, meaning in MEANING.items():
            assert f"| {status} | {meaning} |" in page
        limits = ServiceSettings()
        for most in (limits.max_body_bytes, limits.max_characters, limits.max_trees):
            assert f"| {most:,}" in page
        for most in (limits.max_words, limits.max_tree_words, limits.max_ranked_words):
            assert f"| {most:,} |" in page
        assert f"wait {limits.seconds:g} seconds" in page
        assert f"within {limits.body_seconds:g} seconds" in page
        assert f"| {limits.header_seconds:g} seconds | its headers" in page
        assert f"At most {limits.max_waiting} requests wait" in page
        assert f"N` processes ({limits.workers})" in page

    def test_without_fastapi_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.startswith("eigentext.studio.service.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(eigentext.studio.service, "app", raising=False)
        monkeypatch.setitem(sys.modules, "fastapi", None)
        with pytest.raises(MissingExtraError, match=r"pip install fastapi uvicorn .*\.\[web\]"):
            eigentext.studio.service.create_app()
        with pytest.raises(MissingExtraError, match=r"pip install fastapi uvicorn .*\.\[web\]"):
            eigentext.studio.service.serve()

    def test_without_uvicorn_another_server_can_have_the_application(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        assert eigentext.studio.service.create_app().title
        with pytest.raises(MissingExtraError, match=r"pip install fastapi uvicorn .*\.\[web\]"):
            eigentext.studio.service.serve()


class _Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.inline: list[str] = []
        self.labels: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := known.get(name))]
        if (tag == "script" and not known.get("src")) or tag == "style":
            self.inline.append(tag)
        self.inline += [name for name in known if name == "style" or name.startswith("on")]


class TestPage:
    def test_all_of_it_comes_from_here(self, client: TestClient) -> None:
        page = client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        links = _Links(page.text)
        assert links.inline == []
        paths = [link for link in links.links if not link.startswith("#")]
        assert paths
        while paths:
            path = paths.pop()
            assert path.startswith("/static/")
            answer = client.get(path)
            assert answer.status_code == 200, path
            if path.endswith(".js"):
                assert "javascript" in answer.headers["content-type"]
                paths += re.findall(r'from "([^"]+)"', answer.text)
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", answer.text)

    @pytest.mark.parametrize("path", ["/", "/api/health", "/nothing", "/static/app.js"])
    def test_every_answer_has_the_security_headers(self, client: TestClient, path: str) -> None:
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"

    def test_the_security_headers_are_on_refusals_too(self, connect: Connect) -> None:
        client = connect(max_body_bytes=10, allowed_hosts=("testserver",))
        refused = client.post("/api/trees", json={"brackets": "x" * 20})
        assert refused.status_code == 413
        assert "content-security-policy" in refused.headers
        foreign = client.get("/", headers={"host": "evil.example"})
        assert "content-security-policy" in foreign.headers
