"""What Stirn & Jebara (2019), section 5, say about the stroke trial, and verdicts by rules that are fixed here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.datasets import Outcome, ist_counts, ist_doubts
from takeup.datasets.stroke import PATIENTS
from takeup.paper.agreement import STANDARD_ERRORS, Mean
from takeup.paper.stroke_parameters import COMPLIANCE, OUTCOMES, SUCCESS, Parameters, compliance_of, success_of

REPLICATIONS = 500
"""How many the paper ran. What it calls significant is what stands out from the noise of that many runs, not ours."""

Gains: TypeAlias = Mapping[Outcome, Mapping[str, FloatArray]]
"""The excess successes of each replication, by outcome and policy."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number that a verdict rests on; its standard error is 0 where it is exact."""

    name: str
    value: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class StrokeClaim:
    """Something that the text says, whether it holds, by which rule, and the figures that decided."""

    claim: str
    holds: bool
    rule: str
    figures: tuple[Measured, ...]


def claims(parameters: Parameters, gains: Gains) -> tuple[StrokeClaim, ...]:
    """The claims that one set of parameters can be asked about."""
    about_policies = (_life_saving(gains), _not_much_better(gains), _best(gains))
    about_data = {"recomputed": (_parameters(), _complete()), "patients": (_ignorable(),)}
    return about_policies + about_data.get(parameters, ())


def _life_saving(gains: Gains) -> StrokeClaim:
    figures = tuple(
        _figure(f"{policy}, {outcome}", excess) for outcome, row in gains.items() for policy, excess in row.items()
    )
    return StrokeClaim(
        "TS, TS-Check and TS-Obs all exhibit significant life saving potential over uniform exploration",
        all(_stands_out(excess) for row in gains.values() for excess in row.values()),
        f"every mean above {STANDARD_ERRORS:g} standard errors of {REPLICATIONS} replications",
        figures,
    )


def _not_much_better(gains: Gains) -> StrokeClaim:
    pairs = {
        f"{policy} over TS, {outcome}": row[policy] - row["TS"]
        for outcome, row in gains.items()
        for policy in ("TS-Check", "TS-Obs")
    }
    return StrokeClaim(
        "with high levels of compliance TS-Check and TS-Obs do not significantly outperform TS",
        not any(_stands_out(difference) for difference in pairs.values()),
        f"no mean difference above {STANDARD_ERRORS:g} standard errors of {REPLICATIONS} replications",
        tuple(_figure(name, difference) for name, difference in pairs.items()),
    )


def _best(gains: Gains) -> StrokeClaim:
    margins = []
    for outcome, row in gains.items():
        rival = max((policy for policy in row if policy != "TS-Obs"), key=lambda policy: row[policy].mean())
        margins.append(_figure(f"TS-Obs over {rival}, {outcome}", row["TS-Obs"] - row[rival]))
    return StrokeClaim(
        "the absolute top performer in all three cases is TS-Obs",
        all(margin.value >= -STANDARD_ERRORS * margin.error for margin in margins),
        f"nobody's mean is ahead of its own by more than {STANDARD_ERRORS:g} standard errors; a tie does not refute it",
        tuple(margins),
    )


def _parameters() -> StrokeClaim:
    """54 printed figures beside the patients', in the paper's coding."""
    printed = [COMPLIANCE.ravel(), *SUCCESS.values()]
    counted = [
        compliance_of(ist_counts("STS")).ravel(),
        *(success_of(ist_counts(outcome)) for outcome in OUTCOMES),
    ]
    distance = np.abs(np.concatenate(printed) - np.concatenate(counted))
    right = int((distance <= 0.0005).sum())
    return StrokeClaim(
        "compliance and reward parameters, empirically computed across all subjects",
        right == distance.size,
        "each figure within half a unit of its last printed digit",
        (Measured("figures that agree", right), Measured("figures printed", distance.size)),
    )


def _complete() -> StrokeClaim:
    doubts = ist_doubts("as-treated")
    missing = {
        "aspirin": sum(doubt.patients for doubt in doubts if "DASP14" in doubt.columns),
        "heparin": sum(doubt.patients for doubt in doubts if "RXHEP" in doubt.columns),
    }
    return StrokeClaim(
        f"compliance outcomes for all {PATIENTS:,} admitted patients",
        not any(missing.values()),
        "what was given is recorded without doubt for everybody",
        tuple(Measured(f"patients whose {drug} is in doubt", count) for drug, count in missing.items()),
    )


def _ignorable() -> StrokeClaim:
    """Success among those who took no aspirin, by whether it had been proposed."""
    figures = []
    for outcome in OUTCOMES:
        untaken = ist_counts(outcome)[:, :3].sum(axis=1)
        proposed, not_proposed = (untaken[rows].sum(axis=0) for rows in (slice(3, 6), slice(0, 3)))
        rates = [group[1] / group.sum() for group in (proposed, not_proposed)]
        variance = sum(
            rate * (1 - rate) / group.sum() for rate, group in zip(rates, (proposed, not_proposed), strict=True)
        )
        name = f"{outcome} of those who took no aspirin, proposed less not proposed"
        figures.append(Measured(name, float(rates[0] - rates[1]), float(np.sqrt(variance))))
    return StrokeClaim(
        "the outcome depends on the implemented action alone (the model)",
        all(abs(figure.value) <= STANDARD_ERRORS * figure.error for figure in figures),
        f"no difference above {STANDARD_ERRORS:g} standard errors",
        tuple(figures),
    )


def _figure(name: str, sample: FloatArray) -> Measured:
    return Measured(name, *Mean.of(sample))


def _stands_out(sample: FloatArray) -> bool:
    """Whether the mean would be significantly above zero in as many replications as the paper ran."""
    return bool(sample.mean() > STANDARD_ERRORS * sample.std(ddof=1) / np.sqrt(REPLICATIONS))
