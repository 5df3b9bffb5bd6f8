"""Read a file of counts with numpy alone: the format is open, and this is all of it."""

import json
import tempfile
from itertools import pairwise

import numpy as np

from eigentext.counting.counting import count_sentences
from eigentext.datasets.python_text import sentences

TYPES = {"I64": "<i8", "I32": "<i4", "U8": "u1"}


def read_counts(path: str) -> tuple[list[str], np.ndarray, dict[str, tuple], dict]:
    """Words, their counts, pairs by distance as (left, right, count), and what is told of all."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    about = json.loads(header.pop("__metadata__")["eigentext"])
    assert about["kind"] == "counts"
    assert about["format_version"] == 1
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(content[begin:end], TYPES[entry["dtype"]])
    text, cuts = arrays["strings/words/bytes"].tobytes(), arrays["strings/words/offsets"]
    words = [text[i:j].decode() for i, j in pairwise(cuts)] + ["<unk>"]
    pairs = {}
    for name in [name for name in arrays if name.startswith("pairs/") and name.endswith("indptr")]:
        base = name.removesuffix("indptr")
        left = np.repeat(np.arange(len(words)), np.diff(arrays[name]))  # the row of each entry
        distances = base.split("/")[1]  # such as 1-1, or 1-5 of a bag
        pairs[distances] = left, arrays[f"{base}indices"], arrays[f"{base}data"]
    return words, arrays["unigrams"], pairs, about["settings"] | about["facts"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/text.counts"
        count_sentences(sentences(), contexts="lr2", vocab_size=1000).save(path)
        words, unigrams, pairs, about = read_counts(path)
    print(f"{about['n_tokens']:,} tokens, contexts {about['contexts']}")
    left, right, number = pairs["1-1"]
    for at in np.argsort(-number, kind="stable")[:5]:
        print(words[left[at]], words[right[at]], number[at])
    assert unigrams.sum() == about["n_tokens"]
