"""Real treebanks: what the tagger gets right, and how well it knows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eigentext.language.formats.conllu import read_sentences
from eigentext.tagging.morphology import MorphTagger


@pytest.fixture(scope="module")
def hungarian(data):
    folder = Path(data) / "dependency" / "hu-szeged"
    train, dev = (list(read_sentences(folder / f"{part}.conllu")) for part in ("train", "dev"))
    return MorphTagger(epochs=3).fit(train), dev


def _right(sentences, answers, column, name):
    pairs = [
        (a, b)
        for sentence, answer in zip(sentences, answers, strict=True)
        for a, b in zip(sentence.column(name), getattr(answer, column), strict=True)
    ]
    return 100 * np.mean([a == b for a, b in pairs])


@pytest.mark.requires("data")
def test_hungarian_is_tagged_better_than_by_udpipe(hungarian) -> None:
    tagger, dev = hungarian
    answers = tagger.tag([sentence.forms for sentence in dev])
    # UDPipe 1.2 on the test part: 90.7, 88.2, 88.7
    assert _right(dev, answers, "upos", "upos") > 94.5
    assert _right(dev, answers, "feats", "feats") > 90.5
    assert _right(dev, answers, "lemmas", "lemma") > 93.5


@pytest.mark.requires("data")
def test_probabilities_are_as_often_right_as_they_say(hungarian) -> None:
    tagger, dev = hungarian
    rank, chance, right = [], [], []
    for sentence in dev[:200]:
        gold = zip(sentence.column("upos"), sentence.column("feats"), strict=True)
        for (upos, feats), word in zip(gold, tagger.nbest(sentence.forms, 5), strict=True):
            rank += range(len(word))
            chance += [reading.probability for reading in word]
            right += [(reading.upos, reading.feats) == (upos, feats) for reading in word]
    first = np.array(rank) == 0
    p, r = np.array(chance), np.array(right, float)
    assert _calibration_error(p[first], r[first]) < 3.0
    assert _calibration_error(p, r) < 2.0  # of all that are listed
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        among = (p >= low) & (p < high)
        assert among.sum() > 100
        assert abs(p[among].mean() - r[among].mean()) < 0.08, (low, high)


def _calibration_error(chance, right) -> float:
    """The expected one, of ten bins, in percent."""
    bins = np.minimum((chance * 10).astype(int), 9)
    faults = [
        np.sum(bins == b) * abs(np.mean(chance[bins == b] - right[bins == b]))
        for b in set(bins.tolist())
    ]
    return 100 * sum(faults) / len(bins)
