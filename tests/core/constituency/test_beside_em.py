"""Spectral estimators beside EM from random starts: as good, in a fraction of the passes."""

from __future__ import annotations

import pytest

from eigentext.constituency import LPCFG
from eigentext.constituency.learn import models
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees

EM_PASSES = 50


@pytest.mark.long
@pytest.mark.requires("data")
def test_as_good_as_em_in_a_twentieth_of_its_passes(data, monkeypatch):
    """On a tenth of GUM, eight states, the same smoothing, chart and decoder; no brackets."""
    folder = data / "constituency" / "gum"
    trees = list(read_trees(folder / "train.mrg"))[::10]
    gold = list(read_trees(folder / "dev.mrg"))[::8]
    passes = []

    def counted(bank, params, n_iter, settings, **named):
        passes.append(n_iter)
        return run_em(bank, params, n_iter, settings, **named)

    run_em = models.run_em
    monkeypatch.setattr(models, "run_em", counted)

    def f1(**settings):
        """F1 on dev, and how often the trees were gone through with states unknown."""
        passes.clear()
        parser = LPCFG(n_states=8, bracket_weight=0.0, **settings).fit(trees)
        parsed = [parser.parse(tree.words).tree for tree in gold]
        score = evaluate(gold, parsed, EvalbSettings.collins(), failed="empty").all.f1
        return score, sum(passes)

    by_em = [f1(estimator="em", n_iter=EM_PASSES, seed=seed) for seed in (0, 1)]
    best = max(score for score, _ in by_em)
    assert best > 70
    for estimator in ("clustering", "moments"):
        score, n_passes = f1(estimator=estimator)
        assert score > best - 0.3, estimator
        assert 20 * n_passes <= EM_PASSES, estimator
    assert {n_passes for _, n_passes in by_em} == {EM_PASSES}
