"""The patients of the International Stroke Trial with what was known of them at randomisation."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from takeup.checks import IntArray
from takeup.covariates import Category, Covariate, Covariates, Measure
from takeup.datasets.codings import ARMS, Coding
from takeup.datasets.columns import read
from takeup.datasets.measures import MEASURES, Outcome
from takeup.datasets.stroke import PATIENTS, ist
from takeup.errors import InputError
from takeup.evidence import Event
from takeup.outcomes import UNSEEN
from takeup.rows import Rows
from takeup.space import Space

COVARIATES: Mapping[str, Covariate] = {
    "age": Measure(15, 100, unit="years"),
    "sex": Category(["male", "female"]),
    "consciousness": Category(["alert", "drowsy", "unconscious"]),
    "delay": Measure(0, 48, unit="hours"),
    "pressure": Measure(50, 300, unit="mmHg"),
    "syndrome": Category(["partial anterior", "total anterior", "lacunar", "posterior", "other"]),
    "fibrillation": Category(["no", "yes"], missing="kept"),
}
"""What was known at randomisation; the pilot did not ask for fibrillation. The delay is that since the stroke."""

_CODES: Mapping[str, tuple[str, Mapping[str, str | None] | None]] = {
    "age": ("AGE", None),
    "sex": ("SEX", {"M": "male", "F": "female"}),
    "consciousness": ("RCONSC", {"F": "alert", "D": "drowsy", "U": "unconscious"}),
    "delay": ("RDELAY", None),
    "pressure": ("RSBP", None),
    "syndrome": (
        "STYPE",
        {"PACS": "partial anterior", "TACS": "total anterior", "LACS": "lacunar", "POCS": "posterior", "OTH": "other"},
    ),
    "fibrillation": ("RATRIAL", {"N": "no", "Y": "yes", "": None}),
}
"""The column of each, and what its codes mean; None stands for whole numbers."""


def ist_rows(
    path: str | Path,
    outcome: Outcome = "LTS",
    coding: Coding = "paper",
    *,
    covariates: Sequence[str] = tuple(COVARIATES),
    patients: int | None = PATIENTS,
) -> Rows:
    """The patients of the International Stroke Trial with their covariates, one row each.

    Args:
        path: the CSV file, plain or gzip, with all 112 columns or those needed.
        outcome: which one, as in `ist`; one that goes with covariates, which a time does not.
        coding: what the columns mean, as in `ist`.
        covariates: which of `COVARIATES`; all of them where left out.
        patients: how many the file must hold; None for a part of it.

    Raises:
        DatasetError: a file that cannot be read, is damaged, or holds something else. It names line and value.
        InputError: covariates that there are not.
    """
    if isinstance(covariates, str) or not covariates or not set(covariates) <= set(COVARIATES):
        raise InputError("covariates", covariates, f"a list of some of {', '.join(COVARIATES)}")
    trial = ist(path, coding, patients=patients)
    wanted = [_CODES[name] for name in covariates]
    columns = read(path, [column for column, _ in wanted])
    for column, codes in wanted:
        columns.check(column, None if codes is None else tuple(codes))
    space = Space(
        ARMS[coding], outcomes=MEASURES[outcome].outcome, covariates={name: COVARIATES[name] for name in covariates}
    )
    assert space.covariates is not None
    features = _features(space.covariates, {name: values[trial.kept] for name, values in columns.values.items()})
    seen = trial.outcomes[outcome] != UNSEEN
    x = np.zeros(int(seen.sum()), dtype=np.int64)
    here = (trial.proposals[seen], trial.implemented[seen], trial.outcomes[outcome][seen])
    return Rows.gathered(space, Event(x, *here, features=features[seen]))


def _features(covariates: Covariates, values: Mapping[str, np.ndarray]) -> IntArray:
    """(n, d): every different value is read once."""
    blocks = []
    for name, kind in zip(covariates.names, covariates.kinds, strict=True):
        column, codes = _CODES[name]
        different, which = np.unique(np.char.upper(values[column]), return_inverse=True)
        read_once = [kind.features(name, str(each) if codes is None else codes[str(each)]) for each in different]
        blocks.append(np.array(read_once)[which])
    return covariates.combined(blocks)
