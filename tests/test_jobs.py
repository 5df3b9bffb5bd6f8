"""All cores, one answer: commands that have ``--jobs`` write the same bytes with 1 and with 3.

All runs share one process of their own, without other threads, so that processes are forked as
they are at a terminal.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eigentext.datasets import write_sample
from helpers.commands import ENVIRONMENT

LINES = """
pipe train sample/treebank-dev.conllu -o {out}/english.pipe --folds 3
pipe apply {out}/english.pipe sample/raw.txt -o {out}/parsed.conllu
dep train sample/treebank-dev.conllu -o {out}/english.parser --tags own --epochs 2 --bits 16
dep apply {out}/english.parser sample/text.txt --from tokens -o {out}/trees.conllu
dep apply {out}/english.parser sample/treebank-dev.conllu -o {out}/own.conllu
dep score {out}/english.parser sample/treebank-dev.conllu -o {out}/scores.txt
dep train-reranker sample/treebank-dev.conllu --base {out}/english.parser --kbest 4 --experts valence -o {out}/english.rerank
tag train sample/entities.bio -o {out}/ner.tagger
tag apply {out}/ner.tagger sample/text.txt -o {out}/tagged.bio
hmm train-tagger sample/entities.bio -k 2 -o {out}/latent.model
hmm apply {out}/latent.model sample/text.txt -o {out}/tags.txt
hmm apply {out}/latent.model sample/text.txt --kbest 2 --marginals -o {out}/shares.jsonl
lex train sample/arabic.jsonl -o {out}/arabic.ranker --bits 10
lex apply {out}/arabic.ranker sample/arabic.txt -o {out}/ranked.jsonl
lex apply {out}/arabic.ranker sample/arabic.txt --format conllu -o {out}/ranked.conllu
lex apply sample sample/arabic.txt -o {out}/analyses.tsv
lex eval {out}/arabic.ranker sample/arabic.jsonl --folds 3
dep eval {out}/own.conllu sample/treebank-dev.conllu --against sample/treebank-dev.conllu --by relation --by distance --json
"""  # noqa: E501

SCRIPT = """
import contextlib, io, sys, threading
from pathlib import Path
from eigentext.cli.main import run

for jobs in ("1", "3"):
    Path(jobs).mkdir()
    for line in sys.argv[1].strip().splitlines():
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            words = [*line.format(out=jobs).split(), "--jobs", jobs]
            quiet = [] if line.startswith("dep eval") else ["--quiet"]
            assert run([*words, *quiet]) == 0, line
        Path(jobs, line.split()[1] + ".out").write_text(shown.getvalue())
        assert threading.active_count() == 1, line  # or the next run would not fork
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("jobs")
    write_sample(made)
    (made / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py", LINES],
        cwd=made,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()
    return made


def written(folder: Path, jobs: int) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / str(jobs)).iterdir())}


def test_the_number_of_cores_changes_no_file(folder: Path) -> None:
    alone, together = written(folder, 1), written(folder, 3)
    assert alone.keys() == together.keys()
    assert len(alone) > 12
    assert [name for name, content in alone.items() if content != together[name]] == []
