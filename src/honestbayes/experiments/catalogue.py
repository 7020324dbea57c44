"""The experiments in the order of the papers; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from honestbayes.experiments.experiment import Experiment

MODULES = {
    "correlations": "correlations",
    "naive-bayes": "naive_bayes",
    "colon": "colon",
    "slides": "slides",
    "slides-colon": "slides_colon",
    "mixture": "mixture",
    "compressed-hmm": "compressed_hmm",
    "compressed-text": "compressed_text",
    "compressed-sizes": "compressed_sizes",
    "compressed-cauchy": "compressed_cauchy",
    "kdd98": "kdd98",
    "subsets": "subsets",
    "networks": "networks",
    "real-tables": "comparison_real",
    "simulated-tables": "comparison_simulated",
}
"""Name of each experiment, and the module that holds its record."""


def experiment(name: str) -> Experiment:
    """Return the record of an experiment."""
    found: Experiment = import_module(f"honestbayes.experiments.{MODULES[name]}").EXPERIMENT
    return found


def experiments() -> Iterator[Experiment]:
    """Yield all records."""
    for name in MODULES:
        yield experiment(name)
