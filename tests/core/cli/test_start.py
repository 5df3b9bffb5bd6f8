"""What a command reads before it starts: its own group, and scikit-learn only where it learns."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from eigentext.cli import main
from eigentext.cli.main import CORE, commands
from helpers.commands import ENVIRONMENT

GOLDEN = Path(__file__).parents[2] / "golden"
APPLYING = [  # the golden model, and a line that applies it
    ("embeddings", "words inspect embeddings the"),
    ("hmm", "hmm eval hmm text.txt"),
    ("latent-tagger", "hmm apply latent-tagger text.txt -o out"),
    ("tagger", "tag apply tagger text.txt --raw -o out"),
    ("lpcfg", "const apply lpcfg text.txt -o out"),
    ("graph-parser-with-taggers", "dep apply graph-parser-with-taggers text.conllu -o out"),
    ("pipeline", "pipe apply pipeline text.txt -o out"),
]
_CODE = """
import json, sys
from eigentext.cli.main import run
code = run(sys.argv[1:])
print("LOADED", json.dumps([code, *sys.modules]))
"""


@pytest.mark.parametrize(("model", "line"), APPLYING)
def test_who_applies_a_model_reads_neither_scikit_learn_nor_other_groups(
    model: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / model).write_bytes(lzma.decompress((GOLDEN / f"{model}.xz").read_bytes()))
    (tmp_path / "text.txt").write_text("the dog saw a cat\n")
    (tmp_path / "text.conllu").write_text("1\tthe\t_\tDET\t_\t_\t0\troot\t_\t_\n\n")
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *line.split()],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    code, *modules = json.loads(done.stdout.rpartition("LOADED")[2])
    assert code == 0, done.stderr
    loaded = set(modules)
    assert not {"sklearn", "pandas", "matplotlib", "fastapi"} & loaded
    others = {f"eigentext.cli.{name}" for name in CORE} & loaded
    assert others == {f"eigentext.cli.{line.split()[0]}"}


def test_the_help_page_says_what_the_groups_say_of_themselves() -> None:
    whole, names = (
        typer.main.get_command(app)
        for app in (main.app, main.application([]))  # type: ignore[attr-defined]
    )
    assert list(whole.commands) == list(names.commands)  # type: ignore[attr-defined]
    assert set(whole.commands) == set(commands())  # type: ignore[attr-defined]
    for name, (_, line) in commands().items():
        command, stub = whole.commands[name], names.commands[name]  # type: ignore[attr-defined]
        assert command.get_short_help_str(200) == stub.get_short_help_str(200) == line
        assert command.help.partition("\n\n")[0] == line
