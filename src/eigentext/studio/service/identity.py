"""Who is asking: a session of the browser, a token of a program, or a name on this machine.

1. ``Authorization: Bearer TOKEN``: a program, with the rights of its user and no more than its
   token's scope.
2. The cookie of a session: a browser.  A change must carry the session's ``X-CSRF-Token``, which
   pages of others cannot know.
3. Where there are no accounts (the service is reached from this machine alone): ``X-Annotator``
   with a name, percent-encoded, is enough, and who gives none may look at everything.

A change that a page of another origin sends is refused in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from eigentext.errors import EigentextError
from eigentext.studio.service.middleware import client_of
from eigentext.studio.store.permissions import ACTIONS, allowed, require
from eigentext.studio.store.schema import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request
    from starlette.responses import Response

    from eigentext.studio.store.accounts import Accounts, NewSession, Session, User

COOKIE = "eigentext_session"
_SAFE = {"GET", "HEAD", "OPTIONS"}


class UnknownError(EigentextError):
    """Nobody knows who is asking."""


class CrossSiteError(EigentextError):
    """A change that does not come from a page of this service."""


class Identity(NamedTuple):
    """The one who asks; ``id`` is None for somebody without a name."""

    id: int | None
    name: str
    role: str
    csrf: str = ""
    user: User | None = None
    by_token: bool = False

    def require(self, action: str, *, owner: bool = False) -> None:
        """A ForbiddenError unless this may be done."""
        require(self.role, action, owner=owner)

    def may(self, action: str, *, owner: bool = False) -> bool:
        """Whether this may be done."""
        return allowed(self.role, action, owner=owner)

    @property
    def blind(self) -> bool:
        """Whether the adjudication is kept from them until they have decided themselves.

        A token for readers, too, is that of an annotator.
        """
        of_annotator = self.user is not None and self.user.role == "annotator"
        return self.role == "annotator" or (self.role == "reader" and of_annotator)

    @property
    def actions(self) -> list[str]:
        """All that may be done, at least to what is one's own."""
        return [action for action in ACTIONS if self.may(action, owner=True)]

    @property
    def number(self) -> int:
        """The number of the user; those without a name are asked for one."""
        if self.id is None:
            raise UnknownError("give a name first: decisions are kept under it")
        return self.id


class Authenticator:
    """Finds out who is asking."""

    def __init__(
        self,
        accounts: Callable[[], Accounts],
        *,
        strict: bool,  # names need passwords: everywhere but on this machine
        run: Callable[..., Any],  # calls the store in a thread
        run_slowly: Callable[..., Any],  # the same for passwords, whose work is slow on purpose
    ) -> None:
        self._accounts = accounts
        self.strict = strict
        self._run = run
        self._run_slowly = run_slowly

    async def identify(self, call: Request) -> Identity:
        """The one who asks; an error if that has to be known and is not."""
        changes = call.method not in _SAFE
        if changes:
            self.check_origin(call)
        kind, _, secret = call.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return await self._by_token(secret.strip())
        name = unquote(call.headers.get("X-Annotator", "")).strip()
        if name and not self.strict:
            user = await self._run(self._accounts().local_user, name)
            return Identity(user.id, user.name, "admin", user=user)
        identity = await self._by_session(call, changes=changes)
        if identity is not None:
            return identity
        if self.strict:
            raise UnknownError("log in first")
        return Identity(None, "", "admin")

    async def _by_token(self, secret: str) -> Identity:
        pair = await self._run(self._accounts().token, secret)
        if pair is None:
            raise UnknownError("this token does not hold, or no longer")
        user, token = pair
        role = min(user.role, token.scope, key=ROLES.index)
        return Identity(user.id, user.name, role, user=user, by_token=True)

    async def _by_session(self, call: Request, *, changes: bool) -> Identity | None:
        secret = call.cookies.get(COOKIE)
        session = await self._run(self._accounts().session, secret) if secret else None
        if session is None:
            return None
        csrf = call.headers.get("X-CSRF-Token", "")
        if changes and not self._accounts().is_csrf_of(session, csrf):
            raise CrossSiteError("the page is too old, or not one of ours: load it again")
        return self.of_session(session)

    async def log_in(self, call: Request, name: str, password: str | None) -> NewSession:
        """A new session; without accounts the name is enough."""
        accounts = self._accounts()
        if self.strict:
            address = client_of(call.scope)
            new: NewSession = await self._run_slowly(
                accounts.log_in, name, password or "", address=address
            )
        else:
            user = await self._run(accounts.local_user, name)
            new = await self._run(accounts.begin_session, user.id)
        return new

    def of_session(self, session: Session | NewSession) -> Identity:
        """Whose session this is."""
        user = session.user
        role = user.role if self.strict else "admin"
        return Identity(user.id, user.name, role, session.csrf, user)

    async def log_out(self, call: Request) -> None:
        """End the session of the browser."""
        secret = call.cookies.get(COOKIE)
        if secret:
            await self._run(self._accounts().log_out, secret)

    @staticmethod
    def check_origin(call: Request) -> None:
        """Refuse a change that a browser sends for a page of another origin."""
        if call.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise CrossSiteError("a page of another site may change nothing here")
        origin = call.headers.get("Origin")
        host = call.headers.get("Host", "").lower()
        try:
            same = origin is None or urlsplit(origin).netloc.lower() == host
        except ValueError:  # no address at all
            same = False
        if not same:
            raise CrossSiteError("a page of another site may change nothing here")


def keep_session(answer: Response, call: Request, new: NewSession) -> None:
    """Give the browser its cookie: no script reads it, no other site sends it."""
    answer.set_cookie(
        COOKIE,
        new.secret,
        httponly=True,
        samesite="strict",
        secure=call.url.scheme == "https",
        path="/",
    )
