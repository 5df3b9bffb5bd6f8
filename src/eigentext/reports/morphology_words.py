"""What values of label elements and tags of segments mean, in plain words."""

from __future__ import annotations

__all__ = ["CATEGORIES", "PRONOUN_PARTS", "SEGMENT_TAGS", "VALUES"]

CATEGORIES = {
    # the Arabic schemes
    "N": "noun", "A": "adjective", "V": "verb", "P": "preposition", "C": "conjunction",
    "D": "adverb", "S": "pronoun", "F": "particle", "Q": "number", "I": "interjection",
    "Y": "abbreviation", "G": "punctuation", "X": "unclassified",
    # Universal Dependencies
    "ADJ": "adjective", "ADP": "adposition", "ADV": "adverb", "AUX": "auxiliary",
    "CCONJ": "coordinating conjunction", "DET": "determiner", "INTJ": "interjection",
    "NOUN": "noun", "NUM": "number", "PART": "particle", "PRON": "pronoun",
    "PROPN": "proper noun", "PUNCT": "punctuation", "SCONJ": "subordinating conjunction",
    "SYM": "sign", "VERB": "verb",
    # the national corpus of Polish
    "subst": "noun", "depr": "depreciative noun", "adj": "adjective",
    "adja": "adjective in a compound", "adjp": "adjective after a preposition",
    "adjc": "predicative adjective", "adv": "adverb", "num": "numeral", "numcomp": "numeral",
    "ppron12": "personal pronoun", "ppron3": "personal pronoun", "siebie": "reflexive pronoun",
    "fin": "verb, present or future", "bedzie": "future of “być”", "aglt": "personal ending",
    "praet": "verb, past", "impt": "verb, imperative", "imps": "verb, impersonal",
    "inf": "infinitive", "pcon": "adverbial participle", "pant": "anterior participle",
    "ger": "verbal noun", "pact": "active participle", "ppas": "passive participle",
    "winien": "verb of obligation", "pred": "predicative", "prep": "preposition",
    "conj": "conjunction", "comp": "subordinating conjunction", "part": "particle",
    "qub": "particle", "interj": "interjection", "brev": "abbreviation",
    "frag": "bound word", "interp": "punctuation", "dig": "digits", "ign": "unknown",
}  # fmt: skip

_NUMBER = {
    "s": "singular", "d": "dual", "p": "plural", "sg": "singular", "pl": "plural",
    "Sing": "singular", "Plur": "plural", "Dual": "dual",
}  # fmt: skip
_GENDER = {
    "m": "masculine", "f": "feminine", "n": "neuter", "m1": "masculine personal",
    "m2": "masculine animate", "m3": "masculine inanimate", "Masc": "masculine",
    "Fem": "feminine", "Neut": "neuter",
}  # fmt: skip
_CASE = {
    "n": "nominative", "g": "genitive", "a": "accusative", "nom": "nominative",
    "gen": "genitive", "dat": "dative", "acc": "accusative", "inst": "instrumental",
    "loc": "locative", "voc": "vocative", "Nom": "nominative", "Gen": "genitive",
    "Dat": "dative", "Acc": "accusative", "Ins": "instrumental", "Loc": "locative",
    "Abl": "ablative", "Equ": "equative", "Voc": "vocative",
}  # fmt: skip
_PERSON = {
    "1": "1st person", "2": "2nd person", "3": "3rd person", "pri": "1st person",
    "sec": "2nd person", "ter": "3rd person",
}  # fmt: skip
_ASPECT = {
    "p": "perfect", "i": "imperfect", "c": "imperative", "imperf": "imperfective",
    "perf": "perfective", "Imp": "imperfective", "Perf": "perfective", "Prog": "progressive",
    "Hab": "habitual", "Prosp": "prospective",
}  # fmt: skip
_MOOD = {
    "i": "indicative", "s": "subjunctive", "j": "jussive", "Ind": "indicative",
    "Imp": "imperative", "Cnd": "conditional", "Opt": "optative", "Des": "desiderative",
    "Nec": "necessitative", "Pot": "potential", "Gen": "generalised",
}  # fmt: skip
_VOICE = {
    "a": "active", "p": "passive", "Act": "active", "Pass": "passive", "Cau": "causative",
    "Rcp": "reciprocal", "Rfl": "reflexive",
}  # fmt: skip
_STATE = {"i": "indefinite", "d": "definite", "c": "construct"}

