"""SelectiveFactorClassifier: against naive Bayes, its own promises, and calibration."""

import os
import signal

import numpy as np
import pytest
from grids import slow
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from honestbayes import SelectiveGaussianNB
from honestbayes.base import intervals
from honestbayes.base.recalibration import Recalibration
from honestbayes.models.factors import model as factor_estimator
from honestbayes.models.factors import model as factor_part
from honestbayes.models.factors.estimator import SelectiveFactorClassifier
from honestbayes.models.factors.prediction import log_density_of_classes, log_density_of_draws
from honestbayes.models.factors.sampler import FactorKernel

CHAINS = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_doublings": 0, "random_state": 0}
SHORT = {**CHAINS, "recalibrate": None}


@pytest.fixture
def short_folds(monkeypatch):
    monkeypatch.setattr(factor_estimator, "FOLD_WARMUP", 10)
    monkeypatch.setattr(factor_estimator, "FOLD_SAMPLES", 10)


few_sweeps = pytest.mark.filterwarnings("ignore:the chains have not converged")


def table(seed=0, n=40, p=120, n_classes=2, missing=0.0):
    """Rows of one population, whatever the seed."""
    features = np.random.default_rng(100)
    loadings, units, origins = features.normal(size=(3, p))
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * loadings
    X[:, :4] += 1.2 * y[:, None]
    X = X * np.exp(units) + 10 * origins
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


# ------------------------------------------------------------------------------ without factors


@pytest.mark.slow_cases("0.0-2", "0.1-2", "0.1-3")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@few_sweeps
def test_without_factors_it_is_gaussian_naive_bayes(n_classes, missing):
    X, y = table(n_classes=n_classes, missing=missing)
    words = {"n_features_to_select": 5, "correction": "counts", "recalibrate": None}
    naive = SelectiveGaussianNB(feature_prior="learned", **words).fit(X, y)
    model = SelectiveFactorClassifier(
        n_factors=0, n_chains=2, n_warmup=50, n_draws=4000, random_state=0, **words
    ).fit(X, y)
    assert model.selection_ == naive.selection_
    new = table(seed=1, n_classes=n_classes, missing=missing)[0]
    np.testing.assert_allclose(model.predict_proba(new), naive.predict_proba(new), atol=0.01)


def test_without_factors_the_event_weighs_the_scale_as_naive_bayes_does():
    X, y = table(seed=2)
    words = {"n_features_to_select": 5, "feature_prior": "heavy-tailed", "correction": "selection"}
    words["recalibrate"] = None
    naive = SelectiveGaussianNB(**words).fit(X, y)
    model = SelectiveFactorClassifier(
        n_factors=0, n_chains=4, n_warmup=100, n_draws=3000, random_state=0, **words
    ).fit(X, y)
    new = table(seed=3)[0]
    np.testing.assert_allclose(model.predict_proba(new), naive.predict_proba(new), atol=0.02)
    share = np.bincount(model.draws_.pooled("log_scale").astype(int), minlength=24) / 12_000
    np.testing.assert_allclose(share, naive.posterior_.scale_weights, atol=0.05)


# ---------------------------------------------------------------------------------- prediction


def test_the_density_of_a_case_is_that_of_a_multivariate_normal_without_its_missing_cells():
    rng = np.random.default_rng(0)
    n_draws, n_classes, k, d = 3, 2, 4, 2
    location, spread = rng.normal(size=(n_draws, n_classes, k)), rng.gamma(2, size=(n_draws, 2, k))
    loadings = rng.normal(size=(n_draws, k, d))
    x = rng.normal(size=(4, k)) * 2
    x[1, 2] = np.nan
    x[2] = np.nan
    got = log_density_of_classes(x, location, spread, loadings)
    by_draw = log_density_of_draws(x, location, spread, loadings)
    for i in range(4):
        seen = ~np.isnan(x[i])
        for c in range(n_classes):
            each = [
                multivariate_normal(
                    location[s, c, seen],
                    np.diag(spread[s, c, seen]) + loadings[s, seen] @ loadings[s, seen].T,
                ).pdf(x[i, seen])
                if seen.any()
                else 1.0
                for s in range(n_draws)
            ]
            assert got[i, c] == pytest.approx(np.log(np.mean(each)), abs=1e-10)
            np.testing.assert_allclose(by_draw[i, :, c], np.log(each), atol=1e-10)


