"""The factor model's kernels, run as plain Python, pass the checks that planted mistakes fail.

The mistakes are in tests/slow, as are the checks that take long.
"""

import pytest
from factor_source import plain_modules
from planted import factor_columns, factor_event, factor_following, factor_moves

CHECKS = factor_columns.CHECKS | factor_event.CHECKS | factor_following.CHECKS | factor_moves.CHECKS
LONG = (*factor_following.LONG, *factor_moves.LONG)


@pytest.mark.slow_cases("along", "deviations")
@pytest.mark.parametrize("name", [name for name in CHECKS if name not in LONG])
def test_the_check_passes_on_the_source_as_it_is(name):
    with plain_modules() as modules:
        assert CHECKS[name](modules)
