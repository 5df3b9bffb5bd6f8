"""A treebank of a toy Spanish, written for the tests, and a pipeline that was trained on it.

Every sentence is ``NAME VERB al|del NOUN .`` or ``El NOUN VERB .``; ``al`` is ``a el`` and ``del``
is ``de el``.
"""

from __future__ import annotations

from functools import cache
from itertools import product

from eigentext.language.formats.conllu import ConlluBlock, parse_sentence
from eigentext.pipeline import Pipeline

NAMES = ("Ana", "Luis", "Eva", "Juan")
VERBS = {"va": "ir", "viene": "venir", "corre": "correr"}
NOUNS = ("mar", "mercado", "parque", "puerto")
SMALL = {
    "folds": 2,
    "segmenter_settings": {"epochs": 4, "bits": 12},
    "morphology_settings": {"epochs": 3, "bits": 12},
    "parser_settings": {"order": 1, "epochs": 3, "bits": 12},
}


def _sentence(rows: list[tuple[str, str, str, str, int, str, str]]) -> ConlluBlock:
    lines = []
    for number, (form, lemma, upos, feats, head, deprel, note) in enumerate(rows, start=1):
        if note == "al" or note == "del":
            lines.append(f"{number}-{number + 1}\t{note}" + "\t_" * 8)
        misc = note if note.startswith("Space") else "_"
        lines.append(f"{number}\t{form}\t{lemma}\t{upos}\t_\t{feats}\t{head}\t{deprel}\t_\t{misc}")
    return parse_sentence("\n".join(lines) + "\n\n")


def sentences() -> list[ConlluBlock]:
    """The treebank: 96 sentences of the first sort, 12 of the second."""
    made = []
    for (verb, lemma), name, noun, joint in product(VERBS.items(), NAMES, NOUNS, ("al", "del")):
        case = {"al": "a", "del": "de"}[joint]
        made.append(
            _sentence(
                [
                    (name, name, "PROPN", "_", 2, "nsubj", ""),
                    (verb, lemma, "VERB", "Number=Sing|Person=3", 0, "root", ""),
                    (case, case, "ADP", "_", 5, "case", joint),
                    ("el", "el", "DET", "Definite=Def", 5, "det", ""),
                    (noun, noun, "NOUN", "Number=Sing", 2, "obl", "SpaceAfter=No"),
                    (".", ".", "PUNCT", "_", 2, "punct", ""),
                ]
            )
        )
    for (verb, lemma), noun in product(VERBS.items(), NOUNS):
        made.append(
            _sentence(
                [
                    ("El", "el", "DET", "Definite=Def", 2, "det", ""),
                    (noun, noun, "NOUN", "Number=Sing", 3, "nsubj", ""),
                    (verb, lemma, "VERB", "Number=Sing|Person=3", 0, "root", "SpaceAfter=No"),
                    (".", ".", "PUNCT", "_", 3, "punct", ""),
                ]
            )
        )
    return made


@cache
def toy_pipeline() -> Pipeline:
    """A pipeline of the treebank; do not change it."""
    return Pipeline(**SMALL).fit(sentences())
