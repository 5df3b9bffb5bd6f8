"""Polish through morfeusz2, which brings its own dictionary (extra ``polish``).

A tag such as ``adj:sg:nom.acc:m3.n:pos`` stands for every combination of its dotted values; each
becomes a reading.  Words that are several segments (``byłem``) give the readings of all segments,
as treebanks cut them; so do the segments alone (``em``), and abbreviations without their stop.
"""

from __future__ import annotations

import itertools
from typing import Any

from eigentext.errors import import_extra
from eigentext.lexical.analysis import Analysis, RememberingAnalyzer, check_word


class MorfeuszAnalyzer(RememberingAnalyzer):
    """Readings of Polish words."""

    name = "morfeusz2"

    def __init__(self) -> None:
        super().__init__()
        module = import_extra("morfeusz2", "analyses by morfeusz2", "polish")
        self._engine: Any = module.Morfeusz(generate=False)

    def __reduce__(self) -> tuple[object, ...]:
        return MorfeuszAnalyzer, ()

    def normalise(self, word: str) -> str:
        """The word in lower case."""
        return check_word(word).lower()

    def _read(self, word: str) -> tuple[Analysis, ...]:
        analyses: dict[tuple[str, str], Analysis] = {}
        graph = [entry[2] for entry in self._engine.analyse(word)]
        graph += [
            entry[2]
            for text, tag_start in _with_context(word)
            for entry in self._engine.analyse(text)
            if entry[2][0] == word and entry[2][2].startswith(tag_start)
        ]
        for form, lemma, tag, *_ in graph:
            if tag == "ign":
                continue
            for simple_tag in expand_tag(tag):
                reading = Analysis.whole(form, simple_tag, lemma=lemma, source="analyzer")
                analyses[lemma, simple_tag] = reading
        return tuple(analyses.values()) or tuple(_guesses(word))


def _with_context(word: str) -> list[tuple[str, str]]:
    """Texts in which a segment shows what it is not alone, and the tag it has there."""
    shown = [(f"{word}.", "brev:pun"), (f"{word}-", "adja")]
    if len(word) <= 4:
        shown += [(f"{verb}{word}", "aglt") for verb in ("był", "była", "były")]
    return shown


def expand_tag(tag: str) -> list[str]:
    """All tags for which a tag with dotted values stands.

    >>> expand_tag("subst:sg:nom.acc:m3")
    ['subst:sg:nom:m3', 'subst:sg:acc:m3']
    """
    return [
        ":".join(parts) for parts in itertools.product(*(p.split(".") for p in tag.split(":")))
    ]


def _guesses(word: str) -> list[Analysis]:
    """An unknown word: a name or noun, in every number, case and gender."""
    if not any(char.isalpha() for char in word):
        tag = "dig" if any(char.isdigit() for char in word) else "interp"
        return [Analysis.whole(word, tag)]
    tags = expand_tag("subst:sg.pl:nom.gen.dat.acc.inst.loc.voc:m1.m2.m3.f.n")
    return [Analysis.whole(word, tag) for tag in (*tags, "ign", "frag", "interj")]
