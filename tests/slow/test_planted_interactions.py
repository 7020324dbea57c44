"""Deliberate mistakes in the kernels of interactions, each of which an exact check notices."""

import pytest
from planted.interactions import ALWAYS, CHECKS, plain_python

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
    "the width of the intercept has the prior of another order": (
        "own widths",
        [
            (
                "shape, rate = problem.priors[o]\n            if shape == 0.0:\n",
                "shape, rate = problem.priors[max(o, 2)]\n            if shape == 0.0:\n",
            )
        ],
    ),
    "rescaling moves fixed widths": (
        "own widths",
        [("problem.priors[other, 0] > 0.0 and (o == 0 or other == o)", "o == 0 or other == o")],
    ),
    "the prior of the intercept's width is forgotten": (
        "own widths, together",
        [
            (
                "        if shape > 0.0:\n            total",
                "        if o > 0 < shape:\n            total",
            )
        ],
    ),
    "widths of normal sums are not squared": (
        "gaussian",
        [("        unit = sigma if is_cauchy else sigma * sigma\n", "        unit = sigma\n")],
    ),
    "rescaling leaves coefficients where they are": (
        "gaussian",
        [("            s[k, g] *= ratio\n", "            pass\n")],
    ),
    "coefficients that are kept know nothing of their width": (
        "cauchy",
        [("            value += _log_kept(change, s, share, own, width, threshold)\n", "")],
    ),
    "that coefficients are kept is no part of the density": (
        "cauchy, kept",
        [("                total -= math.log(threshold * threshold * w * w + square)\n", "")],
    ),
    "parts have no prior": (
        "cauchy",
        [("(s[members[a]] + (d if a == 0 else -d))", "(s[members[a]] + (d if a == 0 else 0.0))")],
    ),
    "parts stay where they are": (
        "cauchy",
        [("+= update[X] if a == 0 else -update[X]", "+= update[X] if a == 0 else 0.0")],
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
    "halves are not taken off the cases of a class": (
        "together, rows",
        [("problem.target[k] - 0.5 * problem.size + weight * rest", "problem.target[k]")],
    ),
    "Polya-Gamma variables are of one case": (
        "together, tree",
        [("        for _ in range(int(size[i])):\n", "        for _ in range(1):\n")],
    ),
    "Polya-Gamma variables do not know the predictor": (
        "Polya-Gamma means",
        [("    z = 0.5 * abs(f)\n", "    z = 0.0\n")],
    ),
    "pseudo-observations forget the other classes": (
        "together, three classes",
        [("0.5 * problem.size + weight * rest\n", "0.5 * problem.size\n")],
    ),
    "widths forget the coefficients of the other classes": (
        "density of widths",
        [
            (
                "total -= 0.5 * (math.log(variance[g]) + s[j, g] * s[j, g] / variance[g])",
                "pass",
            )
        ],
    ),
    "means over classes are too wide": (
        "together, three classes",
        [("rng.standard_normal() * width[g] / math.sqrt(n_classes)", "rng.normal() * width[g]")],
    ),
    "coefficients are drawn with the widths before": (
        "together, response",
        [("_variances(theta[:-1], scale, problem)", "_variances(log_sigma, scale, problem)")],
    ),
    "the determinant is forgotten": (
        "densities",
        [("        total -= math.log(upper[i, i])\n", "        pass\n")],
    ),
    "the determinant of a tree is forgotten": (
        "densities",
        [("return total - 0.5 * math.log(product), slope, bend", "return total, slope, bend")],
    ),
    "a tree forgets the groups around": (
        "joint draws",
        [("s[g] = less * (slope[g] - bend[g] * around)", "s[g] = less * slope[g]")],
    ),
    "noise forgets the spread, all at once": (
        "together, response",
        [("0.5 * (problem.spread + np.sum(h * h / weight))", "0.5 * np.sum(h * h / weight)")],
    ),
    "draws by rows have no noise of their own": (
        "joint draws",
        [("        away[i] -= rng.standard_normal()\n", "        pass\n")],
    ),
    "scales of Cauchy coefficients are too small": (
        "together, Cauchy response",
        [("/ (0.5 * (1.0 + ratio * ratio))", "/ (1.0 + ratio * ratio)")],
    ),
    "coefficients may be beyond their bound": (
        "together, bounded",
        [("drawn.size == 0 or np.max(np.abs(drawn)) > LARGEST", "drawn.size == 0")],
    ),
}


def use(name, changes, monkeypatch):
    """Put kernels in plain Python in the place of the compiled ones, with changes."""
    module = plain_python([*ALWAYS.get(name, []), *changes])
    monkeypatch.setattr(honestbayes.models.interactions, "sampler", module)


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_passes_on_the_kernels_as_they_are(name, monkeypatch):
    use(name, [], monkeypatch)
    assert CHECKS[name]() > 1e-4


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name, monkeypatch):
    check, changes = BUGS[name]
    use(check, changes, monkeypatch)
    assert CHECKS[check]() < 1e-4
