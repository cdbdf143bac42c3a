"""Outcomes of every kind, for tests of what holds for all of them."""

from hypothesis import strategies as st

from takeup import UNSEEN, Count, Event, Number, Space, Time
from takeup.outcomes import Levels, Outcome

OUTCOMES: dict[str, Outcome] = {
    "levels": Levels(("died", "ill", "well"), (0.0, 0.4, 1.0)),
    "number": Number(60, 220, 1, "mmHg", better="lower"),
    "decimals": Number(-0.3, 0.7, 0.1),
    "two values": Number(0, 1, 1),
    "utility": Number(60, 220, 2, utility=((90, 0.0), (120, 1.0), (160, 0.25))),
    "money": Number(0.5, 2000, 0.5, "EUR", scale="log"),
    "money, log and utility": Number(1, 1000, 1, scale="log", utility=((1, 0), (100, 3), (1000, 4)), bins=7),
    "many steps": Number(-1e6, 1e6, 2, bins=1000),
    "count": Count(30, unit="falls"),
    "one or none": Count(1, better="higher"),
    "count by exposure": Count(12, exposure="days", longest=30, step=0.5, better="higher"),
    "time": Time(90, "days"),
    "time, never censored": Time(10, step=0.25, censored=False, better="lower"),
}


def codes(outcome: Outcome) -> st.SearchStrategy[int]:
    """Any outcome that may be reported."""
    every = st.integers(0, outcome.size - 1)
    if isinstance(outcome, Time) and not outcome.censored:
        return every.filter(lambda code: code % 2 == 0 or code == outcome.size - 1)
    return every


def events(space: Space) -> st.SearchStrategy[Event]:
    """Decisions of which anything may be unseen."""
    contexts, proposals, actions, _ = space.shape
    return st.builds(
        Event,
        context=st.integers(0, contexts - 1),
        proposal=st.integers(0, proposals - 1),
        implemented=st.integers(UNSEEN, actions - 1),
        outcome=st.just(UNSEEN) | codes(space.outcome),
    )
