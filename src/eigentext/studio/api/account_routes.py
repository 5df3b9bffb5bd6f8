"""Routes of people: logging in and out, users, tokens, the audit log."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from fastapi import Query, Request, Response

from eigentext.errors import SettingsError
from eigentext.studio.api import schemas_annotate as wire
from eigentext.studio.api.annotate_routes import IdentityOf, Number, allowed, described
from eigentext.studio.service.identity import COOKIE, keep_session
from eigentext.studio.service.middleware import client_of
from eigentext.studio.store.permissions import ForbiddenError
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.schema import ROLES

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.api.annotate import AnnotateService
    from eigentext.studio.service.identity import Authenticator, Identity
    from eigentext.studio.store.accounts import AccessToken, Accounts, User


def add_accounts(app: FastAPI, service: AnnotateService, authenticator: Authenticator) -> None:
    """Add the routes."""
    _add_session(app, service, authenticator)
    _add_users(app, service)
    _add_tokens(app, service)

    @app.get("/api/audit", **allowed("audit.see"))
    async def audit(
        limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    ) -> wire.AuditAnswer:
        """List who did what, the newest first."""
        entries = await service.call(service.store.audit, limit=limit, before=before)
        people = await service.people()
        named = [entry._asdict() | {"user": people.get(entry.user or 0)} for entry in entries]
        return wire.AuditAnswer(entries=[wire.AuditView(**fields) for fields in named])


def _add_session(app: FastAPI, service: AnnotateService, authenticator: Authenticator) -> None:
    @app.get("/api/session", **described("session"))
    async def session(call: Request) -> wire.SessionAnswer:
        """Say who is asking, and whether names need passwords here."""
        from eigentext.studio.service.identity import UnknownError

        try:
            identity = await authenticator.identify(call)
        except UnknownError:
            return wire.SessionAnswer(accounts=True, user=None, csrf="", may=[])
        return _session(identity, authenticator)

    @app.post("/api/session", **described("session", 429))
    async def log_in(
        call: Request, request: wire.LoginRequest, answer: Response
    ) -> wire.SessionAnswer:
        """Log in; where there are no accounts, the name is enough."""
        authenticator.check_origin(call)
        new = await authenticator.log_in(call, request.name, request.password)
        keep_session(answer, call, new)
        return _session(authenticator.of_session(new), authenticator)

    @app.delete("/api/session", status_code=204, response_model=None, **described("session"))
    async def log_out(call: Request, answer: Response) -> None:
        """Log out."""
        authenticator.check_origin(call)
        await authenticator.log_out(call)
        answer.delete_cookie(COOKIE, path="/")

    @app.post(
        "/api/session/password",
        status_code=204,
        response_model=None,
        **allowed("password.change", 429, owner=True),
    )
    async def password(call: Request, request: wire.PasswordRequest, identity: IdentityOf) -> None:
        """Change one's own password; all sessions end."""
        accounts = service.accounts
        # the present one is a guess like any other: it is counted, and can lock
        await service.call_slowly(
            accounts.log_in, identity.name, request.old, address=client_of(call.scope)
        )
        await service.call_slowly(
            accounts.set_password, identity.number, request.new, by=identity.id
        )


def _session(identity: Identity, authenticator: Authenticator) -> wire.SessionAnswer:
    return wire.SessionAnswer(
        accounts=authenticator.strict,
        user=None if identity.user is None else _user(identity.user, identity.role),
        csrf=identity.csrf,
        may=identity.actions,
    )


def _add_users(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/users", **allowed("user.see"))
    async def users() -> wire.UsersAnswer:
        """List the users."""
        rows = await service.call(service.accounts.users)
        return wire.UsersAnswer(users=[_user(user) for user in rows])

    @app.post("/api/users", **allowed("user.change"))
    async def add_user(request: wire.NewUserRequest, identity: IdentityOf) -> wire.UserView:
        """Add somebody."""
        user = await service.call_slowly(
            service.accounts.add_user, request.name, request.role, request.password, by=identity.id
        )
        return _user(user)

    @app.patch("/api/users/{number}", **allowed("user.change"))
    async def change_user(
        number: Number, request: wire.UserChange, identity: IdentityOf
    ) -> wire.UserView:
        """Give a user another role or password, or disable or enable them."""
        accounts: Accounts = service.accounts
        if request.role is None and request.active is None and request.password is None:
            raise SettingsError("nothing to change: expected a role, active or a password")
        # a password may be refused: then nothing else is changed
        if request.password is not None:
            await service.call_slowly(
                accounts.set_password, number, request.password, by=identity.id
            )
        if request.role is not None:
            await service.call(accounts.set_role, number, request.role, by=identity.id)
        if request.active is not None:
            await service.call(accounts.set_active, number, request.active, by=identity.id)
        return _user(await service.call(accounts.user, number))


def _add_tokens(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/tokens", **allowed("token.see", owner=True))
    async def tokens(identity: IdentityOf) -> wire.TokensAnswer:
        """List one's own tokens."""
        rows = await service.call(service.accounts.tokens, identity.number)
        return wire.TokensAnswer(tokens=[_token(token) for token in rows])

    @app.post("/api/tokens", **allowed("token.change", owner=True))
    async def make_token(request: wire.TokenRequest, identity: IdentityOf) -> wire.AccessTokenView:
        """Make a token for a program; its secret is in this answer alone."""
        if identity.by_token:  # one that leaked could renew itself for ever
            raise ForbiddenError("a token makes no tokens: log in for that")
        if ROLES.index(request.scope) > ROLES.index(identity.role):
            raise ForbiddenError(f"a token of yours can have the scope {identity.role} at most")
        expires = None
        if request.days is not None:
            expires = service.store.clock() + timedelta(days=request.days)
        new = await service.call(
            service.accounts.make_token,
            identity.number,
            request.name,
            scope=request.scope,
            expires=expires,
            by=identity.id,
        )
        return _token(new.token, new.secret)

    @app.delete(
        "/api/tokens/{number}",
        status_code=204,
        response_model=None,
        **allowed("token.change", owner=True),
    )
    async def revoke_token(number: Number, identity: IdentityOf) -> None:
        """Let one of one's own tokens hold no longer."""
        tokens = await service.call(service.accounts.tokens, identity.number)
        if number not in {token.id for token in tokens} and not identity.may("token.change"):
            raise MissingError(f"there is no token {number} of yours")
        await service.call(service.accounts.revoke_token, number, by=identity.id)


def _user(user: User, role: str | None = None) -> wire.UserView:
    return wire.UserView.model_validate(user._asdict() | {"role": role or user.role})


def _token(token: AccessToken, secret: str | None = None) -> wire.AccessTokenView:
    return wire.AccessTokenView.model_validate(token._asdict() | {"secret": secret})
