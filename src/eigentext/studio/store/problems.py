"""What can go wrong with a store of annotations, in words a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.errors import EigentextError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.studio.store.records import Decision


class StoreError(EigentextError):
    """The database cannot be read or written now; it may be another time."""


class StoreBusyError(StoreError):
    """Others have the database to themselves for too long; nothing was saved."""


class StoreVersionError(StoreError):
    """A database that is none of ours, or of a release that this one does not know."""


class MissingError(EigentextError):
    """There is no such project, document, layer, user, ... (any more)."""


class TakenError(SettingsError):
    """Something else has this name already."""


class ClosedError(EigentextError):
    """A layer whose annotator has seen the adjudication."""

    def __init__(self) -> None:
        super().__init__(
            "this layer is closed: its annotator has seen the adjudication; an adjudicator can "
            "open it again"
        )


class ConflictError(EigentextError):
    """Something else was stored since the version that a change was made for; nothing was saved.

    ``version`` is the newest version of the layer, ``changes`` are the decisions that were made
    or taken back since, as they are now.
    """

    def __init__(self, why: str, version: int, changes: Sequence[Decision]) -> None:
        self.version = version
        self.changes = tuple(changes)
        super().__init__(why, version, self.changes)

    def __str__(self) -> str:
        return str(self.args[0])
