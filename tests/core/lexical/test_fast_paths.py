"""What was made fast answers as the plain way does."""

from __future__ import annotations

import random

import numpy as np
import pytest

from eigentext.datasets import analyse
from eigentext.datasets.arabic_lexicon import _lexicon
from eigentext.language.formats.conllu import parse_sentence
from eigentext.lexical.analyzers import learned
from eigentext.lexical.analyzers.learned import LearnedAnalyzer
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranker.encoding import Observed, Targets, WordEncoder
from eigentext.lexical.ranker.kernels import counting
from eigentext.lexical.ranker.model import LexicalRanker

SMALL = {"bits": 10, "epochs": 2, "passes": 2}
ROW = "{}\t{}\t{}\t{}\t_\tNumber={}\t0\troot\t_\t_"


def treebank(language_letters, seed=0):
    """Sentences of made-up words with suffixes."""
    chance = random.Random(seed)
    sentences = []
    for _ in range(60):
        rows = []
        for place in range(1, 6):
            stem = "".join(chance.choice(language_letters) for _ in range(chance.randint(2, 4)))
            suffix = chance.choice(["", "ler", "lar", "de", "Da", "9"])
            form = stem + suffix
            form = form.capitalize() if chance.random() < 0.3 else form
            upos = chance.choice(["NOUN", "VERB", "PROPN"])
            rows.append(ROW.format(place, form, stem, upos, "Plur" if "l" in suffix else "Sing"))
        sentences.append(parse_sentence("\n".join(rows)))
    return sentences


def plain_ranking(analyzer, word):
    """Readings by endings: every rule of every ending is tried."""
    share = {}
    for key in learned._endings(word, analyzer._language):
        counts = analyzer._endings.get(key)
        if counts is None:
            continue
        total, kinds = sum(counts.values()), len(counts)
        share = {number: p * kinds / (total + kinds) for number, p in share.items()}
        for number, count in counts.items():
            share[number] = share.get(number, 0.0) + count / (total + kinds)
    ranked = []
    for number, p in share.items():
        reading = analyzer._readings[number]
        lemma = reading.rule.apply(word, analyzer._language)
        if lemma is not None:
            known = (lemma, dict(reading.features)["upos"]) in analyzer._known
            ranked.append((min(p * (20.0 if known else 1.0), 1.0), number, lemma))
    return sorted(ranked, key=lambda item: (-item[0], item[1]))


def test_readings_by_endings_are_those_of_trying_every_rule():
    analyzer = LearnedAnalyzer.fit(treebank("abeklmnü"))
    chance = random.Random(1)
    words = ["", "a", "9", "Da", "ΟΔΟΣ", "İler", "x9De", "..."]
    words += ["".join(chance.choice("abekLlrDd9") for _ in range(7)) for _ in range(300)]
    for word in words:
        expected = plain_ranking(analyzer, word)
        found = analyzer._by_endings(word, word.lower())
        assert [(n, lemma) for _, n, lemma in found] == [(n, lemma) for _, n, lemma in expected]
        assert np.allclose([p for p, *_ in found], [p for p, *_ in expected], rtol=1e-12)


def test_a_rule_of_front_vowels_serves_back_vowels(tmp_path):
    rows = [ROW.format(n, f"{s}lerde", s, "NOUN", "Plur") for n, s in enumerate(["ev", "el"], 1)]
    sentence = parse_sentence("\n".join(rows))
    folded = LearnedAnalyzer.fit([sentence], language="tr")
    assert "kap" in [a.lemma for a in folded.analyse("kaplarda")]
    assert "kap" in [a.lemma for a in folded.analyse("Kaplarda")]
    assert "kap" not in [a.lemma for a in LearnedAnalyzer.fit([sentence]).analyse("kaplarda")]
    folded.save(tmp_path / "rules")
    again = LearnedAnalyzer.load(tmp_path / "rules")
    assert again.analyse("kaplarda") == folded.analyse("kaplarda")


def test_units_are_the_values_on_which_rows_differ():
    chance = np.random.default_rng(0)
    for _ in range(40):
        n, n_targets = chance.integers(1, 9), 6
        rows = chance.integers(1, 4, (n, n_targets)).astype(np.uint64)
        rows[:, 2] = 5
        row_units = np.zeros(rows.shape, np.int32)
        unit_hash = np.zeros(rows.size, np.uint64)
        unit_target = np.zeros(rows.size, np.int32)
        units = counting.factored(rows, row_units, unit_hash, unit_target)
        expected = [
            (value, t)
            for t in range(n_targets)
            if len(set(rows[:, t].tolist())) > 1
            for value in dict.fromkeys(rows[:, t].tolist())
        ]
        pairs = zip(unit_hash[:units].tolist(), unit_target[:units].tolist(), strict=True)
        assert list(pairs) == expected
        for row in range(n):
            for t in range(n_targets):
                unit = row_units[row, t]
                assert (unit == -1) == (len(set(rows[:, t].tolist())) == 1)
                assert unit < 0 or (rows[row, t], t) == (unit_hash[unit], unit_target[unit])


