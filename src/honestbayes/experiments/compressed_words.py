"""What is said of models with compressed parameters: growth, predictions, chains and medians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from honestbayes.experiments.compressed_models import (
    PRIORS,
    WAYS,
    best,
    both_ways,
    level_from,
    mean,
    mean_autocorrelation,
    medians,
    named,
)
from honestbayes.experiments.experiment import Run

KIND = ("order", "prior", "seed")
"""By which models with and without compression are paired."""


def of_growth(found: dict[str, Any], at: int = 20) -> str:
    """Say how the number of compressed parameters of sequences levels off, and the other not."""
    place, last = found["orders"].index(at), found["orders"][-1]
    groups, patterns = found["groups"], found["patterns"]
    more = (patterns[-1] - patterns[-2]) / (last - found["orders"][-2])
    level = level_from(found)
    ratios = [groups[j] / patterns[j] for j in (place, -1)]
    told = (
        f"there are {groups[place]:,} compressed parameters at order {at} and {groups[-1]:,} at "
        f"order {last}; without compression {patterns[place]:,} and {patterns[-1]:,}, and "
        f"{more:,.0f} more with each further order. The ratio is {ratios[0]:.3f} and "
        f"{ratios[1]:.3f}."
    )
    if level == last:
        return told
    return (
        f"{told} From order {level} on the number of compressed parameters does not change any "
        "more, as the thesis says that it must, while that of the original ones grows for ever."
    )


def of_predictions(models: Sequence[Run]) -> str:
    """Say which order predicts best with each prior, and what the lowest and highest give."""
    told = []
    for prior in PRIORS:
        words = {"prior": prior, "compress": True}
        order, score = best(models, prior)
        orders = [m.settings["order"] for m in models if m.settings["compress"]]
        some = dict.fromkeys((min(orders), order, max(orders)))
        errors = ", ".join(
            f"{mean(models, 'error', order=o, **words):.3f} at order {o}" for o in some
        )
        last = mean(models, "log_score", order=max(orders), **words)
        highest = f", and {last:.3f} at order {max(orders)}" if order < max(orders) else ""
        told.append(
            f"With {named(prior)} coefficients the best log score is {score:.3f} at order {order}"
            f"{highest}; error rates are {errors}."
        )
    return " ".join(told)


def of_both_ways(models: Sequence[Run]) -> str:
    """Say how far predictions with and without compression are apart."""
    gaps = [
        abs(m.found["log_score"]
            - mean(models, "log_score", **{name: m.settings[name] for name in KIND}, compress=True))
        for m in models
        if not m.settings["compress"]
    ]  # fmt: skip
    return (
        f"Log scores with and without compression are {np.mean(gaps):.4f} apart on average, "
        f"{max(gaps):.4f} at most."
    )


def of_sampling(models: Sequence[Run]) -> str:
    """Say what compression saves in time and what it does to chains, at the highest order."""
    words = both_ways(models)
    sweeps = models[0].settings["sweeps"]
    told = []
    for prior in PRIORS:
        seconds, draws = (
            [mean(models, name, prior=prior, compress=compress, **words) for compress in WAYS]
            for name in ("fit_seconds", "ess_per_second")
        )
        lags = [mean_autocorrelation(models, prior, compress=compress) for compress in WAYS]
        lag = min(10, lags[0].size - 1)
        told.append(
            f"with {named(prior)} coefficients fitting takes {seconds[0]:.1f} seconds instead of "
            f"{seconds[1]:.1f}, the widths have {draws[0] / draws[1]:.1f} times as many "
            f"independent draws per second, and the autocorrelation of those watched is "
            f"{lags[0][lag]:.2f} instead of {lags[1][lag]:.2f} at {lag} sweeps"
        )
    return (
        f"Chains have {sweeps:,} sweeps (in the thesis 2,000). At order {words['order']}, "
        f"{'; '.join(told)}. Ours draw coefficients together where they can, which those of the "
        "thesis did not, so that its times and autocorrelations are comparable in direction only."
    )


def of_medians(models: Sequence[Run]) -> str:
    """Say how medians of the same parameters differ under both priors."""
    cauchy, normal = (np.array(medians(models, prior)) for prior in PRIORS)
    largest = [float(np.abs(values).max()) for values in (cauchy, normal)]
    small = [float(np.mean(np.abs(values) < 0.1)) for values in (cauchy, normal)]
    large = int(np.sum(np.abs(cauchy) > 2 * largest[1]))
    told = (
        f"the largest of {cauchy.size:,} posterior medians is {largest[0]:,.1f} with Cauchy and "
        f"{largest[1]:,.1f} with normal coefficients, in absolute value; {large} of the Cauchy "
        f"ones are more than twice the largest normal one. {small[0]:.0%} of the Cauchy medians "
        f"and {small[1]:.0%} of the normal ones are within 0.1 of 0."
    )
    if max(largest) > 100:
        told += (
            " Where training cases can be told apart without error nothing but the prior bounds "
            "coefficients, and that of the widths has a long tail."
        )
    return told
