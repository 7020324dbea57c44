"""From a table and its classes, or a response, to draws of a factor model.

The kernels are compiled, so they are imported where they run and not with the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Field, Floats, Known, Whole
from honestbayes.files.records import Check, Section, record_from_plain, record_to_plain
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.real.blocks import GaussianFit, Standard
from honestbayes.models.real.settings import GaussianSettings, RatioPriorName
from honestbayes.models.shared.parameters import Correction, SelectionSettings
from honestbayes.sampling.draws import Diagnostics, Draws, draws_from_plain
from honestbayes.sampling.runs import Sampling, sample
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from honestbayes.models.factors.chains import FactorKernel


KEPT_SHARE = (0.0, 0.7, 0.95)
"""How much of their deviation proposals of scores keep, where P(S) decides on them."""

MOST_GROUPS = 4
"""Discarded features with missing cells are put into so many groups by their observed cases."""

FACTOR_VARIANCE = VariancePrior(2.0, 2.0)
"""The prior of a column's own variance beside factors, times the share of noise, in units of the
column's whole variance: worth four cases. Less would let a factor be a single column, whose own
variance is then next to nothing (docs/factors.rst, "Units")."""

_NEGLIGIBLE = 1e-3
"""Ratios are left out of P(S) where all of them together change its logarithm by less."""


DRAWN_NUMBERS = (
    "log_noise",
    "log_shift_ratio",
    "log_loading_ratio",
    "log_scale",
    "alignment",
    "log_density",
    "accepted",
)
"""What is a single number in each draw."""

_LARGEST = 1e30
_VARIANCES = (1e-300, 1e60)
_MOST_SHARED = 1e14
"""Bounds of draws in files, in standard deviations of their columns, beyond which predictions could
overflow; the last is of variance by factors in units of noise, over all columns, beyond which
numbers have too few digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSettings(SelectionSettings):
    """Validated choices of the user."""

    feature_prior: RatioPriorName
    correction: Correction
    has_shifts: bool = True
    normal_scores: bool = False

    def gaussian(self) -> GaussianSettings:
        """Return settings by which ratios are learned without factors, and features selected.

        The heavy-tailed prior keeps all nodes of its scale, unless every feature is to weigh
        them.
        """
        learnt_from_all = self.correction == "counts" or (
            self.correction == "selection" and self.feature_prior == "learned"
        )
        return GaussianSettings(
            n_features=self.n_features,
            threshold=self.threshold,
            always_keep=self.always_keep,
            feature_prior=self.feature_prior,
            correction="counts" if learnt_from_all else None,
        )


def draw_fields(known: Known) -> dict[str, Field]:
    """Return how draws stand in files; a response, the first column, has a ratio of its own."""
    shape = ("n_chains", "n_draws")
    each = (*shape, "n_classes", "n_columns")
    of_response = ("log_response_ratio",) if known.get("of_response") else ()
    return {
        "location": Floats(*each, low=-_LARGEST, high=_LARGEST),
        "spread": Floats(*each, low=_VARIANCES[0], high=_VARIANCES[1]),
        "loadings": Floats(*shape, "n_columns", "n_factors", low=-_LARGEST, high=_LARGEST),
        "variance": Floats(*shape, "n_columns", low=_VARIANCES[0], high=_VARIANCES[1]),
        "signal_ratio": Floats(*shape, "n_columns", low=0.0, high=1e6),
        **{
            name: Floats(*shape, low=-_LARGEST, high=_LARGEST)
            for name in (*DRAWN_NUMBERS, *of_response)
        },
    }


def _shared(loadings: FloatArray, spread: FloatArray) -> float:
    """Return the largest sum over columns of squared loadings in units of the noise."""
    with np.errstate(over="ignore"):
        square = np.sum(loadings**2, axis=3)[:, :, None]
        return float(np.max(np.sum(square / spread, axis=3), initial=0.0))


def check_draws(drawn: Mapping[str, AnyArray], check: Check) -> None:
    """Refuse draws that would leave predictions without digits."""
    shared = _shared(drawn["loadings"], drawn["spread"])
    check(shared <= _MOST_SHARED, "loadings", "leave next to no noise in a column")


@dataclass(frozen=True, slots=True)
class DrawsOfColumns(Section):
    """Draws in a section of their own, which is there where there are columns."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the draws, or nothing."""
        return ({}, {}) if value is None else Section.write(self, name, value)

    def read(self, entries: Entries, name: str, known: Known) -> FactorDraws | None:
        """Return the draws, or None."""
        if not known["n_columns"]:
            return None
        drawn: FactorDraws = Section(kind=FactorDraws).read(entries, name, known)
        return drawn


