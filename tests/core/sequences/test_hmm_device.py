"""The passes as products of large matrices: the counts of the compiled ones, on any backend."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.accel.devices import TorchBackend
from eigentext.accel.hmm import DeviceMachine
from eigentext.linalg.backend import Backend
from eigentext.sequences.hmm import em
from eigentext.sequences.hmm.batches import Machine, StateCounts
from eigentext.sequences.hmm.em import baum_welch
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded

K, V = 4, 12


def backends():
    yield pytest.param(Backend, id="numpy")
    yield pytest.param(lambda: TorchBackend("cpu"), id="torch")


@pytest.fixture(params=backends())
def backend(request):
    if request.node.callspec.id.startswith("torch"):
        pytest.importorskip("torch", reason="torch is not installed")
    return request.param()


@pytest.fixture
def text():
    rng = np.random.default_rng(3)
    return Encoded.of([rng.integers(0, V, rng.integers(0, 9)).tolist() for _ in range(60)])


def expected(machine, tables, precision):
    machine.set(*tables, precision)
    counts = StateCounts.zeros(K, V)
    return machine.expect(counts), counts


@pytest.mark.parametrize("room", [None, 24 * K * 30, 1])  # all at once, some, one by one
@pytest.mark.parametrize(("precision", "atol"), [("double", 1e-11), ("single", 1e-4)])
def test_counts_are_those_of_the_compiled_passes(backend, text, room, precision, atol):
    start = Parameters.random(K, V, 1)
    tables = start.initial, start.transition, np.ascontiguousarray(start.emission.T)
    (value, missed), counts = expected(Machine(text, K, V), tables, "double")
    settings = {} if room is None else {"room": room}
    machine = DeviceMachine(text, K, V, backend, **settings)
    (found, none), told = expected(machine, tables, precision)
    assert missed == none == 0
    assert found == pytest.approx(value, rel=1e-6 if precision == "single" else 1e-12)
    for ours, theirs in zip(told, counts, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=atol)


def test_a_symbol_that_no_state_shows_is_passed_over(backend, text):
    start = Parameters.random(K, V, 2)
    emission = np.ascontiguousarray(start.emission.T)
    emission[5] = 0
    tables = start.initial, start.transition, emission
    (value, missed), counts = expected(Machine(text, K, V), tables, "double")
    (found, none), told = expected(DeviceMachine(text, K, V, backend), tables, "double")
    assert missed == none == np.count_nonzero(text.ids == 5) > 0
    assert value == found == -np.inf
    for ours, theirs in zip(told, counts, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


def test_em_on_a_card_ends_where_em_on_the_processor_does(backend, text, monkeypatch):
    start = Parameters.random(K, V, 4)
    here = baum_welch(start, text, n_iter=5, smoothing=1.0)
    monkeypatch.setattr(em, "backend_for", lambda: backend)
    monkeypatch.setattr(em, "CPU", None)
    there = baum_welch(start, text, n_iter=5, smoothing=1.0)
    np.testing.assert_allclose(there.params.emission, here.params.emission, atol=1e-9)
    assert there.log_likelihoods == pytest.approx(here.log_likelihoods, rel=1e-9)
