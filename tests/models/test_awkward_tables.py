"""Awkward tables give every estimator probabilities, or are refused by the column at fault."""

import re
import warnings

import numpy as np
import pytest
from awkward_tables import (
    CODES,
    COLUMNS,
    CONTAINERS,
    FLAGS,
    NUMBERS,
    REFUSED,
    TEXTS,
    TWO,
    all_tables,
)
from sklearn.exceptions import ConvergenceWarning

import honestbayes

FEW = {"n_chains": 2, "n_doublings": 0, "n_warmup": 2, "n_draws": 10, "random_state": 0}
CODED = {**FEW, "missing": "level"}
ESTIMATORS = {
    "SelectiveBernoulliNB": {},
    "SelectiveCategoricalNB": {},
    "SelectiveGaussianNB": {},
    "SelectiveDiscriminant": {},
    "SelectiveLogistic": {},
    "SelectiveMixedNB": {},
    "DiscreteNB": {},
    "ForwardProbabilitySelector": {},
    "BoostedProbabilitySelector": {"n_rounds": 2},
    "SelectiveMixture": {**FEW, "thin": 1},
    "SelectiveFactorClassifier": {**FEW, "n_factors": 1, "recalibrate": None},
    "SelectiveFactorRegressor": {**FEW, "n_factors": 1},
    "InteractionClassifier": {**CODED, "order": 1},
    "InteractionRegressor": {**CODED, "order": 1},
    "SequenceClassifier": {**FEW, "order": 1},
    "AveragedNetworkClassifier": CODED,
    "AveragedNB": FEW,
    "SubsetSampler": FEW,
    "HonestClassifier": {"effort": "quick", "random_state": 0},
}

ANY = {FLAGS, TWO, CODES, NUMBERS, TEXTS}
SQUARED = {
    "SelectiveGaussianNB",
    "SelectiveDiscriminant",
    "SelectiveLogistic",
    "SelectiveMixedNB",
    "SelectiveFactorClassifier",
    "SelectiveFactorRegressor",
    "HonestClassifier",
}
"""Estimators that take squares of measurements, and refuse columns whose squares are no numbers."""

TAKES = dict.fromkeys(ESTIMATORS, ANY)
for _name in SQUARED - {"SelectiveMixedNB", "HonestClassifier"}:
    TAKES[_name] = ANY - {TEXTS}
for _name in ("SelectiveBernoulliNB", "SelectiveMixture"):
    TAKES[_name] = ANY - {TEXTS}
for _name in (
    "SelectiveCategoricalNB",
    "InteractionClassifier",
    "InteractionRegressor",
    "SequenceClassifier",
):
    TAKES[_name] = {FLAGS, CODES, TEXTS}

NO_SPARSE = {
    "SelectiveGaussianNB",
    "SelectiveMixedNB",
    "SelectiveFactorClassifier",
    "SelectiveFactorRegressor",
}
TWO_CLASSES = {"SelectiveBernoulliNB", "SelectiveMixture"}

TABLES = all_tables()
ORDINARY = [t for t in TABLES if t.number % 2 == 0 or t.subject.pandas_only]
"""Tables of the ordinary run, each of which one estimator is given; all are in the slow one."""


def may_refuse(name, column, cells):
    """Whether an estimator may refuse a column, if the message names it."""
    if column.holds not in TAKES[name]:
        return True
    # A sequence has no missing states.
    if name == "SequenceClassifier" and cells.isna().any():
        return True
    if name not in SQUARED or cells.dtype.kind not in "biuf":
        return False
    values = cells.dropna().to_numpy(dtype=float)
    spread = float(np.ptp(values / 2)) * 2 if values.size else 0.0
    return not (spread == 0 or 1e-140 < spread < 1e140)


def is_about_no_column(name, table, message):
    """Whether a refusal is about the table as a whole, or about the classes, and right."""
    if table.container in ("CSR", "CSC") and name in NO_SPARSE:
        return "Sparse input is not supported" in message
    if name == "HonestClassifier" and np.sum(np.bincount(table.codes) > 1) < 2:
        return "at least two classes need two cases or more" in message
    return False


