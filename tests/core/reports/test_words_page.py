"""The page about word clusters: its data, its safety, its size; and the command that writes it."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext import datasets
from eigentext.cli.main import run
from eigentext.drawing.svg import printable
from eigentext.drawing.words_tree import ClusterTree, tree_of_paths
from eigentext.errors import SettingsError
from eigentext.language.formats.brown_paths import PathEntry
from eigentext.language.formats.word2vec import write_vectors
from eigentext.reports.words_page import PageVectors, words_browser, words_report


class Reader(HTMLParser):
    """Tags and attributes of a page, and its embedded data."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.data = ""
        self._inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._inside = dict(attrs).get("id") == "wb-data"

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data += data


def packed(tree: ClusterTree, **more: Any) -> dict[str, Any]:
    return json.loads(Reader(words_report(tree, **more).html()).data)  # type: ignore[no-any-return]


ODD = ["<script>alert(1)</script>", "</script", "<!--", "-->", '"', "'", "\\", "`${1}`", "&lt;"]
ODD += ["שלום", "مرحبا", "👩‍🔬", "\u202eabc", "a\u2028b", "a b", "\x7f", "\x01", "DATA", "TOKENS"]


def test_words_that_look_like_markup_stay_words() -> None:
    tree = tree_of_paths(PathEntry(f"{k:05b}", word, 9) for k, word in enumerate(ODD))
    html = words_report(tree, title="<i>t</i>", subtitle="<script>s</script>").html()
    page = Reader(html)
    plain = Reader(words_report(tree_of_paths([PathEntry("0", "a", 1)])).html())
    assert page.tags.count("script") == plain.tags.count("script") == 2
    assert not [name for name in page.attributes if name.startswith("on")]
    assert json.loads(page.data)["words"] == [printable(word) for word in ODD]
    assert "http" not in html.replace("http://www.w3.org/", "").replace("http-equiv", "")
    assert "default-src 'none'" in html


