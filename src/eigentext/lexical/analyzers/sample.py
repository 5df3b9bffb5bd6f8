"""The small Arabic lexicon of this package behind the analyzers' interface.

Its label elements are renamed to the features of ALMOR databases, so that one scheme serves both.
"""

from __future__ import annotations

import re

from eigentext.lexical.analysis import Analysis, table_of
from eigentext.lexical.analyzers.almor import unknown_word
from eigentext.lexical.analyzers.arabic_endings import ArabicAnalyzer
from eigentext.lexical.analyzers.arabic_spelling import plain

_POS = table_of(
    "N:noun A:adj V:verb P:prep C:conj D:adv S:pron F:part Q:noun_num I:interj Y:abbrev G:punc"
)
_PROCLITIC = table_of("و:wa_conj ف:fa_conj ب:bi_prep ل:li_prep ك:ka_prep س:sa_fut")
_MARKS = "[\u064b-\u0652\u0670]*"
_PRONOUNS = table_of(
    "1s:نِي|ي|يَ 1p:نَا 2ms:كَ 2fs:كِ 2md:كُمَا 2mp:كُمْ 2fp:كُنَّ "
    "3ms:هُ|هِ|ه 3fs:هَا 3md:هُمَا|هِمَا 3mp:هُمْ|هِمْ 3fp:هُنَّ|هِنَّ"
)
_LONGEST = 60
_RENAMED = {"asp": "asp", "mood": "mod", "vox": "vox", "per": "per", "gen": "gen", "num": "num"}


class SampleAnalyzer(ArabicAnalyzer):
    """Readings out of the sample lexicon; other words are guesses.

    >>> [a.gloss for a in SampleAnalyzer().analyse("العلم")][:1] != []
    True
    >>> SampleAnalyzer().analyse("xyz")[0].source
    'foreign'
    """

    name = "sample"

    def _read(self, word: str) -> tuple[Analysis, ...]:
        from eigentext.datasets import analyse

        # the sample's engine tries all cuts: nothing that long is in it
        typed = plain(word)
        entries = analyse(typed) if len(typed) <= _LONGEST else []
        readings = tuple(_reading(entry) for entry in entries)
        return readings or (unknown_word(word),)


def _reading(entry: dict[str, str]) -> Analysis:
    features = {
        "pos": _POS.get(entry["pos"], entry["pos"]),
        "prc2": _PROCLITIC.get(entry["pre2"], "0"),
        "prc1": _PROCLITIC.get(entry["pre1"], "0"),
        "prc0": "Al_det" if entry["det"] == "1" else "0",
        "enc0": "0" if entry["pron"] == "-" else f"{entry['pron'].replace('1m', '1')}_pron",
        "cas": entry["cas"],
        "stt": entry["stt"],
    }
    features |= {name: entry[element] for element, name in _RENAMED.items()}
    features["form_gen"] = features["gen"]
    texts, pos = (entry["lemma"], entry["vocalised"]), entry["pos"]
    gloss, root = entry["gloss"], entry["root"]
    return Analysis(*texts, _segments(entry), pos, features, gloss, root, None, "lexicon")


def _segments(entry: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The clitics that the label names, cut off the vocalised word, and what is between them."""
    rest, before, after = entry["vocalised"], [], []
    article = "ا?ل" if entry["det"] == "1" else "-"
    tags = ("CONJ", "FUT_PART" if entry["pre1"] == "س" else "PREP", "DET")
    for letters, tag in zip((entry["pre2"], entry["pre1"], article), tags, strict=True):
        clitic = re.match(f"{letters}{_MARKS}", rest) if letters != "-" else None
        if clitic and clitic.end() < len(rest):
            before.append((clitic[0], tag))
            rest = rest[clitic.end() :]
    pronoun = _PRONOUNS.get(entry["pron"].replace("1m", "1")) if entry["pos"] != "S" else None
    clitic = re.search(f"(?<=.)(?:{pronoun})$", rest) if pronoun else None
    if clitic:
        after.append((clitic[0], "PRON"))
        rest = rest[: clitic.start()]
    return (*before, (rest, entry["pos"]), *after)
