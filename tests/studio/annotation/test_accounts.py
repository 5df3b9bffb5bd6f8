"""Users, passwords, lock-out, sessions, tokens, and who may do what."""

from __future__ import annotations

import itertools
import threading
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from eigentext.errors import SettingsError
from eigentext.studio.store.accounts import Accounts, AccountSettings, LockedError, LoginError
from eigentext.studio.store.permissions import ACTIONS, ForbiddenError, allowed, require
from eigentext.studio.store.problems import MissingError, TakenError
from eigentext.studio.store.schema import ROLES, metadata
from eigentext.studio.store.store import AnnotationStore
from helpers.small_store import CHEAP

SECRET = "a long password"


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def passes(self, **time: float) -> None:
        self.at += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(place, clock):
    store = AnnotationStore(place, clock=clock)
    yield Accounts(store, hasher=CHEAP)
    store.close()


def _actions(accounts: Accounts) -> list[str]:
    return [entry.action for entry in reversed(accounts.store.audit())]


# ---- users


def test_users_come_back_as_they_were_made(accounts):
    ada = accounts.add_user("ada", "admin", SECRET)
    ben = accounts.add_user("بن 😀", "annotator", by=ada.id)
    assert (ada.has_password, ben.has_password) == (True, False)
    assert accounts.users() == [ada, ben]
    assert accounts.user_named("بن 😀") == accounts.user(ben.id) == ben
    with pytest.raises(TakenError, match="there is a user 'ada' already"):
        accounts.add_user("ada", "reader")
    with pytest.raises(MissingError, match="there is no user 'x'"):
        accounts.user_named("x")
    assert accounts.any_passwords()


@pytest.mark.parametrize(
    ("name", "role", "password", "why"),
    [
        ("", "admin", SECRET, "is empty"),
        ("a\nb", "admin", SECRET, r"U\+000A"),
        ("ada", "king", SECRET, "role 'king' is not one of"),
        ("ada", "admin", "short", "at least 10 characters"),
        ("ada", "admin", "x" * 1001, "at most 1,000"),
        ("ada.lovelace", "admin", "ADA.lovelace", "something else than the user's name"),
        ("ada", "admin", "a" * 10 + "\ud800", "cannot be stored"),
    ],
)
def test_bad_users_are_refused(accounts, name, role, password, why):
    with pytest.raises(SettingsError, match=why):
        accounts.add_user(name, role, password)
    assert accounts.users() == []
    assert not accounts.any_passwords()


def test_without_accounts_a_name_is_enough(accounts):
    ada = accounts.local_user("ada")
    assert ada.role == "admin"
    assert accounts.local_user("ada") == ada
    with pytest.raises(SettingsError):
        accounts.local_user("")
    session = accounts.begin_session(ada.id)
    assert accounts.session(session.secret).user == ada
    with pytest.raises(LoginError):
        accounts.log_in("ada", "")


def test_the_last_admin_stays(accounts):
    ada = accounts.add_user("ada", "admin", SECRET).id
    for change in (
        lambda: accounts.set_role(ada, "reader"),
        lambda: accounts.set_active(ada, False),
    ):
        with pytest.raises(SettingsError, match="'ada' is the last admin"):
            change()
    ben = accounts.add_user("ben", "admin", SECRET).id
    assert accounts.set_active(ada, False).active is False
    with pytest.raises(SettingsError, match="last admin"):
        accounts.set_role(ben, "reader")
    assert accounts.set_active(ada, True).active
    assert accounts.set_role(ben, "reader").role == "reader"


# ---- logging in


