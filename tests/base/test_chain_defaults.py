"""Chains have the same defaults in every sampled estimator."""

import inspect

import pytest

import honestbayes
from honestbayes.base.sampled import SampledEstimator
from honestbayes.base.spec import CHAIN_DEFAULTS

SAMPLED = [
    estimator
    for name in honestbayes.__all__
    if inspect.isclass(estimator := getattr(honestbayes, name))
    and issubclass(estimator, SampledEstimator)
]


def test_there_are_sampled_estimators():
    assert len(SAMPLED) >= 9


@pytest.mark.parametrize("estimator", SAMPLED, ids=lambda estimator: estimator.__name__)
def test_defaults_are_those_of_all(estimator):
    parameters = inspect.signature(estimator).parameters
    assert {name: parameters[name].default for name in CHAIN_DEFAULTS} == CHAIN_DEFAULTS
