"""Topics: exact at exact moments; moments of documents by enumeration; proportions; commands."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, minimize
from scipy.sparse import csr_array, vstack

from eigentext.base.files.opening import write_lines
from eigentext.counting.documents import (
    CountedDocuments,
    WordChoice,
    count_documents,
    read_documents,
)
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.evaluate.clustering import npmi_coherence
from eigentext.words import TopicModel
from eigentext.words.topics.learn import (
    DocumentMoments,
    Topics,
    proportions_of,
    refined,
    topics_of,
)
from eigentext.words.topics.model import halves_of, held_out_perplexity
from helpers.commands import eigentext


class Exact:
    """The moments of a known model: of Dirichlet(alpha), or of one topic a document (alpha0 0)."""

    def __init__(self, phi, weights, alpha0):
        k = len(phi)
        if alpha0 == 0:
            second, third = np.diag(weights), np.zeros((k, k, k))
            third[np.arange(k), np.arange(k), np.arange(k)] = weights
        else:
            second, third = np.empty((k, k)), np.empty((k, k, k))
            for place in np.ndindex(k, k, k):
                third[place] = dirichlet_moment(alpha0 * weights, place)
            for place in np.ndindex(k, k):
                second[place] = dirichlet_moment(alpha0 * weights, place)
        self.mean = weights @ phi
        self.second = phi.T @ second @ phi
        self.third = np.einsum("ijl,ia,jb,lc->abc", third, phi, phi, phi, optimize=True)

    def pairs(self, X):
        return self.second @ X

    def triples(self, W):
        return np.einsum("abc,ai,bj,cl->ijl", self.third, W, W, W, optimize=True)


def dirichlet_moment(alpha, topics):
    """E[theta_i theta_j ...], one draw after the other from a Polya urn."""
    urn, value = alpha.copy(), 1.0
    for topic in topics:
        value *= urn[topic] / urn.sum()
        urn[topic] += 1
    return value


@pytest.mark.parametrize("alpha0", [0.0, 0.3, 1.0, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_exact_moments_give_the_truth(alpha0, seed):
    rng = np.random.default_rng(seed)
    phi, weights = rng.dirichlet(np.full(25, 0.3), 6), rng.dirichlet(np.full(6, 3.0))
    found = topics_of(Exact(phi, weights, alpha0), 6, alpha0)
    order = np.argsort(-weights)
    np.testing.assert_allclose(found.topics, phi[order], atol=1e-8)
    np.testing.assert_allclose(found.weights, weights[order], atol=1e-8)
    # the values of the tensor tell the weights once more
    np.testing.assert_allclose(
        np.sort((alpha0 + 1) * found.tensor.values**-2), np.sort(weights), atol=1e-8
    )
    assert found.tensor.residual < 1e-9


def test_a_large_vocabulary_takes_the_other_way_to_the_same_topics():
    rng = np.random.default_rng(1)
    phi, weights = rng.dirichlet(np.full(450, 0.1), 3), np.array([0.5, 0.3, 0.2])

    class Thin:
        """Moments of one topic a document that are never written out."""

        mean = weights @ phi

        def pairs(self, X):
            return phi.T @ (weights[:, None] * (phi @ X))

        def triples(self, W):
            inner = phi @ W
            return np.einsum("h,hi,hj,hl->ijl", weights, inner, inner, inner)

    np.testing.assert_allclose(topics_of(Thin(), 3, 0.0).topics, phi, atol=1e-8)


def test_moments_of_documents_are_those_of_all_pairs_and_triples():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 3, (7, 4))
    counts[0] = [1, 1, 0, 0]  # too short
    triples, n = np.zeros((4, 4, 4)), 0  # a document weighs as many words as it has
    for row in counts:
        tokens = np.repeat(np.arange(4), row)
        if len(tokens) < 3:
            continue
        here = np.zeros((4, 4, 4))
        for a, b, c in permutations(tokens, 3):
            here[a, b, c] += 1
        triples, n = triples + len(tokens) * here / here.sum(), n + len(tokens)
    triples /= n
    seen = DocumentMoments.of(csr_array(counts))
    W = rng.standard_normal((4, 3))
    whitened = np.einsum("abc,ai,bj,cl->ijl", triples, W, W, W)
    np.testing.assert_allclose(seen.triples(W), whitened, atol=1e-12)
    np.testing.assert_allclose(seen.pairs(np.eye(4)), triples.sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(seen.mean, triples.sum(axis=(1, 2)), atol=1e-12)


def drawn(phi, weights, alpha0, n, length, seed=0):
    """Documents of a model, as counts."""
    rng = np.random.default_rng(seed)
    if alpha0 == 0:
        theta = np.eye(len(weights))[rng.choice(len(weights), n, p=weights)]
    else:
        theta = rng.dirichlet(alpha0 * weights, n)
    return csr_array(np.array([rng.multinomial(length, row @ phi) for row in theta]))


@pytest.mark.parametrize("alpha0", [0.0, 0.5])
def test_documents_of_a_model_give_topics_near_it(alpha0):
    rng = np.random.default_rng(3)
    phi, weights = rng.dirichlet(np.full(40, 0.1), 4), np.array([0.4, 0.3, 0.2, 0.1])
    found = topics_of(DocumentMoments.of(drawn(phi, weights, alpha0, 4000, 40)), 4, alpha0)
    distances = np.abs(found.topics[:, None] - phi[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(distances)
    assert distances[rows, columns].max() < 0.1


def test_short_documents_do_not_hide_what_long_ones_say():
    rng = np.random.default_rng(6)
    phi, weights = rng.dirichlet(np.full(60, 0.1), 4), np.array([0.4, 0.3, 0.2, 0.1])
    long, short = drawn(phi, weights, 0.5, 200, 300), drawn(phi, weights, 0.5, 1000, 4, seed=1)
    found = topics_of(DocumentMoments.of(vstack([long, short]).tocsr()), 4, 0.5)
    distances = np.abs(found.topics[:, None] - phi[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(distances)
    assert distances[rows, columns].mean() < 0.05  # 0.1 where all documents weigh the same


def test_proportions_are_the_maximum():
    rng = np.random.default_rng(4)
    topics = Topics(rng.dirichlet(np.ones(9), 3), np.array([0.5, 0.3, 0.2]), 2.0)
    row = rng.integers(0, 4, 9)
    (theta,) = proportions_of(topics, csr_array(row[None]), n_iter=5000, tol=1e-13)

    def loss(free):
        share = np.exp(free - free.max())
        share /= share.sum()
        return -(row @ np.log(share @ topics.phi)) - topics.alpha @ np.log(share)

    best = minimize(loss, np.zeros(3), tol=1e-12).x
    best = np.exp(best) / np.exp(best).sum()
    np.testing.assert_allclose(theta, best, atol=1e-5)


def test_of_one_topic_proportions_are_its_posterior():
    topics = Topics(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0.25, 0.75]), 0.0)
    (theta,) = proportions_of(topics, csr_array(np.array([[2, 1]])))
    joint = np.array([0.25 * 0.8**2 * 0.2, 0.75 * 0.4**2 * 0.6])
    np.testing.assert_allclose(theta, joint / joint.sum(), atol=1e-12)


@pytest.mark.parametrize("alpha0", [0.0, 1.0])
def test_em_climbs(alpha0):
    rng = np.random.default_rng(5)
    phi, weights = rng.dirichlet(np.full(30, 0.2), 3), np.full(3, 1 / 3)
    counts = drawn(phi, weights, alpha0, 200, 20)
    begin = Topics(rng.dirichlet(np.ones(30), 3), weights, alpha0)
    logs = refined(begin, counts, n_iter=12).log_likelihoods
    assert logs[-1] > logs[0]
    if alpha0 == 0:  # every step does, but for what the pseudo-counts cost
        assert (np.diff(logs) > -0.1).all()


def test_coherence_has_known_answers():
    counts = csr_array(np.array([[1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]))
    # 0 and 1 always meet, 0 and 2 never, 0 and 3 as chance has it
    np.testing.assert_allclose(npmi_coherence([[0, 1], [0, 2], [0, 3]], counts), [1, -1, 0])
    np.testing.assert_allclose(npmi_coherence([[0, 1, 2]], counts), [-1 / 3])
    everywhere = csr_array(np.array([[1, 1, 0]]))
    assert npmi_coherence([[0, 1], [0, 2], [0]], everywhere).tolist() == [1.0, 0.0, 0.0]


# ---------------------------------------------------------------- documents


def test_documents_are_lines_paragraphs_files_or_so_many_lines():
    write_lines("memory://topics/a.txt", ["a b", "c", "", "", "d"])
    read = {
        unit: list(read_documents("memory://topics/a.txt", unit))
        for unit in ("line", "paragraph", "file", "2")
    }
    assert read["line"] == [["a", "b"], ["c"], [], [], ["d"]]
    assert read["paragraph"] == read["2"] == [["a", "b", "c"], ["d"]]
    assert read["file"] == [["a", "b", "c", "d"]]
    for unit in ("0", "-1", "word", ""):
        with pytest.raises(SettingsError, match="expected line, paragraph, document, file, or a"):
            next(read_documents("memory://topics/a.txt", unit))


def test_sentences_of_conllu_belong_together_as_it_says():
    rows = [
        "newdoc id = 1",
        "newpar",
        "a b",
        "c",
        "newpar",
        "d",
        "newdoc",
        "e",
        "sent_id = 9",
        "f",
    ]
    lines = []
    for row in rows:
        if len(row) > 3:
            lines.append(f"# {row}")
            continue
        words = enumerate(row.split(), 1)
        lines += [f"{number}\t{word}" + "\t_" * 8 for number, word in words]
        lines.append("")
    write_lines("memory://topics/a.conllu", lines)
    read = {
        unit: [" ".join(one) for one in read_documents("memory://topics/a.conllu", unit)]
        for unit in ("line", "paragraph", "document", "file", "3")
    }
    assert read["line"] == ["a b", "c", "d", "e", "f"]
    assert read["paragraph"] == ["a b c", "d", "e f"]
    assert read["document"] == ["a b c d", "e f"]
    assert read["3"] == ["a b c d", "e f"]
    assert read["file"] == ["a b c d e f"]


def test_the_other_mark_of_documents_and_conllu_without_any():
    row = "1\ta" + "\t_" * 8
    marked = ["# newdoc_id = CF1", row, "", row, "", "# newdoc_id = CF2", row, ""]
    write_lines("memory://topics/b.conllu", marked)
    assert list(read_documents("memory://topics/b.conllu", "document")) == [["a", "a"], ["a"]]
    write_lines("memory://topics/c.conllu", [row, "", row, ""])
    with pytest.raises(DataError, match=r"c\.conllu: marks no documents, expected # newdoc"):
        list(read_documents("memory://topics/c.conllu", "document"))


def test_blank_lines_are_no_documents_to_learn_from(documents):
    plain = TopicModel(2, max_share=0.9).fit(documents)
    spread = TopicModel(2, max_share=0.9).fit([row for one in documents for row in (one, [], [])])
    assert (spread.n_documents_, spread.words_) == (plain.n_documents_, plain.words_)
    np.testing.assert_array_equal(spread.topics_, plain.topics_)
    with pytest.raises(DataError, match="no words to learn from"):
        TopicModel(2).fit([[], []])
    with pytest.raises(SettingsError, match="top 0"):
        plain.views(0)


def test_a_record_is_a_document():
    records = [json.dumps({"body": text}) for text in ("It rains.\nIt rains!", "Good.")]
    write_lines("memory://topics/a.jsonl", records)
    plain = read_documents("memory://topics/a.jsonl", field="body")
    assert list(plain) == [["It", "rains.", "It", "rains!"], ["Good."]]
    raw = read_documents("memory://topics/a.jsonl", field="body", tokeniser="generic")
    assert list(raw) == [["It", "rains", ".", "It", "rains", "!"], ["Good", "."]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from("a B b 7 . éa".split()), max_size=6), min_size=1))
def test_counts_of_documents(documents):
    counted = count_documents(documents)
    assert all(word == word.lower() and word not in ("7", ".") for word in counted.words)
    rows = counted.matrix.toarray()
    for tokens, row in zip(documents, rows, strict=True):
        lowered = [token.lower() for token in tokens]
        assert [lowered.count(word) for word in counted.words] == row.tolist()
    again = count_documents(documents, words=counted.words)
    assert (again.matrix.toarray() == rows).all()
    assert list(rows.sum(axis=0)) == sorted(rows.sum(axis=0), reverse=True)


def test_words_are_chosen_by_documents():
    documents = [["the", "cat"], ["the", "dog"], ["the", "cat", "cat"], ["the", "ox"]]
    assert count_documents(documents, WordChoice(None, 2, 1.0)).words == ("the", "cat")
    assert count_documents(documents, WordChoice(None, 1, 0.5)).words == ("cat", "dog", "ox")
    assert count_documents(documents, WordChoice(2, 1, 0.5)).words == ("cat", "dog")


def test_a_share_that_is_just_reached_is_no_more_than_it():
    """0.29 x 100 is less than 29 by rounding."""
    documents = [["ox"]] * 29 + [["a"]] * 71
    assert count_documents(documents, WordChoice(None, 1, 0.29)).words == ("ox",)
    assert count_documents(documents, WordChoice(None, 1, 0.28)).words == ()


# ---------------------------------------------------------------- model and command

SEA, FARM = "ship sail wind harbour wave", "horse hay barn field cow"


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    return [
        ["the", *rng.choice((SEA if n % 2 else FARM).split(), 8).tolist(), "."] for n in range(60)
    ]


@pytest.mark.parametrize("alpha0", [0.0, 1.0])
def test_a_model_finds_topics_and_comes_back(documents, alpha0, tmp_path):
    model = TopicModel(2, alpha0=alpha0, max_share=0.9).fit(documents)
    found = {frozenset(word for word, _ in view.words) for view in model.views(5)}
    assert found == {frozenset(SEA.split()), frozenset(FARM.split())}
    theta = model.transform([["ship"] * 5, ["cow"] * 5, ["unheard"]])
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert theta[0].argmax() != theta[1].argmax()
    assert 4 < model.perplexity(documents) < 7  # five words that are as likely
    model.save(tmp_path / "a.topics")
    again = TopicModel.load(tmp_path / "a.topics")
    assert (
        again.fingerprint()
        == TopicModel(2, alpha0=alpha0, max_share=0.9).fit(documents).fingerprint()
    )
    np.testing.assert_array_equal(again.transform(documents), model.transform(documents))


def test_the_number_of_iterations_is_chosen_on_held_out_documents(documents, tmp_path):
    few = TopicModel(2, max_share=0.9).fit(documents)
    assert few.n_iter_ == 10  # a tenth of 60 documents tells nothing
    assert (
        few.topics_.tolist()
        == TopicModel(2, max_share=0.9, refine=10).fit(documents).topics_.tolist()
    )
    rng = np.random.default_rng(7)
    phi = rng.dirichlet(np.full(200, 0.05), 3)
    chosen = []
    # too many topics; and topics so dull that EM has to do the work
    for k, n, smoothing in ((8, 150, 0.1), (3, 2000, 0.99)):
        counts = drawn(phi, np.full(3, 1 / 3), 1.0, n, 30)
        counted = CountedDocuments(tuple(f"w{i}" for i in range(200)), counts)
        model = TopicModel(k, smoothing=smoothing).fit_counts(counted)
        chosen.append(model.n_iter_)
        same = TopicModel(k, smoothing=smoothing, refine=model.n_iter_).fit_counts(counted)
        np.testing.assert_array_equal(model.topics_, same.topics_)
        model.save(tmp_path / "a.topics")
        assert TopicModel.load(tmp_path / "a.topics").n_iter_ == model.n_iter_
    assert chosen[0] == 5 < chosen[1]
    with pytest.raises(SettingsError, match="or 'auto'"):
        TopicModel(2, refine="many").fit(documents)


def test_em_goes_on_where_it_stopped():
    rng = np.random.default_rng(8)
    counts = drawn(rng.dirichlet(np.full(30, 0.2), 3), np.full(3, 1 / 3), 1.0, 50, 20)
    begin = Topics(rng.dirichlet(np.ones(30), 3), np.full(3, 1 / 3), 1.0)
    theta = begin.usual(50)
    first = refined(begin, counts, n_iter=2, theta=theta).params
    twice = refined(first, counts, n_iter=3, theta=theta).params
    np.testing.assert_array_equal(twice.phi, refined(begin, counts, n_iter=5).params.phi)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5))
def test_halves_are_every_other_word(rows):
    counts = csr_array(np.array(rows))
    given_, asked = halves_of(counts)
    for row, one, two in zip(rows, given_.toarray(), asked.toarray(), strict=True):
        tokens = np.repeat(np.arange(4), row)
        assert np.bincount(tokens[::2], minlength=4).tolist() == one.tolist()
        assert np.bincount(tokens[1::2], minlength=4).tolist() == two.tolist()


def test_what_cannot_be_learned_is_said(documents):
    with pytest.raises(DataError, match=r"\(min_documents\) or a larger --max-share"):
        TopicModel(2, min_documents=100).fit(documents)
    with pytest.raises(DataError, match="three words"):
        TopicModel(2, min_documents=1, max_share=1.0).fit([["a"], ["b", "a"]])
    with pytest.raises(RankError):
        TopicModel(11, max_share=0.9).fit(documents)
    # the rank that is told is the true one, also where there are fewer words than topics
    for k in (3, 7):
        with pytest.raises(RankError, match="rank 2, but"):
            TopicModel(k, min_documents=1, max_share=1.0).fit([["a"] * 9, ["b", "c"] * 9])
    with pytest.raises(DataError, match=r"no word with a letter in it .* 100% of all 60:"):
        TopicModel(2, max_share=1.0).fit([["\N{SAILBOAT}", "\N{WATER WAVE}", "7"]] * 60)
    model = TopicModel(2, max_share=0.9).fit(documents)
    with pytest.raises(DataError, match="two words that are known"):
        model.perplexity([["unheard", "of"]])


def test_perplexity_of_known_proportions():
    phi = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    counts = csr_array(np.array([[1, 1, 2]]))
    value = held_out_perplexity(np.array([[0.5, 0.5]]), phi, counts)
    assert value == pytest.approx((0.25 * 0.25 * 0.5 * 0.5) ** (-1 / 4))


def test_the_commands(documents, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(" ".join(one) for one in documents))
    flags = ("-k", 2, "--max-share", 0.9, "--json", "--quiet")
    done = eigentext("words", "train-topics", "a.txt", "-o", "m", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["documents"], figures["vocabulary"], figures["topics"]) == (60, 10, 2)
    assert figures["residual"] == round(TopicModel.load(tmp_path / "m").residual_, 4)
    done = eigentext("words", "inspect", "m", "--top", 5, cwd=tmp_path)
    shown = [line.split("\t")[2].split() for line in done.stdout.decode().splitlines()]
    assert sorted(map(sorted, shown)) == sorted(map(sorted, [SEA.split(), FARM.split()]))
    done = eigentext("words", "apply", "m", "a.txt", "--quiet", cwd=tmp_path)
    rows = [list(map(float, line.split("\t"))) for line in done.stdout.decode().splitlines()]
    assert np.abs(np.sum(rows, axis=1) - 1).max() < 1e-3
    assert len({row.index(max(row)) for row in rows[::2]}) == 1
    done = eigentext("words", "eval", "m", "a.txt", "--top", 5, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["coherence"] > 0.3


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("-k", 11), "take fewer --n-topics"),
        (("--documents", "page"), "expected line, paragraph, document, file, or a number"),
        (("--documents", "document"), "a.txt: documents are marked in CoNLL-U alone"),
        (("--newlines", "join"), "is for raw text"),
        (("--min-documents", 99), "a.txt: no word"),
    ],
)
def test_a_command_that_cannot_says_why(documents, tmp_path, flags, why):
    (tmp_path / "a.txt").write_text("\n".join(" ".join(one) for one in documents))
    line = ("words", "train-topics", "a.txt", "-o", "m", "--max-share", 0.9, *flags)
    done = eigentext(*line, cwd=tmp_path)
    assert done.returncode == 2
    assert why in done.stderr.decode()
    (tmp_path / "a.txt").write_text("")
    done = eigentext("words", "train-topics", "a.txt", "-o", "m", cwd=tmp_path)
    assert done.returncode == 2
    assert b"a.txt: no words to learn from" in done.stderr


@pytest.mark.requires("data")
def test_moments_tell_more_than_the_frequency_of_words(data):
    lines = []
    for tokens in read_documents(str(data / "text" / "wiki.txt.xz"), "10"):
        lines.append(tokens)
        if len(lines) == 1200:
            break
    train, held = lines[100:], lines[:100]
    alone = TopicModel(10, refine=0).fit(train)
    often = alone.counts_of(train).sum(axis=0) + 0.01
    asked = alone.counts_of(held)
    unigram = np.exp(-(asked.sum(axis=0) @ np.log(often / often.sum())) / asked.sum())
    assert alone.perplexity(held) < 0.95 * unigram
    assert TopicModel(10, refine=5).fit(train).perplexity(held) < alone.perplexity(held)


def test_perplexity_is_that_of_every_second_word_given_the_others(documents):
    model = TopicModel(2, max_share=0.9).fit(documents)
    texts = [["ship", "cow", "ship", "ship", "ship", "unheard", "ship"], ["cow"] * 5 + ["ship"]]
    given = [[w for w in text if w != "unheard"][::2] for text in texts]
    asked = [[w for w in text if w != "unheard"][1::2] for text in texts]
    expected = held_out_perplexity(model.transform(given), model.topics_, model.counts_of(asked))
    other = held_out_perplexity(model.transform(given), model.topics_, model.counts_of(given))
    assert model.perplexity(texts) == pytest.approx(expected, rel=1e-9)
    assert abs(expected - other) > 0.01 * expected


def test_iterations_are_chosen_on_documents_that_were_not_learned_from(documents, monkeypatch):
    learned_from = []
    of_moments = TopicModel._of_moments

    def noting(self, counts):
        learned_from.append(counts.shape[0])
        return of_moments(self, counts)

    monkeypatch.setattr(TopicModel, "_of_moments", noting)
    TopicModel(2, max_share=0.9).fit(documents * 2)
    assert sorted(learned_from) == [108, 120]
