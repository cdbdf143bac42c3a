"""What lies beyond the paper, run together: its claims, and progress that adds up."""

from dataclasses import replace

import pytest

from papers import shorten_beyond
from takeup.paper import beyond, contextual
from takeup.paper.beyond import BeyondResult
from takeup.paper.beyond_claims import GIBBS, claims
from takeup.paper.chapters.beyond import chapter
from takeup.paper.runner import Runner


@pytest.fixture(scope="module")
def found() -> BeyondResult:
    """Trials of a few patients, trade-off curves included; all work is reported."""
    with pytest.MonkeyPatch.context() as patched:
        shorten_beyond(patched)
        patched.setattr(contextual, "HORIZON", 4)
        done: list[float] = []
        result = beyond.beyond(Runner(2, 1, "reference", done.append))
        assert sum(done) == beyond.work(2)
        return result


def test_every_piece_is_in_the_chapter(found: BeyondResult) -> None:
    shown = chapter(found)
    assert len(shown.tables) == 6 + 3
    assert all(table.rows for table in shown.tables)
    assert all(len(row) == len(table.columns) for table in shown.tables for row in table.rows)
    assert len(shown.checked[0].claims) == 2 * 2 + 2 * 2 + 2 * 2 + 5


def test_when_the_claims_hold(found: BeyondResult) -> None:
    """Regrets by hand: 27 falling to 5 in steps of ten errors, TS at 22; a pilot that halves it; bars met and not."""
    fractions = sorted({point.at for point in found.audited.points})

    def audits(worse: float) -> BeyondResult:
        points = tuple(
            replace(p, mean=27 - 3 * fractions.index(p.at) + worse if p.policy == GIBBS else 22.0, mcse=0.3)
            for p in found.audited.points
        )
        return replace(found, audited=replace(found.audited, points=points))

    assert [claim.holds for claim in claims(audits(0.0))[:4]] == [True] * 4
    assert [claim.holds for claim in claims(audits(4.0))[:4]] == [True, False, True, False]  # 22 is not below 22
    points = tuple(replace(p, mean=20.0 - p.at / 50, mcse=0.3) for p in found.piloted.points)
    piloted = replace(found, piloted=replace(found.piloted, points=points))
    assert [claim.holds for claim in claims(piloted)[4:8]] == [False, True, False, True]  # 1 less is 2.4 errors
    exact = tuple(replace(p, mcse=0.0) for p in points)
    certain = replace(found, piloted=replace(found.piloted, points=exact))
    assert [claim.holds for claim in claims(certain)[4:8]] == [True] * 4  # no error: any difference decides
    bars = tuple(
        replace(bar, measured=bar.limit + m) for bar, m in zip(found.robust.bars, (-0.1, 0, 0.1, -1, 0.01), strict=True)
    )
    robust = replace(found, robust=replace(found.robust, bars=bars))
    assert [claim.holds for claim in claims(robust)[-5:]] == [True, True, False, True, False]
