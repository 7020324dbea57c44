"""Deliberate mistakes in the kernels of interactions, each of which an exact check notices."""

import pytest
from planted.interactions import CHECKS, plain_python

import honestbayes.models.interactions

BUGS = {
    "the prior of coefficients is too wide": (
        "cauchy",
        [("    ratio = s / width\n", "    ratio = s / (2.0 * width)\n")],
    ),
    "the tails of a Cauchy are normal": (
        "cauchy",
        [("return -math.log(width) - math.log1p(ratio * ratio)", "return -0.5 * ratio * ratio")],
    ),
    "ones count twice": (
        "cauchy",
        [("+ ones * (point - old)", "+ 2.0 * ones * (point - old)")],
    ),
    "predictors do not follow coefficients": (
        "cauchy",
        [("                u[members[a]] += change\n", "                pass\n")],
    ),
    "sizes of rows are forgotten": (
        "gaussian",
        [("                own_size[a] = size[i]\n", "                own_size[a] = 1.0\n")],
    ),
    "sigma lacks its Jacobian": (
        "cauchy",
        [("return -shape * log_x - rate", "return -(shape + 1.0) * log_x - rate")],
    ),
    "sigma sees other orders only": (
        "cauchy, more sweeps",
        [("        if o != order:\n", "        if o == order:\n")],
    ),
    "widths of normal sums are not squared": (
        "gaussian",
        [("        unit = sigma if is_cauchy else sigma * sigma\n", "        unit = sigma\n")],
    ),
    "rescaling leaves coefficients where they are": (
        "gaussian",
        [("            s[k, g] *= ratio\n", "            pass\n")],
    ),
    "rescaling knows nothing of the data": (
        "cauchy",
        [("            value += log_likelihood(trial, problem, noise)\n", "")],
    ),
    "the other classes are forgotten": (
        "three classes",
        [("            rest[i] = top + math.log(total)\n", "            rest[i] = 0.0\n")],
    ),
    "noise forgets the spread within rows": (
        "response",
        [
            (
                "        squares, n_cases = problem.spread, 0.0\n",
                "        squares, n_cases = 0.0, 0.0\n",
            )
        ],
    ),
    "a normal coefficient forgets where it was": (
        "normal response",
        [("mean = (slope + curvature * old) / precision", "mean = slope / precision")],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_passes_on_the_kernels_as_they_are(name, monkeypatch):
    monkeypatch.setattr(honestbayes.models.interactions, "kernels", plain_python())
    assert CHECKS[name]() > 1e-4


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name, monkeypatch):
    check, changes = BUGS[name]
    monkeypatch.setattr(honestbayes.models.interactions, "kernels", plain_python(changes))
    assert CHECKS[check]() < 1e-4
