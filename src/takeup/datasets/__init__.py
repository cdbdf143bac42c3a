"""Real trials: loaders for the files that their authors publish, and tables of counts that come with takeup."""

from takeup.datasets.codings import Coding, Doubt
from takeup.datasets.columns import DatasetError
from takeup.datasets.measures import DAYS, STATES, Outcome
from takeup.datasets.patients import COVARIATES, ist_rows
from takeup.datasets.shipped import ist_counts, ist_doubts, ist_environment, ist_evidence
from takeup.datasets.stroke import ATTRIBUTION, StrokeTrial, ist

__all__ = [
    "ATTRIBUTION",
    "COVARIATES",
    "DAYS",
    "STATES",
    "Coding",
    "DatasetError",
    "Doubt",
    "Outcome",
    "StrokeTrial",
    "ist",
    "ist_counts",
    "ist_doubts",
    "ist_environment",
    "ist_evidence",
    "ist_rows",
]