def test_what_is_remembered_of_forms_ends_when_more_is_observed(language):
    encoder = WordEncoder(
        LabelSource(language.analyzer(), language.scheme), Targets(language.scheme, hard=("Case",))
    )
    observed = Observed()
    text = [LexDocument("d", [[LexWord("new")]])]
    before = encoder(text, observed)
    observed.add("new", language.label("new", "ADV"), 0)
    after = encoder(text, observed)
    assert len(after.candidates[0]) == len(before.candidates[0]) + 1
    assert len(encoder(text, Observed()).candidates[0]) == len(before.candidates[0])


@pytest.fixture(scope="module")
def ranker(language):
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    return made.fit(language.documents(12))


def test_ranked_words_are_the_scores_in_order(ranker, language):
    text = language.documents(2, seed=5)
    scored = [ranker.score_documents([document]) for document in text]
    for (encoded, found), ranked in zip(scored, ranker.rank_documents(text), strict=True):
        words = [word for sentence in ranked for word in sentence]
        assert [len(s) for s in ranked] == [6] * 4
        for place, word in enumerate(words):
            begin, end = encoded.first[place], encoded.first[place + 1]
            order = sorted(range(end - begin), key=lambda row: -found[begin + row])
            given = encoded.candidates[place]
            assert [c.label for c in word.candidates] == [given[row].label for row in order]
            assert [c.score for c in word.candidates] == [found[begin + row] for row in order]
            assert word.guessed == all(c.is_guess for c in given)


def test_training_words_get_the_readings_of_an_analyzer_that_has_not_seen_them(language):
    class Other(language.analyzer):
        def analyse(self, word):
            return super().analyse(word)[:1]

    documents = language.documents(6)
    made = LexicalRanker(
        analyzer=language.analyzer(), scheme=language.scheme, observed=False, **SMALL
    )
    kept = []
    real = made._fit_stages
    made._fit_stages = lambda first, second, tell: (kept.append(first), real(first, second, tell))
    made.fit(documents, out_of_sample={documents[1].id: Other()})
    encoded = kept[0]
    sizes = [
        {len(encoded.candidates[place]) for place in np.flatnonzero(encoded.document_of == d)}
        for d in range(2)
    ]
    assert max(sizes[0]) == 3
    assert sizes[1] == {1}
    assert len(made.rank([language.nouns[0]])[0].candidates) == 3


def test_a_new_neighbour_of_a_known_cluster_is_a_known_neighbour(language, tmp_path):
    """A word unlike any other stands for one of its cluster."""
    clusters = dict.fromkeys(language.nouns, "00") | {"sees": "010", "qqq": "010", "of": "10"}
    made = LexicalRanker(
        analyzer=language.analyzer(), scheme=language.scheme, clusters=clusters, **SMALL
    ).fit(language.documents(20))
    plain = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    plain.fit(language.documents(20))
    noun = language.nouns[0]
    accusative = language.label(noun, "NOUN", "Acc")

    def probability(ranker):
        found = ranker.rank([noun, "qqq", noun])[2].candidates
        return next(c.probability for c in found if c.label == accusative)

    assert probability(made) > probability(plain)
    made.save(tmp_path / "r")
    again = LexicalRanker.load(tmp_path / "r", analyzer=language.analyzer())
    assert again.rank([noun, "qqq", noun]) == made.rank([noun, "qqq", noun])


def test_the_sample_lexicon_tries_all_cuts_that_can_be_right():
    lexicon = _lexicon()
    chance = random.Random(0)
    parts = [sorted(t) for t in (lexicon.prefixes, lexicon.stems, lexicon.suffixes)]
    for _ in range(200):
        word = "".join(chance.choice(part) for part in parts)
        cuts = {
            (start, end)
            for start in range(len(word))
            for end in range(start + 1, len(word) + 1)
            for stem in lexicon.stems.get(word[start:end], ())
            for prefix in lexicon.prefixes.get(word[:start], ())
            for suffix in lexicon.suffixes.get(word[end:], ())
            if (prefix["class"], stem["class"], suffix["class"]) in lexicon.compatible
        }
        assert bool(cuts) == bool(analyse(word))


def test_a_long_token_takes_the_sample_lexicon_no_time():
    lexicon = _lexicon()
    tried = []

    class Spy(dict):
        def get(self, key, default=None):
            tried.append(key)
            return super().get(key, default)

    spied = lexicon._replace(stems=Spy(lexicon.stems))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eigentext.datasets.arabic_lexicon._lexicon", lambda: spied)
        assert analyse("و" * 10_000) == []
        assert analyse("كتب")
    assert len(tried) < 100
