"""The ranker: it learns from context, nothing leaks, every token gets an answer."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from eigentext.base.model import NotFittedError
from eigentext.errors import DataError, SettingsError
from eigentext.lexical.crossval import cross_validate, evaluate_ranker, folds_by_document
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranker import model
from eigentext.lexical.ranker.encoding import Observed
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.ranker.second_pass import best_rows
from eigentext.lexical.ranker.softmax import calibration_error, probabilities
from eigentext.lexical.ranker.templates import PAPER

SMALL = {"bits": 12, "epochs": 3, "passes": 2}


@pytest.fixture(scope="module")
def ranker(language):
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    return made.fit(language.documents(30))


def rescored(ranker, documents):
    return ranker.score_documents(documents)[1]


def without_gold(documents):
    return [
        LexDocument(
            d.id, [[LexWord(w.form, None, w.scored) for w in line] for line in d.sentences]
        )
        for d in documents
    ]


def with_label(documents, label):
    """Every word as gold of this label."""
    return [
        LexDocument(d.id, [[LexWord(w.form, label, True) for w in line] for line in d.sentences])
        for d in documents
    ]


def test_context_is_learned(ranker, language):
    found = evaluate_ranker(ranker, language.documents(8, seed=1))
    assert found.scores.full.a1 > 97
    assert found.scores.coverage == pytest.approx(100.0, abs=1e-9)


def test_gold_of_the_test_documents_changes_nothing(ranker, language):
    """The canary: a token's gold, and its neighbours', is not seen in any pass."""
    test = language.documents(5, seed=2)
    planted = with_label(test, language.label("canary", "X"))
    assert np.array_equal(rescored(ranker, test), rescored(ranker, without_gold(test)))
    assert np.array_equal(rescored(ranker, test), rescored(ranker, planted))


def test_the_oracle_does_see_gold_neighbours(ranker, language):
    test = language.documents(5, seed=2)
    planted = with_label(test, language.label("canary", "X"))
    ranker.oracle = True
    try:
        assert not np.array_equal(rescored(ranker, test), rescored(ranker, planted))
    finally:
        ranker.oracle = False


def test_a_label_seen_only_in_its_own_document_is_no_candidate_there(language):
    planted = LexWord("canary", language.label("secret", "X"))
    training = [*language.documents(6), LexDocument("own", [[planted, LexWord(".", None, False)]])]
    _, encoded = language.encoded(training)
    place = encoded.words.index("canary")
    assert encoded.gold_row[place] == -1
    assert planted.label not in [c.label for c in encoded.candidates[place]]
    fitted = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    known = fitted.fit(training).rank(["canary"])[0]
    assert planted.label in [c.label for c in known.candidates]
    assert not known.guessed


def test_what_a_training_document_is_weighed_by_does_not_hold_its_gold(language, monkeypatch):
    """Change one document's gold: its own features stay in both passes, its columns in the first.

    (In the second the columns count neighbours that were predicted elsewhere with its help.)
    """
    from eigentext.lexical.ranker import model as module

    kept = []
    real = module.pass_columns

    def spy(*arguments, **more):
        made = real(*arguments, **more)
        kept.append(made)
        return made

    monkeypatch.setattr(module, "pass_columns", spy)
    monkeypatch.setattr(module, "fit_softmax", _fixed_weights)
    training = language.documents(6)
    changed = list(training)
    other = language.label("zzz", "X")
    changed[2] = LexDocument(
        training[2].id,
        [
            [
                w._replace(label=other) if w.form not in ("of", "sees") and w.scored else w
                for w in line
            ]
            for line in training[2].sentences
        ],
    )
    for documents in (training, changed):
        made = LexicalRanker(
            analyzer=language.analyzer(), scheme=language.scheme, observed=False, **SMALL
        )
        made.fit(documents)
    half = len(kept) // 2
    assert half == 2
    for number, (before, after) in enumerate(zip(kept[:half], kept[half:], strict=True)):
        e = before.encoded
        words = np.flatnonzero(e.document_of == 2)
        units = np.arange(e.unit_first[words[0]], e.unit_first[words[-1] + 1])
        assert np.array_equal(before.atoms[words], after.atoms[words])
        assert number or np.array_equal(before.z[units], after.z[units])
        elsewhere = np.flatnonzero(e.document_of != 2)
        others = np.arange(e.unit_first[elsewhere[0]], e.unit_first[words[0]])
        assert not np.array_equal(before.z[others], after.z[others])


def _fixed_weights(inputs, words, *, bits=0, **_):
    from eigentext.lexical.ranker.records import RankWeights

    e = inputs.encoded
    weights = RankWeights.full(
        0.0, inputs.z.shape[1], e.row_hash.shape[1], e.numeric.shape[1], bits
    )
    weights.dense[:] = 0.1
    return weights


def test_the_same_every_time_and_after_a_file(ranker, language, tmp_path):
    test = language.documents(4, seed=3)
    again = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    again.fit(language.documents(30))
    assert np.array_equal(rescored(ranker, test), rescored(again, test))
    ranker.save(tmp_path / "toy.ranker")
    again.save(tmp_path / "again.ranker")
    assert (tmp_path / "toy.ranker").read_bytes() == (tmp_path / "again.ranker").read_bytes()
    loaded = LexicalRanker.load(tmp_path / "toy.ranker", analyzer=language.analyzer())
    assert np.array_equal(rescored(ranker, test), rescored(loaded, test))
    assert loaded.rank(["baa", "sees"]) == ranker.rank(["baa", "sees"])


def test_documents_together_are_documents_apart(ranker, language):
    test = language.documents(3, seed=4)
    apart = np.concatenate([rescored(ranker, [document]) for document in test])
    assert np.allclose(apart, rescored(ranker, test), atol=1e-9)


def test_every_token_gets_an_answer(ranker):
    odd = ["", "x" * 10_000, "ـ", "\u200d", "ﷲ", "123", "of", "a\u0301", "𝔘"]
    found = ranker.rank(odd)
    assert [word.form for word in found] == odd
    for word in found:
        assert word.candidates
        assert sum(c.probability for c in word.candidates) == pytest.approx(1.0, abs=1e-9)
        assert 0.0 <= word.margin <= 1.0
    assert found[1].guessed
    assert not found[6].guessed
    assert ranker.rank([]) == []
    assert list(ranker.rank_documents([LexDocument("empty", []), LexDocument("e", [[]])])) == [
        [],
        [[]],
    ]


def test_what_a_person_decided_holds_and_moves_the_neighbours(ranker, language):
    tokens = ["baa", "sees", "koa", "of", "mia"]
    decided = language.label("sees", "ADP")
    plain = ranker.rank(tokens)
    fixed = ranker.rank(tokens, fixed={1: decided})
    assert fixed[1].best.label == decided
    assert fixed[1].best.probability == pytest.approx(1.0, abs=1e-12)
    assert fixed[2].candidates != plain[2].candidates
    with pytest.raises(SettingsError, match="no token 9"):
        ranker.rank(tokens, fixed={9: decided})


def test_a_string_is_not_a_list_of_tokens(ranker):
    with pytest.raises(SettingsError, match="list of tokens"):
        ranker.rank("of")


def test_algorithm_1_by_hand(language):
    """Counts z of D1, weights of D2 by least squares on them, scores Z = sum of w z (Eq. 5)."""
    made = LexicalRanker(
        analyzer=language.analyzer(),
        scheme=language.scheme,
        templates=("form@0", "form@-1"),
        targets=("label",),
        transform="count",
        weights="regression",
        holdout=0.2,
        passes=1,
        bits=0,
        min_count=1,
        document_counts=False,
    ).fit(language.documents(30))
    halves = made._split(language.documents(30))
    assert [len(half) for half in halves] == [24, 6]

    def contexts(documents):
        """(features, word) of every word; the last feature, (), is that of all words."""
        for line in (line for document in documents for line in document.sentences):
            for before, word in zip([None, *line], line, strict=False):
                yield (("0", word.form), ("-1", before and before.form), ()), word

    z = Counter()
    for features, word in contexts(halves[0]):
        if word.label is not None:
            z.update((feature, word.label) for feature in features)

    def candidates(features, word):
        """Labels with their counts; where there is but one, there is nothing to weigh."""
        labels = [candidate.label for candidate in made.candidates_(word.form)]
        several = len(labels) > 1
        return [(label, [several * z[f, label] for f in features]) for label in labels]

    rows, right = [], []
    for features, word in contexts(halves[1]):
        if word.form in language.nouns:
            for label, counts in candidates(features, word):
                rows.append(counts)
                right.append(label == word.label)
    spread = np.std(rows, axis=0)
    x = (np.array(rows) - np.mean(rows, axis=0)) / spread
    ridge = 1e-3 * len(x) * np.eye(3)
    w = np.linalg.solve(x.T @ x + ridge, x.T @ (right - np.mean(right))) / spread
    assert (w > 0).all()

    test = language.documents(5, seed=1)
    by_hand = [
        np.dot(counts, w)
        for features, word in contexts(test)
        for _, counts in candidates(features, word)
    ]
    np.testing.assert_allclose(rescored(made, test), by_hand, rtol=1e-4, atol=1e-6)


def test_one_element_alone_and_the_factors_together(language):
    """Tables 4 and 5 of Shah et al.: M_e knows its element, M_baseline only whole labels that
    it has met, M_full what their elements have in common."""

    def scores(*targets):
        made = LexicalRanker(
            analyzer=language.analyzer(),
            scheme=language.scheme,
            templates=PAPER,
            targets=targets,
            transform="variance",
            weights="svr",
            holdout=0.2,
            passes=1,
            bits=0,
            min_count=1,
        ).fit(language.documents(10, sentences=2))
        return evaluate_ranker(made, language.documents(10, seed=1)).scores

    assert scores("upos").elements["upos"].a1 == 100.0
    assert scores("upos").full.a1 < 75  # of a case it knows nothing
    assert scores("Case").full.a1 == 100.0  # here the case settles the rest
    whole, factored = scores("label"), scores("label", *language.scheme.elements)
    assert whole.untrained.a1 < 50
    assert whole.untrained.words > 20
    assert factored.untrained.a1 == factored.full.a1 == 100.0


def test_folds_are_by_document_and_cover_all(language):
    docs = language.documents(7)
    fold = folds_by_document(docs, 3)
    assert fold == folds_by_document(docs, 3)
    assert sorted(fold) == [0, 0, 0, 1, 1, 2, 2]

    def make():
        return LexicalRanker(
            analyzer=language.analyzer(), scheme=language.scheme, bits=0, passes=1, epochs=1
        )

    results = list(cross_validate(docs, make, folds=3))
    assert sum(r.scores.full.words for r in results) == sum(
        w.scored for d in docs for w in d.words()
    )
    with pytest.raises(SettingsError, match="folds"):
        folds_by_document(docs, 8)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"passes": 0}, "passes"),
        ({"transform": "x"}, "transform"),
        ({"holdout": 1.5}, "holdout"),
        ({"templates": ["form"]}, "attribute@offset"),
        ({"clusters": {}, "vectors": {}}, "expected one of them"),
    ],
)
def test_bad_settings_are_told(settings, why):
    with pytest.raises(SettingsError, match=why):
        LexicalRanker(**settings).fit([])


def test_nothing_to_learn_is_told(language):
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme)
    with pytest.raises(SettingsError, match="nothing to learn"):
        made.fit([LexDocument("d", [[LexWord("of")]])])
    with pytest.raises(SettingsError, match="each document id once"):
        made.fit(language.documents(1) * 2)


def test_observed_labels_leave_out_a_document():
    seen = Observed()
    seen.add("a", ("x",), 0)
    seen.add("a", ("x",), 1)
    seen.add("a", ("y",), 1)
    assert seen.labels("a", 1) == (("x",),)
    assert seen.labels("b") == ()


def test_best_rows_and_probabilities_by_hand():
    chance = np.random.default_rng(0)
    sizes = chance.integers(1, 6, 50)
    first = np.concatenate([[0], np.cumsum(sizes)])
    scores = chance.integers(0, 3, first[-1]).astype(float)
    best = best_rows(first, scores)
    shares = probabilities(first, scores)
    for place, (a, b) in enumerate(pairwise(first)):
        assert best[place] == a + np.argmax(scores[a:b])
        raised = np.exp(scores[a:b])
        assert np.allclose(shares[a:b], raised / raised.sum(), atol=1e-12)


def test_calibration_error_by_hand():
    sure = np.array([0.95, 0.95, 0.55, 0.55])
    right = np.array([True, False, True, False])
    assert calibration_error(sure, right) == pytest.approx((0.9 + 0.1) / 4, abs=1e-9)


def with_stops(documents, language):
    """The documents with a label on every full stop, which figures leave out."""
    stop = language.label(".", "PUNCT")
    return [
        LexDocument(d.id, [[w._replace(label=w.label or stop) for w in s] for s in d.sentences])
        for d in documents
    ]


def test_words_that_are_not_scored_are_learned_from(language):
    """The analyzer guesses that a full stop is a noun; training says what it is."""
    training = with_stops(language.documents(8), language)
    assert {w.scored for d in training for w in d.words() if w.form == "."} == {False}
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    made.fit(training)
    stop = made.rank([language.nouns[0], "sees", language.nouns[1], "."])[3]
    assert stop.best.label == language.label(".", "PUNCT")
    assert not stop.guessed
    held_out = with_stops(language.documents(2, seed=3), language)
    scored = evaluate_ranker(made, held_out).scores.full.words
    assert scored == sum(w.scored for d in held_out for w in d.words())


def test_nothing_is_opened_before_fit(language):
    made = LexicalRanker(analyzer="almor:no/such.db", scheme="no/such.json")
    assert clone(made).get_params() == made.get_params()
    with pytest.raises(SettingsError, match="no label scheme"):
        made.set_params(analyzer=language.analyzer()).fit(language.documents(1))
    with pytest.raises(DataError, match=r"such\.db"):
        made.set_params(analyzer="almor:no/such.db").fit(language.documents(1))
    with pytest.raises(NotFittedError, match="call fit"):
        made.rank(["baa"])


def test_a_ranker_from_a_file_has_the_settings_it_was_made_with(language, tmp_path):
    """What its file cannot hold as a setting comes back too: scheme, clusters, targets."""
    clusters = dict.fromkeys(language.nouns, "01")
    made = LexicalRanker(
        analyzer=language.analyzer(),
        scheme=language.scheme,
        clusters=clusters,
        targets=("label", "lemma"),
        templates=("form@0",),
        passes=1,
        bits=0,
    ).fit(language.documents(3))
    made.save(tmp_path / "r")
    loaded = LexicalRanker.load(tmp_path / "r", analyzer=made.analyzer)
    again = {**loaded.get_params(), "targets": tuple(loaded.targets)}
    assert again == made.get_params()
    assert loaded.rank(["baa"]) == clone(loaded).fit(language.documents(3)).rank(["baa"])


def test_an_analyzer_that_is_gone_is_not_the_files_fault(ranker, tmp_path):
    ranker.save(tmp_path / "r")
    with pytest.raises(SettingsError, match="unknown analyzer 'toy'"):
        LexicalRanker.load(tmp_path / "r")
    with pytest.raises(DataError, match=r"^no/such\.tsv"):
        LexicalRanker.load(tmp_path / "r", analyzer="lexicon:no/such.tsv")


def test_candidates_of_another_ranker_serve(ranker, language):
    class Broken(language.analyzer):
        def analyse(self, word):
            raise AssertionError(word)

    made = LexicalRanker(analyzer=Broken(), scheme=language.scheme, **SMALL)
    made.fit(language.documents(30), candidates=ranker.candidates_)
    test = language.documents(2, seed=3)
    assert np.array_equal(rescored(made, test), rescored(ranker, test))


def test_score_is_the_share_of_right_words(ranker, language):
    test = language.documents(4, seed=1)
    found = evaluate_ranker(ranker, test).scores.full
    assert ranker.score(test) == pytest.approx(found.a1 / 100, abs=1e-12)
    assert repr(ranker).endswith("32 forms, analyzer 'toy'>")


def test_a_fold_is_not_learned_from(language, monkeypatch):
    docs = language.documents(6)
    learned_from = []
    fit = LexicalRanker.fit

    def noting(self, documents, **options):
        learned_from.append([document.id for document in documents])
        return fit(self, documents, **options)

    def make():
        return LexicalRanker(
            analyzer=language.analyzer(), scheme=language.scheme, bits=0, passes=1, epochs=1
        )

    monkeypatch.setattr(LexicalRanker, "fit", noting)
    results = list(cross_validate(docs, make, folds=3))
    for others, result in zip(learned_from, results, strict=True):
        asked = result.scores.documents
        assert len(asked) == 2
        assert sorted([*others, *asked]) == sorted(document.id for document in docs)


def test_the_temperature_is_fitted_to_documents_that_are_not_learned_from(language, monkeypatch):
    learned_from, asked = [], []
    learn = LexicalRanker._learn

    def noting(self, inputs, bits, words=None):
        if words is not None:
            learned_from.append(inputs.encoded.document_of[words])
            asked.append(inputs.encoded.document_of)
        return learn(self, inputs, bits, words)

    def unseen(first, row_scores, gold_row, words):
        asked.append(asked.pop()[words])
        return 2.5

    monkeypatch.setattr(LexicalRanker, "_learn", noting)
    monkeypatch.setattr(model, "temperature", unseen)
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    made.fit(language.documents(21))
    assert made.temperature_ == 2.5
    assert set(asked[0].tolist()) == {9, 19}
    assert set(learned_from[0].tolist()) == set(range(21)) - {9, 19}
