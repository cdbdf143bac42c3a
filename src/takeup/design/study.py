"""All that was found of a plan, in one place: for machines, and as a folder that a protocol can refer to."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from takeup import charts, folders, specfile
from takeup.design.analysed import Analysed
from takeup.design.comparing import Compared
from takeup.design.operate import Calibration
from takeup.design.plan import Plan
from takeup.design.report import report
from takeup.design.results import ENDS, Figure, Outcomes, plain
from takeup.design.sizing import Sized
from takeup.design.take_up import TakeUpCurve
from takeup.simulation.kernels.look_tables import NONE
from takeup.version import __version__

PLAN, FIGURES, REPORT = "plan.toml", "design.json", "report.html"


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What was found of a plan.

    Attributes:
        plan: as it was tried.
        seed: the seed.
        outcomes: of each scenario; none where figures are exact.
        calibration: of its threshold, where one was asked for.
        sized: its size, where a power was asked for.
        compared: with other designs, where that was asked for.
        exact: the figures of each scenario, where they are exact.
        take_up: trials by take-up, where that was asked for.
        analysed: the planned analysis in trials of each scenario, where that was asked for.
    """

    plan: Plan
    seed: int
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    calibration: Calibration | None = None
    sized: Sized | None = None
    compared: Compared | None = None
    exact: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    take_up: TakeUpCurve | None = None
    analysed: Sequence[Analysed] = ()

    def scenarios(self) -> list[dict[str, Any]]:
        """The figures of each scenario, for machines; exact ones have no number of trials."""
        roles = self.plan.scenarios
        return plain(self.outcomes) + [
            {"scenario": name, "role": roles[name].role, "replications": None, "metrics": metrics}
            for name, metrics in self.exact.items()
        ]

    def plain(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "plan": self.plan.content,
            "seed": self.seed,
            "version": __version__,
            "scenarios": self.scenarios(),
            "calibration": None if self.calibration is None else self.calibration.plain(),
            "size": None if self.sized is None else self.sized.plain(),
            "compared": None if self.compared is None else self.compared.plain(),
            "take_up": None if self.take_up is None else _over_take_up(self.take_up),
            "analysis": [each.plain() for each in self.analysed] or None,
        }

    def report(self, folder: Path | None = None) -> str:
        """A page with everything; where there is a folder, its charts are written there too."""
        return report(
            self.plan,
            self.outcomes,
            calibration=self.calibration,
            size=self.sized,
            compared=self.compared,
            take_up=self.take_up,
            analysed=self.analysed,
            folder=folder,
        )

    def write(self, directory: Path) -> list[str]:
        """Write a folder with the plan as it was tried, all figures, every trial and a report; all files or none.

        Returns their names. Trials are a Parquet file where polars is installed, else one of CSV; a report and its
        charts need the extra `report`.
        """
        with folders.filled(directory, REPORT) as folder:
            (folder / PLAN).write_text(specfile.toml(self.plan.content), encoding="utf-8")
            (folder / FIGURES).write_text(json.dumps({"design": self.plain()}, indent=1), encoding="utf-8")
            if self.outcomes:
                write_trials(self.outcomes, folder)
                if charts.available():
                    (folder / REPORT).write_text(self.report(folder), encoding="utf-8")
            return sorted(file.name for file in folder.iterdir())


def _over_take_up(curve: TakeUpCurve) -> dict[str, list[dict[str, Any]]]:
    """For machines: size and claims of each scenario by the share who take what they are offered."""
    return {
        name: [
            {"take_up": share, "size": Figure.of(each.size).plain(), "claimed": Figure.of(each.claimed).plain()}
            for share, each in found.items()
        ]
        for name, found in curve.items()
    }


def write_trials(outcomes: Mapping[str, Outcomes], folder: Path) -> None:
    """A row for each trial."""
    if find_spec("polars") is not None:
        import polars as pl

        frames = [pl.DataFrame(columns(each)) for each in outcomes.values()]
        pl.concat(frames).write_parquet(folder / "trials.parquet")
        return
    with (folder / "trials.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for i, each in enumerate(outcomes.values()):
            table = columns(each)
            if i == 0:
                writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))


def columns(outcomes: Outcomes) -> dict[str, list[Any]]:
    """What is known of each trial, by column: how, when and with how many units it ended, and what it would report.

    Differences are naive, from the control or else from the first proposal; see `Estimates`.
    """
    labels, kept, estimates = outcomes.plan.space.proposals, outcomes.kept, outcomes.estimates
    names = {status: name for name, status in ENDS.items()}
    found: dict[str, list[Any]] = {
        "scenario": [outcomes.scenario] * outcomes.replications.size,
        "trial": outcomes.replications.tolist(),
        "status": [names[status] for status in kept.status.tolist()],
        "look": (kept.look + 1).tolist(),
        "size": outcomes.size.tolist(),
        "successes": outcomes.rewards.sum(axis=-1).tolist(),
        "claimed": outcomes.claimed.tolist(),
        "selected": [labels[k] if k != NONE else None for k in outcomes.selected.tolist()],
    }
    for k, label in enumerate(labels):
        found[f"units of {label}"] = outcomes.units[:, k].tolist()
        found[f"successes of {label}"] = outcomes.rewards[:, k].tolist()
    for k, label in enumerate(labels):
        if k != estimates.against:
            found[f"difference of {label}"] = _finite(estimates.difference[:, k])
            found[f"error of {label}"] = _finite(estimates.error[:, k])
    return found


def _finite(values: Any) -> list[float | None]:
    """Numbers, with nothing where there is none."""
    return [float(value) if np.isfinite(value) else None for value in values]
