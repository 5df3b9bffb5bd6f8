"""``eigentext hmm``: figures, pictures, and bad input in one line."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.sequences import HMM, SpectralHMM


def _lines() -> list[str]:
    """Ninety lines of four words of a chain of three states; every sixth is empty."""
    kinds = [["the", "a", "my"], ["cat", "dog", "cow", "sun"], ["sat", "ran", "rose"]]
    rng = np.random.default_rng(0)
    lines = []
    for number in range(90):
        state, words = 0, []
        for _ in range(4 if number % 6 != 4 else 0):
            words.append(rng.choice(kinds[state]))
            state = (state + 1) % 3 if rng.random() < 0.85 else rng.integers(3)
        lines.append(" ".join(words))
    return lines


LINES = _lines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hmm")
    (path / "text.txt").write_text("\n".join(LINES) + "\n")
    (path / "empty.txt").write_text("\n\n")
    (path / "one.txt").write_text("word\n")
    (path / "tagged.txt").write_text("the\tD\ncat\tN\n\n" * 30)
    assert train(path, "em.hmm") == 0
    assert train(path, "cca.hmm", verb="train-spectral") == 0
    return path


def train(path, name, *more, text="text.txt", states=3, verb="train"):
    output = str(path / name)
    return run(["hmm", verb, str(path / text), "-o", output, "-k", str(states), "--quiet", *more])


@pytest.mark.parametrize(
    "how",
    [
        ("train-spectral", "--estimator", "hkz"),
        ("train-spectral", "--estimator", "fru"),
        ("train", "--start", "recovered", "--n-iter", "0"),
        ("train", "--estimator", "anchor"),
    ],
    ids=lambda how: how[-1],
)
def test_every_estimator_trains_and_scores(folder, how, capsys):
    assert train(folder, "m.hmm", *how[1:], "--json", verb=how[0]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["n_states"] == 3
    assert figures["tokens"] == 15 * 20
    assert figures["sentences"] == 15 * 5
    model, text = str(folder / "m.hmm"), str(folder / "text.txt")
    assert run(["hmm", "score", model, text, "--summary", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["tokens"] == 300
    assert 1 < scored["perplexity"] < 20
    assert ("negative_rate" in scored) == (how[0] == "train-spectral")


def test_em_from_random_starts_tells_the_spread(folder, capsys):
    arguments = ("--start", "random", "--n-starts", "3", "--n-iter", "4", "--json")
    assert train(folder, "random.hmm", *arguments) == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["log_prob_of_starts"]) == 3
    best = max(figures["log_prob_of_starts"])
    assert figures["log_prob_per_token"] == pytest.approx(best, abs=1e-4)
    model = HMM.load(folder / "random.hmm")
    assert (model.start, model.n_iter, model.n_starts) == ("random", 4, 3)
    single = ("--start", "random", "--precision", "single", "--smoothing", "0.5")
    assert train(folder, "single.hmm", *single) == 0
    assert HMM.load(folder / "single.hmm").smoothing == 0.5


def test_scores_are_those_of_the_model(folder, capsys):
    model, text = str(folder / "em.hmm"), str(folder / "text.txt")
    loaded = HMM.load(model)
    X = [line.split() for line in LINES]
    assert run(["hmm", "score", model, text, "--quiet"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in rows] == LINES
    assert [float(row[0]) for row in rows] == pytest.approx(loaded.log_prob(X), abs=1e-4)
    assert rows[4][:2] == ["0.0000", "-"]
    assert run(["hmm", "score", model, text, "--surprisals", "--quiet"]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert [line.split("\t")[0] for line in blocks[0].split("\n")] == X[0]
    assert run(["hmm", "score", model, text, "--surprisals", "--format", "jsonl", "--json"]) == 0
    out, err = capsys.readouterr()
    objects = [json.loads(line) for line in out.splitlines()]
    for one, expected in zip(objects, loaded.surprisals(X), strict=True):
        assert one["surprisals"] == pytest.approx(expected)
    figures = json.loads(err)
    assert figures["perplexity"] == pytest.approx(loaded.perplexity(X))
    assert figures["log_prob"] == pytest.approx(loaded.log_prob(X).sum())


def test_eval_shows_the_rivals(folder, capsys):
    text = str(folder / "text.txt")
    for name, kind in (("em.hmm", HMM), ("cca.hmm", SpectralHMM)):
        model = str(folder / name)
        assert run(["hmm", "eval", model, text, "--train", text, "--json"]) == 0
        figures = json.loads(capsys.readouterr().out)
        X = [line.split() for line in LINES]
        loaded = kind.load(model)
        assert figures["perplexity"] == pytest.approx(loaded.perplexity(X))
        u = loaded.symbols_.unigram()[loaded.symbols_.encode(X).ids]
        assert figures["unigram"] == pytest.approx(float(np.exp(-np.log(u).mean())))
        assert 1 < figures["kneser_ney_bigram"] < figures["unigram"]
        assert ("negative_rate" in figures) == (kind is SpectralHMM)


def test_samples_and_states(folder, capsys):
    model = str(folder / "em.hmm")
    assert run(["hmm", "inspect", model, "--sample", "3", "--length", "5", "--seed", "4"]) == 0
    drawn = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert drawn == HMM.load(model).sample(3, 5, seed=4)
    arguments = ["--sample", "2000", "--length", "2"]
    assert run(["hmm", "inspect", str(folder / "cca.hmm"), *arguments]) == 0
    drawn = [line.split() for line in capsys.readouterr().out.splitlines()]
    operators = SpectralHMM.load(folder / "cca.hmm")
    assert drawn == operators.sample(2000, 2)
    names = operators.symbols_.names
    for begun in ([], ["the"]):
        n = len(begun)
        after = [names.index(one[n]) for one in drawn if one[:n] == begun]
        found = np.bincount(after, minlength=len(names)) / len(after)
        expected = operators.next_symbols([begun])[0]
        assert np.abs(found - expected).max() < 4 * 0.5 / np.sqrt(len(after))
    picture = folder / "graph.svg"
    assert run(["hmm", "inspect", model, "--top", "2", "--graph", str(picture), "--json"]) == 0
    views = json.loads(capsys.readouterr().out)["states"]  # one object, as of every command
    assert sorted(one["state"] for one in views) == [0, 1, 2]
    assert all(len(one["words"]) == 2 for one in views)
    assert picture.read_bytes().startswith(b"<svg ")
    assert run(["hmm", "inspect", model, "--state", "1", "--graph", str(folder / "g.svg")]) == 0
    assert capsys.readouterr().out.startswith("state 1  ")


def test_singular_values_of_text_and_of_operators(folder, capsys):
    text, picture = str(folder / "text.txt"), folder / "values.svg"
    assert run(["hmm", "inspect", text, "--most", "5", "--plot", str(picture), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["values"]) == 5
    assert 1 <= found["suggested"] <= 5
    assert picture.read_bytes().startswith(b"<svg ")
    assert run(["hmm", "inspect", text, "--most", "5", "--plot", str(folder / "v.png")]) == 0
    assert "suggested number of states" in capsys.readouterr().out
    assert run(["hmm", "inspect", str(folder / "cca.hmm"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["singular_values"]) == 3
    assert run(["hmm", "inspect", str(folder / "cca.hmm"), "--plot", str(picture)]) == 0


def test_taggers_go_through_the_same_commands(folder, capsys):
    model = str(folder / "tags.model")
    text = str(folder / "tagged.txt")
    more = ["--from", "columns"]
    assert run(["hmm", "train-tagger", text, "-o", model, "-k", "2", "--quiet", *more]) == 0
    assert run(["hmm", "eval", model, text, "--json", *more]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 100


BAD = {
    "empty file": (["train", "{}/empty.txt", "-o", "{}/x"], "no tokens, expected text"),
    "missing file": (["train", "{}/none.txt", "-o", "{}/x"], "none.txt"),
    "one token, spectral": (["train", "{}/one.txt", "-o", "{}/x", "-k", "1"], "at least 3"),
    "too many states": (["train", "{}/text.txt", "-o", "{}/x", "-k", "60"], "or --start random"),
    "smoothing nan": (
        ["train", "{}/text.txt", "-o", "{}/x", "--smoothing", "nan", "--start", "random"],
        "Invalid value for '--smoothing'",
    ),
    "starts": (
        ["train", "{}/text.txt", "-o", "{}/x", "--n-starts", "3"],
        "n_starts is 3: several are for a random start",
    ),
    "estimator of tags": (
        ["train-spectral", "{}/text.txt", "-o", "{}/x", "--estimator", "moments"],
        "'moments' is not one of 'cca', 'hkz', 'fru'",
    ),
    "estimator of operators": (
        ["train-tagger", "{}/tagged.txt", "-o", "{}/x", "--estimator", "hkz"],
        "'hkz' is not one of 'clustering', 'moments', 'em', 'mixed'",
    ),
    "estimator of a hidden Markov model": (
        ["train", "{}/text.txt", "-o", "{}/x", "--estimator", "hkz"],
        "'hkz' is not one of 'em', 'anchor'",
    ),
    "models": (
        ["train", "{}/text.txt", "-o", "{}/x", "--n-models", "2"],
        "No such option: --n-models",
    ),
    "smoothing of operators": (
        ["train-spectral", "{}/text.txt", "-o", "{}/x", "--smoothing", "2"],
        "No such option: --smoothing",
    ),
    "start of a tagger": (
        ["train-tagger", "{}/tagged.txt", "-o", "{}/x", "--start", "random"],
        "No such option: --start",
    ),
    "smoothing of a tagger": (
        ["train-tagger", "{}/tagged.txt", "-o", "{}/x", "--smoothing", "2"],
        "No such option: --smoothing",
    ),
    "column of text": (
        ["train", "{}/text.txt", "-o", "{}/x", "--column", "xpos"],
        "No such option: --column",
    ),
    "raw tags": (
        ["train-tagger", "{}/tagged.txt", "-o", "{}/x", "--raw"],
        "No such option: --raw",
    ),
    "score: not a model": (["score", "{}/text.txt", "{}/text.txt"], "text.txt"),
    "eval: empty": (["eval", "{}/em.hmm", "{}/empty.txt"], "no tokens"),
    "sample: negative seed": (
        ["inspect", "{}/cca.hmm", "--sample", "2", "--seed", "-1"],
        "expected 0 or more",
    ),
    "graph of operators": (["inspect", "{}/cca.hmm", "--graph", "{}/x.svg"], "has operators"),
    "graph of text": (["inspect", "{}/text.txt", "--graph", "{}/x.svg"], "for models"),
    "plot of parameters": (["inspect", "{}/em.hmm", "--plot", "{}/x.svg"], "singular values"),
    "picture of another kind": (
        ["inspect", "{}/em.hmm", "--graph", "{}/x.pdf"],
        "written as .svg",
    ),
    "plot of another kind": (["inspect", "{}/text.txt", "--plot", "{}/x.pdf"], ".svg or .png"),
    "sample of a text": (["inspect", "{}/text.txt", "--sample", "2"], "is for a model"),
    "no such state": (["inspect", "{}/em.hmm", "--state", "9"], "no state 9"),
    "inspect: empty text": (["inspect", "{}/empty.txt"], "no tokens"),
    "inspect: one token": (["inspect", "{}/one.txt"], "no two tokens in a row"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, folder, capsys):
    arguments, why = BAD[case]
    assert run(["hmm", *(one.replace("{}", str(folder)) for one in arguments)]) == 2
    message = capsys.readouterr().err
    assert why in message
    assert message.count("\n") == 1
    assert not list(folder.glob("x*"))


def test_text_of_one_token_has_a_model_from_random(folder, capsys):
    more = ("--start", "random", "--min-count", "1")
    assert train(folder, "one.hmm", *more, text="one.txt", states=2) == 0
    model, text = str(folder / "one.hmm"), str(folder / "one.txt")
    assert run(["hmm", "score", model, text, "--summary", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] < 1.5
    assert run(["hmm", "score", model, str(folder / "empty.txt"), "--summary", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["perplexity"] is None
    assert figures["log_prob"] == 0


def test_tokens_of_raw_text_are_shown_as_typed(folder, tmp_path, capsys):
    text = tmp_path / "raw.txt"
    text.write_text('the “cat” sat and "ran".\n')
    model = str(folder / "em.hmm")
    asked = ["hmm", "score", model, str(text), "--raw", "--tokeniser", "ptb", "-q"]
    assert run([*asked, "--format", "jsonl"]) == 0
    assert "".join(json.loads(capsys.readouterr().out)["tokens"]) == 'the“cat”satand"ran".'


def test_the_graph_needs_no_plotting_library_and_a_plot_says_so_at_once(
    folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    graph, plot = tmp_path / "g.svg", tmp_path / "p.svg"
    assert run(["hmm", "inspect", str(folder / "em.hmm"), "--graph", str(graph)]) == 0
    assert graph.read_text().startswith("<svg ")
    capsys.readouterr()
    # not even the text, which is not there, is looked at
    assert run(["hmm", "inspect", str(tmp_path / "none.txt"), "--plot", str(plot)]) == 2
    assert "plots need matplotlib: pip install matplotlib" in capsys.readouterr().err


# ---------------------------------------------------------------- states as tags


@pytest.fixture(scope="module")
def anchored(folder):
    assert train(folder, "anchor.hmm", "--estimator", "anchor") == 0
    kind = {word: tag for tag, words in KINDS.items() for word in words.split()}
    rows = "".join(
        "".join(f"{word}\t{kind[word]}\n" for word in line.split()) + "\n"
        for line in LINES
        if line
    )
    (folder / "gold.bio").write_text(rows)
    return folder


KINDS = {"D": "the a my", "N": "cat dog cow sun", "V": "sat ran rose"}


def test_states_are_compared_with_tags(anchored, capsys):
    asked = ["hmm", "eval", str(anchored / "anchor.hmm"), str(anchored / "gold.bio")]
    assert run([*asked, "--tags", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["many_to_one"] > 90
    assert figures["v_measure"] > 80
    assert (figures["n_states"], figures["tags"]) == (3, 3)


def test_a_model_without_tags_writes_numbers_of_states(anchored, capsys):
    model, text = str(anchored / "anchor.hmm"), str(anchored / "gold.bio")
    assert run(["hmm", "apply", model, text, "-o", str(anchored / "out.bio"), "-q"]) == 0
    rows = [line.split("\t") for line in (anchored / "out.bio").read_text().split("\n") if line]
    assert {tag for _, tag in rows} == {"0", "1", "2"}
    out = str(anchored / "out.jsonl")
    assert run(["hmm", "apply", model, text, "--marginals", "-o", out, "-q"]) == 0
    record = json.loads((anchored / "out.jsonl").read_text().split("\n")[0])
    assert record["tags"] == [tag for _, tag in rows][: len(record["tags"])]
    assert sum(record["marginals"][0].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("hmm apply anchor.hmm gold.bio --kbest 2 -o x", "--kbest is for latent taggers"),
        ("hmm eval anchor.hmm gold.bio --tags --train text.txt", "--train and --tags"),
        ("hmm eval anchor.hmm text.txt --tags", "text without tags"),
        ("hmm train text.txt -o x -e anchor --start random", "needs no start"),
        ("hmm train text.txt -o x -e anchor -k 40", "take fewer --n-states"),
        ("hmm train text.txt -o x -e cca", "is not one of 'em', 'anchor'"),
    ],
)
def test_what_does_not_go_with_states_is_refused(anchored, words, why, capsys, monkeypatch):
    monkeypatch.chdir(anchored)
    assert run(words.split()) == 2
    assert why in " ".join(capsys.readouterr().err.split())
