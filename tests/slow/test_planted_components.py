"""Deliberate mistakes in the general mixture's kernels, each of which an exact check notices.

The kernels run as plain Python here, with a line changed. Each check passes on the kernels as they
are (tests/models/mixture/test_general.py), so what fails is the mistake.
"""

import pytest
from planted.components import CHECKS, plain_python

import honestbayes.models.mixture

BUGS = {
    "labels know nothing of the selection": (
        "invariance",
        [("logs[k] = log_selection[k] + _log_row", "logs[k] = _log_row")],
    ),
    "the case itself is missing from P(S)": (
        "invariance",
        [
            ("                table[k, y] += 1\n                if", "                if"),
            ("                table[k, y] -= 1\n", ""),
        ],
    ),
    "alpha knows nothing of the selection": (
        "invariance",
        [("corrected = block == RANKED and surface.n_discarded > 0", "corrected = False")],
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
    "pseudocounts are those of another component": (
        "invariance",
        [("(pseudocounts[k] + size[k])", "(pseudocounts[k - 1] + size[k])")],
    ),
    "a case stays with the largest component": (
        "invariance",
        [("new = _draw(rng, logs)", "new = int(np.argmax(logs))")],
    ),
    "theta looks at one component too few": (
        "invariance",
        [
            (
                "    for k in range(ones.size):\n        total += log_rising(mass, ones[k])",
                "    for k in range(ones.size - 1):\n        total += log_rising(mass, ones[k])",
            )
        ],
    ),
    "the class's theta forgets a class": (
        "invariance",
        [
            (
                "total += log_rising(one, table[k, c]) + log_rising(other, table[k, d])",
                "total += log_rising(one, table[k, c])",
            )
        ],
    ),
    "alpha forgets the normalising constant": (
        "invariance",
        [("            total -= log_rising(alpha, seen[k, j])\n", "")],
    ),
    "the class's alpha forgets the normalising constant": (
        "invariance",
        [("            total -= log_rising(alpha, table[k].sum())\n", "")],
    ),
    "a component that a case has left is not updated": (
        "kept up to date",
        [("                add_component(surface, table[old], x, held[old])\n", "")],
    ),
    "sums forget where a case went": (
        "kept up to date",
        [("                    held[new, t] = moved[new, t]\n", "")],
    ),
    "predictions are off by one case": (
        "prediction",
        [("ones[k, j]) / (alpha + seen[k, j])", "ones[k, j]) / (alpha + seen[k, j] + 1)")],
    ),
    "predictions forget the class's pseudocounts": (
        "prediction",
        [("(alpha_0 * theta_class[c] + table[k, c]) / (alpha_0 + size)", "table[k, c] / size")],
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name, monkeypatch):
    check, changes = BUGS[name]
    monkeypatch.setattr(honestbayes.models.mixture, "general_kernels", plain_python(changes))
    assert CHECKS[check]() < 1e-4
