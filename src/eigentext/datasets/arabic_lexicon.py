"""A small Arabic lexicon of our own: unvocalised word in, all its analyses out.

1. ``prefixes.tsv``, ``stems.tsv`` and ``suffixes.tsv`` list the pieces, each with a class;
   ``compatibility.tsv`` says which suffix classes may follow a prefix class and a stem class.
2. A typed word without its vowel signs is cut in every way into prefix + stem + suffix; a label
   element is the suffix's, or else the stem's, or else the prefix's.
3. ``sentences.jsonl`` holds short sentences in which the right analysis of every word is marked by
   its id: the lemma, a slash, and the values of the other thirteen label elements.

The engine is as small as the lexicon: it serves the demo and the tests, not running text.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

ELEMENTS = tuple("lemma pos pre2 pre1 det asp mood vox per gen num cas stt pron".split())
"""The label elements, in the order in which an analysis id lists them."""

TABLES = ("prefixes.tsv", "stems.tsv", "suffixes.tsv", "compatibility.tsv")

_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670\u0640]")
_SUN_LETTERS = "تثدذرزسشصضطظلن"
_SHADDA, _SUKUN = "\u0651", "\u0652"

# Which elements a part of speech carries; the others are "-" whatever the pieces say.
_NOUN = frozenset({"num", "cas", "stt"})
_CARRIES = {
    "N": _NOUN,
    "A": _NOUN | {"gen"},
    "V": frozenset({"asp", "mood", "vox", "per", "gen", "num"}),
}
_ALWAYS = frozenset({"lemma", "pos", "pre2", "pre1", "det", "pron"})

_Row = dict[str, str]


class _Lexicon(NamedTuple):
    prefixes: dict[str, list[_Row]]  # by unvocalised form
    stems: dict[str, list[_Row]]
    suffixes: dict[str, list[_Row]]
    compatible: frozenset[tuple[str, str, str]]  # (prefix class, stem class, suffix class)

    @property
    def longest(self) -> tuple[int, int, int]:
        """Letters of the longest prefix, stem and suffix."""
        prefix, stem, suffix = (max(map(len, table)) for table in self[:3])
        return prefix, stem, suffix


def _rows(name: str) -> list[_Row]:
    text = files("eigentext.datasets").joinpath("arabic", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def _by_form(name: str) -> dict[str, list[_Row]]:
    table: dict[str, list[_Row]] = {}
    for row in _rows(name):
        table.setdefault(row["form"], []).append(row)
    return table


@cache
def _lexicon() -> _Lexicon:
    return _Lexicon(
        prefixes=_by_form("prefixes.tsv"),
        stems=_by_form("stems.tsv"),
        suffixes=_by_form("suffixes.tsv"),
        compatible=frozenset(
            (row["prefix"], row["stem"], suffix)
            for row in _rows("compatibility.tsv")
            for suffix in row["suffixes"].split(",")
        ),
    )


def _join(prefix: _Row, stem: _Row, suffix: _Row) -> str:
    """The vocalised word; the article's l is silent before a sun letter, which is then doubled."""
    before, core = prefix["vocalised"], stem["vocalised"]
    if prefix["det"] and core[0] in _SUN_LETTERS:
        core = core[0] + _SHADDA + core[1:]
    elif prefix["det"]:
        before += _SUKUN
    return before + core + suffix["vocalised"]


def _analysis(prefix: _Row, stem: _Row, suffix: _Row) -> dict[str, str]:
    carried = _ALWAYS | _CARRIES.get(stem["pos"], frozenset())
    label = {
        element: (
            (suffix.get(element) or stem.get(element) or prefix.get(element) or "-")
            if element in carried
            else "-"
        )
        for element in ELEMENTS
    }
    label["det"] = prefix["det"] or "0"
    identity = f"{label['lemma']}/" + ".".join(label[element] for element in ELEMENTS[1:])
    more = {"gloss": stem["gloss"], "root": stem["root"]}
    return {"id": identity, "vocalised": _join(prefix, stem, suffix), **label, **more}


def analyse(word: str) -> list[dict[str, str]]:
    """All analyses of a typed Arabic word that the small lexicon knows, in a fixed order.

    An analysis has ``id``, ``vocalised``, the fourteen label ``ELEMENTS``, ``gloss`` and ``root``.
    Vowel signs in the word are ignored; a word that the lexicon does not know gives no analysis.

    >>> sorted({a["vocalised"] for a in analyse("العلم")})
    ['الْعَلَمَ', 'الْعَلَمُ', 'الْعَلَمِ', 'الْعِلْمَ', 'الْعِلْمُ', 'الْعِلْمِ']
    >>> analyse("xyz")
    []
    """
    if not isinstance(word, str):
        raise TypeError(f"analyse takes one word as a str, not {type(word).__name__}")
    lexicon = _lexicon()
    bare = _VOWEL_SIGNS.sub("", word)
    analyses: dict[str, dict[str, str]] = {}
    longest = lexicon.longest  # so that a long token takes no longer than a word
    for start in range(min(len(bare), longest[0] + 1)):
        first_end = max(start + 1, len(bare) - longest[2])
        for end in range(first_end, min(start + longest[1], len(bare)) + 1):
            for stem in lexicon.stems.get(bare[start:end], ()):
                for prefix in lexicon.prefixes.get(bare[:start], ()):
                    for suffix in lexicon.suffixes.get(bare[end:], ()):
                        if (prefix["class"], stem["class"], suffix["class"]) in lexicon.compatible:
                            analysis = _analysis(prefix, stem, suffix)
                            analyses.setdefault(analysis["id"] + analysis["vocalised"], analysis)
    return sorted(analyses.values(), key=lambda analysis: (analysis["id"], analysis["vocalised"]))


def load_arabic() -> list[dict[str, object]]:
    """The sample sentences: ``id``, ``text`` as typed, ``translation``, and ``words``.

    Each word has its ``form`` and, as ``analysis``, the id of the right one in ``analyse(form)``.

    >>> first = load_arabic()[0]
    >>> first["text"]
    'كتب الولد رسالة إلى أمه .'
    """
    text = files("eigentext.datasets").joinpath("arabic", "sentences.jsonl")
    return [json.loads(line) for line in text.read_text(encoding="utf-8").splitlines()]
