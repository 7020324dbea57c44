"""Deliberate mistakes in the factor models, each of which a check notices.

The checks pass on the source as it is (tests/models/factors/test_plain_source.py, and here those
that take long), so what fails is the mistake.
"""

import pytest
from factor_source import plain_modules
from planted import factor_columns, factor_event, factor_following, factor_moves

PLANTED = [
    pytest.param(part.CHECKS[check], right, wrong, id=name)
    for part in (factor_columns, factor_event, factor_following, factor_moves)
    for name, check, right, wrong in part.MISTAKES
]


LONG = [
    pytest.param(part.CHECKS[name], id=name)
    for part in (factor_following, factor_moves)
    for name in part.LONG
]


@pytest.mark.parametrize("check", LONG)
def test_the_check_passes_on_the_source_as_it_is(check):
    with plain_modules() as modules:
        assert check(modules)


@pytest.mark.parametrize(("check", "right", "wrong"), PLANTED)
def test_the_mistake_is_noticed(check, right, wrong):
    with plain_modules([(right, wrong)]) as modules:
        assert not check(modules)
