"""The analysis of a live trial in a process of its own, as its page shows it."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from takeup.analysis.analyse import analyse
from takeup.analysis.assumed import Assumed
from takeup.analysis.group_words import ABOUT, rows, verdict
from takeup.analysis.headline import answers, beside, unplanned
from takeup.analysis.pictures import forest_pictures
from takeup.analysis.readings import Readings
from takeup.analysis.results import Analysis, has_region
from takeup.analysis.words import figure, interval, p_value, reasons, survives
from takeup.live.job_process import SayMore, attend
from takeup.live.log import log_of
from takeup.live.trial import progress_in
from takeup.store import looking, now, reading
from takeup.trial.design import Design

QUICK: Final = ("betting", "martingale score")
SLOW: Final = ("re-randomisation", "conditional exact")
"""Tests that are made first, and those that may take long: all else is shown before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisJob:
    """What to analyse.

    Attributes:
        database: where the trial is.
        trial: which trial.
    """

    database: str = field(repr=False)
    trial: str

    def run(self, say: SayMore) -> dict[str, Any]:
        """Everything that the page shows; what does not take long is said before the rest is computed."""
        at = now()
        with looking(self.database) as connection:
            head = reading.head(connection, self.trial)
            log = log_of(connection, self.trial)
            finished = progress_in(connection, self.trial, at).over
        say(0.2)
        design = Design.of_text(head.spec)
        found = analyse(log, own=design, finished=finished, leave_out=SLOW)
        told = {"sequence": head.sequence, "state": head.state, "at": at, "finished": finished}
        told |= {"to_come": list(SLOW), **shown(found)}
        say(0.5, told)
        readings = Readings(log.without_covariates(), found.planned, finished)
        more = [each for one in readings.others for each in readings.tests(one, design, None, found.seed, QUICK)]
        tests = sorted((*found.tests, *more), key=lambda each: each.kind != "planned")
        whole = replace(found, tests=tuple(tests), left_out=(*found.left_out, *readings.left_out))
        return told | {"to_come": [], **tested(whole)}


def shown(found: Analysis) -> dict[str, Any]:
    """An analysis in words and tables."""
    space, assumed = found.log.space, Assumed.by(found)
    told: dict[str, Any] = {
        "decisions": len(found.log),
        "beside": [*beside(found), *unplanned(found)],
        "rows": [
            {
                "label": f"{each.label}, {each.context}" if each.context else each.label,
                "comparison": each.estimate.contrast,
                "estimate": figure(each.estimate.value, each.estimate, space),
                "interval": interval(each.estimate, space),
                "level": each.estimate.level,
                "kind": each.kind,
                "survives": survives(each.estimate),
                "shown": has_region(each.estimate),
                "any_time": each.estimate.any_time,
                "assumes": assumed.letters(each.estimate.assumes),
            }
            for each in found.entries
        ],
        "groups": [row._asdict() for each in found.subgroups for row in rows(each, space)],
        "groups_differ": [ABOUT, *(verdict(each, space) for each in found.subgroups)] if found.subgroups else [],
        "checks": [{"check": each.check, "alarm": each.alarm, "sentence": each.sentence} for each in found.checks],
        "reasons": reasons(found),
        "assumed": assumed.sentences,
    }
    return {**found.wording.all(told), "chart": _chart(found), **tested(found)}


def tested(found: Analysis) -> dict[str, Any]:
    """The answer, which has the planned test in it, all tests, and what could not be computed."""
    told = {
        "tests": [
            {
                "test": each.tested.test,
                "comparison": each.tested.contrast,
                "p": "" if each.tested.refused else p_value(each.tested.p),
                "kind": each.kind,
                "null": each.tested.null,
                "any_time": each.tested.any_time,
                "refused": each.tested.refused,
            }
            for each in found.tests
        ],
        "left_out": [asdict(each) for each in found.left_out],
    }
    return {"answers": answers(found), **found.wording.all(told)}


def _chart(found: Analysis) -> str | None:
    """The first forest plot, as part of a page."""
    from takeup import charts

    pictures = forest_pictures(found) if charts.available() else ()
    if not pictures:
        return None
    drawn = found.wording.all(pictures[0].figure)
    return charts.inline(drawn.draw(), drawn.name, drawn.alternative)


def main() -> None:
    """Do what standard input says."""
    attend(lambda content, say: AnalysisJob(**content).run(say))


if __name__ == "__main__":
    main()
