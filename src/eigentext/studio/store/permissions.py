"""Who may do what: one table, which pages and commands ask.

A role may do a thing to ``any`` object, to its ``own`` alone, or not at all.  What is one's own:

* a layer: that of the user;
* ``adjudication.see``: a document in which the user's own layer is done, so that annotators do
  not see what others found before they have decided themselves; then their layer is closed;
* a token or a password: the user's.
"""

from __future__ import annotations

from typing import Literal

from eigentext.errors import EigentextError
from eigentext.studio.store.schema import ROLES

Reach = Literal["any", "own"]


class ForbiddenError(EigentextError):
    """The role of the user does not allow this."""


def _for(
    reader: Reach | None, annotator: Reach | None, adjudicator: Reach | None
) -> dict[str, Reach]:
    reaches = zip(ROLES, (reader, annotator, adjudicator, "any"), strict=True)
    return {role: reach for role, reach in reaches if reach}


_EVERYONE = _for("any", "any", "any")
_ANNOTATORS = _for(None, "any", "any")
_ADJUDICATORS = _for(None, None, "any")
_ADMINS = _for(None, None, None)
_OWN = _for("own", "own", "own")

ACTIONS: dict[str, dict[str, Reach]] = {
    "project.see": _EVERYONE,
    "project.create": _ADMINS,
    "project.change": _ADMINS,
    "project.delete": _ADMINS,
    "project.purge": _ADMINS,
    "guidelines.change": _ADJUDICATORS,
    "document.see": _EVERYONE,
    "document.import": _ADJUDICATORS,
    "document.assign": _ADJUDICATORS,
    "document.delete": _ADMINS,
    "document.purge": _ADMINS,
    "layer.see": _for(None, "own", "any"),
    "layer.decide": _for(None, "own", "own"),
    "layer.reopen": _ADJUDICATORS,  # one that is closed, see `store.see_adjudication`
    "layer.export": _for(None, "own", "any"),
    "adjudication.see": _for("any", "own", "any"),
    "adjudication.decide": _ADJUDICATORS,
    "adjudication.export": _for("any", "own", "any"),
    "measures.see": _ADJUDICATORS,
    "model.see": _EVERYONE,
    "model.propose": _ANNOTATORS,
    "model.retrain": _ADJUDICATORS,
    "user.see": _ADJUDICATORS,
    "user.change": _ADMINS,
    "password.change": _OWN,
    "token.see": _OWN,
    "token.change": _OWN,
    "audit.see": _ADMINS,
    "store.backup": _ADMINS,
}


def allowed(role: str, action: str, *, owner: bool = False) -> bool:
    """May a user of this role do this?  ``owner``: to what is their own.

    >>> allowed("annotator", "layer.decide", owner=True), allowed("annotator", "layer.decide")
    (True, False)
    >>> allowed("reader", "project.see"), allowed("adjudicator", "user.change")
    (True, False)
    """
    reach = ACTIONS[action].get(role)
    return reach == "any" or (reach == "own" and owner)


def require(role: str, action: str, *, owner: bool = False) -> None:
    """A ForbiddenError, in plain words, where it is not allowed.

    >>> require("reader", "layer.decide", owner=True)
    Traceback (most recent call last):
    eigentext.studio.store.permissions.ForbiddenError: a reader may not do this (layer.decide)
    """
    if allowed(role, action, owner=owner):
        return
    what = f"a{'n' if role[0] == 'a' else ''} {role} may not do this ({action})"
    if allowed(role, action, owner=True):
        what = f"a{'n' if role[0] == 'a' else ''} {role} may do this only to their own ({action})"
    raise ForbiddenError(what)
