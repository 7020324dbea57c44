"""A factor model of a response: fitted to a table, and what it says of new cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from scipy.special import logsumexp, ndtr
from sklearn.model_selection import KFold
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.files.fields import Choice, Known
from honestbayes.files.records import INLINE, MaybeSection, Section
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.factors.estimator import FactorChoice, fold_sampling
from honestbayes.models.factors.fit import (
    FACTOR_VARIANCE,
    FACTORS,
    KEPT_SHARE,
    FactorDraws,
    FactorSettings,
    make_design,
    merge_groups,
    run_chains,
    standardise,
    used_ratios,
)
from honestbayes.models.real.blocks import Standard
from honestbayes.models.shared.parameters import Correction
from honestbayes.sampling.runs import Sampling
from honestbayes.screening.response import screen_response
from honestbayes.selection.response import ResponseSelection, select_by_response
from honestbayes.sources import Source
from honestbayes.sources.binarization import check_spread
from honestbayes.sources.source import DescribeColumns, RowsOf
from honestbayes.types import AnyArray, FloatArray, IntArray

N_FOLDS = 5
"""Folds in which numbers of factors are tried."""

_CHUNK_CELLS = 1 << 20
_BISECTIONS = 60
_LARGEST = np.finfo(float).max


if TYPE_CHECKING:
    from honestbayes.models.factors.chains import FactorKernel

RESPONSE_PRIOR = 1e-3
"""Shape and scale of the prior of the response's variance, in its own units: next to nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictive:
    """Normal distributions of a response, one for each draw, and their weights.

    Attributes
    ----------
    mean, variance, weight : ndarray of shape (n, S)
        Of (response - centre) / unit. Weights of each case sum to 1.
    centre, unit : float
        What the response is measured from, and in.
    """

    mean: FloatArray
    variance: FloatArray
    weight: FloatArray
    centre: float = 0.0
    unit: float = 1.0

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the standard deviation of each case, shape (n,)."""
        mean = np.sum(self.weight * self.mean, axis=1)
        apart = self.variance + (self.mean - mean[:, None]) ** 2
        spread = np.sqrt(np.sum(self.weight * apart, axis=1))
        return self._in_units(self.centre, mean), self._in_units(0.0, spread)

    def quantile(self, probability: float) -> FloatArray:
        """Return the value below which a case's response is with this probability, shape (n,)."""
        spread = np.sqrt(self.variance)
        low = (self.mean - 40.0 * spread).min(axis=1)
        high = (self.mean + 40.0 * spread).max(axis=1)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.sum(self.weight * ndtr((middle[:, None] - self.mean) / spread), axis=1)
            low = np.where(below < probability, middle, low)
            high = np.where(below < probability, high, middle)
        return self._in_units(self.centre, 0.5 * (low + high))

    def _in_units(self, centre: float, values: FloatArray) -> FloatArray:
        """Return values as the response is measured; none is beyond the largest number."""
        with np.errstate(over="ignore"):
            return np.clip(centre + self.unit * values, -_LARGEST, _LARGEST)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the log density of each case's response, shape (n,)."""
        z = ((y[:, None] - self.centre) / self.unit - self.mean) ** 2 / self.variance
        terms = -0.5 * (z + np.log(2 * np.pi * self.variance)) - np.log(self.unit)
        return np.asarray(logsumexp(terms, axis=1, b=self.weight))


def _sizes(known: Known) -> Known:
    """Return the sizes of draws: the response is one more column."""
    n_columns = 1 + len(known["selection"].columns)
    return {"n_classes": 1, "n_columns": n_columns, "of_response": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFit:
    """A fitted model of a response.

    Attributes
    ----------
    selection : ResponseSelection
        What was kept and discarded.
    variance_prior : VariancePrior
        Of the features' variances.
    correction : {"selection", None}
        What the model is conditioned on.
    n_factors : int
        Factors.
    drawn : FactorDraws
        What the chains have drawn; the response is the first column.
    choice : FactorChoice or None
        The numbers of factors that were tried, where the number was to be chosen.
    """

    selection: ResponseSelection
    variance_prior: Annotated[VariancePrior, INLINE]
    correction: Annotated[Correction, Choice("selection", None)]
    n_factors: Annotated[int, FACTORS]
    drawn: Annotated[FactorDraws, Section(kind=FactorDraws, sizes=_sizes, stored_as="draws")]
    choice: Annotated[
        FactorChoice | None, MaybeSection(kind=FactorChoice, stored_as="factor_choice")
    ] = None

    def predictive(self, values: AnyArray) -> Iterator[Predictive]:
        """Yield the distributions of the response given kept columns, some rows at a time.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            Kept columns; NaN is missing.
        """
        from honestbayes.models.factors.predict import response_given_columns

        drawn = self.drawn
        location, spread, loadings = drawn.pooled("location", "spread", "loadings")
        location, spread = (np.ascontiguousarray(x[:, 0]) for x in (location, spread))
        columns = np.arange(1, location.shape[1])
        step = max(1, _CHUNK_CELLS // location.shape[0])
        centre, unit = drawn.standard.centre[0], drawn.standard.unit[0]
        for first in range(0, len(values), step):
            part = values[first : first + step]
            # The response comes first; what stands there does not matter.
            x = drawn.standard.apply(np.column_stack([np.full(len(part), centre), part]))[:, 1:]
            mean, variance, log_weight = response_given_columns(
                np.ascontiguousarray(x), location, spread, loadings, columns, 0
            )
            weight = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True))
            yield Predictive(mean, variance, weight, centre, unit)

    def log_density(self, values: AnyArray, y: FloatArray) -> FloatArray:
        """Return the log density of each case's response, shape (n,)."""
        parts = list(self.predictive(values))
        pieces = np.split(y, np.cumsum([len(part.mean) for part in parts])[:-1])
        return np.concatenate(
            [part.log_density(piece) for part, piece in zip(parts, pieces, strict=True)]
        )


