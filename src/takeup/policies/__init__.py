"""Policies: what to propose next, given what has been seen."""

from takeup.policies.allocation import Allocation
from takeup.policies.base import Carded, FromEvidence, LivePolicy, Policy, Thompson
from takeup.policies.beliefs import Beliefs, Blocks, Exact
from takeup.policies.borrowing import Borrowing
from takeup.policies.bounded import ThompsonBounded
from takeup.policies.card import Card, OneOf, Positive, Real, Variant, Whole
from takeup.policies.conjugate import TS, TSCheck, TSObs, Uniform
from takeup.policies.exp3 import EXP3
from takeup.policies.forgetting import Forgetting
from takeup.policies.hierarchical import Hierarchical
from takeup.policies.indices import KLUCB, UCB1, BayesUCB, EpsilonGreedy
from takeup.policies.instrument import UCBAT, UCBITT, TwoStage
from takeup.policies.intent import CausalTS, IntentTS
from takeup.policies.latent import TSLat, WarmTSLat
from takeup.policies.limits import Limits
from takeup.policies.linear import LinTS, LinUCB
from takeup.policies.linear_obs import LinTSObs, LinTSRobust
from takeup.policies.logistic import LogitTS, LogitTSObs
from takeup.policies.mixture import MixtureTS
from takeup.policies.protocol import Protocol
from takeup.policies.registry import register, registered
from takeup.policies.robust import TSRobust
from takeup.policies.toptwo import TopTwo

__all__ = [
    "EXP3",
    "KLUCB",
    "TS",
    "UCB1",
    "UCBAT",
    "UCBITT",
    "Allocation",
    "BayesUCB",
    "Beliefs",
    "Blocks",
    "Borrowing",
    "Card",
    "Carded",
    "CausalTS",
    "EpsilonGreedy",
    "Exact",
    "Forgetting",
    "FromEvidence",
    "Hierarchical",
    "IntentTS",
    "Limits",
    "LinTS",
    "LinTSObs",
    "LinTSRobust",
    "LinUCB",
    "LivePolicy",
    "LogitTS",
    "LogitTSObs",
    "MixtureTS",
    "OneOf",
    "Policy",
    "Positive",
    "Protocol",
    "Real",
    "TSCheck",
    "TSLat",
    "TSObs",
    "TSRobust",
    "Thompson",
    "ThompsonBounded",
    "TopTwo",
    "TwoStage",
    "Uniform",
    "Variant",
    "WarmTSLat",
    "Whole",
    "register",
    "registered",
]
