"""Settings of a wrong kind and questions before ``fit`` are answered clearly."""

import numpy as np
import pytest

from eigentext.base.model import NotFittedError
from eigentext.errors import SettingsError
from eigentext.sequences import HMM, SpectralHMM
from eigentext.sequences.tagger.model import LatentTagger

NAN = float("nan")
SEQUENCES = [["a", "b", "a", "c"], ["b", "a", "b", "c"]] * 5
TAGGED = [["a", "b"], ["b", "c"]] * 5, [["X", "Y"], ["Y", "X"]] * 5


@pytest.mark.parametrize("name", ["log_prob", "next_symbols", "score", "predict", "filter"])
def test_hmm_before_fit(name):
    with pytest.raises(NotFittedError):
        getattr(HMM(2), name)([["a"]])


def test_tagger_before_fit():
    with pytest.raises(NotFittedError):
        LatentTagger(n_states=2).score(*TAGGED)


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (HMM, "smoothing", ("a", None, NAN, -1)),
        (HMM, "tol", ("a", None, NAN)),
        (HMM, "vocab_size", ("a", 2.5, NAN, 0)),
        (HMM, "min_count", ("a", None, 1.5, NAN)),
        (SpectralHMM, "n_states", (NAN, None, "3", 2.5, 0, True)),
        (SpectralHMM, "seed", (None, 1.5, -1, NAN)),
        (SpectralHMM, "kappa", ("a", None, NAN, -1, float("inf"))),
        (SpectralHMM, "floor", ("a", None, NAN, 2)),
        (SpectralHMM, "unigram_weight", ("a", None, NAN, 2)),
    ],
)
def test_settings_of_a_wrong_kind(kind, name, values):
    for value in values:
        with pytest.raises(SettingsError, match=name):
            kind(**{"n_states": 1, name: value}).fit(SEQUENCES)


@pytest.mark.parametrize("name", ["n_models", "per_state", "seed", "n_iter"])
@pytest.mark.parametrize("value", [NAN, "a", 1.5])
def test_tagger_settings_of_a_wrong_kind(name, value):
    with pytest.raises(SettingsError, match=name):
        LatentTagger(**{"n_states": 1, name: value}).fit(*TAGGED)


def test_numbers_of_numpy_are_numbers():
    HMM(np.int64(1), n_iter=np.int32(1), smoothing=np.float32(1), vocab_size=np.int64(2)).check()
    SpectralHMM(np.int64(1), kappa=np.float32(1), floor=np.float64(0)).fit(SEQUENCES)
