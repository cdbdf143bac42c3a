"""A sandbox: a trial with simulated people, in a database of its own, to learn what the policies do.

It runs in a process of its own, through the same code as any trial, beside plain Thompson sampling on the same people.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.live.estimates import Estimate
from takeup.live.job_process import Say, attend
from takeup.live.model_checks import Withheld
from takeup.live.scenes import ARMS, FOLLOWING, SCENES, Scene, Slider
from takeup.live.simulated_units import SEEN, meet
from takeup.live.time_series import TimeSeries
from takeup.live.trial import Trial
from takeup.outcomes import Levels, described
from takeup.store import Store

FIRST = "well"
"""What is measured unless somebody asks for something else."""

MOST_PEOPLE = 10_000
YOURS, PLAIN = "yours", "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the people of a sandbox are like.

    Attributes:
        measured: what comes of it, one of SCENES; it says which sliders there are.
        follow_usual: how many of those who are offered usual care keep to it, in percent.
        follow_new: how many of those who are offered the new drug take it, in percent.
        fare_usual: how people fare under usual care: how many get well, in percent, or a mean in the outcome's unit.
        fare_new: likewise with the new drug.
        unlike: how much worse those fare who would not do as they are told in either case.
    """

    measured: str = FIRST
    follow_usual: int = FOLLOWING["follow_usual"].start
    follow_new: int = FOLLOWING["follow_new"].start
    fare_usual: int = SCENES[FIRST].sliders["fare_usual"].start
    fare_new: int = SCENES[FIRST].sliders["fare_new"].start
    unlike: int = 0

    def __post_init__(self) -> None:
        checks.one_of("measured", self.measured, SCENES)
        for name, slider in self.sliders.items():
            checks.whole(name, getattr(self, name), least=slider.low, most=slider.high)

    @classmethod
    def of(cls, measured: str) -> "Truth":
        """What the sliders are at first."""
        sliders = SCENES[checks.one_of("measured", measured, SCENES)].sliders
        return cls(measured=measured, **{name: slider.start for name, slider in sliders.items()})

    @property
    def scene(self) -> Scene:
        """What is measured."""
        return SCENES[self.measured]

    @property
    def sliders(self) -> Mapping[str, Slider]:
        """All that can be said about the people, by field."""
        return {**FOLLOWING, **self.scene.sliders}

    def environment(self) -> Environment:
        """As types: who follows both offers, who insists on one of the two, who does the opposite."""
        usual, new = self.follow_usual / 100, self.follow_new / 100
        share = [usual * new, usual * (1 - new), (1 - usual) * new, (1 - usual) * (1 - new)]
        told, others = self.scene.distributions(self.fare_usual, self.fare_new, self.unlike)
        outcome = np.stack([told, others, others, others])
        return Environment.from_types(self.scene.space, share, [[0, 1], [0, 0], [1, 1], [1, 0]], outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What to do in a sandbox.

    Attributes:
        database: its file; a new one where there is none.
        truth: what its people are like.
        policy: which policy, as a spec describes it.
        compliance: whether what people do is reported: always, sometimes (to half of them) or never.
        people: how many more shall come.
        seed: who they are.
    """

    database: str
    truth: Mapping[str, Any]
    policy: Mapping[str, Any]
    compliance: str
    people: int
    seed: int

    def run(self, say: Say) -> dict[str, Any]:
        """Let them come, and tell what the policy has learnt."""
        truth, fresh = Truth(**self.truth), not Path(self.database).exists()
        environment = truth.environment()
        with Store(self.database, synchronous="OFF") as store:
            specs = {YOURS: self.policy, PLAIN: {"kind": "TS"}}
            opened = {name: self._trial(store, name, policy, fresh, truth.scene) for name, policy in specs.items()}
            before = opened[YOURS].progress().decisions
            people = range(before, min(before + self.people, MOST_PEOPLE))
            through = 0

            def went(count: int) -> None:
                nonlocal through
                through += count
                say(through / (2 * max(1, len(people))))

            for trial in opened.values():
                meet(trial, environment, people, self.seed, seen=SEEN[self.compliance], progress=went)
            return self._found(opened, environment)

    def _trial(self, store: Store, name: str, policy: Mapping[str, Any], fresh: bool, scene: Scene) -> Trial:
        if not fresh:
            return Trial(store, name)
        outcome = scene.space.outcome
        spec = {
            "name": f"sandbox ({name})",
            "space": {
                "proposals": list(ARMS),
                "outcomes": list(outcome.names) if isinstance(outcome, Levels) else described(outcome),
            },
            "policy": dict(policy),
            "compliance": self.compliance,
        }
        trial = Trial.create(store, spec, trial=name)
        trial.start()
        return trial

    def _found(self, opened: Mapping[str, Trial], environment: Environment) -> dict[str, Any]:
        trial = opened[YOURS]
        summary, names = trial.summary(), {YOURS: trial.design.policy.name, PLAIN: "TS, plain"}
        courses = {name: each.course() for name, each in opened.items()}
        gaps = environment.regret()[0]
        regrets = {names[name]: _regret(course, gaps) for name, course in courses.items()}
        joint = environment.response[0]
        made = courses[YOURS].overall
        weights = np.sum([point.proposed for point in made], axis=0)[:, np.newaxis, np.newaxis] * joint
        treated, how = weights.sum(axis=0), environment.space.outcome.shown
        many, worth = treated.sum(axis=1), how.sign * (treated @ environment.space.reward)
        group = summary.overall
        actions = group.implemented
        return {
            "people": group.decisions,
            "policy": names[YOURS],
            "best": ARMS[int(environment.value()[0].argmax())],
            "regret": {name: curve[-1][1] for name, curve in regrets.items()},
            "value": (how.sign * environment.value()[0]).tolist(),
            "compliance": joint.sum(axis=2).tolist(),
            "treated": [float(worth[a] / many[a]) if many[a] else None for a in range(many.size)],
            "believed": [asdict(each.value.shown(how)) for each in group.proposals],
            "complied": None if isinstance(group.compliance, Withheld) else _rows(group.compliance),
            "as_treated": None if isinstance(actions, Withheld) else [asdict(a.value.shown(how)) for a in actions],
            "withheld": actions.reason if isinstance(actions, Withheld) else None,
            "allocation": made[-1].probability,
            "charts": _charts(courses[YOURS], regrets),
        }


def _rows(table: tuple[tuple[Estimate, ...], ...]) -> list[dict[str, Any]]:
    """How many did as they were told, by proposal."""
    return [asdict(row[z]) for z, row in enumerate(table)]


def _regret(course: TimeSeries, gaps: FloatArray) -> list[tuple[int, float]]:
    """The regret so far after each part of the course, in expectation over what people do."""
    curve, total = [(0, 0.0)], 0.0
    for point in course.overall:
        total += float(np.dot(point.proposed, gaps))
        curve.append((point.last, total))
    return curve


def _charts(course: TimeSeries, regrets: Mapping[str, list[tuple[int, float]]]) -> dict[str, str] | None:
    from takeup import charts

    if not charts.available():
        return None
    shares = [
        {"panel": "", "proposal": label, "people": point.last, "share": point.probability[z]}
        for point in course.overall
        for z, label in enumerate(course.proposals)
    ]
    paths = [{"policy": name, "people": n, "regret": r} for name, curve in regrets.items() for n, r in curve]
    last = course.overall[-1]
    now = ", ".join(f"{label} {p:.0%}" for label, p in zip(course.proposals, last.probability, strict=True))
    costs = ", ".join(f"{name} {curve[-1][1]:.1f}" for name, curve in regrets.items())
    return {
        "allocation": charts.inline(
            charts.shares(shares, "people", of="probability"),
            "allocation",
            f"Probability of each proposal over time; by now {now}.",
        ),
        "regret": charts.inline(
            charts.regret_over_people(paths), "regret", f"Regret over time; after {last.last} people {costs}."
        ),
    }


def main() -> None:
    """Do what standard input says."""
    attend(lambda content, say: Play(**content).run(say))


if __name__ == "__main__":
    main()