def test_a_password_opens_a_session_and_is_stored_nowhere(accounts):
    ada = accounts.add_user("ada", "annotator", SECRET)
    new = accounts.log_in("ada", SECRET)
    session = accounts.session(new.secret)
    assert session.user == ada
    assert session.csrf == new.csrf
    assert accounts.is_csrf_of(session, new.csrf)
    assert not accounts.is_csrf_of(session, "ü")
    assert accounts.session("something") is None
    assert accounts.session("\ud800") is None
    token = accounts.make_token(ada.id, "script").secret

    def everything(c):
        return str([c.execute(select(table)).all() for table in metadata.sorted_tables])

    stored = accounts.store.reading(everything)
    for secret in (SECRET, new.secret, token):
        assert secret not in stored
    assert "$argon2id$" in stored
    assert _actions(accounts) == ["user.add", "login", "token.make"]


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", "wrong"), ("eve", SECRET), ("ada", ""), ("\0", "\ud800"), ("", "")],
)
def test_a_wrong_name_and_a_wrong_password_are_not_told_apart(accounts, name, password):
    accounts.add_user("ada", "annotator", SECRET)
    with pytest.raises(LoginError, match=r"^name and password do not belong together$"):
        accounts.log_in(name, password)
    assert _actions(accounts)[-1] == "login.failed"


def _guess(accounts: Accounts, name: str = "ada", password: str = "wrong", **address) -> str:
    try:
        accounts.log_in(name, password, **address)
    except LoginError as error:
        return str(error)
    return "a session"


WRONG = "name and password do not belong together"


def test_wrong_passwords_lock_the_account_for_twice_as_long_each_time(accounts, clock):
    accounts.add_user("ada", "annotator", SECRET)
    accounts.add_user("ben", "annotator", SECRET)
    assert [_guess(accounts) for _ in range(5)] == [WRONG] * 5
    with pytest.raises(LockedError, match="try again after 2026-01-01T00:01:00") as caught:
        accounts.log_in("ada", SECRET)
    assert caught.value.until > accounts.store.now()
    accounts.log_in("ben", SECRET)
    seconds = 60.0
    for _ in range(12):
        clock.passes(seconds=seconds - 1)
        assert "too many wrong passwords" in _guess(accounts, password=SECRET)
        clock.passes(seconds=1)
        assert _guess(accounts) == WRONG
        seconds = min(2 * seconds, 86_400)
    assert seconds == 86_400
    clock.passes(days=1)
    accounts.log_in("ada", SECRET)
    for _ in range(2):  # the count begins anew
        assert [_guess(accounts) for _ in range(4)] == [WRONG] * 4
        accounts.log_in("ada", SECRET)


def test_a_day_without_guesses_begins_anew(accounts, clock):
    accounts.add_user("ada", "annotator", SECRET)
    for _ in range(2):
        assert [_guess(accounts) for _ in range(5)] == [WRONG] * 5
        assert "too many" in _guess(accounts)
        clock.passes(days=1, minutes=1)


def test_guesses_from_elsewhere_keep_nobody_out(accounts, clock):
    accounts.add_user("ada", "admin", SECRET)
    evil, home = {"address": "203.0.113.9"}, {"address": "198.51.100.1"}
    assert [_guess(accounts, **evil) for _ in range(5)] == [WRONG] * 5
    assert "too many" in _guess(accounts, **evil)
    assert "too many" in _guess(accounts, password=SECRET, **evil)
    accounts.log_in("ada", SECRET, **home)
    assert "too many" in _guess(accounts, password=SECRET, **evil)  # which forgives nothing


def test_guesses_from_very_many_addresses_lock_out_strangers_alone(accounts, clock):
    ada = accounts.add_user("ada", "admin", SECRET).id
    home, new = {"address": "198.51.100.1"}, {"address": "192.0.2.1"}
    accounts.log_in("ada", SECRET, **home)
    for name in ("ada", "eve"):  # whether somebody has the name or not
        said = [_guess(accounts, name, address=f"203.0.113.{k // 4}") for k in range(101)]
        assert said[:100] == [WRONG] * 100
        assert "too many" in said[100]
    assert "too many" in _guess(accounts, password=SECRET, **new)
    accounts.log_in("ada", SECRET, **home)  # an address of good logins
    assert _guess(accounts, password=SECRET, **new) == "a session"  # which ended the count
    for k in range(100):
        _guess(accounts, address=f"203.0.114.{k // 4}")
    other = Accounts(accounts.store, hasher=CHEAP)  # another server, or the same started again
    assert "too many" in _guess(other, password=SECRET, **home)
    assert accounts.user(ada).locked_until
    for here in ("127.0.0.1", "::1"):  # this machine's own is never a stranger
        for _ in range(4):
            assert _guess(other, address=here) == WRONG
    accounts.set_password(ada, "another password")  # as the command does
    assert _guess(other, password="another password", **home) == "a session"


