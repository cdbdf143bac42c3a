"""Accounts without pages: passwords, one-time codes, how often they may be tried, and how they are kept."""

import asyncio
import base64
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal

import pytest
from argon2 import PasswordHasher
from typer.testing import CliRunner

import asgi
from page_visitor import PASSWORD, Visitor, person
from store_internals import engine
from takeup.cli import app
from takeup.errors import ConflictError, InputError
from takeup.live import Trial
from takeup.service import codes, passwords, people
from takeup.service.callers import SCOPES, WORDS
from takeup.service.passwords import Passwords, check_new
from takeup.service.people import ROLE_WORDS, ROLES
from takeup.service.problem import ProblemError
from takeup.service.throttle import LIMITS, MOST_NAMES, Throttle
from takeup.store import Store
from takeup.store.schema import invitations, metadata
from takeup.store.schema import people as rows

RFC = base64.b32encode(b"12345678901234567890").decode()
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def api() -> Iterator[asgi.Api]:
    with asgi.api() as running:
        yield running


@pytest.mark.requirement("R-5.6")
@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ],
)
def test_codes_are_those_of_the_rfc(seconds: int, said: str) -> None:
    """RFC 6238, appendix B, SHA-1; it prints eight digits, of which ours are the last six."""
    assert codes.code(RFC, seconds // 30) == said[-6:]
    assert codes.step_of(RFC, f"{said[2:5]} {said[5:]}", seconds * 1_000_000) == seconds // 30


@pytest.mark.requirement("R-5.6")
def test_a_code_may_be_half_a_minute_early_or_late_and_works_once() -> None:
    at = 1_000_000 * 30 * 1_000_000
    given = {step: codes.code(RFC, step) for step in range(999_997, 1_000_004)}
    taken = {step for step, code in given.items() if codes.step_of(RFC, code, at) is not None}
    assert taken == {999_999, 1_000_000, 1_000_001}
    assert codes.step_of(RFC, given[1_000_000], at, after=999_999) == 1_000_000
    assert codes.step_of(RFC, given[1_000_000], at, after=1_000_000) is None
    for wrong in ("", "12345", "abcdef", "١٢٣٤٥٦", given[1_000_000] + "0"):
        assert codes.step_of(RFC, wrong, at) is None


def test_a_secret_is_new_and_its_address_is_one_that_apps_read() -> None:
    one, other = codes.new_secret(), codes.new_secret()
    assert one != other
    assert codes.SECRET.fullmatch(one)
    assert codes.address(one, "a&b@c.example").startswith(f"otpauth://totp/takeup:a%26b%40c.example?secret={one}&")


@pytest.mark.requirement("R-5.4")
@pytest.mark.parametrize(
    ("password", "allowed"),
    [
        (PASSWORD, True),
        ("zwölf Zeichen", True),
        ("twelve chars", True),
        ("eleven char", False),
        ("a" * 501, False),
        ("aaaaaaaaaaaa", False),
        ("abababababab", False),
        ("passwordpassword", False),
        ("123456789012", False),
        ("abcdefghijklm", False),
        ("lmkjihgfedcba", False),
        ("ada byron 123", False),
        ("ADA@clinic.example", False),
        ("adabyronclinic", False),
        ("ada likes long walks", True),
    ],
)
def test_which_passwords_are_taken(password: str, allowed: bool) -> None:
    if allowed:
        check_new(password, ("Ada Byron", "ada@clinic.example"))
        return
    with pytest.raises(InputError) as caught:
        check_new(password, ("Ada Byron", "ada@clinic.example"))
    assert password not in str(caught.value)


@pytest.mark.requirement("R-5.4")
def test_a_password_is_hashed_with_a_salt_of_its_own_and_compared() -> None:
    async def use() -> None:
        made = Passwords()
        made.hasher = CHEAP
        one, other = await made.hash("zwölf Zeichen"), await made.hash("zwölf Zeichen")
        assert one != other
        assert one.startswith("$argon2id$")
        assert await made.matches(one, "zwo\u0308lf Zeichen")  # as another keyboard composes it
        assert not await made.matches(one, "zwölf zeichen")
        assert not await made.matches("no hash", "zwölf Zeichen")
        assert not await made.matches(None, "somebody who is not here")
        made.close()

    asyncio.run(use())


@pytest.mark.requirement("R-5.5")
def test_whoever_has_no_account_is_compared_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is the same: one verification of a hash with the same costs, known or not."""
    verified: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002  # argon2's own name
            verified.append(str(hash).rpartition("$")[0].rpartition("$")[0])
            return super().verify(hash, password)

    with asgi.api() as api:
        accounts = api.app.state.service.people
        accounts.passwords.hasher = Counting(time_cost=1, memory_cost=8, parallelism=1)
        known, closed, new = (person(api, "clinician", password=each) for each in (PASSWORD, PASSWORD, None))
        api.run(accounts.close(closed, "test"))
        for login in (known.login, closed.login, new.login, "nobody@clinic.example"):
            assert api.run(accounts.proven(login, "not the password", "", "1.2.3.4")) is None
    assert len(verified) == 4
    assert len(set(verified)) == 1


def test_few_passwords_are_hashed_at_once_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them holds up the event loop; a flood is told to come again, and leaves nothing behind."""
    monkeypatch.setattr(passwords, "MOST_WAITING", 5)

    async def flood() -> tuple[int, int]:
        made = Passwords()
        made.hasher = CHEAP
        hashed = await made.hash(PASSWORD)
        answers = await asyncio.gather(*(made.matches(hashed, PASSWORD) for _ in range(20)), return_exceptions=True)
        assert await made.matches(hashed, PASSWORD)
        made.close()
        assert made._threads._max_workers == passwords.AT_ONCE
        return sum(answer is True for answer in answers), sum(isinstance(each, ProblemError) for each in answers)

    assert asyncio.run(flood()) == (5, 15)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_a_password_is_hashed_as_often_whether_or_not_there_is_one(order: tuple[bool, bool]) -> None:
    """Also by the first who tries after a start, who has the hash of nobody made."""

    class Counting(PasswordHasher):
        calls: ClassVar[list[str]] = []

        def hash(self, *given: Any, **options: Any) -> str:
            self.calls.append("hash")
            return super().hash(*given, **options)

        def verify(self, hash: Any, password: Any) -> Literal[True]:  # noqa: A002  # argon2's name
            self.calls.append("verify")
            return super().verify(hash, password)

    async def tried() -> list[list[str]]:
        made, done = Passwords(), []
        made.hasher = Counting(time_cost=1, memory_cost=8, parallelism=1)
        stored = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("four words make one")
        for known in order:
            Counting.calls = []
            assert not await made.matches(stored if known else None, "another")
            done.append(Counting.calls)
        made.close()
        return done

    assert asyncio.run(tried()) == [["hash", "verify"], ["verify"]]


def test_guessing_is_slow_and_keeps_nobody_else_out() -> None:
    at = 0.0
    throttle = Throttle(clock=lambda: at)
    most, rate = LIMITS["login here"]
    assert [throttle.wait("Ada@x.y", "1.1.1.1") for _ in range(int(most))] == [0] * int(most)
    assert throttle.wait(" ada@x.y", "1.1.1.1") == pytest.approx(1 / rate)
    assert throttle.wait("ada@x.y", "2.2.2.2") == 0
    assert throttle.wait("max@x.y", "1.1.1.1") == 0
    at = 1 / rate + 1e-6
    assert throttle.wait("ada@x.y", "1.1.1.1") == 0
    assert throttle.wait("ada@x.y", "1.1.1.1") > 0
    found = [throttle.wait(f"{i}@x.y", "3.3.3.3") for i in range(100)]
    assert sum(wait == 0 for wait in found) == LIMITS["address"][0]


def test_whoever_knows_the_password_is_not_slowed_down_by_it() -> None:
    throttle = Throttle(clock=lambda: 0.0)
    for _ in range(1_000):
        assert throttle.wait("ada@x.y", "1.1.1.1") == 0
        throttle.succeeded("ada@x.y", "1.1.1.1")


def test_the_counts_stay_few_and_a_flood_does_not_forget_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.service.throttle.MOST_NAMES", 50)
    throttle = Throttle(clock=lambda: 0.0)
    waits = [throttle.wait(f"{i}@x.y", "3.3.3.3") for i in range(1_000)]
    assert len(throttle) == 50 < MOST_NAMES
    assert sum(wait == 0 for wait in waits) == LIMITS["address"][0]
    assert all(one <= other for one, other in pairwise(waits))


def test_every_role_and_scope_has_its_words() -> None:
    assert list(ROLE_WORDS) == list(ROLES)
    assert list(WORDS) == list(SCOPES)


def test_an_account_is_stored_in_either_database(database: str) -> None:
    with Store(database) as store:
        made = people.new("Ada Byron", " Ada@Clinic.example", ["admin", "clinician"], ["b", "a"], site="ward", at=7)
        store.write(partial(people.add, made)).result()
        assert store.read(partial(people.by_login, login="ADA@clinic.example")) == made
        assert (made.roles, made.trials) == (("clinician", "admin"), ("a", "b"))
        with pytest.raises(ConflictError, match="has the login"):
            store.write(partial(people.add, made)).result()
        token = people.new_token()
        store.write(partial(people.invite, made.id, people.digest(token), 100, 10, "x")).result()
        assert store.read(partial(people.invited, token=token, at=99)) == made
        assert store.read(partial(people.invited, token=token, at=100)) is None
        assert store.write(partial(people.accept, token, "hash", 100)).result() is None
        accepted = store.write(partial(people.accept, token, "hash", 99)).result()
        assert accepted is not None
        assert accepted.password == "hash"
        assert store.write(partial(people.accept, token, "again", 99)).result() is None
        assert store.write(partial(people.use_code, made.id, 5)).result()
        assert not store.write(partial(people.use_code, made.id, 5)).result()
        assert [line.what for line in store.read(partial(people.history, id_=made.id))] == [
            "set a password by invitation",
            "invited to set a password",
            "added as clinician, admin, in a, b, at ward",
        ]


@pytest.mark.parametrize("login", ["", "ada", "@x", "ada@", "a b@c", "a@b@c", "a" * 80 + "@x.y"])
def test_a_login_is_like_an_email(login: str) -> None:
    with pytest.raises(InputError):
        people.new("Ada", login, ["admin"], at=1)


@pytest.mark.parametrize("roles", [[], ["king"]])
def test_roles_are_those_that_there_are(roles: list[str]) -> None:
    with pytest.raises(InputError, match="clinician"):
        people.new("Ada", "ada@x.y", roles, at=1)


@pytest.mark.requirement("R-4.7")
def test_the_database_holds_hashes_alone(api: asgi.Api) -> None:
    accounts = api.app.state.service.people
    ada = person(api, "admin", password=PASSWORD)
    token = api.run(accounts.invite(ada.id, "test"))
    with engine(api.store).connect() as connection:
        kept = str(connection.execute(rows.select()).all()) + str(connection.execute(invitations.select()).all())
    assert PASSWORD not in kept
    assert token not in kept
    assert PASSWORD not in repr(ada)
    assert "argon2" not in repr(ada)


@pytest.mark.requirement("R-4.7")
def test_what_a_copy_of_the_database_gives_away(api: asgi.Api) -> None:
    """Of all secrets the keys of one-time codes and the seeds of trials alone, as docs/people.md says."""
    accounts = api.app.state.service.people
    ada = person(api, "admin", password=PASSWORD)
    api.run(accounts.change(ada, {"code_secret": RFC}, "test", "test"))
    hidden = {"password": PASSWORD, "invitation": api.run(accounts.invite(ada.id, "test")), "key": api.key("admin")}
    hidden["session"] = Visitor(api, caller=person(api, "observer")).cookie
    with engine(api.store).connect() as connection:
        kept = "".join(str(connection.execute(table.select()).all()) for table in metadata.sorted_tables)
    assert RFC in kept
    for name, secret in hidden.items():
        assert len(secret) > 20, name
        assert secret not in kept, name
    assert hidden["key"].split("_")[2] not in kept


def test_a_code_is_asked_for_and_works_once() -> None:
    time = [1_000_000 * 30 * 1_000_000]
    with asgi.api(clock=lambda: time[0]) as api:
        accounts = api.app.state.service.people
        ada = person(api, "admin", password=PASSWORD)
        api.run(accounts.change(ada, {"code_secret": RFC}, "test", "test"))
        good = codes.code(RFC, 1_000_000)

        def proven(password: str, code: str) -> bool:
            return api.run(accounts.proven(ada.login, password, code, "1.2.3.4")) is not None

        assert not proven(PASSWORD, "")
        assert not proven("not the password", good)
        assert proven(PASSWORD, good)
        assert not proven(PASSWORD, good)
        time[0] += 60_000_000
        assert proven(PASSWORD, codes.code(RFC, 1_000_002))


@pytest.mark.requirement("R-5.7")
def test_sessions_end_when_the_password_the_roles_or_the_account_change(api: asgi.Api) -> None:
    service = api.app.state.service
    for change in (
        lambda ada: service.people.set_password(ada, "another good password"),
        lambda ada: service.people.change(ada, {"roles": '["observer"]'}, "made observer", "test"),
        lambda ada: service.people.close(ada, "test"),
        service.sessions.end_all,
    ):
        ada = person(api, "clinician", password=PASSWORD)
        one, other = Visitor(api, caller=ada), Visitor(api, caller=ada)
        bystander = Visitor(api, caller=person(api, "clinician"))
        assert [each.get("/app").status for each in (one, other)] == [200, 200]
        api.run(change(ada))
        assert [each.get("/app").status for each in (one, other)] == [303, 303]
        assert bystander.get("/app").status == 200


@pytest.mark.requirement("R-5.7")
def test_a_session_ends_that_nobody_uses() -> None:
    """An open page that follows its trial by itself is nobody."""
    time, minute = [1_000_000], 60_000_000
    with asgi.api(clock=lambda: time[0]) as api:
        visitor = Visitor(api, caller=person(api, "observer"))
        key = api.key("design")
        api.request("POST", "/trials?trial=t", asgi.SPEC, key)
        for _ in range(5):
            time[0] += 50 * minute
            assert visitor.get("/app").status == 200
        time[0] += 30 * minute
        assert visitor.get("/app/trials/t/dashboard").status == 200
        time[0] += 31 * minute
        assert visitor.get("/app/trials/t/dashboard").status == 303
        assert visitor.get("/app").status == 303


@pytest.mark.requirement("R-5.7")
def test_a_session_ends_that_is_used_all_the_time() -> None:
    """Every 50 minutes: 14 times within 12 hours, and not a 15th time."""
    time, minute = [1_000_000], 60_000_000
    with asgi.api(clock=lambda: time[0]) as api:
        visitor, found = Visitor(api, caller=person(api, "observer")), []
        for _ in range(15):
            time[0] += 50 * minute
            found.append(visitor.get("/app").status)
        assert found == [200] * 14 + [303]


def test_people_from_the_command_line(tmp_path: object) -> None:
    database = f"{tmp_path}/t.db"
    Trial.create(database, {**asgi.SPEC, "name": "t"}).close()
    ada = ["people", "invite", "Ada Byron", "ada@clinic.example", "--database", database]

    def told(*words: str) -> str:
        found = CliRunner().invoke(app, [*words], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return found.output

    first = told(*ada, "--role", "admin", "--address", "https://trials.example/")
    assert first.startswith("https://trials.example/app/invitation/")
    again = told(*ada)
    assert again != first
    with pytest.raises(InputError, match="no --role"):
        told(*ada, "--role", "observer")
    with pytest.raises(InputError, match="roles"):
        told("people", "invite", "Max", "max@x.y", "--database", database)
    with Store(database) as store:
        token = again.strip().rpartition("/")[2]
        assert store.read(partial(people.invited, token=first.strip().rpartition("/")[2], at=store.clock())) is None
        invited = store.read(partial(people.invited, token=token, at=store.clock()))
        assert invited is not None
        assert invited.roles == ("admin",)
    assert "admin, in all trials; has set no password yet" in told("people", "list", "--database", database)
    told("people", "deactivate", "ada@clinic.example", "--database", database)
    assert '"deactivated_at": null' not in told("people", "list", "--json", "--database", database)