@dataclass(frozen=True, slots=True)
class ResponseTraining:
    """A training table and its response: fitted as a whole, or without some rows."""

    source: Source
    y: FloatArray
    settings: FactorSettings
    sampling: Sampling

    def fit(self, n_factors: int) -> ResponseFit:
        """Select and run the chains."""
        centred = self.y / np.max(np.abs(self.y), initial=1e-300)
        centred = centred - centred.mean()
        centred = centred / max(float(np.sqrt(np.mean(centred**2))), 1e-300)
        screening = screen_response(self.source, centred)
        selection = select_by_response(
            screening,
            n_features=self.settings.n_features,
            threshold=self.settings.threshold,
            always_keep=self.settings.always_keep,
            n_cases=self.y.size,
        )
        prior = FACTOR_VARIANCE
        columns = np.array(selection.columns, dtype=np.int64)
        values = self.source.take(columns)
        describe = DescribeColumns(self.source.feature_names)
        check_spread(values, lambda place: describe(int(columns[place])))
        kernel, standard = response_kernel(
            np.asarray(values, dtype=float), self.y, selection, prior, self.settings
        )
        drawn = run_chains(kernel, standard, n_factors, 2, self.sampling)
        return ResponseFit(
            selection=selection,
            variance_prior=prior,
            correction=self.settings.correction,
            n_factors=n_factors,
            drawn=drawn,
        )

    def choose_factors(self, numbers: Sequence[int]) -> FactorChoice:
        """Try numbers of factors on held-out cases."""
        folds = [test for _, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(self.y)]
        found = Parallel(n_jobs=self.sampling.n_jobs, prefer="threads")(
            delayed(self._fold)(rows, f, numbers) for f, rows in enumerate(folds)
        )
        loss = -np.concatenate(found, axis=1).mean(axis=1)
        return FactorChoice(np.array(numbers), loss, numbers[int(np.argmin(loss))])

    def _fold(self, rows: IntArray, f: int, numbers: Sequence[int]) -> FloatArray:
        """Return log densities of held-out responses for each number of factors, shape (g, n)."""
        others = np.setdiff1d(np.arange(self.y.size), rows)
        training = replace(self, source=RowsOf(self.source, others), y=self.y[others])
        result = np.empty((len(numbers), rows.size))
        for position, number in enumerate(numbers):
            short = fold_sampling(self.sampling, f, number)
            fit = replace(training, sampling=short).fit(number)
            if fit.drawn.interrupted:
                raise KeyboardInterrupt
            columns = np.array(fit.selection.columns, dtype=np.int64)
            held_out = np.asarray(RowsOf(self.source, rows).take(columns), dtype=float)
            result[position] = fit.log_density(held_out, self.y[rows])
        return result


def response_kernel(
    values: FloatArray,
    y: FloatArray,
    selection: ResponseSelection,
    prior: VariancePrior,
    settings: FactorSettings,
) -> tuple[FactorKernel, Standard]:
    """Return the kernel of a model of a response: column 0, with a loading ratio of its own.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Kept columns; NaN is missing.
    y : ndarray of shape (n,)
        The response.
    selection : ResponseSelection
        What was kept and discarded.
    prior : VariancePrior
        Of the features' variances.
    settings : FactorSettings
        Choices of the user.
    """
    from honestbayes.correction.factor_event import response_contrast
    from honestbayes.models.factors.chains import FactorKernel
    from honestbayes.models.factors.discarded import FactorEvent

    table = np.column_stack([y, values])
    standard = standardise(table)
    n = y.size
    design = make_design(
        standard.apply(table),
        np.zeros(n, dtype=np.int64),
        np.zeros(1),
        np.ones((1, 1, 1)),
        np.zeros(values.shape[1] + 1, dtype=np.int64),
        prior,
    )
    design.group[0] = 1
    design.shape[0] = design.scale[0] = RESPONSE_PRIOR
    basis, signal = np.zeros((n, 1)), np.zeros(1)
    groups: dict[int, int] = {}
    if np.ptp(y) > 0:
        contrast = response_contrast(design.values[:, 0])
        basis, signal = contrast.basis, contrast.signal
        if settings.correction == "selection":
            groups = {size: number for size, number in selection.groups if size > 2}
    bound = float(selection.gamma_squared)
    n_cases, n_discarded = merge_groups(groups, bound)
    event = FactorEvent(
        basis,
        signal,
        bound,
        n_cases,
        n_discarded,
        used_ratios(design.weights[:, 0], 0.0),
        np.array(KEPT_SHARE),
        False,
    )
    return FactorKernel(design, event, np.zeros(1)), standard
