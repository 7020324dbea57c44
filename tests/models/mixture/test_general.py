"""Mixtures of several components and classes: exact invariance, predictions, the estimator."""

import numpy as np
import pytest
from components_problem import PRIOR, settings
from grids import slow
from planted.components import CHECKS, invariance, plain_python
from scipy import stats
from sklearn.metrics import adjusted_rand_score

import honestbayes
import honestbayes.models.mixture
from honestbayes import SelectiveMixture
from honestbayes.data import as_source
from honestbayes.datasets import simulate_mixture
from honestbayes.models.mixture.general import (
    ClassRows,
    GeneralKernel,
    general_settings,
    log_class_prior,
    log_joint,
    make_problem,
    make_surface,
)
from honestbayes.sampling.draws import Draws, diagnose

QUICK = {
    "n_chains": 2,
    "n_draws": 60,
    "n_warmup": 20,
    "n_doublings": 0,
    "thin": 3,
    "random_state": 0,
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("n_draws", [1500, slow(10_000)])
def test_sweeps_leave_the_exact_posterior_unchanged(exact, n_draws):
    assert invariance(n_draws, exact=exact) > 1e-4


@pytest.mark.parametrize("name", ["prior", "prediction"])
def test_other_exact_checks(name):
    assert CHECKS[name]() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_the_plain_source_passes_what_mistakes_in_it_fail(name, monkeypatch):
    monkeypatch.setattr(honestbayes.models.mixture, "general_kernels", plain_python())
    assert CHECKS[name]() > 1e-4


# Geweke's joint test -------------------------------------------------------------------------


N, WIDTH, N_COMPONENTS, N_CLASSES = 8, 2, 3, 3
PSEUDOCOUNTS = (0.5, 2.0, 1.0)


def draw_data(rng, state):
    """Draw classes and features given labels, thetas and alphas; phi comes and goes."""
    alpha_0, alpha = np.exp(state["log_alpha"])
    mass = np.maximum(alpha * state["theta"], 1e-300)
    rest = np.maximum(alpha * (1 - state["theta"]), 1e-300)
    phi = rng.beta(mass, rest, size=(N_COMPONENTS, WIDTH))
    cells = (rng.random((N, WIDTH)) < phi[state["z"]]).astype(np.int8)
    gammas = rng.gamma(np.maximum(alpha_0 * state["theta_class"], 1e-8), size=(3, N_CLASSES))
    share = (gammas + 1e-300) / (gammas + 1e-300).sum(axis=1, keepdims=True)
    uniform = rng.random((N, 1))
    return (uniform > np.cumsum(share[state["z"]], axis=1)[:, :-1]).sum(axis=1), cells


def chain(seed, n_draws):
    rng = np.random.default_rng([54, seed])
    chosen = honestbayes.selection.Selection(
        "all", 0, tuple(range(WIDTH)), (), WIDTH, (3, 3, 2), (), 0
    )
    words = settings(False, PSEUDOCOUNTS)
    surface = make_surface(np.zeros(N, int), np.zeros((N, WIDTH), np.int8), chosen, words)
    state = {
        "z": rng.integers(0, N_COMPONENTS, N),
        "log_alpha": rng.uniform(1, 4, 2),
        "theta": rng.random(WIDTH),
        "theta_class": rng.dirichlet(np.ones(N_CLASSES)),
    }
    record = []
    for _ in range(n_draws):
        for _ in range(2):
            classes, cells = draw_data(rng, state)
            problem = make_problem(classes, cells, chosen, words, surface.arrays)
            state, _ = GeneralKernel(problem).step(rng, state)
        sizes = np.bincount(state["z"], minlength=N_COMPONENTS)
        record.append([*state["log_alpha"], state["theta"][0], *state["theta_class"], *sizes])
    return record


@pytest.mark.parametrize("n_draws", [1000, slow(4000)])
def test_parameters_and_data_drawn_in_turn_follow_the_prior(n_draws):
    draws = np.array([chain(seed, n_draws) for seed in range(3)])
    total = sum(PSEUDOCOUNTS)
    uniforms = {
        "log_alpha_0": PRIOR.distribution(np.exp(draws[..., 0])),
        "log_alpha": PRIOR.distribution(np.exp(draws[..., 1])),
        "theta": draws[..., 2],
        # Each of three shares that are uniform on the simplex is Beta(1, 2).
        **{f"theta_class_{c}": stats.beta.cdf(draws[..., 3 + c], 1, 2) for c in range(3)},
        **{
            f"size_{k}": stats.betabinom.cdf(draws[..., 6 + k], N, a, total - a)
            - stats.betabinom.pmf(draws[..., 6 + k], N, a, total - a) / 2
            for k, a in enumerate(PSEUDOCOUNTS)
        },
    }
    found = diagnose(uniforms)
    assert (found.ess_bulk > 200).all()
    z = (found.mean - 0.5) / found.mcse
    assert np.abs(z).max() < 4.4, dict(zip(found.name, z, strict=True))


# The estimator -------------------------------------------------------------------------------


def simulate(n, p, n_components, n_classes, alpha, seed=0):
    """Components that nearly are the classes, and features of which all know the component."""
    rng = np.random.default_rng([2054, seed])
    z = rng.integers(0, n_components, n)
    y = np.where(rng.random(n) < 0.9, z % n_classes, rng.integers(0, n_classes, n))
    theta = rng.random(p)
    phi = rng.beta(alpha * theta, alpha * (1 - theta), size=(n_components, p))
    return (rng.random((n, p)) < phi[z]).astype(np.int8), y, z


@pytest.fixture(scope="module")
def data():
    return simulate(240, 200, 3, 3, 2.0)


@pytest.fixture(scope="module")
def fitted(data):
    X, y, _ = data
    words = {"n_features_to_select": 20, "n_components": 3, **QUICK}
    return SelectiveMixture(**words).fit(X[:60], y[:60])


def test_three_components_and_classes_are_recovered(fitted, data):
    X, y, z = data
    found = fitted.components()
    assert adjusted_rand_score(z[:60], found.membership.argmax(axis=1)) > 0.8
    assert found.share.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.class_share.sum(axis=1), 1)
    np.testing.assert_allclose(found.membership.sum(axis=1), 1)
    assert np.all(np.diff(found.membership.sum(axis=0)) <= 0)
    assert found.occupied.sum() == pytest.approx(1)
    assert sorted(found.class_share.argmax(axis=1).tolist()) == [0, 1, 2]
    assert np.mean(fitted.predict(X[60:]) == y[60:]) > 0.75
    assert str(found).count("\n") == 3 + 20
    assert len(found.to_dict()["p_3"]) == 20


