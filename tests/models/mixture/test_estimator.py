"""SelectiveMixture: what it promises beyond its sampler."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

import honestbayes
from honestbayes import SelectiveBernoulliNB, SelectiveMixture
from honestbayes.datasets import simulate_mixture
from honestbayes.files import ModelFileError
from honestbayes.metrics import summarise
from honestbayes.models.mixture import model as mixture_part
from honestbayes.models.mixture.model import MixtureKernel, run_mixture
from honestbayes.sampling import chains

QUICK = {
    "n_chains": 2,
    "n_draws": 60,
    "n_warmup": 20,
    "n_doublings": 0,
    "thin": 3,
    "random_state": 0,
}
LONGER = {
    "n_chains": 3,
    "n_draws": 300,
    "n_warmup": 100,
    "n_doublings": 0,
    "thin": 10,
    "random_state": 0,
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return simulate_mixture(60, 300, 400, alpha=20.0, random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    return SelectiveMixture(n_features_to_select=8, **LONGER).fit(data.X_train, data.y_train)


def test_it_finds_the_hidden_groups_and_what_they_have_to_do_with_the_class(fitted, data):
    found = fitted.components()
    agrees = np.mean((found.in_second > 0.5) == (data.z_train == 1))
    assert agrees > 0.8
    assert found.class_1[0] < 0.35 < 0.65 < found.class_1[1]
    assert found.share.sum() == pytest.approx(1)
    kept = np.array(fitted.selection_.columns)
    truth = np.abs(np.diff(logit(data.phi[:, kept]), axis=0))[0]
    assert np.corrcoef(found.separates, truth)[0, 1] > 0
    assert str(found).count("\n") == 2 + 8
    assert len(found.to_dict()["separates"]) == 8


def test_components_are_named_by_the_class_in_every_draw(fitted):
    phi = fitted.draws_.pooled("phi")
    assert fitted.components().class_1[0] <= fitted.components().class_1[1]
    assert fitted.components().class_1.sum() == pytest.approx(phi[:, :, 0].sum(axis=1).mean())


def test_dependent_features_do_not_make_it_too_sure():
    """Naive Bayes counts what the components share as evidence for the class, many times over."""
    data = simulate_mixture(60, 600, 400, alpha=5.0, random_state=1)
    words = {"n_features_to_select": 20}
    mixture = SelectiveMixture(**words, **LONGER).fit(data.X_train, data.y_train)
    naive = SelectiveBernoulliNB(recalibrate=None, random_state=0, **words)
    naive.fit(data.X_train, data.y_train)
    score = {
        name: summarise(data.y_test, model.predict_proba(data.X_test)[:, 1])
        for name, model in {"mixture": mixture, "naive": naive}.items()
    }
    assert score["mixture"].log_score.value < score["naive"].log_score.value
    assert abs(score["mixture"].optimism.value) < score["naive"].optimism.value


def test_probabilities_do_not_depend_on_jobs_order_or_batches(data):
    models = [
        SelectiveMixture(n_features_to_select=5, n_jobs=n, **QUICK).fit(data.X_train, data.y_train)
        for n in (1, 2)
    ]
    proba = models[0].predict_proba(data.X_test)
    np.testing.assert_array_equal(proba, models[1].predict_proba(data.X_test))
    backwards = models[0].predict_proba(data.X_test[::-1])[::-1]
    np.testing.assert_allclose(proba, backwards, rtol=1e-12)
    single = np.concatenate([models[0].predict_proba(row[None]) for row in data.X_test[:5]])
    np.testing.assert_allclose(proba[:5], single, rtol=1e-12)
    other = SelectiveMixture(n_features_to_select=5, **{**QUICK, "random_state": 1})
    assert not np.array_equal(
        proba, other.fit(data.X_train, data.y_train).predict_proba(data.X_test)
    )


def test_prevalence_moves_the_log_odds_by_its_own(fitted, data):
    plain = fitted.predict_log_proba(data.X_test)
    moved = fitted.predict_log_proba(data.X_test, class_prior=(0.9, 0.1))
    shift = (moved[:, 1] - moved[:, 0]) - (plain[:, 1] - plain[:, 0])
    assert np.ptp(shift) < 1e-9
    prior = fitted.predict_proba(np.full((1, 400), np.nan))[0]
    assert shift[0] == pytest.approx(logit(0.1) - logit(prior[1]))


def test_intervals_hold_the_probability_and_their_draws_average_to_it(fitted, data):
    proba = fitted.predict_proba(data.X_test[:40])[:, 1]
    wide = fitted.predict_proba_interval(data.X_test[:40], 0.9)
    narrow = fitted.predict_proba_interval(data.X_test[:40], 0.5)
    assert np.all((wide[:, 0] <= proba) & (proba <= wide[:, 1]))
    assert np.all((wide[:, 0] <= narrow[:, 0]) & (narrow[:, 1] <= wide[:, 1]))
    shifted = fitted.predict_proba_interval(data.X_test[:40], 0.9, class_prior=(0.9, 0.1))
    assert np.all(shifted <= wide)


def test_missing_cells_and_features_kept_by_design(data, tmp_path):
    X = data.X_train.astype(float)
    X[::7, ::5] = np.nan
    model = SelectiveMixture(n_features_to_select=4, always_keep=[0, 3], **QUICK)
    model.fit(X, data.y_train)
    assert model.selection_.always_kept == (0, 3)
    assert model.draws_["phi"].shape[-1] == 1 + 6
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert "log_alpha_by_design" in model.diagnostics_.name
    assert np.ptp(model.draws_["log_alpha_by_design"]) > 0
    model.save(tmp_path / "model")
    again = honestbayes.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_log_proba(X), model.predict_log_proba(X))
    assert again.diagnostics_.name == model.diagnostics_.name


def test_columns_without_cells_say_nothing_and_missing_ones_are_warned_of(data):
    words = {"n_features_to_select": 4, **QUICK}
    plain = SelectiveMixture(**words).fit(data.X_train, data.y_train)
    empty = np.full((60, 2000), np.nan)
    wide = SelectiveMixture(**words).fit(np.hstack([data.X_train, empty]), data.y_train)
    np.testing.assert_array_equal(plain.draws_["log_alpha"], wide.draws_["log_alpha"])
    holes = data.X_train.astype(float)
    holes[np.random.default_rng(0).random(holes.shape) < 0.2] = np.nan
    with pytest.warns(UserWarning, match="20% of the cells of discarded features are missing"):
        SelectiveMixture(**words).fit(holes, data.y_train)


@pytest.mark.parametrize("seed", range(8))
def test_ties_of_features_with_missing_cells_are_no_ties_of_complete_ones(seed):
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, (10, 30)).astype(float)
    X[generator.random(X.shape) < 0.2] = np.nan
    y = np.arange(10) % 2
    for k in (1, 5, 25):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SelectiveMixture(n_features_to_select=k, **QUICK).fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()


def test_no_features_give_the_frequency_of_the_class(data):
    model = SelectiveMixture(n_features_to_select=0, **QUICK).fit(data.X_train, data.y_train)
    proba = model.predict_proba(data.X_test)
    assert np.ptp(proba[:, 1]) < 1e-12
    assert abs(proba[0, 1] - data.y_train.mean()) < 0.1
    assert model.predict_proba_interval(data.X_test[:2]).shape == (2, 2)


def test_a_number_of_features_can_be_chosen_and_a_slope_learnt(data):
    short = {
        "n_chains": 1,
        "n_draws": 20,
        "n_warmup": 5,
        "n_doublings": 0,
        "thin": 1,
        "random_state": 0,
    }
    model = SelectiveMixture(n_features_to_select="cv", recalibrate="slope", **short)
    model.fit(data.X_train[:24, :6], data.y_train[:24])
    assert model.number_choice_.chosen == len(model.selection_.kept)
    assert 0 <= model.slope_ < 3


def test_chains_that_disagree_are_warned_of(data):
    with pytest.warns(ConvergenceWarning, match="raise n_warmup or n_draws"):
        SelectiveMixture(
            n_chains=3, n_draws=4, n_warmup=0, n_doublings=0, thin=1, random_state=0
        ).fit(data.X_train, data.y_train)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"correction": "counts"}, "correction='counts' is not one of 'auto', 'selection', None"),
        ({"n_draws": 0}, "n_draws=0 is not a whole number of 1 or more"),
        ({"n_chains": 1.5}, "n_chains=1.5 is not a whole number"),
        ({"n_alpha": 0}, "n_alpha=0 is not a whole number of 1 or more"),
        ({"alpha_prior": (0, 5)}, "must be two positive numbers"),
        ({"theta_prior": (0.5, 0.2)}, "is not an interval within"),
        ({"n_features_to_select": 500}, "more than the 400 features"),
    ],
)
def test_bad_settings_are_refused_before_any_work(data, words, message):
    with pytest.raises(ValueError, match=message):
        SelectiveMixture(**{**QUICK, **words}).fit(data.X_train, data.y_train)


def test_an_interrupted_fit_can_predict_and_goes_on_from_its_checkpoint(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr(chains, "SECONDS", 0.05)
    # Chains look up after 1, 2, 4, ... steps at most, so both stop long before the end.
    words = {
        "n_features_to_select": 5,
        "n_chains": 2,
        "n_draws": 200,
        "n_warmup": 10,
        "n_doublings": 0,
    }
    words |= {"thin": 5, "random_state": 0}
    whole = SelectiveMixture(**words).fit(data.X_train, data.y_train)
    model = SelectiveMixture(**words, checkpoint=tmp_path / "chains")
    steps, step = [], MixtureKernel.step

    def interrupted(self, rng, state):
        steps.append(1)
        if len(steps) == 100:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, rng, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MixtureKernel, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(data.X_train, data.y_train)
    n_draws = model.draws_.n_draws
    assert 0 < n_draws < 200
    np.testing.assert_array_equal(model.draws_["phi"], whole.draws_["phi"][:, :n_draws])
    assert model.predict_proba(data.X_test).shape == (300, 2)
    model.fit(data.X_train, data.y_train)
    for name in whole.draws_.values:
        np.testing.assert_array_equal(model.draws_[name], whole.draws_[name])
    with pytest.raises(ValueError, match="checkpoint of a run with other data"):
        model.fit(data.X_train, 1 - data.y_train)


def test_an_interruption_while_the_slope_is_learnt_leaves_a_model(data, monkeypatch):
    calls = []

    def run(*given, **words):
        calls.append(1)
        draws, _ = run_mixture(*given, **words)
        return draws, len(calls) == 3

    monkeypatch.setattr(mixture_part, "run_mixture", run)
    model = SelectiveMixture(n_features_to_select=2, recalibrate="slope", **QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X_train, data.y_train)
    assert len(calls) == 3
    assert model.predict_proba(data.X_test).shape == (300, 2)
    assert model.slope_ == 1


def test_a_checkpoint_that_cannot_serve_is_refused_before_any_work(data, tmp_path):
    for words, message in (
        ({"checkpoint": tmp_path / "nowhere" / "c"}, "in a folder that does not exist"),
        ({"checkpoint": tmp_path}, "is a folder"),
        ({"checkpoint": tmp_path / "c", "random_state": None}, "needs an integer random_state"),
    ):
        with pytest.raises(ValueError, match=message):
            SelectiveMixture(**{**QUICK, **words}).fit(data.X_train, data.y_train)
    (tmp_path / "bad").write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="checkpoint cannot be read"):
        SelectiveMixture(**QUICK, checkpoint=tmp_path / "bad").fit(data.X_train, data.y_train)


def test_a_longer_checkpoint_gives_as_many_draws_as_asked_for(data, tmp_path):
    words = {"n_features_to_select": 2, "checkpoint": tmp_path / "c", **QUICK}
    long = SelectiveMixture(**words).fit(data.X_train, data.y_train)
    short = SelectiveMixture(**{**words, "n_draws": 20}).fit(data.X_train, data.y_train)
    np.testing.assert_array_equal(short.draws_["phi"], long.draws_["phi"][:, :20])


KILLED = """
import sys
from honestbayes import SelectiveMixture
from honestbayes.datasets import simulate_mixture
import honestbayes.sampling.chains as chains
chains.SECONDS, chains.SAVE_EVERY = 0.05, 0.0
data = simulate_mixture(60, 0, 400, alpha=20.0, random_state=1)
SelectiveMixture(n_features_to_select=5, n_chains=2, n_draws=200_000, n_warmup=10, thin=5,
                 n_doublings=0, random_state=0,
                 checkpoint=sys.argv[1]).fit(data.X_train, data.y_train)
