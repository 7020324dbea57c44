"""Data: the simulator of Li, Zhang and Neal (2008), a bundled real table, and a loader."""

from honestbayes.datasets.expression import Dataset, load_colon, load_leukemia
from honestbayes.datasets.simulation import SimulatedData, simulate_naive_bayes

__all__ = ["Dataset", "SimulatedData", "load_colon", "load_leukemia", "simulate_naive_bayes"]