def test_predictions_are_coherent(fitted, data):
    X = data[0][60:].astype(float)
    proba = fitted.predict_proba(X)
    assert proba.shape == (180, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    hidden = X[:5].copy()
    hidden[:, fitted.selection_.columns[0]] = np.nan
    part = fitted._parts[0]
    ones = X[:5][:, list(fitted.selection_.columns)].astype(int)
    missing = np.zeros(ones.shape, dtype=bool)
    missing[:, 0] = True
    sides = [np.where(missing, value, ones) for value in (0, 1)]
    both = sum(np.exp(log_joint(part.draws, side, None)) for side in sides)
    np.testing.assert_allclose(np.exp(log_joint(part.draws, ones, missing)), both, rtol=1e-10)
    np.testing.assert_allclose(
        fitted.predict_proba(hidden), both / both.sum(axis=1, keepdims=True), rtol=1e-8
    )
    nothing = fitted.predict_proba(np.full((1, 200), np.nan))[0]
    np.testing.assert_allclose(np.log(nothing), log_class_prior(fitted.draws_), atol=1e-10)


def test_intervals_hold_the_probabilities(fitted, data):
    X = data[0][60:100]
    proba, wide = fitted.predict_proba(X), fitted.predict_proba_interval(X, 0.9)
    narrow = fitted.predict_proba_interval(X, 0.5)
    assert wide.shape == (40, 3, 2)
    assert np.all((wide[..., 0] <= proba + 1e-9) & (proba <= wide[..., 1] + 1e-9))
    assert np.all((wide[..., 0] <= narrow[..., 0]) & (narrow[..., 1] <= wide[..., 1]))


def test_naming_components_otherwise_changes_no_prediction_and_no_description(fitted):
    draws = fitted.draws_
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(3) for _ in range(draws.n_pooled)])
    values, rows = {}, np.arange(len(order))[:, None]
    for name, value in draws.values.items():
        pooled = draws.pooled(name)
        if name in ("psi", "class_share", "phi"):
            pooled = pooled[rows, order]
        elif name == "z":
            pooled = np.take_along_axis(np.argsort(order, axis=1), pooled.astype(int), axis=1)
        values[name] = pooled.reshape(value.shape)
    renamed = Draws(values, draws.n_chains)
    ones = np.random.default_rng(1).integers(0, 2, (6, 20))
    np.testing.assert_allclose(log_joint(renamed, ones, None), log_joint(draws, ones, None))
    first = honestbayes.models.mixture.general.components(draws, ("f",) * 20, ("a", "b", "c"))
    second = honestbayes.models.mixture.general.components(renamed, ("f",) * 20, ("a", "b", "c"))
    np.testing.assert_allclose(first.probability, second.probability)
    np.testing.assert_allclose(first.membership, second.membership)


def test_models_are_saved_and_cut_to_their_kept_columns(fitted, data, tmp_path):
    X = data[0][60:]
    fitted.save(tmp_path / "model")
    again = honestbayes.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_log_proba(X), fitted.predict_log_proba(X))
    assert again.n_components == 3
    kept = fitted.on_kept_columns()
    np.testing.assert_array_equal(
        kept.predict_proba(X[:, list(fitted.selection_.columns)]), fitted.predict_proba(X)
    )
    assert fitted.to_arviz() is not None
    assert "P(1|2)" in str(fitted.feature_table())