@given(
    st.lists(
        st.tuples(
            st.text("01", max_size=6),
            st.text(st.characters(exclude_characters="\t\n"), min_size=1, max_size=8)
            | st.sampled_from(ODD),
            st.integers(0, 10**9),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60)
def test_every_word_is_in_the_data_with_its_path_and_count(found: Any) -> None:
    tree = tree_of_paths(PathEntry(*one) for one in found)
    data = json.loads(Reader(words_browser(tree)["markup"]).data)
    told = [
        (bits, word, int(count))
        for bits, words, counts in zip(data["bits"], data["words"], data["counts"], strict=True)
        for word, count in zip(words.split("\t"), counts.split(" "), strict=True)
    ]
    assert sorted(told) == sorted((bits, printable(word), n) for bits, word, n in found)
    assert data["sizes"] == [len(words.split("\t")) for words in data["words"]]


def many_words(n_clusters: int, n_words: int) -> ClusterTree:
    width = (n_clusters - 1).bit_length()
    rng = np.random.default_rng(0)
    return tree_of_paths(
        PathEntry(f"{rng.integers(n_clusters):0{width}b}", f"word{k:x}", 10**7 // (k + 1))
        for k in range(n_words)
    )


def test_a_large_page_stays_small() -> None:
    tree = many_words(1000, 50_000)
    assert len(words_report(tree).html().encode()) < 1_500_000


def test_rare_words_are_left_out_but_counted() -> None:
    tree = many_words(8, 1000)
    data = packed(tree, top=5, max_words=100)
    kept = [words.split("\t") for words in data["words"]]
    assert data["sizes"] == [len(words) for words in tree.words]
    assert data["totals"] == [sum(counts) for counts in tree.counts]
    assert {f"word{k:x}" for k in range(100)} <= {word for words in kept for word in words}
    assert all(len(words) >= 5 for words in kept)
    assert sum(map(len, kept)) <= 100 + 8 * 5
    with pytest.raises(SettingsError, match="expected 1 or more"):
        words_browser(tree, top=0)


def test_neighbours_are_the_nearest_by_cosine() -> None:
    tree = many_words(4, 60)
    rng = np.random.default_rng(2)
    names = [f"word{k:x}" for k in range(50)] + ["a:b::c", "elsewhere"]
    vectors = rng.standard_normal((52, 6))
    data = packed(tree, vectors=PageVectors(names, vectors), map_words=10)
    flat = [word for words in data["words"] for word in words.split("\t")]
    unit = vectors[:50] / np.linalg.norm(vectors[:50], axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    assert len(data["near"]) == 50  # words without vectors have none
    for number, near in data["near"].items():
        row = names.index(flat[int(number)])
        expected = [names[i] for i in np.argsort(-cosines[row])[:10]]
        assert [flat[i] for i in near] == expected
    with pytest.raises(SettingsError, match="has a vector"):
        packed(tree, vectors=PageVectors(["x", "y"], np.eye(2)))


def test_without_matplotlib_the_page_has_no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tree = many_words(4, 60)
    said: list[str] = []
    vectors = PageVectors([f"word{k:x}" for k in range(60)], np.eye(60))
    html = words_report(tree, vectors=vectors, remark=said.append).html()
    assert html.count("<svg ") == 1
    assert ">Map</h2>" not in html
    assert "plots are left out" in said[0]


def test_one_cluster_and_unknown_counts() -> None:
    tree = tree_of_paths([PathEntry("", "a", None), PathEntry("", "b", None)])
    data = packed(tree)
    assert data["counts"] is None
    assert not data["counted"]
    assert data["nodes"] == [[0, 0, 1, -1]]
    assert 'value="tokens"' not in words_report(tree).html()


# --- the command ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clusters, paths and vectors of the sample text."""
    folder = tmp_path_factory.mktemp("report")
    datasets.write_sample(folder)
    text = str(next(folder.rglob("text.txt")))
    clusters = ["words", "cluster", text, "-o", str(folder / "c"), "--n-clusters", "12", "-q"]
    assert run([*clusters, "--paths", str(folder / "paths")]) == 0
    assert (
        run(["words", "embed", text, "-o", str(folder / "v"), "--n-components", "10", "-q"]) == 0
    )
    return folder


def test_the_page_of_the_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, tree, plot, values = (folder / f"p{end}" for end in (".html", ".svg", "m.png", "v.svg"))
    line = ["words", "inspect", str(folder / "c"), "--vectors", str(folder / "v"), "--json"]
    line += ["-o", str(page), "--tree", str(tree), "--map", str(plot), "--values", str(values)]
    assert run(line) == 0
    figures = json.loads(capsys.readouterr().out)
    html = page.read_text("utf-8")
    assert figures["clusters"] == 12
    assert figures["page_bytes"] == len(page.read_bytes())
    for title in ("Browse", "Tree", "Mutual information", "Singular values", "Map"):
        assert f">{title}</h2>" in html
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert tree.read_text("utf-8").startswith("<svg ")
    assert values.read_text("utf-8").startswith("<svg ")
    before = page.read_bytes()
    assert run([*line[:5], "-q", *line[6:]]) == 0
    assert page.read_bytes() == before
    paths_page = folder / "paths.html"
    assert run(["words", "inspect", str(folder / "paths"), "-o", str(paths_page), "-q"]) == 0
    told, same = (json.loads(Reader(p.read_text("utf-8")).data) for p in (page, paths_page))
    assert {key: told[key] for key in same} == same


def test_figures_of_the_model_are_in_the_page(folder: Path) -> None:
    from eigentext.words import SpectralClusters

    model = SpectralClusters.load(folder / "c")
    html = words_report(model.tree(), model=model).html()
    assert f"{model.mutual_information_:.4f} nats" in html
    shares = re.findall(r'data-key="([0-9.e-]+)">1\.000</td></tr>', html)
    assert float(shares[-1]) == pytest.approx(1.0)  # the whole path is the clustering itself


BAD = {
    "empty": (["empty"], "empty: no words, expected bits"),
    "odd bits": (["odd"], "odd:2: bits '2', expected only 0 and 1"),
    "one column": (["column"], "column:1: 1 columns, expected 2 or 3"),
    "missing": (["nothing"], "nothing"),
    "wrong kind": (["v"], "expected words"),
    "map without vectors": (["paths", "--map", "m.svg"], "--map needs --vectors"),
    "no such picture": (["paths", "--vectors", "v", "--map", "m.jpg"], ".svg or .png"),
    "tree as png": (["paths", "--tree", "t.png"], "--tree writes .svg"),
    "no singular values": (["paths", "--values", "v.svg"], "no singular values"),
    "other vectors": (["paths", "--vectors", "other.txt"], "no word of the clusters has a vector"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("empty").write_bytes(b"")
    Path("odd").write_bytes(b"01\tcat\t3\n2\tdog\t1\n")
    Path("column").write_bytes(b"0101\n")
    write_vectors(["qqq", "zzz"], np.eye(2), "other.txt")
    arguments, expected = BAD[case]
    assert run(["words", "inspect", *arguments, "-o", "bad.html"]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.startswith("eigentext: ")
    assert said.count("\n") == 1
    assert not Path("bad.html").exists()


def test_bad_lines_can_be_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "half").write_bytes(b"01\tcat\t3\n2\tdog\t1\n")
    page = str(folder / "half.html")
    line = ["words", "inspect", str(folder / "half"), "-o", page, "--on-error", "skip", "--json"]
    assert run(line) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["words"] == 1
    assert "skipped 1 item" in told.err