DRAWS = DrawsOfColumns(stored_as="draws")
FACTORS = Whole(0, 10**6, "is not a number of factors")
"""How draws and the number of factors stand in files."""


def standardise(values: AnyArray) -> Standard:
    """Find centres and units of columns of shape (n, k); NaN is missing."""
    x = np.asarray(values, dtype=float)
    seen = ~np.isnan(x)
    number = np.maximum(seen.sum(axis=0), 1)
    largest = np.abs(np.where(seen, x, 0.0)).max(axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    small = np.where(seen, x / largest, 0.0)
    centre = small.sum(axis=0) / number
    spread = np.sqrt(np.where(seen, (small - centre) ** 2, 0.0).sum(axis=0) / number)
    unit = np.where(spread > 1e-12, spread, 1.0) * largest
    return Standard(centre * largest, unit)


@dataclass(frozen=True, slots=True, eq=False)
class FactorDraws:
    """Draws of a factor model, in standardised units.

    Attributes
    ----------
    standard : Standard
        Units of the columns.
    draws : Draws
        By name: ``location`` and ``spread`` of shape (C, k), ``loadings`` of shape (k, d),
        ``variance`` and ``signal_ratio`` of shape (k,), and single numbers.
    interrupted : bool
        Whether the user stopped the chains before their end.
    """

    standard: Standard
    draws: Draws
    interrupted: bool

    def to_plain(self) -> Plain:
        """Return units and draws as plain data."""
        return joined(record_to_plain(self.standard), ({}, dict(self.draws.values)))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> FactorDraws:
        """Return the draws that `to_plain` described; refuse those that cannot be."""
        draws = draws_from_plain(draw_fields(known), entries, known)
        check_draws(draws.values, entries.check)
        standard = record_from_plain(Standard, entries, known)
        return cls(standard, draws, interrupted=False)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), for kept columns of shape (n, k); NaN: missing."""
        from honestbayes.models.factors.predict import log_density_of_classes

        location, spread, loadings = self.pooled("location", "spread", "loadings")
        x = self.standard.apply(values)
        return np.asarray(log_density_of_classes(x, location, spread, loadings))

    def log_density_of_draws(self, values: AnyArray, n_draws: int) -> tuple[FloatArray, FloatArray]:
        """Return log P(x | class, parameters) of draws that are evenly spread over the chains.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            Kept columns; NaN is missing.
        n_draws : int
            How many; where the chains have drawn fewer, each is taken several times.

        Returns
        -------
        log_density : ndarray of shape (n, n_draws, C)
        weight : ndarray of shape (n_draws,)
            By which each of the chains' draws that are used weighs the same.
        """
        from honestbayes.models.factors.predict import log_density_of_draws

        given = self.pooled("location", "spread", "loadings")
        places = np.linspace(0, len(given[0]) - 1, n_draws).astype(int)
        used, back, times = np.unique(places, return_inverse=True, return_counts=True)
        each = log_density_of_draws(self.standard.apply(values), *(x[used] for x in given))
        return np.asarray(each)[:, back], 1.0 / times[back]

    def pooled(self, *names: str) -> list[AnyArray]:
        """Return the draws of all chains after each other, also where they have no factors."""
        draws = [self.draws[name] for name in names]
        return [
            np.require(x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), requirements=("C", "W"))
            for x in draws
        ]

    def diagnostics(self) -> Diagnostics:
        """Judge what was drawn, as far as there is anything to draw."""
        return _judged(self.draws)


def _judged(draws: Draws) -> Diagnostics:
    """Judge the numbers that are drawn; without factors there are few."""
    from honestbayes.models.factors.chains import NUMBERS

    has_factors = draws["loadings"].shape[-1] > 0
    names = list(NUMBERS) if has_factors else ["log_density"]
    if np.ptp(draws["log_scale"]) > 0:
        names.append("log_scale")
    if "log_response_ratio" in draws.values and has_factors:
        names.append("log_response_ratio")
    return draws.diagnostics(names)


def class_kernel(
    values: AnyArray,
    codes: IntArray,
    fit: GaussianFit,
    settings: FactorSettings,
    prior_unit: FloatArray | float = 1.0,
) -> tuple[FactorKernel, Standard]:
    """Return the kernel of a model of classes.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Kept columns; NaN is missing.
    codes : ndarray of int of shape (n,)
        Class of each row.
    fit : GaussianFit
        What a model without factors has learned, and the selection.
    settings : FactorSettings
        Choices of the user.
    prior_unit : ndarray of shape (k,) or float, default=1.0
        What the prior of the variances is in: what columns are measured in, or their own.
    """
    from honestbayes.correction.factor_event import class_contrasts
    from honestbayes.models.factors.chains import FactorKernel
    from honestbayes.models.factors.discarded import FactorEvent

    posterior, selection, own = fit.posterior, fit.selection, fit.by_design
    weights, log_scale = posterior.weights, np.zeros(1)
    if weights.shape[0] > 1 and settings.correction == "counts":
        weights = posterior.scale_weights[None] @ weights
    elif weights.shape[0] > 1:
        log_scale = np.arange(weights.shape[0], dtype=float)
    drawn_from = np.zeros(values.shape[1], dtype=np.int64)
    distributions = weights[:, None]
    if own is not None:
        drawn_from[len(selection.kept) :] = 1
        expected = own.posterior.scale_weights @ own.posterior.weights
        both = [weights, np.broadcast_to(expected, weights.shape)]
        distributions = np.stack(both, axis=1)
    standard = standardise(values)
    design = make_design(
        standard.apply(values),
        codes,
        posterior.ratio,
        distributions,
        drawn_from,
        fit.variance_prior,
        prior_unit / standard.unit,
    )
    contrasts = class_contrasts(codes)
    groups: dict[int, int] = {}
    if settings.correction == "selection":
        for group in selection.groups:
            present = [size for size in group.observed if size > 0]
            if len(present) >= 2 and sum(present) > len(group.observed):
                groups[sum(present)] = groups.get(sum(present), 0) + group.n_discarded
    n_cases, n_discarded = merge_groups(groups, float(selection.gamma_squared))
    event = FactorEvent(
        contrasts.basis,
        contrasts.signal,
        float(selection.gamma_squared),
        n_cases,
        n_discarded,
        used_ratios(weights, float(n_discarded.sum())),
        np.array(KEPT_SHARE),
        settings.has_shifts,
    )
    return FactorKernel(design, event, log_scale), standard


def make_design(
    x: FloatArray,
    codes: IntArray,
    ratio: FloatArray,
    weights: FloatArray,
    drawn_from: IntArray,
    prior: VariancePrior,
    unit: FloatArray | float = 1.0,
) -> Any:
    """Return the `Design` of standardised columns; their variances' prior is in another unit."""
    from honestbayes.models.factors.kernels import Design

    missing = np.isnan(x)
    k = x.shape[1]
    return Design(
        np.where(missing, 0.0, x),
        missing,
        np.ascontiguousarray(codes, dtype=np.int64),
        np.bincount(codes).astype(float),
        np.ascontiguousarray(ratio),
        np.ascontiguousarray(weights),
        drawn_from,
        np.zeros(k, dtype=np.int64),
        np.full(k, prior.shape),
        np.maximum(np.full(k, prior.scale) * unit**2, 1e-290),
    )


