"""What values of label elements and tags of segments mean, in plain words."""

from __future__ import annotations


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
