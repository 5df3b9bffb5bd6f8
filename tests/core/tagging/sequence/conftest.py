"""Small planted data for the tagger."""

from __future__ import annotations

import numpy as np
import pytest


def planted(seed: int, n_sentences: int, n_words: int = 400):
    """Names (even words) begin an entity after 'met'; no letter of a word tells which it is."""
    rng = np.random.default_rng(seed)
    names = np.random.default_rng(99).permutation(n_words)
    X, y = [], []
    for _ in range(n_sentences):
        word = int(rng.integers(n_words))
        tokens = ["we", "met", f"w{chr(97 + word % 20)}{chr(97 + word // 20)}", "today"]
        X.append(tokens)
        y.append(["O", "O", "B-NAME" if names[word] % 2 else "O", "O"])
    clusters = {
        f"w{chr(97 + word % 20)}{chr(97 + word // 20)}": "0101" if names[word] % 2 else "0110"
        for word in range(n_words)
    }
    return X, y, clusters


@pytest.fixture(scope="session")
def planted_data():
    """(training tokens, tags), (test tokens, tags), clusters: most test words are new."""
    X, y, clusters = planted(1, 60)
    Z, t, _ = planted(2, 300)
    return (X, y), (Z, t), clusters
