"""A toy language: every word has readings that only its neighbours tell apart."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from eigentext.lexical.analysis import Analysis
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranker.encoding import Observed, Targets, WordEncoder
from eigentext.lexical.schemes.labels import load_scheme

SCHEME = load_scheme("turkish")
NOUNS = [f"{a}{b}a" for a in "bdklmn" for b in "aeiou"]


def label(lemma, upos, case="-"):
    return SCHEME.from_mapping({"lemma": lemma, "upos": upos, "Case": case})


def _analysis(word, upos, case="", source="lexicon"):
    features = {"upos": upos, "Case": case} if case else {"upos": upos}
    return Analysis.whole(word, upos, features, source=source)


class ToyAnalyzer:
    """Nouns are nominative or accusative, or verbs; other words are guesses."""

    name = "toy"

    def normalise(self, word):
        return word.lower()

    def analyse(self, word):
        if not word:
            return []
        if word in ("of", "sees"):
            return [_analysis(word, "ADP" if word == "of" else "VERB")]
        if word in NOUNS:
            return [
                _analysis(word, "NOUN", "Nom"),
                _analysis(word, "NOUN", "Acc"),
                _analysis(word, "VERB"),
            ]
        return [_analysis(word, "NOUN", "Nom", "backoff")]


def documents(n, seed=0, sentences=4):
    """After ``sees`` stands an accusative, after ``of`` a nominative, first a nominative."""
    chance = random.Random(seed)
    found = []
    for number in range(n):
        lines = []
        for _ in range(sentences):
            a, b, c = (chance.choice(NOUNS) for _ in range(3))
            lines.append(
                [
                    LexWord(a, label(a, "NOUN", "Nom")),
                    LexWord("sees", label("sees", "VERB")),
                    LexWord(b, label(b, "NOUN", "Acc")),
                    LexWord("of", label("of", "ADP")),
                    LexWord(c, label(c, "NOUN", "Nom")),
                    LexWord(".", None, False),
                ]
            )
        found.append(LexDocument(f"d{seed}-{number}", lines))
    return found


def encoded_toy(given):
    """The encoder and the arrays of toy documents, each left out of its own candidates."""
    candidates = LabelSource(ToyAnalyzer(), SCHEME)
    encoder = WordEncoder(candidates, Targets(SCHEME, hard=("Case", "upos")))
    observed = Observed()
    numbers = {document.id: number for number, document in enumerate(given)}
    for document in given:
        for word in document.words():
            if word.scored:
                observed.add(word.form, word.label, numbers[document.id])
    return encoder, encoder(given, observed, training=numbers)


@pytest.fixture(scope="session")
def language():
    """The toy language: its scheme, its analyzer, and makers of documents and arrays."""
    return SimpleNamespace(
        scheme=SCHEME,
        label=label,
        nouns=NOUNS,
        analyzer=ToyAnalyzer,
        documents=documents,
        encoded=encoded_toy,
    )
