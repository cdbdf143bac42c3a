"""Which arm a new arm is most like."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from takeup import checks
from takeup.errors import InputError


def nearest(
    cold: Sequence[Any], trained: Sequence[Any], features: Mapping[Any, Sequence[float]], quantile: float
) -> dict[Any, Any]:
    """For each arm of `cold` the nearest of `trained`, where it is near enough.

    The distance is one minus the cosine of the angle between features. Near enough is this quantile of the distances
    of every arm to the one nearest to it.
    """
    missing = [arm for arm in (*cold, *trained) if arm not in features]
    if missing:
        raise InputError("arm_to_features", f"none of {missing[0]!r}", "features of every arm")
    if not 0 <= checks.real("distance_quantile", quantile) <= 1:
        raise InputError("distance_quantile", quantile, "a number between 0 and 1")
    if not cold or not trained:
        return {}
    table = checks.real("arm_to_features", list(features.values()))
    place = {arm: i for i, arm in enumerate(features)}
    length = np.linalg.norm(table, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        angle = (table / length) @ (table / length).T
    distance = np.where(np.isfinite(angle), 1 - angle, np.inf)  # of features that are all zero there is no angle
    np.fill_diagonal(distance, np.inf)
    closest = distance.min(axis=1)
    if not np.isfinite(closest).any():
        return {}
    enough = np.quantile(closest[np.isfinite(closest)], quantile)
    found = {}
    for arm in cold:
        to = distance[place[arm], [place[other] for other in trained]]
        if to.min() <= enough:
            found[arm] = trained[int(to.argmin())]
    return found
