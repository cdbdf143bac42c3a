"""Policies: what to propose next, given what has been seen."""

from typing import Any

from takeup.policies.allocation import Allocation, Limits
from takeup.policies.base import Policy, Thompson
from takeup.policies.bounded import ThompsonBounded
from takeup.policies.conjugate import TS, TSCheck, TSObs, Uniform
from takeup.policies.exp3 import EXP3
from takeup.policies.forgetting import Forgetting
from takeup.policies.hierarchical import Hierarchical
from takeup.policies.indices import KLUCB, UCB1, BayesUCB, EpsilonGreedy
from takeup.policies.instrument import UCBAT, UCBITT, TwoStage
from takeup.policies.intent import CausalTS, IntentTS
from takeup.policies.latent import TSLat, WarmTSLat
from takeup.policies.protocol import Protocol
from takeup.policies.robust import TSRobust
from takeup.policies.toptwo import TopTwo

REGISTRY: tuple[Policy[Any], ...] = (
    Uniform(),
    TS(),
    TSCheck(),
    TSObs(),
    TSLat(),
    TSLat(soft_start=40),
    TSLat(inference="gibbs"),
    WarmTSLat(),
    TSRobust(),
    Forgetting(),
    EpsilonGreedy(),
    UCB1(),
    KLUCB(),
    BayesUCB(),
    TopTwo(),
    EXP3(),
    Protocol(credit="actual"),
    Protocol(base=EXP3(), credit="comply"),
    Hierarchical(),
    ThompsonBounded(),
    IntentTS(),
    CausalTS(),
    UCBITT(),
    UCBAT(),
    TwoStage(schedule="decay"),
    TwoStage(),
    TwoStage(schedule="adaptive"),
)
"""Every policy, with its defaults. Who is in here is tested by the shared contract and listed to users."""

__all__ = [
    "EXP3",
    "KLUCB",
    "REGISTRY",
    "TS",
    "UCB1",
    "UCBAT",
    "UCBITT",
    "Allocation",
    "BayesUCB",
    "CausalTS",
    "EpsilonGreedy",
    "Forgetting",
    "Hierarchical",
    "IntentTS",
    "Limits",
    "Policy",
    "Protocol",
    "TSCheck",
    "TSLat",
    "TSObs",
    "TSRobust",
    "Thompson",
    "ThompsonBounded",
    "TopTwo",
    "TwoStage",
    "Uniform",
    "WarmTSLat",
]
