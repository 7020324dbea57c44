"""Deliberate mistakes in the mixture's kernels, each of which an exact check notices.

The kernels run as plain Python here, with a line changed. Each check passes on the kernels as they
are (tests/models/mixture/test_plain_source.py), so what fails is the mistake.
"""

import pytest
from planted.mixture import CHECKS, plain_python

import honestbayes.models.mixture

BUGS = {
    "labels know nothing of the selection": (
        "invariance",
        [("log_odds += there - here", "pass"), ("log_odds += here - there", "pass")],
    ),
    "the factor of the labels is turned round": (
        "invariance",
        [("log_odds += there - here", "log_odds -= there - here")],
    ),
    "alpha knows nothing of the selection": (
        "invariance",
        [("total += log_selection_of_alpha(problem.table, work, log_alpha)", "pass")],
    ),
    "the wrong class is counted in the component": (
        "invariance",
        [
            (
                "            b += cells[i, 0]\n            a += 1",
                "            a += cells[i, 0]\n            b += 1",
            )
        ],
    ),
    "a case is not counted in its new component": (
        "invariance",
        [
            (
                "                seen[new, j] += 1\n                ones[new, j] += row[j]\n",
                "                pass\n",
            )
        ],
    ),
    "pseudocounts swap components": (
        "invariance",
        [
            (
                "(pseudocounts[1] + size_1) / (pseudocounts[0] + others_0)",
                "(pseudocounts[0] + size_1) / (pseudocounts[1] + others_0)",
            )
        ],
    ),
    "theta looks at one component only": (
        "invariance",
        [("        + log_rising(mass, ones[1])\n", "")],
    ),
    "alpha forgets the normalising constant": (
        "invariance",
        [("            total -= log_rising(alpha, seen[c, j])\n", "")],
    ),
    "the prior of alpha lacks its Jacobian": (
        "prior",
        [("return -shape * log_alpha", "return -(shape + 1.0) * log_alpha")],
    ),
    "predictions are off by one case": (
        "prediction",
        [("ones[c, j]) / (alpha + seen[c, j])", "ones[c, j]) / (alpha + seen[c, j] + 1)")],
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name, monkeypatch):
    check, changes = BUGS[name]
    monkeypatch.setattr(honestbayes.models.mixture, "kernels", plain_python(changes))
    assert CHECKS[check]() < 1e-4
