"""Models with interactions as their users see them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import honestbayes
from honestbayes import InteractionClassifier, InteractionRegressor, SequenceClassifier
from honestbayes.models.interactions import patterns
from honestbayes.models.interactions.estimator import windows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_draws": 60, "n_warmup": 40, "n_doublings": 0, "thin": 2}


def same_or_not(n=160, seed=0):
    """Return a table in which two columns together, and neither alone, tell the class."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "outlook": rng.choice(["rainy", "sunny"], n),
            "humidity": rng.choice(["high", "low"], n),
            "wind": rng.choice(["calm", "light", "strong"], n),
        }
    )
    goes = (X["outlook"] == "sunny") == (X["humidity"] == "low")
    y = np.where(goes ^ (rng.random(n) < 0.1), "play", "stay")
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = same_or_not()
    return InteractionClassifier(order=2, random_state=0, **SHORT).fit(X, y), X, y


def test_interactions_are_found_and_named(fitted):
    model, X, y = fitted
    assert model.n_groups_ == model.n_patterns_ == 1 + 7 + 4 + 12
    found = model.interactions(4)
    pairs = {
        "outlook=sunny & humidity=low",
        "outlook=sunny & humidity=high",
        "outlook=rainy & humidity=low",
        "outlook=rainy & humidity=high",
    }
    assert len(set(found.pattern) & pairs) >= 2
    assert set(found.towards) == {"stay"}
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()
    assert "outlook=" in str(found)
    assert len(found.to_dict()["pattern"]) == 4
    assert np.mean(model.predict(X) == y) > 0.85


def test_probabilities_do_not_depend_on_batch_or_order(fitted):
    model, X, _ = fitted
    whole = model.predict_proba(X)
    assert np.array_equal(whole[::-1], model.predict_proba(X[::-1]))
    assert np.array_equal(whole[7:8], model.predict_proba(X[7:8]))
    low, high = model.predict_proba_interval(X[:10]).T
    assert ((low <= whole[:10, 1]) & (whole[:10, 1] <= high)).all()


def test_the_same_seed_gives_the_same_draws_whatever_the_jobs(fitted):
    model, X, y = fitted
    again = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_file_gives_the_same_probabilities(fitted, tmp_path):
    model, X, y = fitted
    sequences, following = windows("abcabdabcabd" * 6, 5)
    of_states = SequenceClassifier(order=4, random_state=1, **SHORT).fit(sequences, following)
    apart = clone(model).set_params(compress=False, order=1).fit(X, y)
    with_level = clone(model).set_params(missing="level").fit(X.mask(X == "calm"), y)
    for place, (one, table) in enumerate(
        [(model, X), (of_states, sequences), (apart, X), (with_level, X.mask(X == "calm"))]
    ):
        path = tmp_path / f"{place}.honestbayes"
        one.save(path)
        loaded = honestbayes.load(path)
        assert np.array_equal(loaded.predict_proba(table), one.predict_proba(table))
        assert str(loaded.interactions(5)) == str(one.interactions(5))


def test_missing_training_cells_are_refused_or_a_level():
    X, y = same_or_not()
    X = X.mask(X == "calm")
    with pytest.raises(ValueError, match=r"missing in column 'wind'.*missing='level'"):
        InteractionClassifier(**SHORT).fit(X, y)
    model = InteractionClassifier(order=1, missing="level", random_state=0, **SHORT).fit(X, y)
    assert model.n_groups_ == 1 + 2 + 2 + 3
    assert model.predict_proba(X[:2]).shape == (2, 2)


def test_a_level_that_one_fold_lacks_matches_nothing_there():
    X, y = same_or_not(60)
    X = X.assign(wind=np.where(np.arange(60) == 7, "storm", X["wind"]))
    X.loc[11, "humidity"] = None
    model = InteractionClassifier(
        order=1, missing="level", recalibrate="slope", random_state=0, **{**SHORT, "n_chains": 1}
    ).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    # A cell may be missing at prediction in a column where none was in training.
    X.loc[3, "outlook"] = None
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_recalibration_repeats_the_selection_of_columns_in_its_folds():
    """Of 2,000 null columns ten are kept: only held-out cases show that they predict nothing."""
    rng = np.random.default_rng(5)
    X, new = (rng.integers(0, 2, (n, 2000)) for n in (60, 400))
    y = rng.permutation(np.repeat([0, 1], 30))
    short = {"n_chains": 1, "n_draws": 40, "n_warmup": 20, "n_doublings": 0}
    expected = {}
    for recalibrate in (None, "bayes"):
        model = InteractionClassifier(
            order=1, n_features_to_select=10, recalibrate=recalibrate, random_state=0, **short
        ).fit(X, y)
        assert model.selection_.n_discarded == 1990
        expected[recalibrate] = np.min(model.predict_proba(new), axis=1).mean()
    # Half of the new cases are wrong. The prior of the slope keeps recalibration from going so far.
    assert expected[None] < 0.25
    assert expected["bayes"] > 0.35


