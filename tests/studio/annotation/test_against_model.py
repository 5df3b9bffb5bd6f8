"""The store against what it should be: lists and dicts, drawn by hypothesis."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from eigentext.studio.store.problems import ConflictError
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from helpers.small_store import SENTENCE, add_document

_NAMES = itertools.count()
_PLACES = st.tuples(st.integers(0, 2), st.sampled_from(["a1", "a2", "a10", "done"]))
_VALUES = st.none() | st.dictionaries(st.sampled_from("xy"), st.integers() | st.text(max_size=3))
_STORABLE = _VALUES.filter(
    lambda value: (
        not any(
            (isinstance(one, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in one))
            or (isinstance(one, int) and abs(one) >= 2**63)
            for one in (value or {}).values()
        )
    )
)


class _ModelLayer:
    """A layer as a plain program keeps it: two stacks, and what happened where."""

    def __init__(self, lexical: bool) -> None:
        self.lexical = lexical
        self.done: list[dict] = []  # changes that hold, each {place: value}
        self.undone: list[dict] = []  # that a redo would bring back
        self.touched: list[set] = []  # by version, from 1: the places that changed
        self.n_rows = 0

    @property
    def version(self) -> int:
        return len(self.touched)

    def values(self) -> dict:
        merged: dict = {}
        for change in self.done:
            merged |= change
        return merged

    def conflicts(self, places: set | None, seen: int | None) -> bool:
        if seen is None:
            return False
        if not 0 <= seen <= self.version:
            return True
        since = set().union(*self.touched[seen:])
        if places is None:
            return bool(since)
        if self.lexical:  # by word; "done" speaks of all words of its sentence
            both = [(a, b) for a in since for b in places if a[0] == b[0]]
            return any(a == b or "done" in (a[1], b[1]) for a, b in both)
        return bool({sentence for sentence, _ in since} & {sentence for sentence, _ in places})


def _machine(store: AnnotationStore) -> type[RuleBasedStateMachine]:
    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.layers: list[tuple[int, _ModelLayer]] = []
            for task in ("lexical", "dependency"):
                project = store.create_project(f"p{next(_NAMES)}", task).id
                document = add_document(store, project, "a", [SENTENCE] * 3).id
                layer = store.layer(document, kind="adjudication").id
                self.layers.append((layer, _ModelLayer(task == "lexical")))

        def _seen(self, model: _ModelLayer, back: int | None) -> int | None:
            return None if back is None else model.version - back

        @rule(
            which=st.integers(0, 1),
            change=st.dictionaries(_PLACES, _STORABLE, min_size=1, max_size=3),
            back=st.none() | st.integers(-1, 3),
        )
        def decide(self, which: int, change: dict, back: int | None) -> None:
            layer, model = self.layers[which]
            seen = self._seen(model, back)
            changes = [Change(*place, value) for place, value in change.items()]
            if model.conflicts(set(change), seen):
                with pytest.raises(ConflictError) as caught:
                    store.decide(layer, changes, base_version=seen)
                assert caught.value.version == model.version
                return
            version = store.decide(layer, changes, base_version=seen)
            model.done.append(change)
            model.undone = []
            model.touched.append(set(change))
            model.n_rows += len(change)
            assert version == model.version

        @rule(which=st.integers(0, 1), back=st.none() | st.integers(-1, 2))
        def undo(self, which: int, back: int | None) -> None:
            self._move(which, back, store.undo, redo=False)

        @rule(which=st.integers(0, 1), back=st.none() | st.integers(-1, 2))
        def redo(self, which: int, back: int | None) -> None:
            self._move(which, back, store.redo, redo=True)

        def _move(self, which, back, call, *, redo: bool) -> None:
            layer, model = self.layers[which]
            seen = self._seen(model, back)
            source, target = (model.undone, model.done) if redo else (model.done, model.undone)
            if model.conflicts(None, seen):
                with pytest.raises(ConflictError):
                    call(layer, base_version=seen)
                return
            moved = call(layer, base_version=seen)
            if not source:
                assert moved == ()
                return
            change = source.pop()
            target.append(change)
            model.touched.append(set(change))
            model.n_rows += len(change) if redo else 0
            assert {one.place: one.value for one in moved} == change

        @invariant()
        def holds(self) -> None:
            for layer, model in self.layers:
                state = store.state(layer)
                assert state.values == model.values()
                assert state.version == model.version
                last = model.done[-1] if model.done else {}
                assert {one.place: one.value for one in state.last} == last
                waiting = model.undone[-1] if model.undone else {}
                assert {one.place: one.value for one in state.redoable} == waiting

        def teardown(self) -> None:
            for layer, model in self.layers:
                history = store.history(layer)
                assert len(history) == model.n_rows
                versions = {one.version for one in history}
                versions |= {one.undone_version for one in history} - {None}
                assert versions == set(range(1, model.version + 1))

    return Machine


def test_the_store_does_what_lists_and_dicts_do(place):
    store = AnnotationStore(place)
    run_state_machine_as_test(
        _machine(store), settings=settings(max_examples=15, stateful_step_count=20, deadline=None)
    )
    store.close()
