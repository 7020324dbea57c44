"""Experiments on subsets, networks and compressed parameters: what their figures rest on."""

from math import comb
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import oracles_networks as oracle
import pytest

from honestbayes import AveragedNetworkClassifier
from honestbayes.datasets.simulation import simulate_hidden_markov
from honestbayes.experiments import compressed, compressed_sizes, compressed_text, networks, subsets
from honestbayes.experiments.experiment import ExperimentRun, experiment, stored


def test_enumerated_sizes_are_those_of_formulas():
    for p in (9, 10):
        sizes, _ = subsets.by_enumeration("subsets", p, 0.0)
        assert sizes == pytest.approx([comb(p, k) / 2**p for k in range(p + 1)])
    sizes, scores = subsets.by_enumeration("sizes", 10, subsets.GAIN)
    # Five of ten are useful, so that a subset of k has k / 2 of them on average.
    expected = 0.5 + 0.04 * np.arange(11)
    assert sizes == pytest.approx(expected / expected.sum())
    assert scores.sum() == pytest.approx(1)


def test_the_printed_equation_is_right_where_the_score_is_constant(monkeypatch):
    target, _ = subsets.by_enumeration("sizes", 10, subsets.GAIN)
    away = 0.5 * np.abs(subsets.as_printed() - target).sum()
    assert 0.002 < away < 0.02
    monkeypatch.setattr(subsets, "GAIN", 0.0)
    assert subsets.as_printed() == pytest.approx(np.full(11, 1 / 11))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_hot_printed_chain_accepts_every_move():
    """Its sets of features are as frequent as in the exact chain of the printed moves."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)), np.arange(40) % 2
    X[:, 0] = y
    params = networks.PARAMETERS["printed"]
    chain = {"n_chains": 1, "n_draws": 50_000, "n_warmup": 0, "n_doublings": 0, "thin": 1}
    model = AveragedNetworkClassifier(
        objective="accuracy", graph_prior="uniform", random_state=0, **chain, **params
    ).fit(X, y)
    graphs = oracle.all_graphs(3, general=True)
    q = oracle.printed_proposals(graphs, 3, 9)
    pi = oracle.stationary(oracle.metropolis(q, np.ones(len(graphs)), hastings=False))
    size = np.array([len(oracle.blanket(g)) for g in graphs])
    expected = [pi[size == n].sum() for n in range(4)]
    found = np.bincount(model.draws_["size"].ravel(), minlength=4) / 50_000
    assert found == pytest.approx(expected, abs=0.02)
    assert networks.figures({"": 10, "ABDE": 20, "A": 30}) == {
        "nonempty": 990,
        "all": 20,
        "next": 30,
    }


def test_groups_of_suffixes_are_found_by_their_text():
    X = np.array([list("CCV"), list("_CC"), list("VCC"), list("VC_")])
    groups = compressed_text.groups_by_suffix(X)
    # "CC" comes before two windows that differ before it; "V" and "CV" are of one window.
    assert groups["C"] == groups["CC"] != groups["_CC"] != groups["VCC"]
    assert groups["V"] == groups["CV"] == groups["CCV"]


def test_sizes_level_off_at_two_for_each_sequence():
    X = simulate_hidden_markov(50, 80, random_state=0)
    found = compressed.sizes(X, (1, 5, 40, 60, 80), suffixes=True)
    assert found["groups"][-1] == found["groups"][-2] <= 99
    assert found["patterns"][-1] - found["patterns"][-2] == 50 * 20
    assert compressed.level_from(found["orders"], found["groups"]) <= 60


def test_numbers_that_a_plot_cannot_tell_apart_are_level():
    orders = [1, 2, 3, 4, 5]
    assert compressed.level_from(orders, [29, 365, 2269, 3030, 3034]) == 4
    assert compressed.level_from(orders, [29, 365, 2269, 2990, 3034]) == 5
    assert compressed.level_from(orders, [7, 7, 7, 7, 7]) == 1
    # A number that comes near by accident, before others that do not, is not level yet.
    assert compressed.level_from(orders, [10, 3034, 2000, 3033, 3034]) == 4


@pytest.mark.parametrize("name", ["compressed-hmm", "compressed-text", "compressed-cauchy"])
def test_numbers_that_are_level_differ_by_less_than_the_line_of_the_figure_is_wide(name):
    one = experiment(name)
    runs = stored(Path(__file__).parents[2] / "docs" / "results" / f"{name}.json", one)
    (picture,) = [p for p in one.summarize(runs).figures if p.name == "sizes"]
    figure = picture.draw()
    figure.canvas.draw()
    axis = figure.axes[0]
    (_, low), (_, high) = axis.transData.transform([(1, 1000), (1, 1010)])
    assert (high - low) * 72 / figure.dpi < axis.lines[0].get_linewidth()
    plt.close(figure)


def test_listed_patterns_are_those_of_the_search():
    done = compressed_sizes.run("order, 3 levels", [[40, 4, 3, o] for o in (1, 2, 3, 4)], 0)
    assert done["listed"] == done["groups"][-1]
    run = ExperimentRun(
        {"points": [[40, 4, 3, o] for o in (1, 2, 3, 4)]}, {"groups": [5, 9, 9, 9]}, 0.0
    )
    assert compressed_sizes.level_orders([run]) == [2]


def test_models_of_other_data_are_not_averaged():
    def model(seed, compress, order=3):
        settings = {"seed": seed, "compress": compress, "order": order, "prior": "cauchy"}
        return ExperimentRun(settings, {"log_score": float(seed + order)}, 0.0)

    models = [model(0, True), model(0, False), model(1, True), model(0, True, order=9)]
    assert compressed.complete(models) == [models[0], models[1], models[3]]
    # Order 9 ran on one data set, order 3 on two.
    assert compressed.best(models, "cauchy") == (3, 3.5)
