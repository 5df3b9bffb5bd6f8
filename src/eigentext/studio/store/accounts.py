"""Users, passwords, sessions and tokens.

1. A password is kept as argon2 makes it, a session and a token as the sha256 of their secret: who
   reads the database can log in as nobody.
2. A guess is counted before it is looked at, so that many at once are no way around.  A few wrong
   ones in a row keep the address that they came from out of the account, for twice as long with
   every further one; many, from wherever they came, keep all addresses out but those of good
   logins and this machine's own: nobody can keep others out of their account from elsewhere.
   A wrong name and a wrong password get the same answer, after the same work, and a name that
   nobody has is locked like one that somebody has.  What is counted by address is in memory.
3. A session ends when nobody used it for a while, and after a time in any case; with a new
   password, another role or a disabled user all sessions of theirs end.
4. Whatever happens here is in the audit log.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import delete, insert, select, update

from eigentext.base.remembering import Remembered
from eigentext.errors import EigentextError, SettingsError, shortened
from eigentext.studio.store.database import stamp
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.rows import (
    check_name,
    check_text,
    find_row,
    insert_row,
    is_storable,
    log,
)
from eigentext.studio.store.schema import ROLES, sessions, tokens, users

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from eigentext.base.types import Json
    from eigentext.studio.store.store import AnnotationStore

_TOKEN_MARK = "eig_"  # noqa: S105 - so that a token is known as one where it should not be
_GUESSES = 100_000  # names and addresses of which guesses are remembered
_THIS_MACHINE = ("127.0.0.1", "::1")
_AT_A_TIME = threading.BoundedSemaphore(2)  # argon2 takes 64 MB of memory for each


class LoginError(EigentextError):
    """Name and password do not belong together, or the user may not log in."""


class LockedError(LoginError):
    """Too many wrong passwords; ``until`` says how long."""

    def __init__(self, until: str) -> None:
        self.until = until
        super().__init__(f"too many wrong passwords: try again after {until[:19]} UTC")


@dataclass(frozen=True)
class AccountSettings:
    """How strict accounts are."""

    shortest_password: int = 10
    failures: int = 5  # wrong passwords from one address ...
    failures_anywhere: int = 100  # ... and from all, before an account is locked
    lock: timedelta = timedelta(minutes=1)  # doubled by every further failure
    longest_lock: timedelta = timedelta(days=1)
    idle: timedelta = timedelta(hours=8)
    longest_session: timedelta = timedelta(days=7)


class User(NamedTuple):
    """A user; what they know is not in here."""

    id: int
    name: str
    role: str
    has_password: bool
    active: bool
    created: str
    locked_until: str | None


class Session(NamedTuple):
    """A session that holds, and whose it is."""

    user: User
    csrf: str
    created: str
    last_used: str
    expires: str


class NewSession(NamedTuple):
    """What a browser gets after a login: ``secret`` goes into its cookie and nowhere else."""

    secret: str
    csrf: str
    user: User
    expires: str


class AccessToken(NamedTuple):
    """A token of a program; ``scope`` is the role that it has at most."""

    id: int
    user: int
    name: str
    scope: str
    created: str
    used: str | None
    expires: str | None
    revoked: str | None


class NewToken(NamedTuple):
    """A token, with its secret, which is shown once."""

    secret: str
    token: AccessToken


class _Guesses(NamedTuple):
    """Wrong passwords in a row, and until when no further one is looked at."""

    failures: int = 0
    locked_until: str | None = None

    def locked(self, now: str) -> bool:
        return self.locked_until is not None and self.locked_until > now


_USER = [users.c[name] for name in ("id", "name", "role", "password", "active", "created")]
_USER.append(users.c.locked_until)
_TOKEN = [tokens.c[name] for name in AccessToken._fields]


class Accounts:
    """The users of a store.

    >>> import tempfile, pathlib
    >>> from eigentext.studio.store.store import AnnotationStore
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = AnnotationStore(pathlib.Path(folder.name, "a.db"))
    >>> accounts = Accounts(store)
    >>> user = accounts.add_user("ada", "annotator", "correct horse battery")
    >>> new = accounts.log_in("ada", "correct horse battery")
    >>> accounts.session(new.secret).user.role
    'annotator'
    >>> accounts.log_in("ada", "guess")
    Traceback (most recent call last):
    eigentext.studio.store.accounts.LoginError: name and password do not belong together
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        store: AnnotationStore,
        settings: AccountSettings | None = None,
        hasher: PasswordHasher | None = None,
    ) -> None:
        self.store = store
        self.settings = settings or AccountSettings()
        self._hasher = hasher or PasswordHasher()
        self._nobody: str | None = None  # what a password is held to where there is no such name
        self._guesses: Remembered[str, _Guesses] = Remembered(_GUESSES)
        self._good: Remembered[str, bool] = Remembered(_GUESSES)
        self._guessing = threading.Lock()

    # ---- users

    def add_user(
        self, name: str, role: str, password: str | None = None, *, by: int | None = None
    ) -> User:
        """A new user; without a password they can log in by tokens only."""
        check_name(name, "the name of a user")
        row = {
            "name": name,
            "role": _check_role(role),
            "password": None if password is None else self._hashed(name, password),
            "active": True,
            "created": self.store.now(),
            "failures": 0,
        }

        def work(c: Connection) -> User:
            number = insert_row(c, users, row, f"there is a user {name!r} already")
            about = {"user": number, "name": name, "role": role}
            log(c, self.store.now(), by, "user.add", about)
            return _user(c, number)

        return self.store.writing(work)

    def users(self) -> list[User]:
        """All users by name, the disabled ones too."""
        query = select(*_USER).order_by(users.c.name)
        return self.store.reading(lambda c: [_as_user(row) for row in c.execute(query)])

    def names(self) -> dict[int, str]:
        """The names of all users by number."""
        return {user.id: user.name for user in self.users()}

    def user(self, number: int) -> User:
        """The user of this number."""
        return self.store.reading(lambda c: _user(c, number))

    def user_named(self, name: str) -> User:
        """The user of this name."""
        row = self.store.reading(lambda c: _named(c, name))
        if row is None:
            raise MissingError(f"there is no user {shortened(name, 100)!r}")
        return _as_user(row)

    def local_user(self, name: str) -> User:
        """The user of this name, made if there is none: for a machine that has no accounts.

        One made here has the role of an admin and no password, and so cannot log in elsewhere.
        """
        row = self.store.reading(lambda c: _named(c, name))
        if row is not None:
            return _as_user(row)
        try:
            return self.add_user(name, "admin")
        except SettingsError:
            row = self.store.reading(lambda c: _named(c, name))  # in the same moment
            if row is None:
                raise
            return _as_user(row)

    def any_passwords(self) -> bool:
        """Can anybody log in?  A store for a team needs one who can."""
        query = select(users.c.id).where(users.c.password.is_not(None), users.c.active).limit(1)
        return self.store.reading(lambda c: c.execute(query).first() is not None)

    def set_password(self, number: int, password: str, *, by: int | None = None) -> None:
        """A new password; it unlocks the account and ends the user's sessions."""
        hashed = self._hashed(self.user(number).name, password)

        def work(c: Connection) -> None:
            _user(c, number)
            fields = {"password": hashed, "failures": 0, "locked_until": None}
            c.execute(update(users).where(users.c.id == number).values(fields))
            c.execute(delete(sessions).where(sessions.c.user == number))
            log(c, self.store.now(), by, "user.password", {"user": number})

        self.store.writing(work)

    def set_role(self, number: int, role: str, *, by: int | None = None) -> User:
        """Another role; it ends the user's sessions."""
        return self._change(number, {"role": _check_role(role)}, "user.role", by)

    def set_active(self, number: int, active: bool, *, by: int | None = None) -> User:
        """Disable a user, who can then neither log in nor use tokens, or allow them back."""
        action = "user.enable" if active else "user.disable"
        return self._change(number, {"active": active}, action, by)

    def _change(self, number: int, fields: Json, action: str, by: int | None) -> User:
        def work(c: Connection) -> User:
            before = _user(c, number)
            admins = select(users.c.id).where(users.c.role == "admin", users.c.active)
            # locked, so that the last two cannot resign at a time
            others = set(c.execute(admins.order_by(users.c.id).with_for_update()).scalars())
            c.execute(update(users).where(users.c.id == number).values(fields))
            after = _user(c, number)
            lost = before.role == "admin" and before.active
            lost &= not (after.role == "admin" and after.active)
            if lost and not others - {number}:
                raise SettingsError(f"{before.name!r} is the last admin: make another first")
            c.execute(delete(sessions).where(sessions.c.user == number))
            log(c, self.store.now(), by, action, {"user": number, **fields})
            return after

        return self.store.writing(work)

    # ---- sessions

    def log_in(self, name: str, password: str, *, address: str = "") -> NewSession:
        """A new session, or a LoginError; ``address``: where this comes from."""
        account = self.store.reading(lambda c: _named(c, name, whole=True))
        # a new password begins anew
        key = _hash("\n".join((name, account.password or "" if account else "", address)))
        until = self._counted(key, self.settings.failures)
        with self._guessing:
            no_stranger = address in _THIS_MACHINE or self._good.get(key)
        if until is None and not no_stranger:
            until = self._counted_anywhere(name, account)
        if until is not None:
            about = {} if account else {"name": _loggable(name)}
            self.store.note("login.locked", about, by=account.id if account else None)
            raise LockedError(until)
        right = self._is_right(account.password if account else None, password)
        if account is None or not right or not account.active:
            by = None if account is None else account.id
            self.store.note("login.failed", {"name": _loggable(name)}, by=by)
            raise LoginError("name and password do not belong together")
        rehashed = None
        if self._hasher.check_needs_rehash(account.password):
            with _AT_A_TIME:
                rehashed = self._hasher.hash(password)
        new = self.store.writing(lambda c: self._begun(c, account.id, account.password, rehashed))
        with self._guessing:
            self._guesses.put(key, _Guesses())
            self._good.put(key, True)
        return new

    def _counted(self, key: str, most: int) -> str | None:
        """Count one more guess in memory; until when it is locked, if it is."""
        with self._guessing:
            before = self._guesses.get(key) or _Guesses()
            if before.locked(self.store.now()):
                return before.locked_until
            self._guesses.put(key, self._one_more(before, most))
        return None

    def _counted_anywhere(self, name: str, account: Any) -> str | None:
        """The same wherever guesses come from: in the row of a user, so that all servers know."""
        most = self.settings.failures_anywhere
        if account is None:
            return self._counted(_hash(name), most)

        def work(c: Connection) -> str | None:
            row = c.execute(select(users).where(users.c.id == account.id).with_for_update()).one()
            before = _Guesses(row.failures, row.locked_until)
            if before.locked(self.store.now()):
                return before.locked_until
            fields = self._one_more(before, most)._asdict()
            c.execute(update(users).where(users.c.id == account.id).values(fields))
            return None

        return self.store.writing(work)

    def _one_more(self, before: _Guesses, most: int) -> _Guesses:
        now, rules = self.store.clock(), self.settings
        if before.locked_until and before.locked_until <= stamp(now - rules.longest_lock):
            before = _Guesses()  # nobody guessed for long
        failures, until = before.failures + 1, None
        if failures >= most:
            doubled = rules.lock * 2 ** min(failures - most, 30)
            until = stamp(now + min(doubled, rules.longest_lock))
        return _Guesses(failures, until)

    def _begun(
        self, c: Connection, number: int, password: str, rehashed: str | None
    ) -> NewSession:
        row = c.execute(select(users).where(users.c.id == number).with_for_update()).first()
        if row is None or not row.active or row.password != password:  # changed just now
            raise LoginError("name and password do not belong together")
        fields: Json = {"failures": 0, "locked_until": None}
        if rehashed:
            fields["password"] = rehashed
        c.execute(update(users).where(users.c.id == number).values(fields))
        return self._new_session(c, number, "login")

    def begin_session(self, number: int) -> NewSession:
        """A session without a password: for a machine that has no accounts."""

        def work(c: Connection) -> NewSession:
            if not _user(c, number).active:
                raise LoginError("this user is disabled")
            return self._new_session(c, number, "login.local")

        return self.store.writing(work)

    def _new_session(self, c: Connection, number: int, action: str) -> NewSession:
        moment = self.store.clock()
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        expires = stamp(moment + self.settings.longest_session)
        now = stamp(moment)
        c.execute(delete(sessions).where(sessions.c.expires <= now))
        row = {"hash": _hash(secret), "user": number, "csrf": csrf, "created": now}
        c.execute(insert(sessions).values(**row, seen=now, expires=expires))
        log(c, now, number, action, {})
        return NewSession(secret, csrf, _user(c, number), expires)

    def session(self, secret: str) -> Session | None:
        """The session with this secret, if it still holds; it was used now."""
        here = sessions.c.hash == _hash(secret)
        query = select(sessions.c.csrf, sessions.c.created, sessions.c.seen, sessions.c.expires)
        query = query.add_columns(*_USER).join(users, users.c.id == sessions.c.user).where(here)
        row = self.store.reading(lambda c: c.execute(query).first())
        if row is None:
            return None
        moment = self.store.clock()
        idle_since = stamp(moment - self.settings.idle)
        user = _as_user(row[4:])
        if row.expires <= stamp(moment) or row.seen <= idle_since or not user.active:
            self.store.writing(lambda c: c.execute(delete(sessions).where(here)) and None)
            return None
        used = row.seen
        # written now and then, not with every request
        if used <= stamp(moment - self.settings.idle / 100):
            used = stamp(moment)
            touch = update(sessions).where(here).values(seen=used)
            self.store.writing(lambda c: c.execute(touch) and None)
        return Session(user, row[0], row[1], used, row.expires)

    @staticmethod
    def is_csrf_of(session: Session | NewSession, token: str) -> bool:
        """Does a request carry the token that its page was given?"""
        return hmac.compare_digest(session.csrf.encode(), token.encode("utf-8", "replace"))

    def log_out(self, secret: str) -> None:
        """End a session; one that is over is left alone."""

        def work(c: Connection) -> None:
            here = sessions.c.hash == _hash(secret)
            row = c.execute(select(sessions.c.user).where(here)).first()
            if row is not None:
                c.execute(delete(sessions).where(here))
                log(c, self.store.now(), row[0], "logout", {})

        self.store.writing(work)

    # ---- tokens of programs

    def make_token(
        self,
        user: int,
        name: str,
        *,
        scope: str = "annotator",
        expires: datetime | None = None,
        by: int | None = None,
    ) -> NewToken:
        """A new token of a user; it may do what both the user and ``scope`` may."""
        check_name(name, "the name of a token")
        secret = _TOKEN_MARK + secrets.token_urlsafe(32)
        moment = self.store.clock()
        if expires is not None and expires <= moment:
            raise SettingsError(f"a token cannot expire in the past, on {stamp(expires)}")
        row = {
            "user": user,
            "name": name,
            "hash": _hash(secret),
            "scope": _check_role(scope),
            "created": stamp(moment),
            "expires": None if expires is None else stamp(expires),
        }

        def work(c: Connection) -> NewToken:
            _user(c, user)
            number = insert_row(c, tokens, row, "")
            log(c, stamp(moment), by, "token.make", {"token": number, "user": user, "name": name})
            return NewToken(secret, _token(c, number))

        return self.store.writing(work)

    def token(self, secret: str) -> tuple[User, AccessToken] | None:
        """Whose token this is, if it holds; it was used now."""
        here = tokens.c.hash == _hash(secret)

        def look(c: Connection) -> tuple[User, AccessToken] | None:
            row = c.execute(select(*_TOKEN).where(here)).first()
            if row is None:
                return None
            token = AccessToken(*row)
            return _user(c, token.user), token

        pair = self.store.reading(look)
        moment = self.store.clock()
        if pair is None:
            return None
        user, token = pair
        over = token.expires is not None and token.expires <= stamp(moment)
        if over or token.revoked is not None or not user.active:
            return None
        if token.used is None or token.used <= stamp(moment - timedelta(minutes=1)):
            used = update(tokens).where(here).values(used=stamp(moment))
            self.store.writing(lambda c: c.execute(used) and None)
            token = token._replace(used=stamp(moment))
        return user, token

    def tokens(self, user: int | None = None) -> list[AccessToken]:
        """The tokens of a user, or of all, the revoked ones too."""
        query = select(*_TOKEN).order_by(tokens.c.id)
        if user is not None:
            query = query.where(tokens.c.user == user)
        return self.store.reading(lambda c: [AccessToken(*row) for row in c.execute(query)])

    def revoke_token(self, number: int, *, by: int | None = None) -> AccessToken:
        """Let a token hold no longer."""

        def work(c: Connection) -> AccessToken:
            token = _token(c, number)
            if token.revoked is None:
                now = self.store.now()
                c.execute(update(tokens).where(tokens.c.id == number).values(revoked=now))
                log(c, now, by, "token.revoke", {"token": number, "user": token.user})
            return _token(c, number)

        return self.store.writing(work)

    # ---- passwords

    def _hashed(self, name: str, password: str) -> str:
        least = self.settings.shortest_password
        if len(password) < least:
            raise SettingsError(f"a password has at least {least} characters")
        if len(password) > 1000:
            raise SettingsError("a password has at most 1,000 characters")
        if password.casefold() == name.casefold():
            raise SettingsError("a password is something else than the user's name")
        check_text(password, "the password")
        with _AT_A_TIME:
            return self._hasher.hash(password)

    def _is_right(self, hashed: str | None, password: str) -> bool:
        """Is it the password?  As much work where there is none to compare it with."""
        with _AT_A_TIME:
            if self._nobody is None:
                self._nobody = self._hasher.hash(secrets.token_urlsafe(16))
            try:
                guess = password[:1001].encode("utf-8", "replace")
                self._hasher.verify(hashed or self._nobody, guess)
            except (Argon2Error, InvalidHashError):
                return False
        return hashed is not None


def _loggable(name: str) -> str:
    return shortened(name, 100).encode("utf-8", "replace").decode().replace("\0", "?")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _check_role(role: str) -> str:
    if role not in ROLES:
        raise SettingsError(f"role {shortened(role, 50)!r} is not one of {', '.join(ROLES)}")
    return role


def _as_user(row: Any) -> User:
    number, name, role, password, active, created, locked_until = row
    return User(number, name, role, password is not None, active, created, locked_until)


def _user(c: Connection, number: int) -> User:
    return _as_user(find_row(c, users, number, select(*_USER)))


def _named(c: Connection, name: str, *, whole: bool = False) -> Any:
    if not is_storable(name):
        return None
    return c.execute(select(*(users.c if whole else _USER)).where(users.c.name == name)).first()


def _token(c: Connection, number: int) -> AccessToken:
    return AccessToken(*find_row(c, tokens, number, select(*_TOKEN)))