VALUES: dict[str, dict[str, str]] = {
    "asp": _ASPECT, "Aspect": _ASPECT, "vox": _VOICE, "Voice": _VOICE, "mood": _MOOD,
    "Mood": _MOOD, "per": _PERSON, "perpos": _PERSON, "Person": _PERSON, "gen": _GENDER,
    "genpos": _GENDER, "Gender": _GENDER, "num": _NUMBER, "numpos": _NUMBER, "Number": _NUMBER,
    "cas": _CASE, "case": _CASE, "Case": _CASE, "stt": _STATE,
    "det": {"1": "with the article", "0": ""},
    "pre2": {"و": "with “and” before it", "ف": "with “so” before it"},
    "pre1": {
        "ب": "with “by, with” before it", "ل": "with “to, for” before it",
        "لَ": "with “indeed” before it",
        "ك": "with “like” before it", "س": "future", "و": "with an oath’s و before it",
        "ت": "with an oath’s ت before it",
    },
    "Tense": {"Past": "past", "Pres": "present", "Fut": "future", "Pqp": "pluperfect",
              "Aor": "aorist"},
    "Polarity": {"Pos": "", "Neg": "negative"},
    "VerbForm": {"Fin": "finite", "Part": "participle", "Conv": "converb", "Vnoun": "verbal noun",
                 "Inf": "infinitive"},
    "Number[psor]": {"Sing": "one owner", "Plur": "several owners"},
    "Person[psor]": {"1": "mine or ours", "2": "yours", "3": "his, hers, its or theirs"},
    "PronType": {"Prs": "personal", "Dem": "demonstrative", "Int": "interrogative",
                 "Rel": "relative", "Ind": "indefinite", "Art": "article"},
    "deg": {"pos": "positive", "com": "comparative", "sup": "superlative"},
    "neg": {"aff": "", "neg": "negative"},
    "acc": {"akc": "stressed form", "nakc": "unstressed form"},
    "prep": {"praep": "after a preposition", "npraep": ""},
    "agr": {"congr": "agreeing", "rec": "governing"},
    "coll": {"col": "collective", "ncol": "", "pt": "plural only"},
    "voc": {"wok": "vocalic", "nwok": ""},
    "other": {"agl": "with a personal ending", "nagl": "", "pun": "with a full stop", "npun": ""},
}  # fmt: skip

PRONOUN_PARTS = (_PERSON, _GENDER, _NUMBER)
"""The three characters of an attached pronoun, such as 3ms."""

SEGMENT_TAGS = {
    **CATEGORIES,
    "CONJ": "and, so", "SUB_CONJ": "conjunction", "PREP": "preposition", "DET": "the",
    "FUT_PART": "will", "FUT": "will", "PART": "particle", "RC_PART": "then",
    "EMPHATIC_PART": "indeed", "EMPHATIC_PARTICLE": "indeed", "INTERROG_PART": "question",
    "CONNEC_PART": "connective", "JUS_PART": "let", "NEG_PART": "not", "VOC_PART": "o!",
    "PROG_PART": "progressive",
    "NOUN_PROP": "proper noun", "NOUN_NUM": "number", "NOUN_QUANT": "quantity",
    "ADJ_COMP": "comparative", "ADJ_NUM": "ordinal number", "PV": "verb, perfect",
    "IV": "verb, imperfect", "CV": "verb, imperative", "PV_PASS": "verb, perfect passive",
    "IV_PASS": "verb, imperfect passive", "PRON": "pronoun", "REL_PRON": "relative pronoun",
    "DEM_PRON": "demonstrative", "PUNC": "punctuation", "DIGIT": "digits",
    "LATIN": "other script", "ABBREV": "abbreviation", "SUFFIX": "ending",
}  # fmt: skip
