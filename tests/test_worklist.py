"""The worklist: who awaits a report, late first; what it costs does not depend on what was reported."""

import csv
import io
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Connection, event

import asgi
from page_visitor import Visitor, harmless
from servers import Server
from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import Store, reading
from takeup.store.worklist import Worklist

DAY = 86_400_000_000
NAMES = count()
SPACE = {"proposals": ["zebra", "yak"], "outcomes": ["lost", "won"]}
SPEC: dict[str, Any] = {"name": "Clinic", "space": SPACE, "policy": {"kind": "Uniform"}, "window": "5 days"}


class Clock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        self.now = 1_000 * DAY

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[Store]:
    with Store("sqlite://", clock=clock) as opened:
        yield opened


def filled(store: Store, clock: Clock, many: int, **changes: Any) -> Trial:
    """A trial of so many days, a decision a day, whose reports come in part."""
    trial = Trial.create(store, {**SPEC, **changes})
    trial.start()
    rng = stream(5, "worklist", many)
    for i in range(many):
        trial.decide(f"p{i:03d}")
        clock.now += DAY
    for number in range(1, many + 1):
        chosen = rng.integers(0, 3, 2)
        told: dict[str, Any] = {}
        if chosen[0] == 1 and trial.design.spec.compliance != "never":
            told["implemented"] = "yak"
        if chosen[1] == 1:
            told["outcome"] = "won"
        missing = [name for name, each in zip(("implemented", "outcome"), chosen, strict=True) if each == 2]
        if trial.design.spec.compliance == "never":
            missing = [name for name in missing if name == "outcome"]
        if told or missing:
            trial.report(number, **told, missing=missing)
    return trial


def naive(connection: Connection, trial: str, at: int, *, actions: bool) -> list[tuple[int, bool, bool, bool]]:
    """Every decision looked at: (number, action awaited, outcome awaited, late), in the order of the list."""
    found = []
    for number, row in reading.stored(connection, trial, "decisions"):
        action = actions and row["implemented"] < 0 and not row["missing_implemented"]
        outcome = row["outcome"] < 0 and not row["missing_outcome"]
        late = outcome and row["due"] is not None and row["due"] <= at
        if action or outcome:
            found.append((number, action, outcome, late))
    return sorted(found, key=lambda each: (not each[3], each[0]))


@pytest.mark.parametrize(
    "changes", [{}, {"window": None}, {"compliance": "never"}, {"compliance": "sometimes"}], ids=str
)
def test_the_list_is_what_looking_at_every_decision_finds(store: Store, clock: Clock, changes: dict[str, Any]) -> None:
    compared(store, clock, changes)


def test_postgresql_lists_the_same(postgres: Server, clock: Clock) -> None:
    with postgres.database() as url, Store(url, clock=clock) as store:
        compared(store, clock, {})
        begun(store, clock)


def compared(store: Store, clock: Clock, changes: dict[str, Any]) -> None:
    """The list, whole and in parts, is that of a naive twin."""
    trial = filled(store, clock, 40, **changes)
    actions, windows = "compliance" not in changes, trial.design.window is not None

    def look(connection: Connection) -> None:
        wanted = naive(connection, trial.id, clock.now, actions=actions)
        listed = Worklist(connection, trial.id, clock.now, actions)
        found = [(each.number, each.action, each.outcome, each.late) for each in listed.all()]
        assert found == wanted
        assert any(each[3] for each in found) == windows
        assert sum(each[3] for each in found) == reading.late(connection, trial.id, clock.now)
        for size in (1, 7):
            paged: list[int] = []
            late: int | None = 0
            after = 0
            while part := listed.part(size, late, after):
                paged += [each.number for each in part]
                late, after = (part[-1].number, 0) if part[-1].late else (None, part[-1].number)
            assert paged == [each[0] for each in wanted]

    store.read(look)


def test_units_are_found_by_how_they_begin_whatever_is_known_of_them(store: Store, clock: Clock) -> None:
    begun(store, clock)


def begun(store: Store, clock: Clock) -> None:
    """Names that begin so, and no others."""
    trial = Trial.create(store, {**SPEC, "decisions": "many"}, trial="many")
    trial.start()
    for unit, occasion in (("ab", "1"), ("ab", "2"), ("abc", "1"), ("Ab", "1"), ("a%", "1"), ("b", "1"), ("aß", "1")):
        trial.decide(unit, occasion=occasion)
    trial.report(1, implemented="yak", outcome="won")

    def look(connection: Connection) -> None:
        listed = Worklist(connection, trial.id, clock.now, True)
        ab = [("ab", "1"), ("ab", "2"), ("abc", "1")]
        assert [(each.unit, each.occasion) for each in listed.units("ab", 9)] == ab
        assert [(each.unit, each.occasion) for each in listed.units("ab", 9, ("ab", "1"))] == ab[1:]
        assert [each.unit for each in listed.units("a%", 9)] == ["a%"]
        assert [each.unit for each in listed.units("aß", 9)] == ["aß"]
        assert listed.units("zz", 9) == []
        assert [(each.action, each.outcome) for each in listed.units("ab", 2)] == [(False, False), (True, True)]

    store.read(look)