def merge_groups(groups: Mapping[int, int], gamma_squared: float) -> tuple[FloatArray, FloatArray]:
    """Return observed cases and numbers of discarded features, in a few groups.

    Features with about as many observed cases are put together, at their mean. Where the bound
    is 0 or 1 the event says nothing.
    """
    if not 0 < gamma_squared < 1 or sum(groups.values()) == 0:
        return np.zeros(0), np.zeros(0)
    sizes = np.array(sorted(groups))
    number = np.array([groups[size] for size in sizes], dtype=float)
    place = (np.cumsum(number) - number / 2) / number.sum()
    label = np.minimum((place * MOST_GROUPS).astype(int), MOST_GROUPS - 1)
    if sizes.size <= MOST_GROUPS:
        label = np.arange(sizes.size)
    used = np.unique(label)
    total = np.array([number[label == one].sum() for one in used])
    cases = np.array([(number * sizes)[label == one].sum() for one in used]) / total
    return np.round(cases), total


def used_ratios(weights: FloatArray, n_discarded: float) -> BoolArray:
    """Return which ratios matter to P(S) at each node, shape (T, A)."""
    used = np.ones(weights.shape, dtype=bool)
    for t, row in enumerate(weights):
        order = np.argsort(row)
        negligible = np.cumsum(row[order]) * max(n_discarded, 1.0) < _NEGLIGIBLE
        used[t, order[negligible]] = False
    return used


def run_chains(
    kernel: FactorKernel,
    standard: Standard,
    n_factors: int,
    n_groups: int,
    sampling: Sampling,
) -> FactorDraws:
    """Run chains from scattered starts; go on from a checkpoint where there is one."""
    from honestbayes.models.factors.chains import first_state

    draws, interrupted = sample(
        kernel,
        lambda seed: [
            first_state(kernel.design, n_factors, n_groups, np.random.default_rng(child))
            for child in seed.spawn(sampling.n_chains)
        ],
        sampling,
        *kernel.design,
        *kernel.event,
        n_factors,
        agree=lambda draws: _judged(draws).agree(),
    )
    if interrupted and draws.n_draws == 0:
        raise KeyboardInterrupt
    return FactorDraws(standard, draws, interrupted)
