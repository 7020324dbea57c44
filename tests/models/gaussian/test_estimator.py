"""SelectiveGaussianNB: exact where it can be compared, honest over its prior."""

import numpy as np
import pandas as pd
import pytest
from grids import slow
from oracles_gaussian import log_column
from scipy.special import logsumexp

from honestbayes import SelectiveGaussianNB
from honestbayes.likelihood.normal import LARGEST_RATIO, ratio_grid
from honestbayes.metrics import summarise
from honestbayes.models.gaussian.estimator import SMALLEST_SCALE

PLAIN = {"recalibrate": None}


def draw(seed, n=40, p=1000, n_classes=2, share=0.02, n_test=1000):
    """Data from the model: few features with signal, variances from an inverse gamma."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % n_classes)
    new = generator.integers(0, n_classes, n_test)
    strength = np.exp(generator.normal(-1.5, 1, p))
    ratio = np.where(generator.random(p) < share, strength, 0.0)
    sd = np.sqrt(5 / generator.gamma(5, 1, p))
    mu = generator.normal(0, 3, p) + generator.normal(size=(n_classes, p)) * np.sqrt(ratio) * sd
    return (
        mu[y] + sd * generator.normal(size=(n, p)),
        y,
        mu[new] + sd * generator.normal(size=(n_test, p)),
        new,
    )


def test_predictions_are_ratios_of_marginal_likelihoods():
    generator = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    X = generator.normal(size=(9, 2)) + y[:, None]
    X[2, 1] = np.nan
    model = SelectiveGaussianNB(n_features_to_select="all", **PLAIN).fit(X, y)
    prior, posterior = model.variance_prior_, model.posterior_
    new = np.array([[0.3, 1.2], [2.0, np.nan]])
    counts = np.bincount(y) + 1
    for row, found in zip(new, model.predict_log_proba(new), strict=True):
        joint = np.log(counts / counts.sum())
        for label in range(3):
            for j in range(2):
                if np.isnan(row[j]):
                    continue
                known = ~np.isnan(X[:, j])
                x, labels = X[known, j], y[known]
                scale = prior.scale * x.var(ddof=1)
                before, after = (
                    logsumexp(
                        [
                            log_column(values, classes, w, prior.shape, scale) + np.log(share)
                            for w, share in zip(posterior.ratio, posterior.weights[0], strict=True)
                            if share > 0
                        ]
                    )
                    for values, classes in (
                        (x, labels),
                        (np.append(x, row[j]), np.append(labels, label)),
                    )
                )
                joint[label] += after - before
        assert found == pytest.approx(joint - logsumexp(joint), abs=1e-6)


def draw_heavy_tailed(seed, n, p, n_classes, n_test=1000):
    """Data from the heavy-tailed prior itself: the scale is even in its logarithm."""
    generator = np.random.default_rng(seed)
    low, high = np.log(ratio_grid(n)[1]) - SMALLEST_SCALE, 0.0
    scale = np.exp(generator.uniform(low, high))
    ratio = np.minimum(scale * np.tan(np.pi / 2 * generator.random(p)) ** 2, LARGEST_RATIO)
    y = generator.permutation(np.arange(n) % n_classes)
    new = generator.integers(0, n_classes, n_test)
    sd = np.sqrt(5 / generator.gamma(5, 1, p))
    mu = generator.normal(0, 3, p) + generator.normal(size=(n_classes, p)) * np.sqrt(ratio) * sd
    X, Z = (mu[k] + sd * generator.normal(size=(k.size, p)) for k in (y, new))
    return X, y, Z, new


def optimism_over_the_prior(words, n_classes, repeats):
    found = []
    for seed in range(repeats):
        X, y, new, truth = draw_heavy_tailed(seed, 10 * n_classes, 500, n_classes)
        model = SelectiveGaussianNB(feature_prior="heavy-tailed", **words, **PLAIN).fit(X, y)
        p = model.predict_proba(new)
        found.append(p.max(axis=1).mean() - np.mean(p.argmax(axis=1) == truth))
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(repeats)


LONG = [slow(correction, k, 150) for correction in ("counts", "selection") for k in (2, 3)]


@pytest.mark.parametrize(("correction", "n_classes", "repeats"), [("counts", 2, 60), *LONG])
def test_the_corrected_model_is_honest_over_its_prior(correction, n_classes, repeats):
    mean, error = optimism_over_the_prior({"correction": correction}, n_classes, repeats)
    # One false alarm in ten thousand, and an effect of 0.01.
    assert abs(mean) < 0.01 + 3.9 * error
    assert error < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_uncorrected_model_is_not(n_classes):
    mean, error = optimism_over_the_prior({"correction": None}, n_classes, 150)
    assert mean > 0.05
    assert mean > 3.9 * error


@pytest.mark.slow_cases("0.05")
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_the_learned_prior_errs_on_the_side_of_caution(share):
    # Few weak signals are hardly visible in the distribution of features; simple shapes win then.
    optimism = []
    for seed in range(40):
        X, y, new, truth = draw(seed, p=600, share=share)
        p = SelectiveGaussianNB(**PLAIN).fit(X, y).predict_proba(new)
        optimism.append(p.max(axis=1).mean() - np.mean(p.argmax(axis=1) == truth))
    assert -0.08 < np.mean(optimism) < 0.015


@pytest.mark.parametrize("prior", ["learned", "heavy-tailed"])
def test_without_signal_the_corrected_model_hardly_claims_any(prior):
    predicted = []
    for seed in range(10):
        X, y, new, _ = draw(seed, share=0.0)
        model = SelectiveGaussianNB(feature_prior=prior, **PLAIN).fit(X, y)
        predicted.append(model.predict_proba(new).max(axis=1).mean())
    assert np.mean(predicted) < 0.56


def test_the_unit_and_the_origin_of_the_measurements_do_not_matter():
    X, y, new, _ = draw(1, p=50, share=0.2)
    model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    shift = np.random.default_rng(0).normal(0, 100, 50)
    moved = SelectiveGaussianNB(n_features_to_select=5).fit(3 * X + shift, y)
    assert moved.get_support(indices=True).tolist() == model.get_support(indices=True).tolist()
    assert moved.predict_proba(3 * new + shift) == pytest.approx(model.predict_proba(new), abs=1e-7)


def test_order_of_rows_and_batches_does_not_matter():
    X, y, new, _ = draw(2, p=50, share=0.2)
    model = SelectiveGaussianNB(n_features_to_select=5, **PLAIN).fit(X, y)
    order = np.random.default_rng(0).permutation(40)
    again = SelectiveGaussianNB(n_features_to_select=5, **PLAIN).fit(X[order], y[order])
    assert again.predict_proba(new) == pytest.approx(model.predict_proba(new), abs=1e-9)
    parts = [model.predict_proba(part) for part in np.array_split(new, 7)]
    assert np.concatenate(parts) == pytest.approx(model.predict_proba(new), abs=1e-13)


def test_prevalence_is_an_offset_of_the_log_probabilities():
    X, y, new, _ = draw(3, p=50, n_classes=3, share=0.2)
    model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    prior = np.array([0.7, 0.2, 0.1])
    moved = model.predict_log_proba(new, class_prior=prior)
    counts = np.bincount(y) + 1
    expected = model.predict_log_proba(new) + np.log(prior) - np.log(counts / counts.sum())
    assert moved == pytest.approx(expected - logsumexp(expected, axis=1, keepdims=True))


def test_the_slope_repairs_copies_of_a_feature():
    generator = np.random.default_rng(5)
    y, truth = np.arange(80) % 2, np.arange(2000) % 2
    one, other = (generator.normal(size=k.size) + 1.2 * k for k in (y, truth))
    X = one[:, None] + 0.1 * generator.normal(size=(80, 10))
    new = other[:, None] + 0.1 * generator.normal(size=(2000, 10))
    scores = {}
    for recalibrate in (None, "slope"):
        model = SelectiveGaussianNB(n_features_to_select="all", recalibrate=recalibrate).fit(X, y)
        scores[recalibrate] = summarise(truth, model.predict_proba(new)[:, 1])
    assert model.slope_ < 0.5
    assert scores[None].optimism.value > 0.1
    assert abs(scores["slope"].optimism.value) < 0.06
    assert scores["slope"].log_score.value < scores[None].log_score.value


def test_features_kept_by_design_are_kept_and_stay_out_of_the_race():
    X, y, _, _ = draw(6, p=50, share=0.2)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(50)])
    model = SelectiveGaussianNB(n_features_to_select=3, always_keep=["g49"], **PLAIN).fit(frame, y)
    assert model.selection_.always_kept == (49,)
    assert model.get_feature_names_out()[-1] == "g49"
    assert len(model.selection_.columns) == 4
    assert model.predict_proba(frame).shape == (40, 2)


@pytest.mark.parametrize("prior", ["learned", "heavy-tailed"])
def test_the_table_of_features_tells_strong_from_lucky_ones(prior):
    generator = np.random.default_rng(8)
    y = np.arange(60) % 2
    X = 5 + 2 * generator.normal(size=(60, 800))
    X[:, 3] += 4 * y
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(800)])
    model = SelectiveGaussianNB(n_features_to_select=4, feature_prior=prior, **PLAIN)
    table = model.fit(frame, y).feature_table()
    assert table.name[0] == "g3"
    assert table.r[0] == pytest.approx(abs(np.corrcoef(X[:, 3], y)[0, 1]))
    assert table.centre[:, 0] == pytest.approx([5, 9], abs=1)
    assert table.spread == pytest.approx(np.full(4, 2.0), abs=0.5)
    assert table.prob_null[0] < 0.01
    assert table.prob_null[1:].min() > 0.5
    # What luck made of the others is taken back.
    observed = [X[y == 1, j].mean() - X[y == 0, j].mean() for j in model.selection_.kept[1:]]
    assert np.all(np.abs(np.diff(table.centre[:, 1:], axis=0)[0]) < 0.5 * np.abs(observed))
    assert "g3" in str(table)
    assert set(table.to_dict()) == {
        "name",
        "r",
        "centre_0",
        "centre_1",
        "spread",
        "prob_null",
        "by_design",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"correction": "best"}, "correction='best' is not one of"),
        ({"feature_prior": "flat"}, "feature_prior='flat' is not one of"),
        ({"feature_prior": "learned", "correction": "selection"}, "must be 'counts' or None"),
        ({"class_pseudocounts": 0}, "must be positive"),
        ({"class_prior": [0.5, 0.4]}, "must be two positive prevalences"),
        ({"n_features_to_select": 999}, "more than the 5 features to choose from"),
        ({"recalibrate": True}, "recalibrate=True is not one of"),
    ],
)
def test_a_parameter_without_meaning_is_refused(words, message):
    X, y, _, _ = draw(0, p=5)
    with pytest.raises(ValueError, match=message):
        SelectiveGaussianNB(**words).fit(X, y)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_units_are_no_problem(scale):
    X, y, new, _ = draw(7, p=30, share=0.3)
    model = SelectiveGaussianNB(n_features_to_select=5, **PLAIN).fit(X, y)
    other = SelectiveGaussianNB(n_features_to_select=5, **PLAIN).fit(scale * X, y)
    assert other.predict_proba(scale * new) == pytest.approx(model.predict_proba(new), abs=1e-6)


def test_numbers_whose_squares_are_beyond_all_numbers_are_refused():
    X, y, _, _ = draw(7, p=30, share=0.3)
    X[:, 4] *= 1e200
    with pytest.raises(ValueError, match="column 4 holds numbers too large to be squared"):
        SelectiveGaussianNB().fit(X, y)


def test_a_value_far_from_all_others_gives_a_probability_all_the_same():
    X, y, _, _ = draw(9, p=10, share=0.5)
    model = SelectiveGaussianNB(**PLAIN).fit(X, y)
    p = model.predict_proba(np.full((1, 10), 1e300))
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1.0)


def test_two_cases_are_enough_to_say_little():
    model = SelectiveGaussianNB().fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
    p = model.predict_proba(np.array([[0.0, 1.0]]))
    assert np.isfinite(p).all()


def test_a_feature_with_one_case_in_each_class_cannot_win():
    generator = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = generator.normal(size=(30, 40))
    X[2:, 7] = np.nan  # one case of each class: between them lies all of its sum of squares
    model = SelectiveGaussianNB(n_features_to_select=5, **PLAIN).fit(X, y)
    assert 7 not in model.selection_.kept