@few_sweeps
def test_each_row_is_predicted_for_itself():
    X, y = table()
    model = SelectiveFactorClassifier(n_factors=2, **SHORT).fit(X, y)
    new = table(seed=5, missing=0.2)[0]
    whole = model.predict_log_proba(new)
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_array_equal(model.predict_log_proba(new[order]), whole[order])
    np.testing.assert_array_equal(model.predict_log_proba(new[3:4]), whole[3:4])
    np.testing.assert_array_equal(model.predict(new), model.classes_[whole.argmax(axis=1)])


@few_sweeps
def test_far_values_and_another_prevalence():
    X, y = table()
    model = SelectiveFactorClassifier(n_factors=1, **SHORT).fit(X, y)
    far = np.tile(X[:1], (3, 1))
    far[0], far[1], far[2] = 1e300, -1e200, np.nan
    log_proba = model.predict_log_proba(far)
    assert not np.isnan(log_proba).any()
    np.testing.assert_allclose(np.exp(log_proba[2]), [0.5, 0.5])
    plain = model.predict_log_proba(X)
    other = model.predict_proba(X, class_prior=(0.9, 0.1))
    np.testing.assert_allclose(other, softmax(plain + np.log([0.9, 0.1]), axis=1), atol=1e-12)


@pytest.mark.slow_cases("1")
@few_sweeps
@pytest.mark.parametrize("n_factors", [0, 1, 2])
def test_each_column_times_its_own_power_of_two_gives_the_same_bits(n_factors):
    X, y = table(n_classes=2 + (n_factors == 1), missing=0.05 if n_factors == 2 else 0.0)
    factor = 2.0 ** np.random.default_rng(1).integers(-40, 41, X.shape[1])
    words = {**SHORT, "n_factors": n_factors, "always_keep": [7]}
    one = SelectiveFactorClassifier(**words).fit(X, y)
    two = SelectiveFactorClassifier(**words).fit(X * factor, y)
    for name in one.draws_.values:
        np.testing.assert_array_equal(one.draws_[name], two.draws_[name])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X * factor))


# Rounding leads chains apart after some dozens of sweeps: then what is left is Monte Carlo error.
FEW_SWEEPS = ({"n_warmup": 2, "n_draws": 6}, 1e-5)
MANY_SWEEPS = ({"n_warmup": 100, "n_draws": 1000}, 0.06)


@few_sweeps
@pytest.mark.parametrize(
    ("seed", "length", "most"), [(1, *FEW_SWEEPS), *(slow(s, *MANY_SWEEPS) for s in (1, 2, 3, 4))]
)
def test_other_units_and_origins_give_the_same_probabilities(seed, length, most):
    X, y = table()
    rng = np.random.default_rng(seed)
    factor = 10.0 ** rng.uniform(-12, 12, X.shape[1])
    origin = rng.uniform(-1000, 1000, X.shape[1]) * X.std(axis=0)
    words = {**SHORT, "n_factors": 1, **length}
    one = SelectiveFactorClassifier(**words).fit(X, y)
    two = SelectiveFactorClassifier(**words).fit((X + origin) * factor, y)
    assert one.selection_.columns == two.selection_.columns
    new = table(seed=9)[0]
    apart = one.predict_proba(new) - two.predict_proba((new + origin) * factor)
    assert np.abs(apart).max() < most


# ----------------------------------------------------------------------------------- intervals


