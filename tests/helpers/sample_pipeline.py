"""A small pipeline of the sample treebank, trained once, and text that is hard on it."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from eigentext.datasets.sample import sample_files
from eigentext.language.formats.conllu import ConlluBlock, parse_sentences
from eigentext.pipeline import Pipeline

SMALL: dict[str, Any] = {
    "folds": 2,
    "segmenter_settings": {"epochs": 3, "bits": 12},
    "morphology_settings": {"epochs": 2, "bits": 12},
    "parser_settings": {"order": 1, "epochs": 2, "bits": 12},
}


@cache
def treebank(name: str = "treebank") -> tuple[ConlluBlock, ...]:
    return tuple(parse_sentences(sample_files()[f"{name}.conllu"].decode()))


@cache
def pipeline() -> Pipeline:
    """Read it, and leave it as it is."""
    return Pipeline(**SMALL).fit(treebank())


# emoji with and without joiners, marks that do and do not compose, right-to-left, white space of
# every kind, quotes, brackets, backslashes and bars: all that a format might trip over
_PIECES = st.sampled_from(
    [
        "😀",
        "👩\u200d👩\u200d👧",
        "🇭🇺",
        "x\u0302\u0323",
        "ש\u05bcלום",
        "مرحبا",
        "\u200f",
        "\t",
        "\r\n",
        "\n",
        "\n\n",
        "\n \t\n",
        "  ",
        " ",
        " ",
        "\u00a0",
        "\u2028",
        "\x0b",
        "|",
        "\\",
        "\\s",
        "_",
        "#",
        "# text = no",
        "1-2",
        "(",
        '"',
        "can't",
        "Anna's",
        "don't.",
        "Anna",
        "sleeps",
        "The dog",
        "saw",
        ".",
        "?!",
        "...",
        ",",
        "10 000",
        "漢字。",
        "é",
    ]
)
TEXTS = st.lists(_PIECES | st.text(max_size=3), max_size=30).map("".join)
