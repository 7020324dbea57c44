"""Data: simulators of the published models, a bundled real table, and a loader."""

from honestbayes.datasets.expression import Dataset, load_colon, load_leukemia
from honestbayes.datasets.mixture import MixtureData, simulate_mixture
from honestbayes.datasets.simulation import SimulatedData, simulate_naive_bayes

__all__ = [
    "Dataset",
    "MixtureData",
    "SimulatedData",
    "load_colon",
    "load_leukemia",
    "simulate_mixture",
    "simulate_naive_bayes",
]