def test_a_name_that_nobody_has_is_locked_in_the_same_way(accounts, clock):
    """Else guesses would tell names: after each step both answer the same."""
    accounts.add_user("ada", "annotator", SECRET)
    for pause in (0, 0, 0, 0, 0, 0, 20, 39, 1, 0, 60, 60, 0, 0, 86_400, 0, 0):
        clock.passes(seconds=pause)
        said = _guess(accounts)
        assert [_guess(accounts, "eve"), _guess(accounts, "\0 \ud800")] == [said, said]
    actions = [(one.action, one.user is None) for one in accounts.store.audit()]
    assert ("login.locked", True) in actions
    assert ("login.locked", False) in actions
    # somebody who then gets the name begins anew
    accounts.add_user("eve", "annotator", SECRET)
    assert accounts.log_in("eve", SECRET).user.name == "eve"


def test_a_new_password_unlocks(accounts):
    ada = accounts.add_user("ada", "annotator", SECRET).id
    session = accounts.log_in("ada", SECRET)
    for _ in range(5):
        with pytest.raises(LoginError):
            accounts.log_in("ada", "wrong")
    accounts.set_password(ada, "another password")
    assert accounts.session(session.secret) is None
    with pytest.raises(LoginError):
        accounts.log_in("ada", SECRET)
    accounts.log_in("ada", "another password")


