"""Simulation: an environment, policies, a horizon and replications in, a Trace out."""

from takeup.simulation.reporting import Reporting
from takeup.simulation.run import simulate
from takeup.simulation.trace import Summary, Trace

__all__ = ["Reporting", "Summary", "Trace", "simulate"]
