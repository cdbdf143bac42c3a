"""What computes a decision: named in every one of them, as another version may decide differently."""

import platform
from functools import cache

import numpy as np
import scipy

from takeup.version import __version__


@cache
def software() -> str:
    """The versions that a decision depends on."""
    return f"takeup {__version__}, numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}"