@few_sweeps
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_are_of_the_draws_given_the_row_itself(n_classes, monkeypatch):
    X, y = table(n_classes=n_classes)
    prior = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    words = {**SHORT, "n_warmup": 10, "n_draws": 20}
    model = SelectiveFactorClassifier(n_factors=1, class_prior=prior, **words).fit(X, y)
    new = table(seed=6, n=9, n_classes=n_classes, missing=0.1)[0]
    # By hand: the draws' probabilities, weighted by what each draw says of the row.
    given = model._parts[0].drawn.pooled("location", "spread", "loadings")
    values = model._parts[0].drawn.standard.apply(new[:, model.selection_.columns])
    joint = log_density_of_draws(values, *given) + np.log(prior)
    weight = softmax(np.logaddexp.reduce(joint, axis=2), axis=1)
    value = softmax(joint, axis=2)
    expected = np.einsum("ns,nsc->nc", weight, value)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-12)
    bounds = model.predict_proba_interval(new, n_draws=200)
    assert bounds.shape == ((9, 2) if n_classes == 2 else (9, 3, 2))
    of_class = bounds if n_classes == 2 else bounds[:, 1]
    for i in range(9):
        for bound, share in zip(of_class[i], (0.05, 0.95), strict=True):
            below = weight[i, value[i, :, 1] < bound - 1e-12].sum()
            upto = weight[i, value[i, :, 1] <= bound + 1e-12].sum()
            assert below <= share + 1e-12
            assert upto >= share - 1e-12
    monkeypatch.setattr(intervals, "_DRAWN_CELLS", 1)
    np.testing.assert_array_equal(model.predict_proba_interval(new, n_draws=200), bounds)


@few_sweeps
def test_intervals_without_features_and_with_a_slope():
    X, y = table(p=20)
    none = SelectiveFactorClassifier(n_factors=1, n_features_to_select=0, **SHORT).fit(X, y)
    low, high = none.predict_proba_interval(X[:2]).T
    assert np.all((low < 0.5) & (high > 0.5) & (high - low < 0.4))
    model = SelectiveFactorClassifier(n_factors=1, **SHORT).fit(X, y)
    before = model.predict_proba_interval(X, class_prior=[0.5, 0.5])
    model._recalibration = Recalibration.plugged_in(1e-9)
    after = model.predict_proba_interval(X, class_prior=[0.5, 0.5])
    np.testing.assert_allclose(after, 0.5, atol=1e-6)
    assert np.ptp(before) > 0.5


# -------------------------------------------------------------------------------------- promises


@pytest.mark.slow_cases("auto-slope")
@few_sweeps
@pytest.mark.usefixtures("short_folds")
@pytest.mark.parametrize(("n_factors", "recalibrate"), [(1, None), ("auto", "slope")])
def test_the_seed_decides_and_the_number_of_processes_does_not(n_factors, recalibrate):
    X, y = table(p=40)
    words = {**CHAINS, "recalibrate": recalibrate, "n_factors": n_factors}
    words["n_features_to_select"] = 4
    one = SelectiveFactorClassifier(**words).fit(X, y)
    two = SelectiveFactorClassifier(**words, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_log_proba(X), two.predict_log_proba(X))
    other = SelectiveFactorClassifier(**{**words, "random_state": 1, "n_factors": 1}).fit(X, y)
    assert not np.array_equal(one.predict_log_proba(X), other.predict_log_proba(X))


@few_sweeps
@pytest.mark.usefixtures("short_folds")
def test_the_number_of_factors_is_found_on_held_out_cases():
    X, y = table(p=40, n=60)
    model = SelectiveFactorClassifier(n_features_to_select=6, **CHAINS)
    choice = model.fit(X, y).factor_choice_
    assert choice.n_factors.tolist() == [0, 1, 2, 3]
    assert choice.chosen == model.n_factors_ == int(np.argmin(choice.log_score))
    assert model.slope_ > 0
    assert model.draws_["loadings"].shape == (2, 40, 6, model.n_factors_)


@few_sweeps
def test_a_stopped_fit_goes_on_from_its_checkpoint_to_the_same_draws(tmp_path):
    X, y = table()
    whole = SelectiveFactorClassifier(n_factors=1, **SHORT).fit(X, y)
    words = {**SHORT, "n_factors": 1, "checkpoint": tmp_path / "chains"}
    SelectiveFactorClassifier(**{**words, "n_draws": 15}).fit(X, y)
    resumed = SelectiveFactorClassifier(**words).fit(X, y)
    np.testing.assert_array_equal(whole.draws_["location"], resumed.draws_["location"])
    with pytest.raises(ValueError, match="checkpoint of a run with other data"):
        SelectiveFactorClassifier(**words).fit(X + 1, y[::-1])


