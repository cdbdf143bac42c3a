"""What each policy is shown of a space with covariates: all of it, or what there was before there were any."""

from dataclasses import replace
from typing import Any

from takeup.covariates import Profile
from takeup.evidence import Event
from takeup.policies.base import Met, Policy
from takeup.space import Space


def uses_covariates(policy: Policy[Any]) -> bool:
    """Whether a policy learns from covariates: it says so itself, and who says nothing does not."""
    return bool(getattr(policy, "covariates", False))


def space_for(policy: Policy[Any], space: Space) -> Space:
    """The space that a policy starts in; those that make nothing of covariates work as in one without."""
    return space if uses_covariates(policy) else space.without_covariates()


def unit_for(policy: Policy[Any], unit: Profile) -> Met:
    """What a policy is given of a unit: its profile, or its context alone."""
    return unit if uses_covariates(policy) else unit.context


def event_for(policy: Policy[Any], event: Event) -> Event:
    """What a policy learns of a decision, with its features or without."""
    return event if event.features is None or uses_covariates(policy) else replace(event, features=None)
