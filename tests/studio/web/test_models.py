"""The models of a service: found by header, named, told, loaded by kind and name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eigentext.base.modelfile import save
from eigentext.errors import EigentextError, SettingsError
from eigentext.studio.service.limits import NoModelError
from eigentext.studio.service.models import KINDS, PAGES, Loading, Served, survey
from eigentext.studio.service.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient


def surveyed(*models: str) -> list[tuple[str, str]]:
    return [(facts.kind, facts.name) for facts in survey(ServiceSettings(models=models))]


@pytest.fixture(scope="module")
def two_parsers(dep_model: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    other = tmp_path_factory.mktemp("more") / "other.dep"
    shutil.copy(dep_model, other)
    return dep_model, str(other)


def test_pages_ask_for_kinds_that_there_are() -> None:
    assert {kind for kinds in PAGES.values() for kind in kinds} <= set(KINDS)


def test_the_kind_is_in_the_header_and_old_flags_add_to_the_models(
    pipe_models: tuple[str, str], dep_model: str, lex_model: str
) -> None:
    assert surveyed(lex_model, dep_model, *pipe_models) == [
        ("lex", "arabic"),
        ("dep", "english"),
        ("pipeline", "spanish-toy"),
        ("pipeline", "spanish-short"),
    ]
    settings = ServiceSettings(
        models=(pipe_models[1], dep_model),
        pipes=pipe_models,
        dep_model=dep_model,
        lex_model=lex_model,
    )
    found = survey(settings)
    assert [facts.name for facts in found] == ["spanish-short", "english", "spanish-toy", "arabic"]
    whole, short = found[2], found[0]
    assert (whole.language, whole.licence, whole.homes) == (
        "es",
        "Apache-2.0",
        ("https://toy.org",),
    )
    assert "parser" in whole.can
    assert "parser" not in short.can


def test_files_of_one_stem_are_called_by_their_whole_names(dep_model: str, tmp_path: Path) -> None:
    copies = [tmp_path / "english.a", tmp_path / "english.b"]
    for copy in copies:
        shutil.copy(dep_model, copy)
    assert surveyed(*map(str, copies)) == [("dep", "english.a"), ("dep", "english.b")]
    assert surveyed(str(copies[0]), str(copies[0])) == [("dep", "english")]


def test_what_no_page_shows_is_refused(tmp_path: Path) -> None:
    counts, odd = tmp_path / "x.counts", tmp_path / "x.odd"
    save(counts, "counts", {"a": np.zeros(1)}, settings={}, format_version=1)
    save(odd, "odd", {}, settings={}, format_version=1)
    with pytest.raises(SettingsError, match=r"x\.counts: holds counts of words, which no page"):
        surveyed(str(counts))
    with pytest.raises(SettingsError, match="a model of kind 'odd'"):
        surveyed(str(odd))
    with pytest.raises(EigentextError, match="no such file"):
        surveyed(str(tmp_path / "none"))


def test_models_are_loaded_one_by_one_and_found_by_name(two_parsers: tuple[str, str]) -> None:
    told: list[Loading] = []
    served = Served(survey(ServiceSettings(models=two_parsers)), tell=told.append)
    assert told == [(0, 2, "english"), (1, 2, "other"), (2, 2, "")]
    assert served.names("dep") == ["english", "other"]
    assert served.get("dep") is served.get("dep", "english")
    assert served.get("dep", "other") is not served.get("dep")
    assert all(facts.summary for facts in served.facts)
    with pytest.raises(NoModelError, match=r"no pipeline.*--pipe FILE.*pipe train"):
        served.get("pipeline")
    with pytest.raises(SettingsError, match="no dependency parser is called 'x' here: english, o"):
        served.get("dep", "x")


def test_two_models_of_one_kind_are_both_usable_over_http(
    connect: Callable[..., TestClient], two_parsers: tuple[str, str]
) -> None:
    client = connect(models=two_parsers)
    listed = client.get("/api/models").json()["models"]
    assert [(one["kind"], one["name"]) for one in listed] == [("dep", "english"), ("dep", "other")]
    assert not any(
        "source" in one or str(Path(two_parsers[1]).parent) in str(one) for one in listed
    )
    assert client.get("/api/health").json()["models"] == listed
    answers = [
        client.post("/api/parse", json={"text": "The dog barks.", "dep": name})
        for name in (None, "english", "other", "klingon")
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422]
    first, second, third = (answer.json()["sentences"] for answer in answers[:3])
    assert first == second == third
    assert "english, other" in answers[3].json()["error"]["why"]


def test_the_front_leads_to_the_first_page_with_models(
    client: TestClient, connect: Callable[..., TestClient], lex_model: str
) -> None:
    front = client.get("/", follow_redirects=False)
    assert (front.status_code, front.headers["location"]) == (307, "/tools")
    assert client.get("/api/health").json()["pages"] == ["tools", "docs"]
    reading = connect(models=(lex_model,))
    assert reading.get("/", follow_redirects=False).headers["location"] == "/read"
    for page in reading.get("/api/health").json()["pages"]:
        answer = reading.get(f"/{page}")
        assert answer.status_code == 200
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "<script>" not in answer.text
        assert "style=" not in answer.text
