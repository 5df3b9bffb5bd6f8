"""One name for one thing: flags over all commands, their help, and the figures of --json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import typer.main

from eigentext.base import modelfile
from eigentext.base.registry import KINDS
from eigentext.cli.main import app, run
from eigentext.cli.output import Clock


def _commands(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for inside, one in command.commands.items():
            yield from _commands(one, (*name, inside))
    else:
        yield " ".join(name), command


def _with_option(option: str) -> set[str]:
    whole = _commands(typer.main.get_command(app))
    return {name for name, one in whole for param in one.params if option in param.opts}


def test_one_name_for_several_answers_and_one_for_clusters():
    assert not _with_option("--nbest") | _with_option("--n-best")
    assert _with_option("--kbest") >= {"tag apply", "hmm apply", "dep apply", "const apply"}
    # a file of clusters to read; --paths is one to write
    readers = {"tag train", "const train", "dep train", "lex train", "pipe train"}
    assert _with_option("--clusters") >= readers
    assert _with_option("--paths") == {"words cluster", "words apply"}


def test_the_first_panel_of_a_help_page_can_be_read_at_a_glance():
    long = {}
    for name, command in _commands(typer.main.get_command(app)):
        options = [param for param in command.params if param.param_type_name == "option"]
        panels = [getattr(option, "rich_help_panel", None) for option in options]
        if panels.count(None) > 20:
            long[name] = panels.count(None)
    assert not long


def test_verbs_mean_the_same_in_every_group():
    groups = typer.main.get_command(app).commands
    verbs = {
        name: set(group.commands) for name, group in groups.items() if hasattr(group, "commands")
    }
    others = {"words": {"cluster", "count", "embed"}}
    for name in ("words", "tag", "hmm", "const", "dep", "lex", "pipe", "lab"):
        train = {verb for verb in verbs[name] if verb == "train" or verb.startswith("train-")}
        assert train
        rest = verbs[name] - train - others.get(name, set())
        assert rest <= {"apply", "score", "eval", "inspect"}, name
        assert "apply" in rest
        if "eval" in rest:  # the model, and what is right: in this order everywhere
            arguments = [p.name for p in groups[name].commands["eval"].params if p.name[0] != "-"]
            assert arguments[0] == "model"


@pytest.mark.parametrize("command", [[], ["dep"], ["dep", "apply"], ["words", "count"], ["info"]])
def test_flags_show_no_type(command, capsys):
    assert run([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--help" in shown
    assert "bool" not in shown


def test_seconds_on_the_wall_and_of_the_cpu_are_both_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.bio").write_text("Ada\tB-PER\nran\tO\n\n" * 4)
    calls = [
        ["tag", "train", "a.bio", "-o", "m", "--epochs", "1"],
        ["tag", "apply", "m", "a.bio", "-o", "o.bio"],
        ["hmm", "train-tagger", "a.bio", "-k", "1", "-o", "h"],
        ["hmm", "apply", "h", "a.bio", "-o", "o.bio"],
        ["hmm", "eval", "h", "a.bio"],
    ]
    for call in calls:
        assert run([*call, "--json"]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert {"wall_seconds", "cpu_seconds"} <= set(figures), call
        assert "seconds" not in figures


def test_rates_are_per_second_on_the_wall(monkeypatch):
    now = iter([10.0, 14.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    figures = Clock().figures(tokens=100)
    assert figures["wall_seconds"] == 4.0
    assert figures["tokens_per_second"] == 25.0


# -- models given to the wrong command -----------------------------------------------------------


def test_every_kind_of_model_has_its_command():
    assert _kinds() == set(KINDS)
    commands = dict(_commands(typer.main.get_command(app)))
    for kind in KINDS.values():
        if not kind.command:  # a stage of others
            continue
        name, dashes, option = kind.command.partition(" --")
        assert name in commands
        flags = {flag for param in commands[name].params for flag in param.opts}
        assert not dashes or "--" + option.split()[0] in flags


def _kinds() -> set[str]:
    """Every kind that a module or a class of ours says it is."""
    import importlib
    import pkgutil

    import eigentext

    rooms = "constituency counting dependency lab lexical pipeline sequences tagging words".split()
    names = [
        one.name
        for one in pkgutil.walk_packages(eigentext.__path__, "eigentext.")
        if one.name.split(".")[1] in rooms and "kernels" not in one.name
    ]
    modules = [importlib.import_module(name) for name in names]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    kinds = (getattr(one, "KIND", None) for one in (*modules, *classes))
    return {kind for kind in kinds if isinstance(kind, str)}


NEEDS = pytest.mark.parametrize(
    ("command", "needs"),
    [
        (["dep", "apply"], "a dependency parser made by `eigentext dep train`"),
        (["hmm", "score"], "a hidden Markov model made by `eigentext hmm train`"),
        (["hmm", "apply"], "a latent tagger made by `eigentext hmm train-tagger`"),
        (["tag", "apply"], "a tagger made by `eigentext tag train`"),
        (["dep", "score"], "`eigentext dep train` or .* made by `eigentext dep train-latent`"),
    ],
)


@NEEDS
def test_a_model_of_another_command_is_told_by_its_command(command, needs, tmp_path, capsys):
    modelfile.save(tmp_path / "x", "clusters", {}, settings={}, format_version=1)
    (tmp_path / "a.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    assert run([*command, str(tmp_path / "x"), str(tmp_path / "a.conllu")]) == 2
    said = capsys.readouterr().err
    made = "x: holds word clusters (made by `eigentext words cluster`); this needs "
    assert made in said
    assert re.search(needs, said)
    assert "kind" not in said


@NEEDS
def test_a_text_where_a_model_is_wanted_is_told_the_command(command, needs, tmp_path, capsys):
    (tmp_path / "x").write_text("no model, but a text of some lines\n" * 9)
    (tmp_path / "a.conllu").write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    assert run([*command, str(tmp_path / "x"), str(tmp_path / "a.conllu")]) == 2
    said = capsys.readouterr().err
    assert "x: found a file that is no eigentext model, but this needs " in said
    assert re.search(needs, said)
    assert "safetensors" not in said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["convert", "/dev/zero", "--from", "tokens", "-o", "o.conllu"],
            "a device, expected a file",
        ),
        (["words", "count", "/dev/zero", "-o", "o"], "a device, expected a file"),
        (["const", "train", "/dev/zero", "-o", "o"], "a device, expected a file"),
        (["const", "apply", "/dev/zero", "text.txt"], "a device, expected a file"),
        (
            ["convert", "-", "--from", "tokens", "-o", "o.conllu"],
            "-:1: a line of more than 16,777,216",
        ),
        (
            ["convert", "-", "--from", "ptb", "-o", "o.conllu"],
            "-:1: a line of more than 16,777,216",
        ),
        (["words", "count", "-", "-o", "o"], "-:1: a word of more than 1,048,576"),
        (
            ["const", "apply", "-", "text.txt"],
            "constituency parser made by `eigentext const train`",
        ),
        (["words", "inspect", "-", "the"], "-:1: "),
    ],
)
def test_input_without_an_end_is_refused(command, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a text\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=_Endless(), isatty=lambda: False))
    assert run(command) == 2
    assert said in capsys.readouterr().err


class _Endless:
    """Zeros; but who reads 64 MiB of them would read on."""

    left = 1 << 26

    def read1(self, size: int) -> bytes:
        self.left -= size
        if self.left < 0:
            raise AssertionError("read on without an end")
        return bytes(size)

    read = read1


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        (
            "words embed",
            "--output --raw --tokeniser --method --jobs --json --newlines --seed --data-name",
        ),
        (
            "tag train",
            "--output --epochs --dev --quiet --margin --data-name --data-licence --on-error",
        ),
        ("const apply", "--output --raw --kbest --format --decoder --jobs --json --on-error"),
        (
            "lex apply",
            "--output --raw --tokeniser --top --format --jobs --quiet --json --on-error",
        ),
    ],
)
def test_a_help_page_begins_with_what_is_the_commands_own(command, flags, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert run([*command.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [next(i for i, line in enumerate(lines) if flag in line[:24]) for flag in flags.split()]
    assert rows == sorted(rows)


def test_no_default_is_shown_where_the_model_has_its_own(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["const", "apply", "--help"]) == 0
    assert "(0.25)" not in capsys.readouterr().out
    assert run(["const", "train", "--help"]) == 0
    assert "(0.25)" in capsys.readouterr().out


def test_what_was_skipped_is_among_the_figures(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.bio").write_text("Ada\tB-PER\nran\tO\n\n" * 4)
    (tmp_path / "a.mrg").write_text("(S (NN Ada) (VB ran))\n" * 4)
    (tmp_path / "bad.txt").write_bytes(b"Ada ran\ncaf\xe9\n")
    assert run(["tag", "train", "a.bio", "-o", "t", "--epochs", "1", "-q"]) == 0
    assert run(["hmm", "train-tagger", "a.bio", "-k", "1", "-o", "h", "-q"]) == 0
    assert run(["const", "train", "a.mrg", "-k", "1", "-o", "c", "-q"]) == 0
    for call in ("tag apply t", "hmm apply h", "const apply c"):
        line = [*call.split(), "bad.txt", "-o", "out", "--on-error", "skip", "--json"]
        assert run(line) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["sentences"], told["skipped"]) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "tag train a.bio -o x --clusters h",
        "tag train a.bio -o x --vectors h",
        "tag eval a.bio h",
        "hmm train h -o x",
    ],
)
def test_a_model_in_the_place_of_text_is_called_a_model(line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.bio").write_text("Ada\tB-PER\nran\tO\n\n" * 4)
    assert run(["hmm", "train-tagger", "a.bio", "-k", "1", "-o", "h", "-q"]) == 0
    assert run(line.split()) == 2
    assert "a model that eigentext wrote, expected a text file" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_remark_of_two_lines_is_shown_as_two(tmp_path, capsys):
    assert run(["data", "get", "sample", "-o", str(tmp_path)]) == 0
    title, licence = capsys.readouterr().err.splitlines()
    assert licence.startswith("licence: Apache-2.0")
    assert "\\n" not in title


def test_lex_eval_tells_what_was_skipped_and_knows_its_documents(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["data", "get", "sample", "-o", ".", "-q"]) == 0
    file = "sample/arabic.jsonl"
    assert run(["lex", "train", file, "-o", "m", "--bits", "0", "--passes", "1", "-q"]) == 0
    capsys.readouterr()
    assert run(["lex", "eval", "m", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 0
    assert run(["lex", "eval", "m", file, "--documents", "nonsense"]) == 2
    assert "--documents" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("words cluster text -o m -m 2 --tokeniser ptb", "--tokeniser is for raw text"),
        ("words cluster --counts c -o m -m 2 --raw", "--raw is for a corpus, not for --counts"),
        ("words embed --counts c -o m --raw", "--raw is for a corpus, not for --counts"),
        ("hmm train text -o m --newlines end", "--newlines is for raw text"),
        ("tag apply m text --raw --from columns", "--raw and --from columns"),
        ("words count a.counts -o m --sentences 3", "--sentences is for tables"),
        ("words count --words a -o m --min-count 3", "--min-count is for text, not for tables"),
        ("lex apply sample text --top 4", "--top is for a ranker, not for an analyzer"),
        ("lex apply sample text --format conllu", "of an analyzer expected native or jsonl"),
        ("lex apply sample text --newlines join", "--newlines is for raw text"),
        ("hmm inspect m.hmm --most 5", "--most is for a text, not for a model"),
        ("dep inspect m.latent -k 5", "--n-states is for a treebank, not for a model"),
        ("dep inspect t.conllu --state 1", "--state is for a model, not for a treebank"),
        ("dep apply m t.conllu --tokeniser french", "--tokeniser is for raw text"),
        ("dep apply m text --from tokens --newlines end", "--newlines is for raw text"),
        ("tag apply m text --raw --column xpos", "--column is for text with tags"),
    ],
)
def test_a_flag_that_means_nothing_here_is_refused(tmp_path, monkeypatch, capsys, line, flag):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a cat ran\na dog sat\n")
    assert run(line.split()) == 2
    assert flag in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
