"""InteractionClassifier on measurements: bins with about as many training cases each."""

import numpy as np
import pandas as pd
import pytest

import honestbayes
from honestbayes import InteractionClassifier, SequenceClassifier
from honestbayes.base.part import TrainingLabels

SHORT = {"n_chains": 2, "n_draws": 60, "n_warmup": 30, "n_doublings": 0, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def signs(n=160, seed=0):
    """The class is whether two measurements have the same sign; one flag tells nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["left", "right"])
    X["flag"] = rng.choice(["a", "b"], n)
    return X, (X["left"] * X["right"] > 0).astype(int).to_numpy()


def quartiles(train, values):
    """Bin numbers by sorting: each bin holds a quarter of the training values, ties below."""
    ordered = np.sort(train)
    bounds = [ordered[int(np.ceil(len(train) * share)) - 1] for share in (0.25, 0.5, 0.75)]
    return np.array([sum(value > bound for bound in bounds) for value in values])


def cut(train, frame):
    return frame.assign(**{name: quartiles(train[name], frame[name]) for name in ("left", "right")})


def test_predictions_are_those_of_the_bins_given_as_categories():
    X, y = signs()
    new, _ = signs(40, seed=1)
    new.loc[0, "left"], new.loc[1, "right"] = -100.0, 100.0
    found = InteractionClassifier(**SHORT).fit(X, y)
    expected = InteractionClassifier(**SHORT).fit(cut(X, X), y)
    assert np.array_equal(found.predict_proba(new), expected.predict_proba(cut(X, new)))


def test_bins_are_learned_again_without_the_held_out_cases():
    X, y = signs(320)
    model = InteractionClassifier(**SHORT)
    labels = TrainingLabels(np.array([0, 1]), y, None, np.ones(2))
    (part,) = model._training_parts(X, labels)
    rows = np.arange(0, 320, 2)
    others = np.setdiff1d(np.arange(320), rows)
    ((_, (_, _, inner)),) = part._without([rows], None)
    expected = cut(X.iloc[others], X)
    for column, name in enumerate(["left", "right"]):
        assert np.array_equal(inner.table.codes[:, column], expected[name])
    # And the fold's own rows are read with these bins.
    codes = part.cut.codes(rows, np.arange(3), inner.cuts)
    assert np.array_equal(codes[:, 0], expected["left"].to_numpy()[rows])
    assert not np.array_equal(part.cut.table.codes[rows, 0], codes[:, 0])


def test_files_copies_and_tables_know_bins(tmp_path):
    X, y = signs()
    model = InteractionClassifier(kinds={"flag": "categorical"}, **SHORT).fit(X, y)
    model.save(tmp_path / "m")
    loaded = honestbayes.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    kept = X[list(model.get_feature_names_out())]
    assert np.array_equal(model.on_kept_columns().predict_proba(kept), model.predict_proba(X))
    pattern = model.interactions(1).pattern[0]
    assert "left=" in pattern
    assert any(word in pattern for word in ("up to", "above", " to "))
    assert "up to" in str(model.feature_table())


def test_a_missing_measurement_is_integrated_out():
    X, y = signs()
    model = InteractionClassifier(**SHORT).fit(X, y)
    new = X[:5].copy()
    new["left"] = np.nan
    proba = model.predict_proba(new)[:, 1]
    assert np.all((proba > 0.2) & (proba < 0.8))


@pytest.mark.parametrize("n_bins", [1, 2.5, "many"])
def test_bad_numbers_of_bins_are_refused(n_bins):
    X, y = signs(40)
    with pytest.raises(ValueError, match="n_bins"):
        InteractionClassifier(n_bins=n_bins, **SHORT).fit(X, y)


def test_sequences_have_no_measurements():
    with pytest.raises(ValueError, match="whole number"):
        SequenceClassifier(order=2, **SHORT).fit(np.linspace(0, 1, 20).reshape(10, 2), [0, 1] * 5)