def test_an_interrupted_fit_is_a_model_of_the_draws_so_far(monkeypatch):
    X, y = table()
    model = SelectiveFactorClassifier(n_factors=1, **{**SHORT, "n_draws": 1_000_000})
    steps, step = [], FactorKernel.step

    def interrupted(self, rng, state):
        steps.append(1)
        if len(steps) == 200:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, rng, state)

    monkeypatch.setattr(FactorKernel, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < model.draws_.n_draws < 1_000_000
    assert np.isfinite(model.predict_log_proba(X)).all()


@few_sweeps
def test_chains_go_on_to_twice_their_length_until_they_agree(tmp_path):
    X, y = table()
    short = {**SHORT, "n_factors": 1, "n_warmup": 20, "n_draws": 20}
    words = {**short, "n_doublings": 2}
    model = SelectiveFactorClassifier(**words).fit(X, y)
    assert model.draws_.n_draws == 20
    assert np.all(model.diagnostics_.rhat > 0)
    # Chains so short do not agree at once: these have run four times as long, or agree.
    halfway, longest = (
        SelectiveFactorClassifier(**{**short, "n_warmup": n, "n_draws": n}).fit(X, y)
        for n in (40, 80)
    )
    ends = [longest.draws_["location"][:, 3::4], halfway.draws_["location"][:, 1::2]]
    assert any(np.array_equal(model.draws_["location"], end) for end in ends)
    again = SelectiveFactorClassifier(**words, n_jobs=2, checkpoint=tmp_path / "c").fit(X, y)
    np.testing.assert_array_equal(model.draws_["location"], again.draws_["location"])


def test_too_few_sweeps_are_said_to_be_too_few():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="the chains have not converged: .*raise n_warmup"):
        SelectiveFactorClassifier(n_factors=1, **{**SHORT, "n_draws": 5}).fit(X, y)


@few_sweeps
def test_progress_is_shown_where_asked(capsys):
    X, y = table(p=20)
    words = {**SHORT, "n_factors": 1, "n_features_to_select": 2, "n_warmup": 5, "n_draws": 5}
    SelectiveFactorClassifier(**words).fit(X, y)
    assert not any(capsys.readouterr())
    SelectiveFactorClassifier(verbose=True, **words).fit(X, y)
    assert any(capsys.readouterr())


@few_sweeps
@pytest.mark.usefixtures("short_folds")
def test_the_slope_is_learnt_from_five_folds_of_one_short_chain_each(monkeypatch):
    runs = []
    kept = factor_part.run_chains

    def counted(kernel, standard, n_factors, n_groups, sampling):
        runs.append((n_factors, sampling.n_chains))
        return kept(kernel, standard, n_factors, n_groups, sampling)

    monkeypatch.setattr(factor_part, "run_chains", counted)
    X, y = table(p=20)
    model = SelectiveFactorClassifier(n_factors=1, n_features_to_select=3, **CHAINS).fit(X, y)
    assert runs == 5 * [(1, 1)] + [(1, 2)]
    assert model.slope_ != 1
    runs.clear()
    SelectiveFactorClassifier(n_features_to_select=3, **CHAINS).fit(X, y)
    assert len(runs) == 4 * 5 + 1


@few_sweeps
@pytest.mark.usefixtures("arviz")
def test_draws_go_to_arviz():
    X, y = table()
    model = SelectiveFactorClassifier(n_factors=2, n_features_to_select=5, **SHORT).fit(X, y)
    data = model.to_arviz()
    assert data.posterior["loadings"].shape == (2, 40, 5, 2)
    assert data.sample_stats["log_density"].shape == (2, 40)
    assert "log_loading_ratio" in model.diagnostics_.name


@few_sweeps
def test_features_kept_by_design_are_in_the_model_and_outside_the_race():
    X, y = table()
    words = {**SHORT, "n_factors": 1, "n_features_to_select": 3}
    model = SelectiveFactorClassifier(always_keep=[77], **words).fit(X, y)
    assert model.selection_.always_kept == (77,)
    assert model.get_support(indices=True).size == 4
    assert model.get_feature_names_out()[-1] == "x77"
    assert model.draws_["location"].shape[-1] == 4


