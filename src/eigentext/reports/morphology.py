"""Readings of words for people: labels in plain words, and words cut into coloured pieces.

1. :func:`in_plain_words` turns the values of label elements into a phrase.
2. :func:`segment_words` says what a segment's tag means, and :func:`kinds` which segments stand
   before the stem and which after it.
3. :func:`cut` cuts the vocalised word where the segments meet, so that it can be coloured.

What no table knows is shown as it stands: nothing is left out because it has no name here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple


def _table(text: str) -> dict[str, str]:
    """Meanings by name, of cells such as ``N noun;``; what has no meaning is left unsaid.

    >>> _table("N noun; PROPN proper noun; 0")
    {'N': 'noun', 'PROPN': 'proper noun', '0': ''}
    """
    cells = (cell.split(maxsplit=1) for cell in text.split(";"))
    return {name: meaning[0].strip() if meaning else "" for name, *meaning in cells}


_ARABIC = _table("""
    N noun; A adjective; V verb; P preposition; C conjunction; D adverb; S pronoun; F particle;
    Q number; I interjection; Y abbreviation; G punctuation; X unclassified
""")
_UNIVERSAL = _table("""
    ADJ adjective; ADP adposition; ADV adverb; AUX auxiliary; CCONJ coordinating conjunction;
    DET determiner; INTJ interjection; NOUN noun; NUM number; PART particle; PRON pronoun;
    PROPN proper noun; PUNCT punctuation; SCONJ subordinating conjunction; SYM sign; VERB verb
""")
_POLISH = _table("""
    subst noun; depr depreciative noun; adj adjective; adja adjective in a compound;
    adjp adjective after a preposition; adjc predicative adjective; adv adverb; num numeral;
    numcomp numeral; ppron12 personal pronoun; ppron3 personal pronoun; siebie reflexive pronoun;
    fin verb, present or future; bedzie future of “być”; aglt personal ending; praet verb, past;
    impt verb, imperative; imps verb, impersonal; inf infinitive; pcon adverbial participle;
    pant anterior participle; ger verbal noun; pact active participle; ppas passive participle;
    winien verb of obligation; pred predicative; prep preposition; conj conjunction;
    comp subordinating conjunction; part particle; qub particle; interj interjection;
    brev abbreviation; frag bound word; interp punctuation; dig digits; ign unknown
""")  # of the national corpus
CATEGORIES = {**_ARABIC, **_UNIVERSAL, **_POLISH}

_NUMBER = _table("""
    s singular; d dual; p plural; sg singular; pl plural; Sing singular; Plur plural; Dual dual
""")
_GENDER = _table("""
    m masculine; f feminine; n neuter; m1 masculine personal; m2 masculine animate;
    m3 masculine inanimate; Masc masculine; Fem feminine; Neut neuter
""")
_CASE = _table("""
    n nominative; g genitive; a accusative; nom nominative; gen genitive; dat dative;
    acc accusative; inst instrumental; loc locative; voc vocative; Nom nominative; Gen genitive;
    Dat dative; Acc accusative; Ins instrumental; Loc locative; Abl ablative; Equ equative;
    Voc vocative
""")
_PERSON = _table("""
    1 1st person; 2 2nd person; 3 3rd person; pri 1st person; sec 2nd person; ter 3rd person
""")
_ASPECT = _table("""
    p perfect; i imperfect; c imperative; imperf imperfective; perf perfective; Imp imperfective;
    Perf perfective; Prog progressive; Hab habitual; Prosp prospective
""")
_MOOD = _table("""
    i indicative; s subjunctive; j jussive; Ind indicative; Imp imperative; Cnd conditional;
    Opt optative; Des desiderative; Nec necessitative; Pot potential; Gen generalised
""")
_VOICE = _table("""
    a active; p passive; Act active; Pass passive; Cau causative; Rcp reciprocal; Rfl reflexive
