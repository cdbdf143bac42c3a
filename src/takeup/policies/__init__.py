"""Policies: what to propose next, given what has been seen."""

from typing import Any

from takeup.policies.allocation import Allocation, Limits
from takeup.policies.base import Policy, Thompson
from takeup.policies.conjugate import TS, TSCheck, TSObs, Uniform
from takeup.policies.latent import TSLat, WarmTSLat

REGISTRY: tuple[Policy[Any], ...] = (
    Uniform(),
    TS(),
    TSCheck(),
    TSObs(),
    TSLat(),
    TSLat(soft_start=40),
    TSLat(inference="gibbs"),
    WarmTSLat(),
)
"""Every policy, with its defaults. Who is in here is tested by the shared contract and listed to users."""

__all__ = [
    "REGISTRY",
    "TS",
    "Allocation",
    "Limits",
    "Policy",
    "TSCheck",
    "TSLat",
    "TSObs",
    "Thompson",
    "Uniform",
    "WarmTSLat",
]