def test_without_any_feature_the_classes_have_their_shares():
    X, y = table()
    model = SelectiveFactorClassifier(n_factors=1, n_features_to_select=0, **SHORT)
    proba = model.fit(X, y[::-1]).predict_proba(X)
    np.testing.assert_allclose(proba, 0.5)
    assert model.draws_ is None


@few_sweeps
def test_missing_training_cells_are_integrated_out():
    X, y = table(missing=0.15)
    X[:, 7] = np.nan
    model = SelectiveFactorClassifier(n_factors=1, **SHORT).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert (model.selection_.n_discarded, model.selection_.n_constant) == (109, 1)


@few_sweeps
@pytest.mark.parametrize("words", [{"threshold": 0.3}, {"n_features_to_select": "all"}])
def test_other_rules_of_selection(words):
    X, y = table(p=20)
    model = SelectiveFactorClassifier(n_factors=1, **SHORT, **words).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"n_factors": -1}, "n_factors=-1 is not a whole number"),
        ({"n_factors": "many"}, "neither a number nor 'auto'"),
        ({"n_chains": 0}, "n_chains=0 is not a whole number of 1 or more"),
        ({"n_draws": 1.5}, "n_draws=1.5 is not"),
        ({"correction": "all"}, "correction='all' is not one of"),
        ({"feature_prior": "flat"}, "feature_prior='flat' is not one of"),
        ({"n_features_to_select": "cv"}, "'cv' is not available"),
        ({"n_features_to_select": 1000}, "more than the 120 features"),
        ({"recalibrate": True}, "recalibrate=True"),
        ({"factor_shifts": None}, "factor_shifts=None is neither True nor False"),
    ],
)
def test_bad_words_are_refused(words, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        SelectiveFactorClassifier(**{"n_factors": 1, **words}).fit(X, y)


@few_sweeps
def test_frames_have_their_names():
    pd = pytest.importorskip("pandas")
    X, y = table(p=20)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(20)])
    labels = np.array(["well", "ill"])[y]
    model = SelectiveFactorClassifier(n_factors=1, n_features_to_select=3, **SHORT)
    model.fit(frame, labels)
    assert all(name.startswith("gene ") for name in model.get_feature_names_out())
    assert set(model.predict(frame)) <= {"well", "ill"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns=str.upper))


# ------------------------------------------------------------------------------- normal scores


def bend(X):
    """Change all units, each column's by itself, and keep the order of its values."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return np.exp(6 * (X - low) / (high - low))


@few_sweeps
@pytest.mark.usefixtures("short_folds")
@pytest.mark.parametrize("normal_scores", [True, False])
def test_with_normal_scores_only_the_order_of_values_matters_in_folds_too(normal_scores):
    X, y = table(missing=0.05)
    words = {**CHAINS, "n_factors": 1, "n_features_to_select": 4, "normal_scores": normal_scores}
    plain = SelectiveFactorClassifier(**words).fit(X, y)
    bent = SelectiveFactorClassifier(**words).fit(bend(X), y)
    said = [
        model._parts[0].log_likelihood(model._parts[0].scored(x[:, model._kept_columns()[0]]))
        for model, x in ((plain, X), (bent, bend(X)))
    ]
    assert np.array_equal(*said) == normal_scores
    # Learned from held-out rows, whose scores are interpolated in the units at hand.
    assert (abs(plain.slope_ - bent.slope_) < 0.05) == normal_scores


@few_sweeps
def test_normal_scores_are_those_of_ranks_and_tables_show_the_users_units():
    X, y = table()
    ranks = X.argsort(axis=0).argsort(axis=0)
    scores = norm.ppf((ranks + 0.5) / len(X))
    words = {**SHORT, "n_factors": 1, "n_features_to_select": 4}
    model = SelectiveFactorClassifier(**words, normal_scores=True).fit(X, y)
    same = SelectiveFactorClassifier(**words).fit(scores, y)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(scores), rtol=1e-9)
    shown, kept = model.feature_table(), X[:, model.get_support(indices=True)]
    order = np.argsort(np.argsort([int(name[1:]) for name in shown.name]))
    for centre in shown.centre:
        low, high = np.quantile(kept, [0.1, 0.9], axis=0)[:, order]
        assert np.all((low < centre) & (centre < high))
