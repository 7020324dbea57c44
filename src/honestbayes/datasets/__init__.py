"""Datasets: simulators of published models, bundled data, and loaders."""

from honestbayes.datasets.real import (
    Dataset,
    Donations,
    load_colon,
    load_genesis,
    load_kdd98,
    load_kdd98_categorical,
    load_kdd98_sample,
    load_leukemia,
    tic_tac_toe,
    vowels_and_consonants,
)
from honestbayes.datasets.simulation import (
    MixtureData,
    SimulatedData,
    simulate_cauchy_model,
    simulate_hidden_markov,
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
