"""AveragedNetworkClassifier: predictions against joint tables, files, claims on noise."""

import warnings
from itertools import product

import numpy as np
import oracles_networks as oracle
import pandas as pd
import pytest

from honestbayes import AveragedNetworkClassifier, load
from honestbayes.files import ModelFileError
from honestbayes.models.networks import prediction
from honestbayes.models.networks.model import arcs_of, are_valid, members, tree_graph
from honestbayes.sampling import checkpoint

SHORT = {"n_chains": 2, "n_draws": 100, "n_warmup": 50, "n_doublings": 0, "thin": 100}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small_table(n=40, seed=0, classes=2):
    """Four columns of 2, 3, 2 and 2 levels, some of which depend on the class and on others."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.arange(n) % classes)
    a = np.where(rng.random(n) < 0.8, y % 2, 1 - y % 2)
    b = np.where(rng.random(n) < 0.7, a + (y > 0), rng.integers(0, 3, n)) % 3
    c = np.where(rng.random(n) < 0.9, a, 1 - a)
    X = np.column_stack([a, b, c, rng.integers(0, 2, n)])
    X[:3] = [[0, 0, 0, 0], [1, 1, 1, 1], [1, 2, 1, 1]]  # every level occurs
    return X, y


def graph_average(model, X, y, rows, n_levels):
    """The same average by enumeration, from the graphs and weights that the model holds."""
    fit = model._part.fit
    k = X.shape[1]
    order = list(model.selection_.columns)
    score, size = ("k2", 1.0) if fit.size is None else ("bdeu", fit.size)
    result = np.zeros((len(rows), n_levels[oracle.CLASS]))
    for masks, weight in zip(fit.graphs, fit.weight, strict=True):
        named = frozenset(
            tuple(v if v == oracle.CLASS else order[v] for v in arc)
            for arc in oracle.from_masks(masks, k)
        )
        for i, row in enumerate(rows):
            result[i] += weight * oracle.class_probabilities(
                named, X.tolist(), y.tolist(), n_levels, score, size, row
            )
    return result


@pytest.mark.parametrize(
    ("score", "classes", "space"),
    [("k2", 2, "classifiers"), ("bdeu", 3, "classifiers"), ("k2", 3, "networks")],
)
def test_predictions_are_those_of_the_joint_tables(score, classes, space):
    X, y = small_table(classes=classes)
    model = AveragedNetworkClassifier(
        table_prior=score,
        space=space,
        equivalent_sample_size=3.0,
        graph_prior="uniform",
        random_state=0,
        **SHORT,
    ).fit(X, y)
    fit = model._part.fit
    best = np.argsort(-fit.weight)[:15]  # some graphs are enough, and enumeration is slow
    object.__setattr__(fit, "graphs", fit.graphs[best])
    object.__setattr__(fit, "weight", fit.weight[best] / fit.weight[best].sum())
    levels = {0: 2, 1: 3, 2: 2, 3: 2, oracle.CLASS: classes}
    rows = [(0, 1, 0, 1), (1, 2, 0, 0), (None, 1, 0, 1), (None, None, 1, None), (None,) * 4]
    rows += [(1, None, 1, 0), (0, 1, None, None)]
    table = np.array([[np.nan if v is None else v for v in row] for row in rows])
    found = model.predict_proba(table)
    assert np.allclose(found, graph_average(model, X, y, rows, levels), atol=1e-10)
    assert np.array_equal(found[2:3], model.predict_proba(table[2:3]))  # whatever the batch


def test_too_many_combinations_are_summed_as_if_independent(monkeypatch):
    """Beyond the limit, and exact again where a graph has a single missing parent."""
    X, y = small_table()
    model = AveragedNetworkClassifier(graph_prior="uniform", random_state=0, **SHORT).fit(X, y)
    row = np.array([[np.nan, np.nan, 1.0, np.nan]])
    exact = model.predict_proba(row)
    for name in ("evaluate", "add_averages", "_sum_over", "_log_values", "_next", "_normalise"):
        monkeypatch.setattr(prediction, name, getattr(prediction, name).py_func)
    monkeypatch.setattr(prediction, "MOST_COMBINATIONS", 3)
    rough = model.predict_proba(row)
    assert np.all(np.isfinite(rough))
    assert rough.sum() == pytest.approx(1.0)
    assert np.abs(rough - exact).max() < 0.25


def test_unknown_levels_are_missing_with_a_warning():
    X, y = small_table()
    model = AveragedNetworkClassifier(random_state=0, **SHORT).fit(X, y)
    missing = model.predict_proba([[0, np.nan, 1, 0]])
    with pytest.warns(UserWarning, match="1 cell is treated as missing"):
        assert np.array_equal(model.predict_proba([[0, 7, 1, 0]]), missing)


def test_missing_training_cells_are_refused_or_a_level():
    X, y = small_table()
    X = X.astype(float)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="missing in column 1"):
        AveragedNetworkClassifier(random_state=0, **SHORT).fit(X, y)
    model = AveragedNetworkClassifier(missing="level", random_state=0, **SHORT).fit(X, y)
    table = model.feature_table()
    assert any("(missing)" in levels for levels in table.levels)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_intervals_hold_the_mean_and_shrink_with_cases():
    widths = []
    for n in (60, 600):
        X, y = small_table(n)
        model = AveragedNetworkClassifier(random_state=0, **SHORT).fit(X, y)
        low, high = model.predict_proba_interval(X[:20], 0.95).T
        mean = model.predict_proba(X[:20])[:, 1]
        assert np.all((low <= mean) & (mean <= high))
        assert np.array_equal(model.predict_proba_interval(X[3:4], 0.95)[0], [low[3], high[3]])
        widths.append(np.mean(high - low))
    assert widths[1] < 0.6 * widths[0]


def test_drawn_parameters_have_the_mean_of_their_distribution():
    """One graph of one table: the mean of the draws is the posterior mean."""
    X, y = small_table()
    model = AveragedNetworkClassifier(random_state=0, **SHORT).fit(X[:, :1], y)
    fit = model._part.fit
    object.__setattr__(fit, "graphs", np.array([[0, 1]]))  # the feature is the class's parent
    object.__setattr__(fit, "weight", np.ones(1))
    ((_, drawn),) = fit.probabilities(np.array([[0], [1]]), 4000)
    own = np.array([[np.sum((X[:, 0] == x) & (y == c)) for c in (0, 1)] for x in (0, 1)])
    a, b = own[:, 0] + 1, own[:, 1] + 1
    assert np.allclose(drawn[:, :, 1].mean(axis=1), b / (a + b), atol=0.005)
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert np.allclose(drawn[:, :, 1].var(axis=1), variance, rtol=0.1)


def test_copies_of_a_feature_count_once():
    rng = np.random.default_rng(1)
    y = rng.permuted(np.arange(400) % 2)
    x = np.where(rng.random(400) < 0.75, y, 1 - y)
    alone = AveragedNetworkClassifier(random_state=0, **SHORT).fit(x[:, None], y)
    copies = AveragedNetworkClassifier(random_state=0, **SHORT).fit(np.column_stack([x] * 4), y)
    for value in (0, 1):
        one, four = alone.predict_proba([[value]]), copies.predict_proba([[value] * 4])
        assert np.abs(one - four).max() < 0.02
    # Which copy the class is tied to makes no difference, but all copies hang together.
    assert copies.edge_probabilities_[:4, :4].sum() > 2.0


def confident_predictions(model, X, y, n):
    proba = model.fit(X[:n], y[:n]).predict_proba(X[n:])
    own = proba[np.arange(len(y) - n), y[n:]]
    return np.mean(proba.min(axis=1)), -np.mean(np.log(own))


@pytest.mark.slow_cases(
    "200-200-k2-classifiers",
    "200-200-k2-networks",
    "60-20-k2-networks",
    "60-200-bdeu-classifiers",
    "60-200-bdeu-networks",
)
@pytest.mark.parametrize("space", ["classifiers", "networks"])
@pytest.mark.parametrize(("n", "p", "score"), [(60, 20, "k2"), (200, 200, "k2"), (60, 200, "bdeu")])
def test_luck_is_not_turned_into_claims(n, p, score, space):
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.concatenate([rng.permuted(np.arange(n) % 2), np.arange(1000) % 2])
        X = rng.integers(0, 2 + seed % 2, (n + 1000, p))
        model = AveragedNetworkClassifier(
            space=space, table_prior=score, random_state=0, n_doublings=0
        )
        found.append(confident_predictions(model, X, y, n))
    error, loss = np.mean(found, axis=0)
    assert error >= 0.45
    assert loss <= 0.71
    assert min(found)[0] >= 0.4  # in each table, the luckiest of 200 columns included


def test_wide_tables_are_screened_and_it_is_recorded():
    X, y = small_table(200)
    rng = np.random.default_rng(0)
    wide = np.column_stack([rng.integers(0, 2, (200, 30)), X])
    model = AveragedNetworkClassifier(max_features=5, random_state=0, **SHORT).fit(wide, y)
    assert len(model.selection_.columns) == 5
    assert model.selection_.criterion == "mutual_information"
    assert {30, 31, 32} <= set(model.selection_.columns)
    assert model.edge_probabilities_.shape == (6, 6)
    assert model.inclusion_probabilities_.shape == (34,)
    assert model.inclusion_probabilities_[30:33].max() > 0.99
    always = AveragedNetworkClassifier(
        max_features=5, always_keep=[0], random_state=0, **SHORT
    ).fit(wide, y)
    assert 0 in always.selection_.columns
    small = model.on_kept_columns()
    columns = list(model.selection_.columns)
    assert np.array_equal(small.predict_proba(wide[:, columns]), model.predict_proba(wide))


def test_recalibration_by_held_out_cases():
    X, y = small_table(120)
    model = AveragedNetworkClassifier(recalibrate="bayes", random_state=0, **SHORT)
    model.set_params(n_draws=20, thin=20).fit(X, y)
    assert 0.2 < model.slope_ < 2.0


def test_edges_and_other_tables():
    X, y = small_table(300)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = AveragedNetworkClassifier(random_state=0, **SHORT).fit(frame, y)
    edges = model.edges(0.5)
    assert {"from", "to", "probability"} == set(edges.to_dict())
    assert np.all(np.diff(edges.probability) <= 0)
    assert "(class)" in str(edges)
    assert set(model.feature_table().name) == set("abcd")
    assert model.diagnostics_.name[:3] == ("arcs", "size", "score")


def test_a_file_holds_all(tmp_path):
    X, y = small_table(80, classes=3)
    labels = np.array(["u", "v", "w"])[y]
    model = AveragedNetworkClassifier(table_prior="bdeu", random_state=0, **SHORT).fit(X, labels)
    model.save(tmp_path / "model.hb")
    again = load(tmp_path / "model.hb")
    table = np.vstack([X.astype(float), [[np.nan] * 4]])
    assert np.array_equal(model.predict_proba(table), again.predict_proba(table))
    assert np.array_equal(model.predict_proba_interval(table), again.predict_proba_interval(table))
    assert again.edges().to_dict() == model.edges().to_dict()
    assert str(again.diagnostics_) == str(model.diagnostics_)
    assert np.array_equal(again.inclusion_errors_, model.inclusion_errors_)


def _plain(model):
    content, arrays = model._to_plain()
    return content, {name: np.array(value) for name, value in arrays.items()}


@pytest.mark.parametrize("space", ["classifiers", "networks"])
def test_files_with_graphs_outside_the_space_are_refused(space):
    X, y = small_table()
    model = AveragedNetworkClassifier(space=space, random_state=0, **SHORT).fit(X, y)
    good, general = model._part.fit.graphs[0], space == "networks"
    bad = {
        "cycle of features": [2, 1, 0, 0, 0],
        "cycle": [16 | 2, 16 | 1, 0, 0, 0],
        "cycle with the class": [16, 0, 0, 0, 1],
        "own parent": [16 | 1, 0, 0, 0, 0],
        "class its own parent": [0, 0, 0, 0, 16],
        "node that is not there": [32, 0, 0, 0, 0],
        "negative": [-1, 0, 0, 0, 0],
    }
    if not general:
        bad["arc into a feature that is no child"] = [2, 0, 0, 0, 0]
    for masks in bad.values():
        assert not are_valid(np.array([good, masks]), 9, general=general)
        content, arrays = _plain(model)
        graphs = np.array([masks], dtype="<i8")
        arrays["part0.fit.graphs"] = graphs.view(np.uint8)
        arrays["part0.fit.weight"] = np.ones(1)
        with pytest.raises(ModelFileError, match="not of the space"):
            type(model)._from_plain(content, arrays)
    for name, change in {"cells": 99, "weight": 2.0, "edges": 3.0, "inclusion": -1.0}.items():
        content, arrays = _plain(model)
        arrays[f"part0.fit.{name}"].flat[0] = change
        with pytest.raises(ModelFileError):
            type(model)._from_plain(content, arrays)


def test_validity_is_that_of_the_enumerated_space():
    general = {tuple(oracle.masks(g, 3)) for g in oracle.all_graphs(3, general=True)}
    graphs = {tuple(oracle.masks(g, 3)) for g in oracle.all_graphs(3)}
    every = [m for m in product(range(16), repeat=4) if not any(m[j] >> j & 1 for j in range(4))]
    found = {m for m in every if are_valid(np.array([m]), 9)}
    assert found == graphs
    assert {m for m in every if are_valid(np.array([m]), 9, general=True)} == general
    table = np.array(sorted(general))
    inside = members(table)
    for masks, own in zip(table, inside, strict=True):
        graph = oracle.from_masks(masks, 3)
        assert set(np.flatnonzero(own)) == oracle.blanket(graph)
    assert arcs_of(table).sum() == sum(len(oracle.from_masks(m, 3)) for m in table)


def test_the_tree_start_joins_features_that_depend_on_each_other():
    X, y = small_table(2000)
    graph = tree_graph(X, y, np.array([2, 3, 2, 2]), 2, 4)
    assert are_valid(graph[None], 2)
    assert graph[2] & 1 or graph[0] & 4  # a and c
    assert np.bitwise_count(graph[:4]).sum() == 4 + 3


def test_a_checkpoint_goes_on_with_the_same_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHUNK_BYTES", 1)
    X, y = small_table(100)
    place = tmp_path / "chains.hb"
    short = AveragedNetworkClassifier(random_state=0, checkpoint=place, **SHORT)
    short.fit(X, y)
    assert place.exists()
    assert place.with_name("chains.hb.draws-0-1").exists()
    longer = AveragedNetworkClassifier(random_state=0, checkpoint=place, **SHORT)
    again = longer.fit(X, y)
    assert np.array_equal(again.draws_["score"], short.draws_["score"])
    whole = AveragedNetworkClassifier(random_state=0, **SHORT).fit(X, y)
    assert np.array_equal(whole.draws_["score"], short.draws_["score"])
    two = AveragedNetworkClassifier(random_state=0, n_jobs=2, **SHORT).fit(X, y)
    assert np.array_equal(whole.draws_["score"], two.draws_["score"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"table_prior": "aic"}, "table_prior='aic'"),
        ({"graph_prior": "flat"}, "graph_prior='flat'"),
        ({"graph_prior": ("arcs", 0.0)}, "graph_prior="),
        ({"max_parents": 0}, "max_parents"),
        ({"max_features": 63}, "max_features=63"),
        ({"space": "trees"}, "space='trees'"),
        ({"missing": "no"}, "missing='no'"),
        ({"equivalent_sample_size": 0}, "equivalent_sample_size"),
        ({"thin": 0}, "thin"),
    ],
)
def test_bad_words_are_refused(words, message):
    X, y = small_table()
    with pytest.raises(ValueError, match=message):
        AveragedNetworkClassifier(**words).fit(X, y)


def test_no_warning_where_chains_agree():
    X, y = small_table(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AveragedNetworkClassifier(random_state=0).fit(X, y)
