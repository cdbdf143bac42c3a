"""Is the model true? Checks of a table of counts against what the policies assume."""

from takeup.diagnostics.exclusion import Exclusion, check_exclusion
from takeup.diagnostics.ignorable import Contrast, Contrasts, GroupMean, Ignorable, check_ignorable
from takeup.diagnostics.instrument import Instrument, weak_instrument
from takeup.diagnostics.seen import SeenByOutcome, SeenShare, check_seen

__all__ = [
    "Contrast",
    "Contrasts",
    "Exclusion",
    "GroupMean",
    "Ignorable",
    "Instrument",
    "SeenByOutcome",
    "SeenShare",
    "check_exclusion",
    "check_ignorable",
    "check_seen",
    "weak_instrument",
]
