"""Live trials: what a store and a trial make together."""

import takeup.store  # noqa: F401  # says which extra is missing, before anything else needs it
from takeup.key_files import new_key, read_key
from takeup.live.anchors import Anchor, Anchors, read_anchors
from takeup.live.auditing import Audit, DatabaseAudit, audit, audit_database
from takeup.live.estimates import Estimate
from takeup.live.learnt import BelievedDifference, Learnt, LearntContext, LearntCovariate, LearntPoint, Stretch
from takeup.live.model_checks import ModelCheck, SeenCheck, Withheld
from takeup.live.past import Past
from takeup.live.progress import Progress
from takeup.live.replaying import Difference
from takeup.live.summary import TrialSummary
from takeup.live.time_series import SampleRatio, TimePoint, TimeSeries
from takeup.live.trial import Trial, progress_in, progress_of_all, trials

__all__ = [
    "Anchor",
    "Anchors",
    "Audit",
    "BelievedDifference",
    "DatabaseAudit",
    "Difference",
    "Estimate",
    "Learnt",
    "LearntContext",
    "LearntCovariate",
    "LearntPoint",
    "ModelCheck",
    "Past",
    "Progress",
    "SampleRatio",
    "SeenCheck",
    "Stretch",
    "TimePoint",
    "TimeSeries",
    "Trial",
    "TrialSummary",
    "Withheld",
    "audit",
    "audit_database",
    "new_key",
    "progress_in",
    "progress_of_all",
    "read_anchors",
    "read_key",
    "trials",
]
