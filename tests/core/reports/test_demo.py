"""The demo, end to end: it runs, and its page holds what it promises."""

from __future__ import annotations

import re

import pytest

from eigentext.base.modelfile import read_header
from helpers.commands import eigentext


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("<title>eigentext</title>")
    done = eigentext("demo", "-o", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert b". has other files in it: expected a new or an empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "<title>eigentext</title>"


@pytest.mark.long  # `make demo` is the same
def test_demo_writes_a_page_and_models(tmp_path):
    done = eigentext("demo", "-o", "demo-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "demo-report/index.html\n"
    said = done.stderr.decode().splitlines()
    html = (tmp_path / "demo-report" / "index.html").read_text(encoding="utf-8")
    for title in ("Constituency", "Dependencies", "Words", "Sequences", "Arabic", "Pipeline"):
        assert f">{title}</h2>" in html
    assert html.count("<svg") >= 4
    assert html.count("<table") >= 5
    f1 = {line.split()[1]: float(line.split()[4]) for line in said if line.startswith("const: ")}
    assert set(f1) == {"1", "2", "4"}
    assert f1["4"] > f1["1"]  # 351 trees are enough to show that hidden states help
    # the colour scale has something to tell: the posteriors of the drawn tree differ
    (low, high) = re.search(r"here from (\d\.\d+) to (\d\.\d+)", html).groups()
    assert float(low) < 0.9 < float(high) <= 1.0
    assert '<a href="words.html">' in html
    assert read_header(tmp_path / "demo-report" / "english.lpcfg").kind == "lpcfg"
    assert read_header(tmp_path / "demo-report" / "english.dep").kind == "graph-parser"
    assert read_header(tmp_path / "demo-report" / "english.latent").kind == "latent-tree"
    (line,) = [line for line in said if line.startswith("dep: UAS ")]
    assert float(line.split()[2].rstrip(",")) > 80
    assert "Hidden states of words in trees" in html
    assert "only with that arc forbidden" in html
    assert read_header(tmp_path / "demo-report" / "python.counts").kind == "counts"
    assert read_header(tmp_path / "demo-report" / "python.clusters").kind == "clusters"
    assert "wb-search" in (tmp_path / "demo-report" / "words.html").read_text(encoding="utf-8")
    assert "The cluster tree" in html
    assert any(line.startswith("words: ") and "60 clusters" in line for line in said)
    assert read_header(tmp_path / "demo-report" / "python.hmm").kind == "hmm"
    assert read_header(tmp_path / "demo-report" / "english.tagger").kind == "latent-tagger"
    found = {line.split(": ")[1]: line for line in said if line.startswith("hmm: ")}
    perplexity = {
        name: float(found[name].split("perplexity ")[1].split()[0])
        for name in ("operators (CCA)", "recovered parameters", "EM from there", "EM from random")
    }
    assert max(perplexity.values()) == perplexity["EM from random"]
    assert perplexity["EM from there"] < perplexity["recovered parameters"]
    assert read_header(tmp_path / "demo-report" / "arabic.ranker").kind == "lexical"
    figures = {line.split(": ")[1]: line.split() for line in said if line.startswith("lex: ")}
    assert set(figures) == {"most frequent label", "ranker"}
    a1 = {name: float(line[line.index("A1") + 1].rstrip(",")) for name, line in figures.items()}
    assert a1["ranker"] > a1["most frequent label"] + 10
    assert "Analyses of words in unseen sentences" in html
    assert "The best readings in a held-out sentence" in html
    assert read_header(tmp_path / "demo-report" / "english.pipe").kind == "pipeline"
    (line,) = [line for line in said if line.startswith("pipe: raw text: ")]
    assert float(line.split("LAS ")[1].split(";")[0]) > 75
    parsed = (tmp_path / "demo-report" / "parsed.conllu").read_text(encoding="utf-8")
    assert "4-5\tcan't\t" in parsed
    assert "Raw text, parsed" in html
    # the page is whole: nothing is fetched from elsewhere
    assert "http://" not in html.replace("http://www.w3.org/", "")
    assert "src=" not in html
