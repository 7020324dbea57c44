"""Least-squares classification with a Gaussian kernel, for smooth nonlinear effects.

The 0/1 indicator of class c is regressed on the k standardised columns,

    y_c = p_c + f_c(x) + noise,    f_c ~ GP(0, s^2 exp(-|x - x'|^2 / (2 h^2))),

with p_c the share of the class and noise of variance lambda s^2 (Rasmussen and Williams 2006,
section 6.5; Rifkin and Klautau 2004). All classes share one n x n matrix, and with Y the centred
indicators of the training cases everything is in closed form:

    posterior mean of f(x)    k(x)' A,   A = (K + lambda I)^-1 Y
    variance                  s^2 (1 - k(x)' (K + lambda I)^-1 k(x))
    log evidence              -(C - 1)/2 [n log tr(Y' A) + log|K + lambda I|] + constant,

after s^2 was maximised out: s^2 = tr(Y' A) / ((C - 1) n). The length h and lambda are those of the
largest evidence on a grid. The regression's shares p_c + f_c(x), bounded away from 0, are the
probabilities from which the evidence of a row is taken; how far it can be trusted is learned from
held-out cases. Where Laplace's approximation of a logistic likelihood was tried in its place, the
log score was higher on six of eight tables, and it took ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.special import ndtri

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import (
    KeptTable,
    TableColumn,
    TableNames,
    by_design,
    location_columns,
)
from honestbayes.base.numeric import (
    ColumnSummary,
    Covariance,
    NumericSettings,
    NumericTraining,
    Screened,
    ledoit_wolf,
    numeric_choices,
    numeric_values,
    patterns_of,
)
from honestbayes.base.part import Describe, FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.data.normal_scores import NormalScores
from honestbayes.files.fields import (
    GIVEN,
    Check,
    Field,
    Floats,
    Known,
    LogProbabilities,
    Number,
)
from honestbayes.models.logistic.estimator import Directions
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

LENGTHS = 0.35 * 2.0 ** np.arange(6)
"""Grid of the length, in units of the root of the number of columns: distances between standardised
rows grow with it."""

NOISES = 10.0 ** np.linspace(-2, 1, 7)
"""Grid of lambda, the variance of the noise in units of that of the function."""

LEAST_SHARE = 0.02
"""Lower bound of the regression's share of a class, which may be below 0. Chosen among 0.02, 0.05
and 0.1 on the tables iris, glass, breast-cancer, vote, spect, colon and pima."""

_MOST_CASES = 500
"""Cases from which length and noise are chosen; of more, evenly spaced ones."""

_FARTHEST = 1e6
"""Bound of standardised values, whose squares are added up."""

# --------------------------------------------------------------------------------------------------
# The regression
# --------------------------------------------------------------------------------------------------


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the squared distances between rows, shape (n, m)."""
    result = -2 * (a @ b.T)
    result += np.einsum("ij,ij->i", a, a)[:, None]
    result += np.einsum("ij,ij->i", b, b)
    return np.maximum(result, 0.0, out=result)


