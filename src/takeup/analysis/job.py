"""The analysis of a live trial in a process of its own, as its page shows it."""

from dataclasses import asdict, dataclass, field
from typing import Any

from takeup.analysis.analyse import analyse
from takeup.analysis.pictures import forest_pictures
from takeup.analysis.results import Analysis
from takeup.analysis.words import answers, beside, figure, interval, p_value, survives, unplanned
from takeup.live.job_process import Say, attend
from takeup.live.log import log_of
from takeup.store import looking, reading
from takeup.trial.design import Design

REPLAYS = 2_000
"""How many trials re-randomisation replays for a page; `takeup analyse` replays more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisJob:
    """What to analyse.

    Attributes:
        database: where the trial is.
        trial: which trial.
    """

    database: str = field(repr=False)
    trial: str

    def run(self, say: Say) -> dict[str, Any]:
        """Everything that the page shows."""
        with looking(self.database) as connection:
            head = reading.head(connection, self.trial)
            log = log_of(connection, self.trial)
        say(0.2)
        found = analyse(log, plan=Design.of_text(head.spec), replays=REPLAYS)
        say(0.9)
        return {"sequence": head.sequence, "state": head.state, **shown(found)}


def shown(found: Analysis) -> dict[str, Any]:
    """An analysis in words and tables."""
    space = found.log.space
    return {
        "decisions": len(found.log),
        "answers": answers(found),
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
                "any_time": each.estimate.any_time,
                "assumes": list(each.estimate.assumes),
                "withheld": each.estimate.withheld,
            }
            for each in found.entries
        ],
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
        "checks": [{"check": each.check, "alarm": each.alarm, "sentence": each.sentence} for each in found.checks],
        "left_out": [asdict(each) for each in found.left_out],
        "chart": _chart(found),
    }


def _chart(found: Analysis) -> str | None:
    """The first forest plot, as part of a page."""
    from takeup import charts

    pictures = forest_pictures(found) if charts.available() else ()
    if not pictures:
        return None
    drawn = pictures[0].figure
    return charts.inline(drawn.draw(), drawn.name, drawn.alternative)


def main() -> None:
    """Do what standard input says."""
    attend(lambda content, say: AnalysisJob(**content).run(say))


if __name__ == "__main__":
    main()