"""


@pytest.mark.slow
def test_a_killed_fit_goes_on_from_its_checkpoint(data, tmp_path):
    place = tmp_path / "chains"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(place)])
    deadline = time.monotonic() + 60
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.1)
    process.kill()
    process.wait()
    words = {"n_features_to_select": 5, "n_chains": 2, "n_warmup": 10, "n_doublings": 0, "thin": 5}
    words |= {"random_state": 0}
    n_draws = 400
    resumed = SelectiveMixture(**words, n_draws=n_draws, checkpoint=place)
    resumed.fit(data.X_train, data.y_train)
    whole = SelectiveMixture(**words, n_draws=n_draws).fit(data.X_train, data.y_train)
    for name in whole.draws_.values:
        np.testing.assert_array_equal(resumed.draws_[name][:, :n_draws], whole.draws_[name])


@pytest.mark.usefixtures("arviz")
def test_draws_go_to_arviz(fitted):
    data = fitted.to_arviz()
    assert data.posterior["phi"].shape == (3, 300, 2, 9)
    assert data.sample_stats["log_posterior"].shape == (3, 300)


def test_a_saved_model_predicts_the_same_and_takes_the_kept_columns_alone(fitted, data, tmp_path):
    fitted.save(tmp_path / "m")
    again = honestbayes.load(tmp_path / "m")
    np.testing.assert_array_equal(
        again.predict_log_proba(data.X_test), fitted.predict_log_proba(data.X_test)
    )
    assert str(again.components()) == str(fitted.components())
    assert str(again.diagnostics_) == str(fitted.diagnostics_)
    assert again.get_params() == fitted.get_params()
    small = fitted.on_kept_columns()
    columns = list(fitted.selection_.columns)
    np.testing.assert_array_equal(
        small.predict_proba(data.X_test[:, columns]), fitted.predict_proba(data.X_test)
    )


def change(name, value):
    def corrupt(arrays):
        arrays[name] = value(arrays[name])

    return corrupt


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (change("part0.phi", lambda a: a * 0), "phi is not strictly between 0 and 1"),
        (change("part0.phi", lambda a: a[..., :-1]), "phi is an array of"),
        (change("part0.psi", lambda a: a * 0.9), "psi does not sum to 1"),
        (change("part0.psi", lambda a: a[:, :0]), "psi holds no draws"),
        (change("part0.z", lambda a: a + 1), "z holds something else than 0 and 1"),
        (change("part0.z", lambda a: a[..., :-1]), "z is an array of"),
        (change("part0.log_alpha", lambda a: a + np.nan), "log_alpha holds a number"),
        (lambda arrays: arrays.pop("part0.log_posterior"), "log_posterior is missing"),
    ],
)
def test_a_file_that_cannot_be_a_mixture_is_refused(fitted, corrupt, words):
    content, arrays = fitted._to_plain()
    arrays = dict(arrays)
    corrupt(arrays)
    with pytest.raises(ModelFileError, match=words):
        SelectiveMixture._from_plain(content, arrays)


def test_where_a_model_was_written_while_it_ran_is_not_in_its_file(data, tmp_path):
    model = SelectiveMixture(n_features_to_select=2, checkpoint=tmp_path / "secret", **QUICK)
    model.fit(data.X_train, data.y_train).save(tmp_path / "m")
    assert b"secret" not in (tmp_path / "m").read_bytes()
    assert honestbayes.load(tmp_path / "m").checkpoint is None


def test_progress_is_shown_where_it_is_asked_for(data, capsys):
    words = {"n_features_to_select": 2, **QUICK}
    SelectiveMixture(**words).fit(data.X_train, data.y_train)
    assert capsys.readouterr().err == ""
    SelectiveMixture(verbose=True, **words).fit(data.X_train, data.y_train)
    assert capsys.readouterr().err.endswith("\nsampling: 160 of 160 steps (100%)\n")
