"""A text of another language is told by its unknown words, a text of another genre is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from eigentext.datasets.sample import sample_files
from eigentext.features.symbols import KnownWords, Share, remark_on
from eigentext.language.formats.conllu import read_sentences
from helpers.commands import eigentext
from helpers.sample_pipeline import pipeline

GALICIAN = (
    "O rapaz viviu sempre nunha casa pequena preto do mar cos seus avós e os seus irmáns .\n"
)

# treebanks of one language stand together; Hungarian has one
LANGUAGES = [
    ["ewt", "gum", "en-lines", "en-partut"],
    ["fr-sequoia", "fr-partut"],
    ["tr-imst", "tr-framenet"],
    ["pt-bosque"],
    ["hu-szeged"],
]
OTHERS = {name: group for group in LANGUAGES for name in group}


def forms(data: Path, name: str, part: str, most: int) -> Iterator[str]:
    """Of so many sentences from all over the treebank."""
    sentences = list(read_sentences(str(data / "dependency" / name / f"{part}.conllu")))
    for sentence in sentences[:: max(1, len(sentences) // most)][:most]:
        yield from sentence.forms


@pytest.mark.requires("data")
@pytest.mark.parametrize("sentences", [200, 1000])
def test_other_languages_are_told_and_other_genres_are_not(data, sentences: int) -> None:
    texts = {name: list(forms(data, name, "test", 300)) for name in OTHERS}
    for name, group in OTHERS.items():
        known = KnownWords(Counter(forms(data, name, "train", sentences)))
        for other, text in texts.items():
            told = remark_on(known.share(text), known.expected)
            if other in group or sentences > 200:  # little Turkish knows few words of its own
                assert (told is None) == (other in group), (name, other, told)


def test_little_text_is_not_judged() -> None:
    assert remark_on(Share(49, 0), 1.0) is None
    assert remark_on(Share(50, 29), 1.0) is not None
    assert remark_on(Share(50, 30), 1.0) is None
    assert remark_on(Share(50, 14), 0.45) is None  # where little is expected
    assert KnownWords({}).share(["a", "1", "%"]) == Share(1, 0)
    assert remark_on(Share(100, 0), KnownWords({}).expected) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("unknown")
    for name, content in sample_files().items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_bytes(content)
    (made / "gl.txt").write_text(GALICIAN * 9)
    pipeline().save(made / "m.pipe")
    own = made / "own.txt"
    own.write_text("\n".join(" ".join(s.forms) for s in read_sentences(made / "treebank.conllu")))
    for line in (
        "const train train.mrg -o m.lpcfg --n-states 1 --quiet",
        "hmm train-tagger entities.bio -k 2 -o m.latent --quiet",
    ):
        assert eigentext(*line.split(), cwd=made).returncode == 0
    return made


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("pipe apply m.pipe {} -o out", "own.txt"),
        ("pipe apply m.pipe {} -o out -j 2", "own.txt"),
        ("pipe apply m.pipe {} --input horizontal --format jsonl -o out", "own.txt"),
        ("const apply m.lpcfg {} -o out", "text.txt"),
        ("hmm apply m.latent {} -o out", "entities.bio"),
    ],
)
def test_commands_warn_in_one_line(folder: Path, line: str, own: str) -> None:
    result = eigentext(*line.format("gl.txt").split(), cwd=folder)
    assert result.returncode == 0
    told = [one for one in result.stderr.decode().splitlines() if "unknown to this model" in one]
    assert len(told) == 1
    assert told[0].startswith("eigentext: warning: ")
    quiet = eigentext(*line.format("gl.txt").split(), "--quiet", cwd=folder)
    assert b"unknown" not in quiet.stderr
    result = eigentext(*line.format(own).split(), cwd=folder)
    assert b"unknown to this model" not in result.stderr
