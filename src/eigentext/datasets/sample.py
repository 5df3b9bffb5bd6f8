"""Our own sample data: out of the package, and into a folder where the commands can use it.

1. ``english/{train,dev,test}.mrg`` hold one Penn-style tree a line under ``TOP``, without traces
   and function tags.  Of every fifteen sentences one is in dev and one in test, so each split
   has structures of every kind.
2. ``english/traces.mrg`` holds the same kind of trees as a treebank ships them: wrapped in
   ``( ... )``, over several lines, with traces, indices and function tags.
3. ``english/pairs.tsv`` names the sentences that come in pairs, alike but for the place to which
   their prepositional phrase belongs.
4. ``english/treebank.conllu`` and ``treebank-dev.conllu`` hold the sentences of train and dev with
   all columns of Universal Dependencies.
"""

from __future__ import annotations

import csv
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from eigentext.base.files.writing import atomic_write
from eigentext.datasets.arabic_lexicon import TABLES
from eigentext.errors import DataError, SettingsError

SPLITS = ("train", "dev", "test")

_LEAF = re.compile(r" ([^\s()]+)\)")
_TAGGED = re.compile(r"\(([^\s()]+) ([^\s()]+)\)")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "--": "—"}
_NO_SPACE_BEFORE = re.compile(r" (?=[.,;:?!%)]|n't\b|'s\b|'(?= ))")
_NO_SPACE_AFTER = re.compile(r"(?<=[($]) ")
_QUOTED = re.compile(r'" (.*?) "')


class AttachmentCase(NamedTuple):
    """One sentence of a pair: where its prepositional phrase belongs, and where the tree is."""

    pair: int
    attachment: str  # "verb" or "noun"
    split: str
    line: int  # counted from 1
    sentence: str


def _text(*path: str) -> str:
    return files("eigentext.datasets").joinpath(*path).read_text(encoding="utf-8")


def load_english(split: str = "all") -> list[str]:
    """The English sample trees of a split (train, dev, test, or all), one bracketing each.

    >>> load_english("test")[-1][:30]
    '(TOP (S (NP (NP (DT The) (JJ s'
    """
    if split == "all":
        return [line for part in SPLITS for line in load_english(part)]
    if split not in SPLITS:
        raise SettingsError(f"no split {split!r}: the sample has train, dev, test and all")
    return _text("english", f"{split}.mrg").splitlines()


def load_traces() -> str:
    """A few trees as treebanks ship them, with traces, function tags and outer brackets.

    >>> load_traces()[:8]
    '( (S (NP'
    """
    return _text("english", "traces.mrg")


def load_pairs() -> list[AttachmentCase]:
    """The sentences that come in prepositional attachment pairs, verb attachment first.

    >>> load_pairs()[0].attachment, load_pairs()[0].sentence
    ('verb', 'The girl saw the ship with a telescope .')
    """
    rows = csv.DictReader(_text("english", "pairs.tsv").splitlines(), delimiter="\t")
    return [
        AttachmentCase(
            int(row["pair"]), row["attachment"], row["split"], int(row["line"]), row["sentence"]
        )
        for row in rows
    ]


def detokenise(tokens: list[str]) -> str:
    """A sentence as one would type it.

    >>> detokenise("`` I ca n't , '' said Anna 's dog -LRB- a cat -RRB- .".split())
    '"I can\\'t," said Anna\\'s dog (a cat).'
    """
    if isinstance(tokens, str):
        raise TypeError("detokenise takes a list of tokens, not a str: use text.split()")
    text = " ".join(_BRACKETS.get(token, token) for token in tokens)
    text = _NO_SPACE_AFTER.sub("", _NO_SPACE_BEFORE.sub("", text))
    return _QUOTED.sub(r'"\1"', text)


def sample_files() -> dict[str, bytes]:
    """Every file of the sample, by its path inside the folder ``sample``.

    >>> len(sample_files()["text.txt"].splitlines())
    351
    """
    tokens = [_LEAF.findall(tree) for tree in load_english("all")]
    texts = {f"{split}.mrg": _text("english", f"{split}.mrg") for split in SPLITS}
    texts["traces.mrg"] = load_traces()
    for name in ("treebank.conllu", "treebank-dev.conllu"):
        texts[name] = _text("english", name)
    texts["pairs.tsv"] = _text("english", "pairs.tsv")
    texts["text.txt"] = "".join(" ".join(sentence) + "\n" for sentence in tokens)
    texts["raw.txt"] = "".join(detokenise(sentence) + "\n" for sentence in tokens)
    texts["entities.bio"] = "".join(map(_names_as_columns, load_english("test")))
    texts["arabic.jsonl"] = _text("arabic", "sentences.jsonl")
    arabic = [json.loads(line)["text"] for line in texts["arabic.jsonl"].splitlines()]
    texts["arabic.txt"] = "".join(f"{sentence}\n" for sentence in arabic)
    texts |= {f"arabic/{table}": _text("arabic", table) for table in TABLES}
    return {name: text.encode() for name, text in texts.items()}


def _names_as_columns(tree: str) -> str:
    """One sentence in BIO columns: each run of proper nouns is a name."""
    rows, before = [], ""
    for tag, word in _TAGGED.findall(tree):
        is_name = tag.startswith("NNP")
        rows.append(f"{word}\t{'O' if not is_name else 'I-NAME' if before else 'B-NAME'}\n")
        before = tag if is_name else ""
    return "".join(rows) + "\n"


def write_sample(folder: str | os.PathLike[str]) -> Path:
    """Write the sample below ``folder/sample`` and return that path; nothing is written over.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write_sample(folder).glob("t*.mrg"))
    ['test.mrg', 'traces.mrg', 'train.mrg']
    """
    target = Path(folder, "sample")
    missing = {}
    for name, content in sample_files().items():
        path = target / name
        if not path.exists():
            missing[path] = content
        elif not path.is_file() or path.read_bytes() != content:
            why = "not the file of the sample: move it away, or choose another folder"
            raise DataError(str(path), None, why)
    for path, content in missing.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(str(path), None, f"cannot be written: {error}") from error
        with atomic_write(path) as out:
            out.write(content)
    return target