def choose_length_and_noise(rows: FloatArray, indicators: FloatArray) -> tuple[float, float]:
    """Return h and lambda with the largest evidence.

    Parameters
    ----------
    rows : ndarray of shape (n, k)
        Standardised training rows.
    indicators : ndarray of shape (n, C)
        Their classes, centred.
    """
    n, k = rows.shape
    if n > _MOST_CASES:
        some = np.linspace(0, n - 1, _MOST_CASES).astype(np.int64)
        rows, indicators, n = rows[some], indicators[some], _MOST_CASES
    distances = squared_distances(rows, rows)
    best, chosen = np.inf, (1.0, 1.0)
    for length in LENGTHS * np.sqrt(max(k, 1)):
        # One decomposition serves all values of lambda.
        values, vectors = eigh(np.exp(-distances / (2 * length**2)), overwrite_a=True)
        squares = ((vectors.T @ indicators) ** 2).sum(axis=1)
        for noise in NOISES:
            diagonal = np.maximum(values, 0.0) + noise
            loss = n * np.log((squares / diagonal).sum()) + np.log(diagonal).sum()
            if loss < best:
                best, chosen = loss, (float(length), float(noise))
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class KernelFit:
    """A fitted regression.

    Attributes
    ----------
    rows : ndarray of shape (n, k)
        Standardised training rows.
    coefficients : ndarray of shape (n, C)
        The matrix A.
    share : ndarray of shape (C,)
        Shares of the classes.
    length, noise, scale : float
        h, lambda and s.
    """

    rows: Annotated[FloatArray, Floats("n_rows", "n_columns", low=-_FARTHEST, high=_FARTHEST)]
    coefficients: Annotated[FloatArray, Floats("n_rows", "n_classes", low=-1e9, high=1e9)]
    share: Annotated[FloatArray, Floats("n_classes", low=0.0, high=1.0)]
    length: Annotated[float, Number(1e-9, 1e9)]
    noise: Annotated[float, Number(1e-9, 1e9)]
    scale: Annotated[float, Number(0.0, 1e9)]

    def check(self, check: Check) -> None:
        """Refuse shares that are not those of classes."""
        check(abs(self.share.sum() - 1) < 1e-6 and self.share.min() > 0, "share", "is not a share")

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        codes: IntArray,
        share: FloatArray,
        chosen: tuple[float, float] | None = None,
    ) -> KernelFit:
        """Fit standardised rows, shape (n, k); ``chosen``: length and noise, if they are known."""
        n_classes = share.size
        indicators = np.eye(n_classes)[codes] - share
        length, noise = chosen or choose_length_and_noise(rows, indicators)
        matrix = np.exp(-squared_distances(rows, rows) / (2 * length**2))
        matrix.flat[:: len(matrix) + 1] += noise
        coefficients = cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), indicators)
        variance = np.sum(indicators * coefficients) / (max(n_classes - 1, 1) * max(len(rows), 1))
        # In one order of memory, as files have it: products in another differ by rounding.
        kept = np.ascontiguousarray(rows), np.ascontiguousarray(coefficients)
        return cls(*kept, share, length, noise, float(np.sqrt(variance)))

    def kernel(self, values: FloatArray, variance: FloatArray | None = None) -> FloatArray:
        """Return k(x, x_i) of rows, shape (m, n), averaged over cells that are not known.

        ``variance``, shape (k,): of the normal distribution of each cell around its value. The
        average of the kernel over it has a closed form, a kernel with a larger length:

            E exp(-(x - t)^2 / (2 h^2)) = h / sqrt(h^2 + v) exp(-(m - t)^2 / (2 (h^2 + v))).
        """
        if variance is None:
            return np.asarray(np.exp(-squared_distances(values, self.rows) / (2 * self.length**2)))
        total = self.length**2 + variance
        factor = np.exp(0.5 * np.sum(np.log(self.length**2 / total)))
        root = np.sqrt(total)
        return np.asarray(factor * np.exp(-squared_distances(values / root, self.rows / root) / 2))

    def log_shares(self, kernel: FloatArray) -> FloatArray:
        """Return log shares of the classes, shape (m, C), given the kernel of m rows."""
        return normalised_log(self.share + kernel @ self.coefficients)

    def spread(self, kernel: FloatArray) -> FloatArray:
        """Return the posterior standard deviation of f(x), shape (m,)."""
        matrix = np.exp(-squared_distances(self.rows, self.rows) / (2 * self.length**2))
        matrix.flat[:: len(matrix) + 1] += self.noise
        root = cho_factor(matrix, lower=True, overwrite_a=True)[0]
        half = solve_triangular(root, kernel.T, lower=True)
        return np.asarray(
            self.scale * np.sqrt(np.maximum(1 - np.einsum("ij,ij->j", half, half), 0.0))
        )


def normalised_log(shares: FloatArray) -> FloatArray:
    """Return the logs of shares that are bounded away from 0 and sum to 1, shape (..., C)."""
    bounded = np.maximum(shares, LEAST_SHARE)
    return np.asarray(np.log(bounded / bounded.sum(axis=-1, keepdims=True)))


