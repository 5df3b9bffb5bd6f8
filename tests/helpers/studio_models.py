"""Small models of words and of sequences, for the pages that show them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from eigentext.datasets import write_sample
from eigentext.language.formats.text import read_sentences
from eigentext.sequences import HMM, BlockedHMM, LatentTagger, SpectralHMM
from eigentext.words import CCAEmbedding, SpectralClusters

#: words that a page must show as they are
HOSTILE = ("<script>alert(1)</script>", "<b>", "\u202eevil", "a:b::c", "كتاب", "💥" * 30)


def sample_text() -> list[list[str]]:
    """The sample's sentences."""
    with tempfile.TemporaryDirectory() as folder:
        return list(read_sentences(str(write_sample(folder) / "text.txt")))


def word_models(folder: Path) -> tuple[str, ...]:
    """Files of clusters, of vectors, and of vectors of another shape."""
    text = sample_text() + [["The", word, "slept", "."] for word in HOSTILE for _ in range(3)]
    SpectralClusters(n_clusters=16).fit(text).save(folder / "groups.clusters")
    CCAEmbedding(12).fit(text).save(folder / "near.vec")
    CCAEmbedding(4, contexts="lr1").fit(text).save(folder / "flat.vec")
    return tuple(str(folder / name) for name in ("groups.clusters", "near.vec", "flat.vec"))


def sequence_models(folder: Path) -> tuple[str, ...]:
    """Files of a hidden Markov model, operators, a latent tagger, and a model of blocks."""
    text = sample_text()
    HMM(5, seed=1, n_iter=5, min_count=2).fit(text).save(folder / "chain.hmm")
    SpectralHMM(4, min_count=2).fit(text).save(folder / "operators.hmm")
    tags = [["D" if len(word) < 4 else "N" for word in tokens] for tokens in text]
    LatentTagger(2, seed=1).fit(text, tags).save(folder / "tags.model")
    BlockedHMM(600, n_groups=4, min_count=2).fit(text).save(folder / "blocks.hmm")
    names = ("chain.hmm", "operators.hmm", "tags.model", "blocks.hmm")
    return tuple(str(folder / name) for name in names)