def test_an_order_is_chosen_on_held_out_cases():
    X, y = same_or_not(120)
    short = {**SHORT, "n_chains": 1, "n_draws": 40}
    model = InteractionClassifier(order="cv", random_state=0, **short).fit(X, y)
    assert set(model.order_losses_) == {1, 2, 3}
    assert model.order_ == min(model.order_losses_, key=model.order_losses_.get)
    assert model.order_ > 1


def test_several_classes_and_another_prevalence():
    X, _ = same_or_not(150)
    y = X["wind"].to_numpy()
    model = InteractionClassifier(order=1, random_state=0, **SHORT).fit(X, y)
    proba = model.predict_proba(X)
    assert np.mean(model.predict(X) == y) == 1.0
    assert model.predict_proba_interval(X[:4]).shape == (4, 3, 2)
    other = model.predict_proba(X, class_prior=[0.8, 0.1, 0.1])
    shares = np.exp(model._log_prior)
    expected = proba / shares * [0.8, 0.1, 0.1]
    assert np.allclose(other, expected / expected.sum(axis=1, keepdims=True))


def test_a_checkpoint_goes_on_to_the_same_draws(tmp_path, fitted):
    model, X, y = fitted
    short = clone(model).set_params(n_draws=20, checkpoint=tmp_path / "chains").fit(X, y)
    longer = clone(short).set_params(n_draws=60).fit(X, y)
    assert np.array_equal(longer.draws_["s"], model.draws_["s"])


def test_a_response():
    X, _ = same_or_not(200)
    rng = np.random.default_rng(1)
    same = (X["outlook"] == "sunny") == (X["humidity"] == "low")
    y = 100.0 + 50.0 * same + 5.0 * rng.standard_normal(200)
    model = InteractionRegressor(random_state=0, **SHORT).fit(X[:150], y[:150])
    assert np.abs(model.predict(X[150:]) - y[150:]).mean() < 6.0
    low, high = model.predict_quantiles(X[150:], [0.05, 0.95]).T
    assert 0.75 < np.mean((low < y[150:]) & (y[150:] < high)) <= 1.0
    assert model.predict_quantiles(X[:2], 0.5).shape == (2,)
    assert np.array_equal(model.predict(X)[:3], model.predict(X[:3]))
    found = model.interactions(4)
    assert any("outlook" in name and "humidity" in name for name in found.pattern)
    assert set(found.towards) == {"response"}
    # The units of the response are the user's: coefficients are changes of it.
    other = clone(model).fit(X[:150], 1000.0 * y[:150])
    assert np.allclose(other.predict(X[:5]), 1000.0 * model.predict(X[:5]), rtol=1e-6)
    with pytest.raises(ValueError, match="probabilities between 0 and 1"):
        model.predict_quantiles(X[:2], 1.5)


def test_sequences():
    X, y = windows("abcabcabdabcabcabd" * 5, 6)
    model = SequenceClassifier(order=6, random_state=0, **SHORT).fit(X, y)
    assert model.n_groups_ < model.n_patterns_
    assert np.mean(model.predict(X) == y) > 0.95
    assert {len(name) for name in model.interactions(10).pattern} <= {1, 2, 3, 4, 5, 6}
    with pytest.raises(ValueError, match="order=7 is longer than the sequences, which have 6"):
        SequenceClassifier(order=7, **SHORT).fit(X, y)


def test_windows():
    X, y = windows([3, 1, 2, 3, 1], 2)
    assert X.tolist() == [[3, 1], [1, 2], [2, 3]]
    assert y.tolist() == [2, 3, 1]
    with pytest.raises(ValueError, match="a sequence of 3 states is too short for windows of 3"):
        windows("abc", 3)
    with pytest.raises(ValueError, match="one dimension, not 2"):
        windows(np.zeros((2, 2)), 1)
    with pytest.raises(ValueError, match="order=-1"):
        windows("abc", -1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"order": -1}, "order=-1 is not a whole number"),
        ({"coefficient_prior": "laplace"}, "coefficient_prior='laplace' is not one of"),
        ({"missing": "drop"}, "missing='drop' is not one of"),
        ({"compress": "yes"}, "compress='yes' is not True or False"),
        ({"n_draws": 0}, "n_draws=0"),
        ({"width_prior": (0.0, 1.0)}, "width_prior"),
        ({"checkpoint": "somewhere"}, "a checkpoint needs an integer random_state"),
    ],
)
def test_wrong_words_are_refused(words, message):
    X, y = same_or_not(20)
    with pytest.raises(ValueError, match=message):
        InteractionClassifier(**{**SHORT, **words}).fit(X, y)


def test_a_constant_class_is_refused():
    X, _ = same_or_not(20)
    with pytest.raises(ValueError, match="class"):
        InteractionClassifier(**SHORT).fit(X, np.full(20, "stay"))


def test_too_many_patterns_are_refused(monkeypatch):
    monkeypatch.setattr(patterns, "MOST_NODES", 10)
    X, y = same_or_not(40)
    with pytest.raises(ValueError, match="lower the order"):
        InteractionClassifier(order=3, **SHORT).fit(X, y)
