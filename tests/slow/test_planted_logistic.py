"""Deliberate mistakes in expectation propagation, each of which quadrature shows."""

import pytest
from planted.logistic import MOST, changed, gaps

BUGS = {
    "the cavity keeps the case's own site": (
        "evidence",
        [("1 / state.variance - sites.precision,", "1 / state.variance,")],
    ),
    "the determinant of the prior is forgotten": (
        "evidence",
        [(" - 0.5 * np.log(prior_precision).sum()", "")],
    ),
    "the offset of the cavity is left out of the shift": (
        "probability",
        [("(sign * product.slope + product.curvature * cavity_mean)", "(sign * product.slope)")],
    ),
    "the site's own part stays in the evidence": (
        "evidence",
        [("product.log_mass - log_site", "product.log_mass")],
    ),
}


def test_the_check_passes_on_the_module_as_it_is():
    found = gaps(changed())
    assert all(found[what] < most for what, most in MOST.items())


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_mistake_is_noticed(bug):
    what, changes = BUGS[bug]
    assert gaps(changed(changes))[what] > MOST[what]
