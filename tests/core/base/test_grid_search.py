"""Every model with a score can be searched by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from helpers.small_models import SMALL

GRIDS: dict[str, dict[str, list[Any]]] = {
    "blocked-hmm": {"n_groups": [1, 2]},
    "class-automata": {"n_states": [1, 2]},
    "class-bigram": {"mix": [0.2, 0.8]},
    "dependency-generative": {"n_states": [1, 2]},
    "graph-parser": {"epochs": [1, 2]},
    "hmm": {"n_iter": [1, 2]},
    "latent-tagger": {"n_states": [1, 2]},
    "latent-tree": {"n_iter": [0, 1]},
    "lexical": {"passes": [1, 2]},
    "lpcfg": {"n_states": [1, 2]},
    "spectral-hmm": {"n_states": [1, 2]},
    "string-automaton": {"n_states": [1, 2]},
    "string-transducer": {"n_states": [1, 2]},
    "tagger": {"epochs": [1, 2]},
    "topics": {"refine": [0, 2]},
}


# learns from words and tags, and is scored with trees
NO_GRID = {"bracketer"}


def test_every_model_with_a_score_is_tried() -> None:
    assert {name for name, one in SMALL.items() if hasattr(one.kind, "score")} == {
        *GRIDS,
        *NO_GRID,
        *(name for name in SMALL if name.partition(" ")[0] in GRIDS),
    }


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_of_settings_is_searched(name: str) -> None:
    small = SMALL[name]
    data = small.data()[0]
    search = GridSearchCV(small.untrained(), GRIDS[name], cv=2, error_score="raise").fit(*data)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    (setting,) = GRIDS[name]
    best = search.best_estimator_
    assert getattr(best.settings_, setting) == search.best_params_[setting]
    by_hand = small.untrained().set_params(**search.best_params_).fit(*data)
    assert best.to_bytes() == by_hand.to_bytes()
