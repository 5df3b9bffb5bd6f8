"""Settings of the reranker's experts."""

from __future__ import annotations

from typing import Any

import pytest

from eigentext.dependency.rerank.experts import fit_expert
from eigentext.dependency.rerank.reranker import Reranker
from eigentext.errors import SettingsError
from helpers.small_models import TREES


@pytest.mark.parametrize("settings", [{}, {"n_states": 7}, {"n_states": 3}])
def test_states_that_are_told_leave_the_other_settings_as_they_were(
    settings: dict[str, Any],
) -> None:
    model = fit_expert("latent", TREES, n_iter=1, **settings).model
    n_tags = len({tag for tree in TREES for tag in tree.column("upos")})
    assert model.structure == "valence"
    assert model.split == (model.n_states >= n_tags)
    assert model.n_states == settings.get("n_states", model.n_states)
    told = fit_expert("latent", TREES, n_iter=1, structure="", split=False, **settings).model
    assert (told.structure, told.split) == ("", False)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"latent": {"states": 5}}, "latent.states is not known here"),
        ({"latent": {"n_iter": -1}}, "latent.n_iter is -1, expected a whole number of at least 0"),
        ({"latent": {"smoothing": None}}, "latent.smoothing is not known here"),
        ({"generative": {"edges": "directed"}}, "generative.edges is not known here"),
        ({"generative": {"n_states": 0}}, "generative.n_states is 0, expected a whole number"),
        ({"n_states": 10**7}, "latent.n_states is 10000000, expected a whole number from 1"),
    ],
)
def test_settings_that_an_expert_does_not_have_are_refused(
    settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        Reranker(**settings).check()
    Reranker(latent={"n_iter": 3, "seed": 5}, generative={"n_iter": 0, "seed": 1}).check()