""")
_STATE = _table("i indefinite; d definite; c construct")

VALUES: dict[str, dict[str, str]] = {
    "asp": _ASPECT,
    "Aspect": _ASPECT,
    "vox": _VOICE,
    "Voice": _VOICE,
    "mood": _MOOD,
    "Mood": _MOOD,
    "per": _PERSON,
    "perpos": _PERSON,
    "Person": _PERSON,
    "gen": _GENDER,
    "genpos": _GENDER,
    "Gender": _GENDER,
    "num": _NUMBER,
    "numpos": _NUMBER,
    "Number": _NUMBER,
    "cas": _CASE,
    "case": _CASE,
    "Case": _CASE,
    "stt": _STATE,
    "det": _table("1 with the article; 0"),
    "pre2": _table("و with “and” before it; ف with “so” before it"),
    "pre1": _table("""
        ب with “by, with” before it; ل with “to, for” before it; لَ with “indeed” before it;
        ك with “like” before it; س future; و with an oath’s و before it;
        ت with an oath’s ت before it
    """),
    "Tense": _table("Past past; Pres present; Fut future; Pqp pluperfect; Aor aorist"),
    "Polarity": _table("Pos; Neg negative"),
    "VerbForm": _table("""
        Fin finite; Part participle; Conv converb; Vnoun verbal noun; Inf infinitive
    """),
    "Number[psor]": _table("Sing one owner; Plur several owners"),
    "Person[psor]": _table("1 mine or ours; 2 yours; 3 his, hers, its or theirs"),
    "PronType": _table("""
        Prs personal; Dem demonstrative; Int interrogative; Rel relative; Ind indefinite;
        Art article; Neg negative; Tot collective; Rcp reciprocal; Exc exclamative
    """),
    "Definite": _table("Def definite; Ind indefinite; Cons construct; Com complex"),
    "Degree": _table("Pos; Cmp comparative; Sup superlative; Abs absolute"),
    "NumType": _table("Card cardinal; Ord ordinal; Mult multiplicative; Frac fraction"),
    "NumForm": _table("Digit in digits; Word in words; Roman in Roman digits"),
    "Poss": _table("Yes possessive"),
    "Reflex": _table("Yes reflexive"),
    "Foreign": _table("Yes foreign"),
    "Abbr": _table("Yes abbreviated"),
    "Typo": _table("Yes a typing error"),
    "Animacy": _table("Anim animate; Inan inanimate; Hum human; Nhum not human"),
    "Clitic": _table("Yes clitic"),
    "deg": _table("pos positive; com comparative; sup superlative"),
    "neg": _table("aff; neg negative"),
    "acc": _table("akc stressed form; nakc unstressed form"),
    "prep": _table("praep after a preposition; npraep"),
    "agr": _table("congr agreeing; rec governing"),
    "coll": _table("col collective; ncol; pt plural only"),
    "voc": _table("wok vocalic; nwok"),
    "other": _table("agl with a personal ending; nagl; pun with a full stop; npun"),
}

PRONOUN_PARTS = (_PERSON, _GENDER, _NUMBER)
"""The three characters of an attached pronoun, such as 3ms."""

SEGMENT_TAGS = CATEGORIES | _table("""
    DET the; CONJ and, so; SUB_CONJ conjunction; PREP preposition; FUT_PART will; FUT will;
    RC_PART then; EMPHATIC_PART indeed; EMPHATIC_PARTICLE indeed; INTERROG_PART question;
    CONNEC_PART connective; JUS_PART let; NEG_PART not; VOC_PART o!; PROG_PART progressive;
    NOUN_PROP proper noun; NOUN_NUM number; NOUN_QUANT quantity; ADJ_COMP comparative;
    ADJ_NUM ordinal number; PV verb, perfect; IV verb, imperfect; CV verb, imperative;
    PV_PASS verb, perfect passive; IV_PASS verb, imperfect passive; REL_PRON relative pronoun;
    DEM_PRON demonstrative; PUNC punctuation; DIGIT digits; LATIN other script;
    ABBREV abbreviation; SUFFIX ending
""")

ENDINGS = _table("""
    FEM feminine; MASC masculine; SG singular; DU dual; PL plural; NOM nominative; GEN genitive;
    ACC accusative; ACCGEN accusative or genitive; POSS construct
