"""Live trials: what a store and a trial make together."""

import takeup.store  # noqa: F401  # says which extra is missing, before anything else needs it
from takeup.live.anchors import Anchor, Anchors, new_key, read_anchors, read_key
from takeup.live.audit import Audit, Difference, audit
from takeup.live.course import Course, Point, SampleRatio
from takeup.live.progress import Progress
from takeup.live.summary import Advice, Estimate, Summary, Withheld
from takeup.live.trial import Trial, progress_in, trials

__all__ = [
    "Advice",
    "Anchor",
    "Anchors",
    "Audit",
    "Course",
    "Difference",
    "Estimate",
    "Point",
    "Progress",
    "SampleRatio",
    "Summary",
    "Trial",
    "Withheld",
    "audit",
    "new_key",
    "progress_in",
    "read_anchors",
    "read_key",
    "trials",
]