# --------------------------------------------------------------------------------------------------
# Fitted columns as a part of an estimator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KernelPart:
    """Fitted columns of a regression with a Gaussian kernel.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    log_prior : ndarray of shape (C,)
        Log class frequencies, which are no part of the evidence.
    scores : NormalScores or None
        Transforms values to normal scores, if not None.
    directions : Directions
        The map from values to standardised columns.
    regression : KernelFit
        The regression.
    covariance : Covariance
        Covariance of the standardised columns, for missing cells.
    summary : ColumnSummary
        Summaries of single columns.
    """

    selection: Annotated[Selection, GIVEN]
    log_prior: Annotated[FloatArray, LogProbabilities("n_classes")]
    scores: NormalScores | None
    directions: Directions
    regression: KernelFit
    covariance: Covariance
    summary: ColumnSummary

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse values that do not fit the selection and the classes."""
        n_columns = len(self.selection.columns)
        check(self.directions.turn is None, "directions", "are not single columns")
        good = self.regression.rows.shape[1] == n_columns
        check(good and self.directions.centre.size == n_columns, "regression", "has other columns")
        good = self.regression.share.size == known["n_classes"]
        check(good, "regression", "has other classes")
        check(np.array_equal(self.log_prior, known["log_prior"]), "log_prior", "is another one")
        good = self.covariance.factor.shape[1] == n_columns
        check(good, "covariance", "is one of other columns")

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return the evidence, shape (n, C): log shares of the classes less those of an empty row.

        Missing cells are integrated out: given the observed cells of the row they are taken as
        normal. The log shares that are taken off are the class frequencies where all cells are
        observed, and what the regression has for an empty row where none is; in between they move
        from one to the other with the share of the cells that is missing.
        """
        return self.regression.log_shares(self._kernel(values)) - self._log_prior_of(values)

    def _log_prior_of(self, values: FloatArray) -> FloatArray:
        """Return the log shares without any evidence, shape (n, C) or (C,)."""
        missing = np.isnan(values)
        if not missing.any():
            return self.log_prior
        empty = self.regression.log_shares(self._kernel(np.full((1, values.shape[1]), np.nan)))
        share = missing.mean(axis=1)[:, None]
        return np.asarray(self.log_prior + share * (empty - self.log_prior))

    def _kernel(self, values: FloatArray) -> FloatArray:
        """Return the kernel of rows with the training rows, averaged over missing cells."""
        standard = self._standardised(values)
        result = self.regression.kernel(standard)
        missing = np.isnan(values)
        for rows, pattern in patterns_of(missing[missing.any(axis=1)]):
            rows = np.flatnonzero(missing.any(axis=1))[rows]
            mean, variance = self.covariance.condition(
                pattern, standard[np.ix_(rows, ~pattern)], np.eye(int(pattern.sum()))
            )
            filled, spread = standard[rows], np.zeros(pattern.size)
            filled[:, pattern], spread[pattern] = mean, variance
            result[rows] = self.regression.kernel(filled, spread)
        empty = missing.all(axis=1)
        if empty.any():
            result[empty] = self.regression.kernel(
                np.zeros((1, missing.shape[1])), np.ones(missing.shape[1])
            )
        return result

    def _standardised(self, values: FloatArray) -> FloatArray:
        return np.clip(self.directions.standardised(values), -_FARTHEST, _FARTHEST)

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals.

        The functions of the classes are drawn from their posterior given the training data; they
        sum to 0, so that draws are centred over classes. Given y* too, draws are weighted by the
        share of y*.
        """
        kernel = self._kernel(values)
        n_classes = self.log_prior.size
        spread = self.regression.spread(kernel)
        levels = ndtri((np.arange(n_draws) + 0.5) / n_draws)
        normal = np.stack([generator.permutation(levels) for _ in range(n_classes)], axis=1)
        if n_classes == 2:  # f of one class is minus that of the other
            normal[:, 0] = -normal[:, 1]
        else:
            normal -= normal.mean(axis=1, keepdims=True)
            normal *= np.sqrt(n_classes / (n_classes - 1))
        mean = self.regression.share + kernel @ self.regression.coefficients
        log_shares = normalised_log(mean[:, None] + spread[:, None, None] * normal)
        evidence = log_shares - np.reshape(self._log_prior_of(values), (-1, 1, n_classes))
        evidence = evidence[..., 1:] - evidence[..., :1]
        return np.broadcast_to(evidence, (n_classes, *evidence.shape)), np.moveaxis(
            log_shares, 2, 0
        )


@dataclass(frozen=True, slots=True)
class KernelTraining(NumericTraining):
    """Columns of a training table, to be fitted by a regression with a Gaussian kernel."""

    @one_blas_thread()
    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> KernelPart:
        selection = self._selected(statistic)
        values, scores = statistic.kept(selection)
        directions = Directions.learn(values, len(selection.kept), turned=False)
        standard = np.clip(directions.standardised(values), -_FARTHEST, _FARTHEST)
        chosen = None
        if isinstance(whole, KernelPart):  # two numbers, which hardly depend on one fold
            chosen = (whole.regression.length, whole.regression.noise)
        log_prior = self.labels.log_prior()
        regression = KernelFit.of(standard, statistic.codes, np.exp(log_prior), chosen)
        residual = standard / np.sqrt(max(len(standard), 1))
        return KernelPart(
            selection,
            log_prior,
            scores,
            directions,
            regression,
            Covariance.of(residual, ledoit_wolf(residual)),
            statistic.summary(selection, values, scores),
        )


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept columns
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    centre : ndarray of shape (C, k)
        Mean of the column in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        del names
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        return location_columns(self.classes)

    def _page_note(self) -> str:
        return "Centre: the mean of a class. Spread: a typical deviation within a class."

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        centres = {
            f"centre_{label}": self.centre[c].tolist() for c, label in enumerate(self.classes)
        }
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            **centres,
            "spread": self.spread.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max(map(len, ("feature", *self.name)))
        lines = [f"{'feature':<{width}}       r"]
        for j, name in enumerate(self.name):
            remark = "  by design" if self.by_design[j] else ""
            lines.append(f"{name:<{width}}  {self.r[j]:6.3f}{remark}")
        return "\n".join(lines)


def feature_table(
    part: KernelPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> KernelFeatureTable:
    """Return the table of the kept columns."""
    return KernelFeatureTable(
        name=names,
        classes=classes,
        r=part.summary.r,
        centre=part.summary.centre,
        spread=part.summary.spread,
        by_design=by_design(part.selection),
    )


class KernelClassifier(SelectiveClassifier):
    """Least-squares classification with a Gaussian kernel, a candidate of `HonestClassifier`.

    Cases with similar values of the kept columns have similar probabilities, whatever the shape of
    the boundary between the classes. It is a Gaussian process regression of the class indicators,
    in closed form for any number of classes; its length and noise are those of the largest
    evidence. The time of `fit` grows with the cube of the number of cases.

    Missing cells are the column's mean in training. In prediction they are integrated out given the
    observed cells of the row, the columns taken to be normal: a row without any cell gets the class
    frequencies.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep, those with the largest F. None: 10, or all when there are fewer.
        "cv": the smallest number with nearly the best log score on held-out cases.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between classes;
        the absolute correlation for two classes) is above this bound.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases, inside `fit`.
    normal_scores : bool or "ranking", default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows.
        "ranking": columns are ranked by these, and used as they are.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength; an int is also the seed of the folds.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    regression_ : KernelFit
        The regression.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_, outlier_rate_ : float
        Posterior means of the slope on the evidence, and of the outlier rate.
    correction_ : None
        This model does not condition on the discarded features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 6.5.
    Rifkin and Klautau (2004), In defense of one-vs-all classification, JMLR 5, 101-141.
    """

    _kind: ClassVar[str] = "KernelClassifier"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"kernel": KernelPart}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {}

    correction_ = None

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        normal_scores: bool | Literal["ranking"] = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.normal_scores = normal_scores
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[KernelTraining]:
        source = as_source(X)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = self._settings_of(self.get_params(deep=False), always)
        return [KernelTraining(settings, source, labels, self.random_state)]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> NumericSettings:
        return NumericSettings(**numeric_choices(parameters, always_keep, may_rank=True))

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, KernelPart)
        self.selection_: Selection = part.selection
        self.regression_: KernelFit = part.regression

    def feature_table(self) -> KernelFeatureTable:
        """Return the class means of each kept feature."""
        table: KernelFeatureTable = super().feature_table()
        return table
