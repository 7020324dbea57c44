"""What all estimators fitted by Markov chains have in common."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import honestbayes
from honestbayes.base.sampled import SampledEstimator, check_chain_parameters, sampling_of

SAMPLED = [
    kind
    for name in honestbayes.__all__
    if inspect.isclass(kind := getattr(honestbayes, name)) and issubclass(kind, SampledEstimator)
]
SHORT = {"n_chains": 2, "n_doublings": 0, "n_draws": 20, "n_warmup": 5, "random_state": 0}


def table():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return np.where(rng.random((40, 4)) < 0.3, rng.integers(0, 2, (40, 4)), y[:, None]), y


def test_every_estimator_with_chains_is_a_sampled_one():
    with_chains = {
        name
        for name in honestbayes.__all__
        if hasattr(kind := getattr(honestbayes, name), "get_params")
        and "n_chains" in inspect.signature(kind).parameters
    }
    assert with_chains == {kind.__name__ for kind in SAMPLED}
    assert len(SAMPLED) == 9


@pytest.mark.parametrize("kind", SAMPLED)
def test_the_docstring_has_the_chain_parameters_with_their_own_defaults(kind):
    text = inspect.getdoc(kind)
    assert "{chain_parameters}" not in text
    for name in ("n_chains", "n_draws", "n_warmup"):
        default = inspect.signature(kind).parameters[name].default
        assert f"\n{name} : int, default={default}\n" in text


@pytest.mark.parametrize("name", ["n_chains", "n_draws", "n_warmup", "n_doublings"])
@pytest.mark.parametrize("value", [-1, 1.5, "many", None, True])
def test_chain_parameters_are_whole_numbers(name, value):
    good = {"n_chains": 2, "n_draws": 10, "n_warmup": 0, "n_doublings": 0}
    check_chain_parameters(good)
    with pytest.raises(ValueError, match=f"{name}="):
        check_chain_parameters({**good, name: value})


def test_the_seed_is_drawn_from_the_random_state():
    params = {**SHORT, "n_jobs": None, "checkpoint": None, "verbose": False}
    one, same = (sampling_of(params).seed.entropy for _ in range(2))
    assert one == same != sampling_of({**params, "random_state": 1}).seed.entropy


@pytest.mark.parametrize("name", ["AveragedNB", "SubsetSampler", "SelectiveMixture"])
def test_draws_go_to_arviz(name):
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = getattr(honestbayes, name)(**SHORT).fit(X, y)
    data = model.to_arviz()
    assert all(values.shape[:2] == (2, 20) for values in data["posterior"].data_vars.values())


@pytest.mark.parametrize("name", ["AveragedNB", "SelectiveMixture", "InteractionClassifier"])
def test_one_text_warns_of_chains_that_have_not_converged(name):
    X, y = table()
    with pytest.warns(ConvergenceWarning, match=r"^the chains have not converged: .* raise n_"):
        getattr(honestbayes, name)(**{**SHORT, "n_draws": 2}).fit(X, y)
