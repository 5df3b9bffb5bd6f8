"""A model file from elsewhere is refused or answers; it never ends in a crash or an odd error."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.base import modelfile
from eigentext.base.fields import Bits, Contents, Ints, Pointers, Reals, Shares, Sparse, Strings
from eigentext.base.layout import pack_csr
from eigentext.base.records import Group
from eigentext.base.registry import KINDS
from eigentext.base.values import Auto, Flag, Listed, Named, Packed, Real, Text, Whole
from eigentext.errors import ModelFileError
from helpers import foreign_models as foreign


@pytest.mark.parametrize("model", foreign.MODELS)
def test_a_wrong_file_is_refused_or_answers(model, tmp_path):
    good = tmp_path / "good"
    make, use = foreign.MODELS[model]
    make(good)
    assert foreign.try_one(use, good) == "answered"
    found = foreign.outcomes(model, good, list(range(30)))
    bad = [one for one in found if not one[2].startswith(("answered", "refused"))]
    assert not bad
    assert len(found) == 30
    refused = [outcome for _, _, outcome in found if outcome.startswith("refused")]
    assert len(refused) > 5  # most of what is wrong is seen


def test_every_kind_is_tried():
    assert {name.partition(" ")[0] for name in foreign.MODELS} == set(KINDS)


def test_the_message_names_the_file_and_the_field(tmp_path):
    path = tmp_path / "m.hmm"
    foreign.MODELS["hmm"][0](path)
    file = modelfile.load(path)
    arrays = {**file.arrays, "counts": file.arrays["counts"] - 99}
    modelfile.save(
        path,
        "hmm",
        arrays,
        settings=file.header.settings,
        facts=file.header.facts,
        format_version=1,
        strings=file.strings,
    )
    from eigentext.sequences import HMM

    with pytest.raises(ModelFileError, match=r"m\.hmm: .*array 'counts' holds -99, expected at"):
        HMM.load(path)


# ---------------------------------------------------------------- the fields themselves

_CONTENTS = Contents(
    Group(
        words=Strings("words", distinct=True),
        bits=Strings("words", bits=True),
        ids=Ints(("words",), low=0, below="n", rising=True),
        ptr=Pointers("words", "cells"),
        cells=Reals(("cells", 2), ("float32",), -1, 5),
        p=Shares(("words+1",)),
        matrix=Sparse(("words", "columns")),
        raw=Bits(optional=True),
        x=Real(0, 1),
        name=Text(("a", "b"), optional=True),
        on=Flag(),
        inner=Named({"list": Listed(Whole(0), 3)}, closed=True),
    ),
    Named({"n": Whole(1, 9), "beam": Auto(Whole(1))}),
)


def _content():
    from scipy.sparse import csr_array

    arrays = {
        "ids": np.array([0, 4]),
        "ptr": np.array([0, 1, 3]),
        "cells": np.zeros((3, 2), np.float32),
        "p": np.array([0.5, 0.5, 0.0]),
        **pack_csr("matrix", csr_array(np.array([[0, 2, 1], [1, 0, 0]]))),
    }
    strings = {"words": ["a", "b"], "bits": ["01", ""]}
    settings = {
        "n": 5,
        "x": 0.5,
        "on": True,
        "beam": "auto",
        "inner": {"list": [1, 2]},
        "other": "free",
    }
    return arrays, strings, settings


def _check(arrays, strings, settings):
    _CONTENTS.check(Packed(arrays, strings, settings=settings))


def test_sound_content_passes():
    _check(*_content())


@pytest.mark.parametrize(
    ("part", "name", "value", "why"),
    [
        (0, "ids", np.array([0, 5]), r"'ids' holds 5, expected less than 5 \(n\)"),
        (0, "ids", np.array([-1, 4]), r"'ids' holds -1, expected at least 0"),
        (0, "ids", np.array([3, 3]), r"'ids' does not rise"),
        (0, "ids", np.array([0, 1, 2]), r"'ids' has length 3, expected 2 \(words\)"),
        (0, "ids", np.array([[0, 1]]), r"'ids' has 2 axes, expected 1"),
        (0, "ids", np.array([0.0, 1.0]), r"'ids' has type float64, expected int64"),
        (0, "ptr", np.array([1, 1, 3]), r"'ptr' does not rise from 0"),
        (0, "ptr", np.array([0, 3, 1]), r"'ptr' does not rise from 0"),
        (0, "ptr", np.array([0, 1, 4]), r"'cells', axis 0, has length 3, expected 4"),
        (0, "ptr", np.zeros(0, int), r"'ptr' has length -1"),
        (0, "cells", np.full((3, 2), np.nan, np.float32), r"'cells' holds nan, expected -1 to 5"),
        (0, "cells", np.full((3, 2), 6, np.float32), r"'cells' holds 6"),
        (0, "cells", np.zeros((3, 3), np.float32), r"'cells', axis 1, has length 3, expected 2"),
        (0, "p", np.array([0.5, -0.1, 0.0]), r"'p' holds -0.1, expected 0 to"),
        (0, "p", np.array([0.5, np.inf, 0.0]), r"'p' holds inf"),
        (0, "p", np.array([0.5, 0.5]), r"'p' has length 2, expected 3 \(words\+1\)"),
        (0, "p", None, r"array 'p' is missing"),
        (0, "more", np.zeros(1), r"array 'more' does not belong"),
        (0, "matrix/shape", np.array([2, 9]), None),  # wider is fine where nothing else tells
        (0, "matrix/shape", np.array([3, 3]), r"'matrix/shape', axis 0, has length 3, expected 2"),
        (0, "matrix/indices", np.array([1, 3, 0]), r"'matrix/indices' holds 3"),
        (0, "matrix/indptr", np.array([0, 2, 4]), r"points into has length 4, expected 3"),
        (1, "words", ["a", "a"], r"'words' has the same string twice"),
        (1, "bits", ["01", "x"], r"'bits' holds 'x', expected 0s and 1s"),
        (1, "bits", None, r"strings 'bits' is missing"),
        (1, "extra", [], r"strings 'extra' does not belong"),
        (2, "n", 0, r"settings.n is 0, expected a whole number from 1 to 9"),
        (2, "n", True, r"settings.n is True, expected a whole number"),
        (2, "n", None, r"settings.n is missing"),
        (2, "x", "1", r"settings.x is '1', expected a number from 0 to 1"),
        (2, "x", 1.5, r"settings.x is 1.5"),
        (2, "name", "c", r"settings.name is 'c', expected 'a' or 'b'"),
        (2, "name", "b", None),
        (2, "on", 1, r"settings.on is 1, expected true or false"),
        (2, "beam", 4, None),
        (2, "beam", "x", r"settings.beam is 'x', expected a whole number"),
        (2, "inner", [], r"settings.inner is \[\], expected settings by name"),
        (2, "inner", {"list": 3}, r"settings.inner.list is 3, expected a list"),
        (2, "inner", {"list": [0] * 4}, r"settings.inner.list is \[0, 0, 0, 0\], expected a list"),
        (2, "inner", {"list": [-1]}, r"settings.inner.list\[0\] is -1"),
        (2, "inner", {"list": [], "x": 1}, r"settings.inner.x is not known here"),
    ],
)
def test_each_field_says_what_is_wrong(part, name, value, why):
    content = _content()
    if value is None:
        del content[part][name]
    else:
        content[part][name] = value
    if why is None:
        _check(*content)
        return
    with pytest.raises(ValueError, match=why):
        _check(*content)


def test_errors_while_a_model_is_made_are_the_files(tmp_path):
    path = tmp_path / "m.eig"
    why = r"m\.eig: its parts do not fit: 'x' is missing"
    with pytest.raises(ModelFileError, match=why), modelfile.fitting(path):
        raise KeyError("x")
    why = r"m\.eig: the model inside it: cut off"
    with pytest.raises(ModelFileError, match=why), modelfile.fitting(path):
        raise ModelFileError("other", why="cut off")