def test_two_classes_missing_cells_and_features_kept_by_design():
    X, y, _ = simulate(80, 60, 3, 2, 5.0, seed=1)
    X = X.astype(float)
    X[::7, ::5] = np.nan
    words = {"n_features_to_select": 4, "always_keep": [0, 3], "n_components": 3, **QUICK}
    X[1::3, 10:20] = np.nan
    with pytest.warns(UserWarning, match="of the cells of discarded features are missing"):
        model = SelectiveMixture(**words, class_pseudocounts=(1.0, 2.0, 3.0)).fit(X, y)
    assert model.selection_.always_kept == (0, 3)
    assert "log_alpha_by_design" in model.diagnostics_.name
    assert model.predict_proba_interval(X[:3]).shape == (3, 2)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.feature_table().evidence_if_one.shape == (6,)


def test_more_components_than_needed_stay_empty_where_pseudocounts_are_small():
    X, y, z = simulate(90, 40, 2, 2, 0.5, seed=2)
    words = {"n_features_to_select": "all", "n_components": 4, "class_pseudocounts": 0.05, **QUICK}
    found = SelectiveMixture(**words).fit(X, y).components()
    assert found.occupied[:2].sum() > 0.8
    assert adjusted_rand_score(z, found.membership.argmax(axis=1)) > 0.9


def test_one_component_predicts_the_frequencies_of_the_classes(data):
    X, y, _ = data
    words = {"n_features_to_select": 5, "n_components": 1, **QUICK}
    proba = SelectiveMixture(**words).fit(X[:60], y[:60]).predict_proba(X[60:])
    assert np.ptp(proba, axis=0).max() < 0.02  # draws that fit a row better count for more
    np.testing.assert_allclose(proba[0], np.bincount(y[:60]) / 60, atol=0.1)


def test_the_two_component_model_is_its_own(data):
    two = simulate_mixture(60, 10, 100, alpha=20.0, random_state=1)
    words = {"n_features_to_select": 5, **QUICK}
    model = SelectiveMixture(n_components=2, **words).fit(two.X_train, two.y_train)
    plain = SelectiveMixture(**words).fit(two.X_train, two.y_train)
    np.testing.assert_array_equal(model.draws_["phi"], plain.draws_["phi"])
    assert "class_share" not in model.draws_.values
    three = SelectiveMixture(**words).fit(data[0][:60], data[1][:60])
    assert three.draws_["class_share"].shape[2:] == (2, 3)


def test_held_out_rows_are_predicted_from_the_others(data):
    X, y, _ = data
    words = {"n_features_to_select": "cv", "recalibrate": "slope", "n_components": 3}
    short = {"n_chains": 1, "n_draws": 10, "n_warmup": 5, "n_doublings": 0, "thin": 1}
    model = SelectiveMixture(**words, **short, correction=None, random_state=0)
    model.fit(X[:30, :4], y[:30])
    assert model.number_choice_.chosen == len(model.selection_.kept)
    rows = ClassRows(as_source(X[:20]), np.arange(20) % 3, np.arange(3), "auto", None)
    with pytest.raises(ValueError, match="no case of class 1 is left"):
        rows.counted(np.array([0, 2, 3, 5]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"n_components": 0}, "n_components=0 is not a whole number of 1 or more"),
        ({"n_components": 2.5}, "n_components=2.5 is not a whole number"),
        ({"n_components": 3, "class_pseudocounts": (1.0, 2.0)}, "must be a positive number, or 3"),
        ({"n_components": 3, "class_pseudocounts": -1.0}, "must be a positive number, or 3"),
        ({"n_components": 3, "n_alpha": 10}, "n_alpha is for two components and two classes"),
        ({"n_components": 3, "criterion": "chi2"}, "'chi2' is for two components and two classes"),
        ({"n_components": 3, "correction": "counts"}, "is not one of 'auto', 'selection', None"),
    ],
)
def test_bad_settings_are_refused_before_any_work(data, words, message):
    with pytest.raises(ValueError, match=message):
        SelectiveMixture(**{**QUICK, **words}).fit(data[0][:30], data[1][:30])


def test_what_would_take_too_long_is_left_uncorrected_and_said():
    X, y, _ = simulate(60, 30, 3, 2, 5.0, seed=3)
    words = {"n_components": 9, "n_features_to_select": 3, **QUICK}
    with pytest.warns(UserWarning, match="the model is not corrected: use fewer components"):
        model = SelectiveMixture(**words).fit(X, y)
    assert model.correction_ is None


def test_settings_give_one_pseudocount_to_each_component():
    params = SelectiveMixture(n_components=4, class_pseudocounts=0.3).get_params()
    chosen = general_settings(params, np.zeros(20, dtype=bool))
    assert chosen.model.pseudocounts == (0.3,) * 4