def test_nothing_that_was_reported_is_read(store: Store, clock: Clock) -> None:
    """Every statement of a page goes by an index that holds what is awaited alone, or by the units' names."""
    trial = filled(store, clock, 4)
    said: list[tuple[str, Any]] = []

    def note(_c: object, _k: object, statement: str, values: Any, *_: object) -> None:
        said.append((statement, values))

    def look(connection: Connection) -> list[str]:
        event.listen(connection, "before_cursor_execute", note)
        listed = Worklist(connection, trial.id, clock.now, True)
        listed.part(5)
        listed.part(5, 1)
        listed.part(5, None, 2)
        listed.units("p", 5, ("p000", ""))
        event.remove(connection, "before_cursor_execute", note)
        plans = []
        for statement, values in said:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            plans.append("; ".join(str(row[3]) for row in plan))
        return plans

    plans = store.read(look)
    indexes = (
        "decisions_pending (",
        "decisions_unreported (",
        "decisions_by_unit (",
        "PRIMARY KEY (trial=? AND number=?)",
    )
    assert len(plans) >= 8
    for plan in plans:
        assert any(name in plan for name in indexes), plan
        assert "TEMP B-TREE" not in plan, plan


@pytest.fixture
def clinic(api: asgi.Api) -> Callable[..., Trial]:
    def made(**changes: Any) -> Trial:
        trial = Trial.create(api.store, {**SPEC, **changes, "name": f"worklist {next(NAMES)}"})
        trial.start()
        return trial

    return made


def test_a_page_reports_and_comes_back(api: asgi.Api, clinic: Callable[..., Trial]) -> None:
    trial = clinic(words={"unit": "participant"})
    for unit in ("=one", "two"):
        trial.decide(unit)
    nurse = Visitor(api, "report")
    where = f"/app/trials/{trial.id}"
    page = harmless(nurse.get(f"{where}/worklist"))
    assert "Find a participant" in page.text
    assert "For 2 participants it is not known what was done" in page.text
    link = next(each for each in page.attributes if "unit=two" in each)
    form = harmless(nurse.get(link))
    assert (form.value("unit"), form.value("back")) == ("two", "worklist")
    told = nurse.post(f"{where}/report", {"unit": "two", "implemented": "0", "outcome": "1", "back": "worklist"})
    assert (told.status, told.headers["location"]) == (303, f"{where}/worklist?told=2")
    after = harmless(nurse.get(told.headers["location"]))
    assert "Recorded for decision 2." in after.text
    assert not any("unit=two" in each for each in after.attributes)
    assert any("unit=two" in each for each in harmless(nurse.get(f"{where}/worklist?find=tw")).attributes)
    again = nurse.post(f"{where}/report", {"unit": "two", "outcome": "0", "reason": "typing", "back": "worklist"})
    assert again.status == 200  # what became of a correction is told where it was made


def test_the_list_tells_no_arm_and_no_outcome(api: asgi.Api, clinic: Callable[..., Trial]) -> None:
    trial = clinic()
    for i in range(6):
        trial.decide(f"p{i}")
    trial.report(1, outcome="won")
    trial.report(2, implemented="yak")
    for place in ("worklist", "worklist?find=p", "worklist.csv"):
        said = Visitor(api, "report").get(f"/app/trials/{trial.id}/{place}").body.decode()
        assert "p3" in said
        for secret in ("zebra", "yak", "lost", "won"):
            assert secret not in said, (place, secret)


@pytest.mark.requirement("R-8.2")
def test_reminders_are_a_file_that_no_spreadsheet_runs(api: asgi.Api, clinic: Callable[..., Trial]) -> None:
    trial = clinic()
    trial.decide("=HYPERLINK(1)")
    reply = Visitor(api, "report").get(f"/app/trials/{trial.id}/worklist.csv")
    assert reply.headers["content-type"].startswith("text/csv")
    assert f"{trial.id}-worklist.csv" in reply.headers["content-disposition"]
    (row,) = csv.DictReader(io.StringIO(reply.body.decode()))
    assert row["unit"] == "'=HYPERLINK(1)"
    assert (row["decision"], row["action_awaited"], row["outcome_awaited"], row["late"]) == ("1", "yes", "yes", "no")


def test_more_than_a_page_can_be_turned(api: asgi.Api, clinic: Callable[..., Trial]) -> None:
    trial = clinic()
    for i in range(53):
        trial.decide(f"p{i:02d}")
    visitor, where = Visitor(api, "report"), f"/app/trials/{trial.id}/worklist"
    for first, last in ((where, "p52"), (f"{where}?find=p", "p52")):
        page = harmless(visitor.get(first))
        assert last not in page.text
        onward = next(each for each in page.attributes if "after=" in each or "&unit=" in each)
        assert last in harmless(visitor.get(onward)).text
    for odd in ("?after=x", "?late=-1", "?after=99999999999999999999", "?find=%00", "?find=p&unit=%F0%9F%A6%93"):
        assert visitor.get(where + odd).status == 200, odd
