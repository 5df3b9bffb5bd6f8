"""From decisions to the next model and back into the store."""

from __future__ import annotations

import pytest

from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.store import AnnotationStore
from eigentext.studio.tasks.learning import gather, note, verdict

REPORT = {"file": "new.model", "kept": True, "said": "The new model is as good.", "new": 90.0}


def used(store: AnnotationStore, project: int) -> list[str]:
    return [one.file for one in store.models(project) if one.in_use]


@pytest.mark.parametrize("first", [None, "first.model"])
def test_a_model_that_was_chosen_while_another_was_made_stays(store, first):
    admin = Accounts(store).add_user("ada", "admin").id
    project = store.create_project("Tags", "tags").id
    if first is not None:
        store.add_model(project, first, {}, use=True)
    chosen = store.add_model(project, "chosen.model", {})
    lesson = gather(store, project)
    store.use_model(chosen.id, by=admin)
    made = note(store, lesson, REPORT)
    assert not made.in_use
    assert used(store, project) == ["chosen.model"]
    assert verdict(REPORT, made).endswith("another was chosen while it was made.")


@pytest.mark.parametrize("first", [None, "first.model"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_model_that_does_no_worse_takes_over(store, first, kept):
    project = store.create_project("Tags", "tags").id
    if first is not None:
        store.add_model(project, first, {}, use=True)
    report = REPORT | {"kept": kept}
    made = note(store, gather(store, project), report)
    assert made.in_use == kept
    in_use = "new.model" if kept else first
    assert used(store, project) == [in_use] * (in_use is not None)
    assert verdict(report, made) == REPORT["said"]