def named_columns(message):
    """The columns that a message names."""
    found = re.findall(r"columns? ((?:(?:'[^']*'|\d+)(?:, )?)+)", message)
    return [name for names in found for name in re.findall(r"'[^']*'|\d+", names)]


def check_warnings(caught, table):
    """Only our warnings, which name columns of the table if any."""
    for warning in caught:
        text = str(warning.message)
        assert warning.category in (UserWarning, ConvergenceWarning), (text, warning.filename)
        assert not re.search(r"site-packages/(sklearn|numpy|scipy|pandas)", warning.filename), text
        assert set(named_columns(text)) <= set(table.names), text


def labels_for(name, table):
    """Classes, or two of them, or numbers, as an estimator needs them."""
    if name.endswith("Regressor"):
        return table.codes.astype(float)
    return table.codes == table.codes.max() if name in TWO_CLASSES else table.y


def check_predictions(model, loaded, X, y):
    """Finite, of sum 1, and of the same bits from the loaded model."""
    if not hasattr(model, "predict"):
        np.testing.assert_array_equal(loaded.get_support(), model.get_support())
        return
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if not hasattr(model, "predict_proba"):
        assert np.all(np.isfinite(model.predict(X)))
        return
    probability = model.predict_proba(X)
    assert probability.shape == (len(y), len(np.unique(y)))
    assert np.all(np.isfinite(probability))
    assert np.all(probability >= 0)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_array_equal(loaded.predict_proba(X), probability)
    if hasattr(model, "predict_proba_interval"):
        interval = model.predict_proba_interval(X)
        assert np.all((interval >= 0) & (interval <= 1))
        np.testing.assert_array_equal(loaded.predict_proba_interval(X), interval)


def check_table(name, table, folder):
    """Fit, save, load and predict, or a refusal by the column at fault."""
    at_fault = {
        named
        for named, column in zip(table.names, table.columns, strict=True)
        if may_refuse(name, column, table.frame[column.name])
    }
    model = getattr(honestbayes, name)(**ESTIMATORS[name])
    X, y = table.rows(), labels_for(name, table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except (ValueError, TypeError) as error:
            message = str(error)
            named = named_columns(message)
            right = named and set(named) <= at_fault
            assert right or is_about_no_column(name, table, message), message
            check_warnings(caught, table)
            return
        model.save(folder / "model")
        loaded = honestbayes.load(folder / "model")
        check_predictions(model, loaded, X, y)
        if hasattr(model, "predict_proba"):
            # A row's probabilities do not depend on the rows beside it.
            some = model.predict_proba(table.rows(slice(0, 3)))
            np.testing.assert_allclose(some, model.predict_proba(X)[:3], rtol=1e-7, atol=1e-12)
    check_warnings(caught, table)
    assert all(column.holds != REFUSED for column in table.columns), "was not refused"


def test_every_estimator_and_every_pair_of_column_and_container_is_here():
    public = (getattr(honestbayes, name) for name in honestbayes.__all__)
    assert {kind.__name__ for kind in public if hasattr(kind, "save")} == set(ESTIMATORS)
    assert len(ORDINARY) >= 300
    assert {table.subject.name for table in ORDINARY} == {column.name for column in COLUMNS}
    assert {table.container for table in ORDINARY} == set(CONTAINERS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_awkward_tables_give_probabilities_or_are_refused_by_column(name, tmp_path):
    place = list(ESTIMATORS).index(name)
    for table in ORDINARY[place :: len(ESTIMATORS)]:
        try:
            check_table(name, table, tmp_path)
        except Exception as error:
            error.add_note(f"table {table}, columns {[c.name for c in table.columns]}")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_awkward_table_gives_every_estimator_probabilities_or_is_refused(
    name, container, tmp_path
):
    for table in TABLES:
        if table.container == container:
            try:
                check_table(name, table, tmp_path)
            except Exception as error:
                error.add_note(f"table {table}, columns {[c.name for c in table.columns]}")
                raise
