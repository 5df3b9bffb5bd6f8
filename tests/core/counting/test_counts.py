"""The record: matrices, sums, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base import layout, modelfile
from eigentext.counting.counting import count
from eigentext.counting.counts import Counts
from eigentext.errors import ModelFileError, SettingsError

texts = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "longer-word", "<unk>"]), min_size=1).map(
        " ".join
    ),
    min_size=1,
).map(lambda lines: "\n".join(lines).encode())


@pytest.fixture
def counted(tmp_path_factory):
    def counted(text: bytes, **options: object) -> Counts:
        path = tmp_path_factory.mktemp("counts") / "text.txt"
        path.write_bytes(text)
        return count([path], **options)

    return counted


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts, texts, st.sampled_from(["lr2", "-3,+1", "bag3", "unigrams"]))
def test_sums_are_the_counts_of_both(counted, check_counts, brute_force, first, second, contexts):
    both = first + b"\n" + second
    together = counted(both, contexts=contexts)
    a, b = counted(first, contexts=contexts), counted(second, contexts=contexts)
    assert a + b == together
    assert b + a == together

    a = counted(first, contexts=contexts, vocab_size=2)
    b = counted(second, contexts=contexts, vocabulary=a)
    assert a + b == counted(both, contexts=contexts, vocabulary=a)


def test_sums_that_would_be_wrong(counted):
    cut = counted(b"a b c a b a", vocab_size=1)
    whole = counted(b"a b c")
    with pytest.raises(SettingsError, match="--vocab-from"):
        cut + whole
    with pytest.raises(SettingsError, match="contexts"):
        whole + counted(b"a b c", contexts="r1")
    with pytest.raises(TypeError):
        whole + 1  # type: ignore[operator]


def test_context_matrices(counted):
    counts = counted(b"a b a\nc", contexts="-1,+1")
    a, b = 0, 1
    assert counts.words == ("a", "b", "c", "<unk>")
    right = np.zeros((4, 4), dtype=np.int64)
    right[a, b] = right[b, a] = 1
    assert counts.matrix(1).toarray().tolist() == right.tolist()
    assert counts.matrix("-1").toarray().tolist() == right.T.tolist()
    wide = counts.context_matrix()
    assert wide.shape == (4, 8)
    assert wide.toarray().tolist() == np.hstack([right.T, right]).tolist()
    assert counts.n_stored == 2
    with pytest.raises(SettingsError, match="only: -1, \\+1"):
        counts.matrix(2)
    with pytest.raises(SettingsError, match="unigrams only"):
        counted(b"a b", contexts="unigrams").context_matrix()
    assert counts != "counts"


@pytest.mark.parametrize("contexts", ["lr2", "bag3", "unigrams"])
@pytest.mark.parametrize("options", [{}, {"vocab_size": 2}])
def test_file_and_back(tmp_path, counted, contexts, options):
    counts = counted("a b longer\u00a0word a\nb ü a".encode(), contexts=contexts, **options)
    counts.save(tmp_path / "c.counts", data={"name": "made up"})
    back = Counts.load(tmp_path / "c.counts")
    assert back == counts
    assert back.words == counts.words
    assert back.vocabulary == counts.vocabulary
    header = modelfile.read_header(tmp_path / "c.counts")
    assert header.kind == "counts"
    assert header.facts["n_tokens"] == 7


def test_files_that_do_not_fit(tmp_path, counted):
    counts = counted(b"a b", contexts="r1")
    settings = {
        "contexts": "r1",
        "n_tokens": 2,
        "n_sentences": 1,
        "n_skipped": 0,
        "complete": True,
    }
    pairs = layout.pack_csr("pairs/1-1", counts.halves[0])
    good = {"unigrams": counts.unigrams, **pairs}
    for arrays, words, changed in [
        ({**good, "unigrams": counts.unigrams[:-1]}, ["a", "b"], {}),
        ({"unigrams": counts.unigrams}, ["a", "b"], {}),
        (good, ["a", "b", "c"], {}),
        (good, ["a", "a"], {}),
        (good, ["a", "b"], {"contexts": "nonsense"}),
        (good, ["a", "b"], {"n_tokens": None}),
    ]:
        path = tmp_path / "bad.counts"
        modelfile.save(
            path,
            "counts",
            arrays,
            settings=settings | changed,
            format_version=1,
            strings={"words": words},
        )
        with pytest.raises(ModelFileError):
            Counts.load(path)
    modelfile.save(path, "other", good, settings=settings, format_version=1)
    with pytest.raises(ModelFileError, match="kind"):
        Counts.load(path)