""")


_CATEGORY = ("pos", "upos")
_NOT_SAID = frozenset({"dpos", "suf", "persuf", "numsuf", "gensuf"})  # or said elsewhere
_ORDER = tuple(
    "pos upos pre2 pre1 det asp Tense Aspect mood Mood vox Voice per perpos Person gen genpos num "
    "numpos Number cas case Case stt".split()
)
_AFTER = re.compile(
    r"(?:NSUFF|PVSUFF|IVSUFF|CVSUFF|CASE_|POSS_PRON|SUFFIX|PRON(?:_\d|$)|MOOD)", re.ASCII
)
_SUBJECT = re.compile(r"(?:IV|PVSUFF_SUBJ:|CVSUFF_SUBJ:)([123])([MF]?)([SDP])")
_OBJECT = re.compile(r"(?:IVSUFF_DO:|PVSUFF_DO:|CVSUFF_DO:|POSS_PRON_|PRON_)([123])([MF]?)([SDP])")
_CASE_TAG = re.compile(r"CASE_(?:DEF|INDEF)_(NOM|GEN|ACC)")
_CASE_NAME = {"NOM": "nominative", "GEN": "genitive", "ACC": "accusative"}
_LETTER_MARKS = re.compile("[^\u064b-\u0652\u0670][\u064b-\u0652\u0670]*")
_MARKS = re.compile("[\u064b-\u0652\u0670\u0640]")
_FOLD = str.maketrans("ةأإآٱؤئى", "تااااءءي")


class WordPiece(NamedTuple):
    """A stretch of a word and where it stands: ``before``, ``stem`` or ``after``."""

    text: str
    kind: str


def in_plain_words(label: Mapping[str, str], missing: str = "-") -> str:
    """The label without its lemma, as a phrase.

    >>> in_plain_words({"lemma": "x", "pos": "V", "asp": "p", "vox": "a", "per": "3", "gen": "f",
    ...                 "num": "s", "pron": "3ms"})
    'verb, perfect, active, 3rd person, feminine, singular, with the pronoun 3rd person masculine \
singular'
    >>> in_plain_words({"pos": "N", "det": "1", "odd": "x", "cas": "n"})
    'noun, with the article, nominative, odd x'
    """
    return _in_words(tuple((name, label[name]) for name in label if name != "lemma"), missing)


@lru_cache(maxsize=10_000)  # labels are many, but most differ in the lemma only
def _in_words(values: tuple[tuple[str, str], ...], missing: str) -> str:
    label = dict(values)
    in_order = [name for name in _ORDER if name in label]
    rest = [name for name in label if name not in _ORDER and name not in _NOT_SAID]
    phrases = []
    for name in (*in_order, *rest):
        value = label[name]
        if value in (missing, ""):
            continue
        if name == "pron":
            phrases.append(f"with the pronoun {_pronoun(value)}")
        elif name in _CATEGORY:
            phrases.append(CATEGORIES.get(value, value))
        else:
            phrases.append(VALUES.get(name, {}).get(value, f"{name} {value}"))
    if "dpos" in label:  # a verb's aspect and voice, or a noun's state, in one
        phrases.extend(_joined(label["dpos"]))
    return ", ".join(filter(None, phrases)) or "no more is known"


def _joined(value: str) -> list[str]:
    """The parts of a joined element: aspect, voice, state."""
    parts = value.split(".")
    tables = (VALUES["asp"], VALUES["vox"], VALUES["stt"])
    if len(parts) != len(tables):
        return [value]
    return [table[part] for table, part in zip(tables, parts, strict=True) if part in table]


def _pronoun(code: str) -> str:
    if len(code) != len(PRONOUN_PARTS):
        return code
    if code[0] == "1":  # I and we have no gender; labels say m
        code = f"1\x00{code[2]}"
    parts = zip(PRONOUN_PARTS, code, strict=True)
    return " ".join(table.get(c, c) for table, c in parts if c != "\x00")


@lru_cache(maxsize=1_000)
def segment_words(tag: str) -> str:
    """What the tag of a segment means.

    >>> segment_words("POSS_PRON_3MS"), segment_words("CASE_DEF_NOM"), segment_words("DET")
    ('pronoun, 3rd person masculine singular', 'nominative', 'the')
    """
    if tag in SEGMENT_TAGS:
        return SEGMENT_TAGS[tag]
    if match := _SUBJECT.match(tag):
        return f"subject, {_person(match)}"
    if match := _OBJECT.match(tag):
        return f"pronoun, {_person(match)}"
    if match := _CASE_TAG.match(tag):
        return _CASE_NAME[match[1]]
    if tag.startswith("NSUFF"):
        return " ".join(filter(None, map(ENDINGS.get, tag.split("_")[1:]))) or "ending"
    if "SUFF_SUBJ" in tag:
        return "subject"
    first = tag.split(":", maxsplit=1)[0].split("+", maxsplit=1)[0]
    return SEGMENT_TAGS.get(first, tag)


def _person(match: re.Match[str]) -> str:
    person, gender, number = match.groups()
    tables = zip(PRONOUN_PARTS, (person, gender.lower(), number.lower()), strict=True)
    return " ".join(table[c] for table, c in tables if c)


def kinds(tags: Sequence[str]) -> list[str]:
    """Where each segment stands: the stem is the last one before the endings.

    >>> kinds(["CONJ", "DET", "NOUN", "CASE_DEF_GEN"])
    ['before', 'before', 'stem', 'after']
    """
    end = len(tags)
    while end > 1 and _AFTER.match(tags[end - 1]):
        end -= 1
    return ["before"] * (end - 1) + ["stem"] * (end > 0) + ["after"] * (len(tags) - end)


def cut(vocalised: str, segments: Sequence[tuple[str, str]]) -> list[WordPiece]:
    """The vocalised word in pieces; whole where its letters are not those of the segments.

    Joined again, the pieces are the word.  A segment of vowel signs only stays with the letter
    before it.

    >>> cut("الْكِتابِ", [("ال", "DET"), ("كِتاب", "NOUN"), ("ِ", "CASE_DEF_GEN")])
    [WordPiece(text='الْ', kind='before'), WordPiece(text='كِتابِ', kind='stem')]
    """
    letters = _LETTER_MARKS.findall(vocalised)
    whole = [WordPiece(vocalised, "stem")]
    if "".join(letters) != vocalised:
        return whole
    folded = [_MARKS.sub("", letter).translate(_FOLD) for letter in letters]
    pieces: list[WordPiece] = []
    position = 0
    for (surface, tag), kind in zip(segments, kinds([tag for _, tag in segments]), strict=True):
        letters_of_piece = _MARKS.sub("", surface).translate(_FOLD)
        if not letters_of_piece:
            continue
        if tag == "DET" and letters_of_piece == "ال" and folded[position : position + 1] == ["ل"]:
            letters_of_piece = "ل"  # the article's alif is not written after li-
        if folded[position : position + len(letters_of_piece)] != list(letters_of_piece):
            return whole
        pieces.append(
            WordPiece("".join(letters[position : position + len(letters_of_piece)]), kind)
        )
        position += len(letters_of_piece)
    return pieces if position == len(letters) and pieces else whole
