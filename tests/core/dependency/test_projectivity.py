"""Whether arcs may cross is asked of sentences that nothing was learned from."""

from __future__ import annotations

import pytest

from eigentext.dependency import DependencyParser
from eigentext.dependency.graph import projectivity
from eigentext.language.formats.conllu import make_sentence

WORDS, UPOS = "the dogs bark again".split(), "DET NOUN VERB ADV".split()
STRAIGHT = make_sentence(WORDS, upos=UPOS, head=[2, 3, 0, 3], deprel=["x", "x", "root", "x"])
CROSSING = make_sentence(WORDS, upos=UPOS, head=[3, 4, 0, 3], deprel=["x", "x", "root", "x"])


@pytest.mark.parametrize(("bank", "trained"), [([STRAIGHT] * 22, 1), ([CROSSING] * 22, 2)])
def test_what_is_held_out_is_not_learned_from(bank, trained, monkeypatch) -> None:
    learned_from, asked = [], []
    train, fitted = projectivity.train_arcs, projectivity.fitted_heat

    def noting_training(*arguments, **options):
        learned_from.append(options["sentences"].tolist())
        return train(*arguments, **options)

    def noting_heat(model, test):
        asked.append(len(test))
        return fitted(model, test)

    monkeypatch.setattr(projectivity, "train_arcs", noting_training)
    monkeypatch.setattr(projectivity, "fitted_heat", noting_heat)
    DependencyParser(epochs=1, bits=12, order=1).fit(bank)
    assert learned_from == [[n for n in range(22) if n % 4 != 3]] * trained
    assert set(asked) == {5}
