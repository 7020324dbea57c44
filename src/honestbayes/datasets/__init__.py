"""Data: simulators of the published models, a bundled real table, and a loader."""

from honestbayes.datasets.expression import Dataset, load_colon, load_leukemia
from honestbayes.datasets.interactions import (
    load_genesis,
    simulate_cauchy_model,
    simulate_hidden_markov,
    tic_tac_toe,
    vowels_and_consonants,
)
from honestbayes.datasets.kdd98 import (
    Donations,
    load_kdd98,
    load_kdd98_categorical,
    load_kdd98_sample,
)
from honestbayes.datasets.simulation import (
    MixtureData,
    SimulatedData,
    simulate_mixture,
    simulate_naive_bayes,
)

__all__ = [
    "Dataset",
    "Donations",
    "MixtureData",
    "SimulatedData",
    "load_colon",
    "load_genesis",
    "load_kdd98",
    "load_kdd98_categorical",
    "load_kdd98_sample",
    "load_leukemia",
    "simulate_cauchy_model",
    "simulate_hidden_markov",
    "simulate_mixture",
    "simulate_naive_bayes",
    "tic_tac_toe",
    "vowels_and_consonants",
]
