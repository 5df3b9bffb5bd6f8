"""The sums of ``benchmarks/same.py`` are of every kind of model; nothing is trained here."""

from __future__ import annotations

from same import differences, table

from eigentext.base.registry import KINDS


def test_every_kind_of_model_has_a_row():
    assert {row.kind for row in table().values()} == set(KINDS)


def test_rows_name_their_estimators_and_train_their_own_file():
    for row in table().values():
        assert row.name in row.train.split(), row.name
        estimators = {word for word in row.train.split() if f"--estimator {word}" in row.train}
        assert all(word in row.name.partition(".")[2].split("-") for word in estimators), row.name


def test_differences_of_two_outputs():
    before = "a.one 11 22\nb.two 33 44\nc.three 55 66\n"
    assert differences(before, before) == []
    after = "a.one 11 23\nb.two 34 45\nd.four 55 66\n"
    assert differences(before, after) == [
        "a.one: other answers",
        "b.two: other model and answers",
        "c.three: is gone",
        "d.four: is new",
    ]