def test_guesses_at_the_same_time_are_counted_one_by_one(accounts):
    accounts.add_user("ada", "annotator", SECRET)
    answers = []
    gate = threading.Barrier(12)

    def guess():
        gate.wait()
        try:
            accounts.log_in("ada", "wrong")
        except LockedError:
            answers.append("locked")
        except LoginError:
            answers.append("wrong")

    threads = [threading.Thread(target=guess) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["locked"] * 7 + ["wrong"] * 5


def test_a_hash_of_other_costs_is_made_anew(accounts):
    ada = accounts.add_user("ada", "annotator", SECRET).id
    dearer = Accounts(accounts.store, hasher=PasswordHasher(2, 16, 1))
    dearer.log_in("ada", SECRET)

    def password(c):
        users = metadata.tables["users"]
        return c.execute(select(users.c.password).where(users.c.id == ada)).scalar_one()

    assert ",t=2," in accounts.store.reading(password)
    accounts.log_in("ada", SECRET)


# ---- sessions


def test_a_session_ends_when_nobody_uses_it(accounts, clock):
    accounts.add_user("ada", "annotator", SECRET)
    secret = accounts.log_in("ada", SECRET).secret
    for _ in range(3):
        clock.passes(hours=7)
        assert accounts.session(secret)
    clock.passes(hours=8)
    assert accounts.session(secret) is None
    clock.passes(hours=-8)
    assert accounts.session(secret) is None  # it is gone for good


def test_a_session_ends_after_a_week_in_any_case(accounts, clock):
    accounts.add_user("ada", "annotator", SECRET)
    secret = accounts.log_in("ada", SECRET).secret
    for _ in range(27):
        clock.passes(hours=6)
        assert accounts.session(secret)
    clock.passes(hours=6)
    assert accounts.session(secret) is None


@pytest.mark.parametrize(
    "end",
    [
        lambda accounts, user, secret: accounts.log_out(secret),
        lambda accounts, user, secret: accounts.set_active(user, False),
        lambda accounts, user, secret: accounts.set_role(user, "reader"),
        lambda accounts, user, secret: accounts.set_password(user, "another password"),
    ],
)
def test_what_ends_a_session(accounts, end):
    user = accounts.add_user("ada", "annotator", SECRET).id
    secret = accounts.log_in("ada", SECRET).secret
    end(accounts, user, secret)
    assert accounts.session(secret) is None
    accounts.log_out(secret)
    accounts.log_out("nothing")


def test_a_disabled_user_is_out(accounts):
    user = accounts.add_user("ada", "annotator", SECRET).id
    token = accounts.make_token(user, "script").secret
    accounts.set_active(user, False)
    assert accounts.token(token) is None
    with pytest.raises(LoginError, match="do not belong together"):
        accounts.log_in("ada", SECRET)
    with pytest.raises(LoginError, match="disabled"):
        accounts.begin_session(user)


def test_how_strict_it_is_can_be_set(place, clock):
    store = AnnotationStore(place, clock=clock)
    strict = AccountSettings(shortest_password=20, failures=1, idle=timedelta(minutes=1))
    accounts = Accounts(store, strict, CHEAP)
    with pytest.raises(SettingsError, match="at least 20"):
        accounts.add_user("ada", "admin", SECRET)
    accounts.add_user("ada", "admin", "a very long password indeed")
    with pytest.raises(LoginError):
        accounts.log_in("ada", "x")
    with pytest.raises(LockedError):
        accounts.log_in("ada", "a very long password indeed")
    store.close()


# ---- tokens


def test_a_token_holds_until_it_expires_or_is_revoked(accounts, clock):
    ada = accounts.add_user("ada", "admin", SECRET)
    new = accounts.make_token(
        ada.id, "nightly", scope="reader", expires=clock() + timedelta(days=1)
    )
    other = accounts.make_token(ada.id, "other")
    assert new.secret.startswith("eig_")
    user, token = accounts.token(new.secret)
    assert (user, token.scope) == (ada, "reader")
    assert token.used == accounts.store.now()
    assert [one.name for one in accounts.tokens(ada.id)] == ["nightly", "other"]
    assert accounts.tokens() == accounts.tokens(ada.id)
    assert accounts.token("eig_other") is None
    clock.passes(days=1)
    assert accounts.token(new.secret) is None
    assert accounts.token(other.secret)
    accounts.revoke_token(other.token.id, by=ada.id)
    accounts.revoke_token(other.token.id, by=ada.id)
    assert accounts.token(other.secret) is None
    assert _actions(accounts).count("token.revoke") == 1
    with pytest.raises(SettingsError, match="in the past"):
        accounts.make_token(ada.id, "late", expires=clock())
    with pytest.raises(SettingsError, match="not one of"):
        accounts.make_token(ada.id, "x", scope="king")
    with pytest.raises(MissingError):
        accounts.make_token(99, "x")


# ---- permissions


def test_who_has_a_higher_role_may_do_no_less():
    for action, own in itertools.product(ACTIONS, (True, False)):
        may = [allowed(role, action, owner=own) for role in ROLES]
        if action.startswith("adjudication."):  # readers have no layer to be swayed in
            may = may[1:]
        assert may == sorted(may), action
        assert allowed("admin", action, owner=own)


def test_what_each_role_may():
    changing = {action for action in ACTIONS if not action.endswith((".see", ".export"))}
    own = {"password.change", "token.change"}
    assert {action for action in changing if allowed("reader", action, owner=True)} == own
    assert {action for action in changing if allowed("annotator", action, owner=True)} == own | {
        "layer.decide",
        "model.propose",
    }
    assert not allowed("annotator", "layer.see")
    assert allowed("adjudicator", "layer.see")
    assert not allowed("adjudicator", "layer.decide")
    assert not allowed("nobody", "project.see", owner=True)
    with pytest.raises(KeyError):
        allowed("admin", "nonsense")


def test_a_refusal_says_what_would_be_allowed():
    require("admin", "user.change")
    with pytest.raises(ForbiddenError, match=r"^an annotator may not do this \(user.change\)$"):
        require("annotator", "user.change", owner=True)
    with pytest.raises(ForbiddenError, match="an annotator may do this only to their own"):
        require("annotator", "layer.see")
