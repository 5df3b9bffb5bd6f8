"""A brute-force count to compare with: plain Python over the bytes, one sentence at a time."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def _sentences(texts: list[bytes]) -> list[list[bytes]]:
    found = []
    for text in texts:
        lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        found += [tokens for line in lines if (tokens := line.split())]
    return found


def _count(
    texts: list[bytes],
    positions: tuple[int, ...] = (),
    bag: int = 0,
    vocab_size: int | None = None,
    min_count: int = 1,
    words: list[str] | None = None,
) -> SimpleNamespace:
    sentences = _sentences(texts)
    seen = Counter(token for sentence in sentences for token in sentence)
    if words is None:
        ordered = sorted(
            (word for word in seen if seen[word] >= min_count and word != b"<unk>"),
            key=lambda word: (-seen[word], word),
        )[:vocab_size]
    else:
        ordered = [word.encode() for word in words if word != "<unk>"]
    kept = set(ordered)
    known = [[w.decode() if w in kept else "<unk>" for w in tokens] for tokens in sentences]
    pairs: dict[str, Counter[tuple[str, str]]] = {f"{p:+d}": Counter() for p in positions}
    if bag:
        pairs[f"bag{bag}"] = Counter()
    for tokens in known:
        for i, token in enumerate(tokens):
            for p in positions:
                if 0 <= i + p < len(tokens):
                    pairs[f"{p:+d}"][token, tokens[i + p]] += 1
            for p in range(-bag, bag + 1):
                if p != 0 and 0 <= i + p < len(tokens):
                    pairs[f"bag{bag}"][token, tokens[i + p]] += 1
    return SimpleNamespace(
        words=(*(word.decode() for word in ordered), "<unk>"),
        unigrams=Counter(token for tokens in known for token in tokens),
        pairs=pairs,
        n_tokens=sum(map(len, known)),
        n_sentences=len(known),
        complete=words is None and kept | {b"<unk>"} >= set(seen),
    )


def _check(counts: Any, expected: SimpleNamespace) -> None:
    words = counts.words
    assert words == expected.words
    assert counts.n_tokens == expected.n_tokens
    assert counts.n_sentences == expected.n_sentences
    assert counts.complete == expected.complete
    assert counts.unigrams.dtype == "int64"
    assert counts.unigrams.tolist() == [expected.unigrams[word] for word in words]
    assert set(counts.context_names) == set(expected.pairs)
    for name, pairs in expected.pairs.items():
        matrix = counts.matrix(name)
        assert matrix.dtype == "int64"
        assert matrix.shape == (len(words), len(words))
        entries = matrix.tocoo()
        found = {
            (words[i], words[j]): int(n)
            for i, j, n in zip(entries.row, entries.col, entries.data, strict=True)
        }
        assert len(found) == matrix.nnz  # no entry twice
        assert found == pairs


@pytest.fixture(scope="session")
def brute_force() -> Callable[..., SimpleNamespace]:
    """Counts of a list of texts by the slow way."""
    return _count


@pytest.fixture(scope="session")
def check_counts() -> Callable[[Any, SimpleNamespace], None]:
    """Demand that a Counts record says the same as the slow way."""
    return _check
