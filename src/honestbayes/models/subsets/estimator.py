"""Naive Bayes, averaged over the posterior distribution of subsets of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.base.parameters import check_level_and_draws, check_prevalences, whole_number
from honestbayes.base.persistence import Parameter
from honestbayes.base.sampled import SampledEstimator
from honestbayes.data import check_as_many, encode_labels
from honestbayes.data.categories import Coding, learn_coding
from honestbayes.data.kinds import as_table
from honestbayes.files.fields import Entries, Field, Known, Plain, Section, joined, plain_scalar
from honestbayes.models.discrete.estimator import (
    CodedTableMixin,
    KindsInTable,
    LevelCounts,
    Shares,
    Smoothing,
    WholeParameter,
    count_levels,
)
from honestbayes.models.subsets.model import Score, SubsetDraws, subset_settings
from honestbayes.sampling.draws import Diagnostics, Draws
from honestbayes.types import AnyArray, FloatArray


@dataclass(frozen=True, slots=True)
class NoFunction(Parameter):
    """A name, or a pair of a name and a number; a function cannot be stored."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the name or the pair; refuse a function."""
        if callable(value):
            msg = f"{name} is a function, which cannot be saved in a file of plain data."
            raise ValueError(msg)
        pair = isinstance(value, tuple | list)
        return {name: [plain_scalar(part) for part in value] if pair else value}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the name or the pair; what it may be is checked with the other parameters."""
        value = entries.value(name)
        good = isinstance(value, str) or (isinstance(value, list) and len(value) == 2)
        entries.check(good, name, "is neither a name nor a pair")
        return tuple(value) if isinstance(value, list) else value


class SubsetEstimator(SampledEstimator):
    """Base of estimators that sample subsets of features."""

    draws_: SubsetDraws
    _remedy: ClassVar[str] = "raise n_draws or thin"

    def _store(self, draws: SubsetDraws) -> None:
        """Store the draws, and the inclusion probability of each feature."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(draws.p)])
        self.draws_ = draws
        self.inclusion_probabilities_, self.inclusion_errors_ = draws.inclusion()
        self.diagnostics_: Diagnostics = draws.diagnostics(tuple(map(str, names)))

    def _chain_draws(self) -> Draws:
        return self.draws_.draws

    def _arviz_groups(self) -> tuple[Sequence[str], Sequence[str]]:
        return ["size"], ["score"]


MOST_AVERAGED = 1000
"""Draws over which predictions are averaged, evenly spread over all."""


class AveragedNB(ClassifierMixin, SubsetEstimator, CodedTableMixin):
    """Naive Bayes averaged over subsets of features, weighted by posterior probability.

    Instead of one best subset, Markov chains sample subsets from their posterior distribution, and
    a prediction is the mean over the draws. A feature of uncertain value is in some of them.

    Parameters
    ----------
    objective : {"marginal_likelihood", "conditional_likelihood", "accuracy", "brier", \
"bhattacharyya"}, default="marginal_likelihood"
        Score of a subset. The first integrates parameters out, so it does not mistake chance for
        signal; the next three score the training rows, and do so with many features.
    subset_prior : {"sizes", "subsets"}, ("poisson", mean) or callable, default="sizes"
        Prior of subsets: equal for all sizes, equal for all subsets, a Poisson distribution of the
        size, or a function of it. With "sizes", the more features there are, the stronger a feature
        must be.
    max_features : int, optional
        Size of the largest subset.
    proposal : {"two_step", "uniform"}, default="two_step"
        How a chain proposes its next subset: add or delete with probability 1/2 each, or uniformly
        over all such changes. It does not change the posterior, only how fast chains move.
    swap : float, default=0.5
        Share of proposals that exchange one feature for another.
    temperature : float, default=1.0
        The score is divided by it, or its logarithm where it is a share.
    smoothing : float, default=1.0
        Dirichlet parameter of each level of a feature, in each class.
    n_bins : int, default=10
        Bins of a real-valued column, at most.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that should not be inferred.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    {chain_parameters}
    thin : int, optional
        Number of proposals for each draw; by default as many as there are features where the score
        is a sum over features, else a tenth of that.
    random_state : int, RandomState or None, default=None
        Seeds the chains.

    Attributes
    ----------
    inclusion_probabilities_, inclusion_errors_ : ndarray of shape (n_features,)
        Share of the subsets with each feature, and its Monte Carlo standard error.
    draws_ : SubsetDraws
        All draws, with ``most_visited(number)``.
    diagnostics_ : Diagnostics
        Of sizes, scores, and the features whose inclusion is known least well.
    coding_ : Coding
        The bins and levels of each column.
    counts_ : LevelCounts
        Training cases by level and class.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    Features are taken for independent given the class. Several that carry the same evidence are all
    likely to be inside, and probabilities are then overconfident: `AveragedNetworkClassifier` can
    learn that they depend on each other.

    References
    ----------
    Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import AveragedNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.integers(0, 2, (200, 30))
    >>> X[:, 7] = np.where(rng.random(200) < 0.8, y, 1 - y)
    >>> model = AveragedNB(random_state=0).fit(X, y)
    >>> model.inclusion_probabilities_.argmax(), model.inclusion_probabilities_.max().round(2)
    (np.int64(7), np.float64(1.0))
    """

    _kind: ClassVar[str] = "AveragedNB"
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        "objective": NoFunction(),
        "subset_prior": NoFunction(),
        "smoothing": Smoothing(),
        "n_bins": WholeParameter(least=2),
        "kinds": KindsInTable(),
        "class_prior": Shares(),
    }

    def __init__(
        self,
        *,
        objective: Score | Any = "marginal_likelihood",
        subset_prior: Any = "sizes",
        max_features: int | None = None,
        proposal: Literal["two_step", "uniform"] = "two_step",
        swap: float = 0.5,
        temperature: float = 1.0,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
        class_prior: Any = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 200,
        n_doublings: int = 4,
        thin: int | None = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.objective = objective
        self.subset_prior = subset_prior
        self.max_features = max_features
        self.proposal = proposal
        self.swap = swap
        self.temperature = temperature
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.class_prior = class_prior
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn bins, count, and draw subsets.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        """
        params = self.get_params(deep=False)
        n_bins = whole_number(params, "n_bins", 2)
        if callable(self.objective):
            msg = "objective is a function; AveragedNB takes the name of one."
            raise ValueError(msg)
        X = as_table(X)
        self.classes_, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, self.classes_.size)
        validate_data(self, X, skip_check_array=True)
        settings = subset_settings(params, X.shape[1])
        weight = np.ones(codes.size)
        self.coding_: Coding = learn_coding(X, weight, kinds=self.kinds, n_bins=n_bins)
        coded = self.coding_.encode(X)
        self.counts_ = count_levels(coded, codes, weight, self.classes_.size)
        self.class_count_ = self.counts_.classes
        draws = settings.run(coded, codes, np.zeros(codes.size, dtype=np.int64), [self.counts_])
        self._store(draws)
        self._conclude(interrupted=draws.interrupted)
        return self

    def _store(self, draws: SubsetDraws) -> None:
        """Store the draws, and the subsets that predictions are averaged over."""
        super()._store(draws)
        self._subsets = draws.draws.spread(MOST_AVERAGED).pooled("bits")

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), averaged over subsets, shape (n, n_classes).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        from honestbayes.models.subsets.kernels import add_averages

        coded, log_prior = self._read(X, class_prior)
        bits, count = np.unique(self._subsets, axis=0, return_counts=True)
        masks = np.unpackbits(bits, axis=1, count=self.n_features_in_)
        members = np.concatenate([np.flatnonzero(mask) for mask in masks])
        result = np.zeros((coded.cells.shape[0], self.classes_.size))
        add_averages(
            coded.cells,
            self.counts_.first,
            self.counts_.log_likelihood(float(self.smoothing)),
            log_prior,
            np.concatenate([[0], np.cumsum(masks.sum(axis=1, dtype=np.int64))]),
            members,
            count / count.sum(),
            result,
        )
        return np.asarray(result / result.sum(axis=1, keepdims=True))

    def _read(self, X: Any, class_prior: Any) -> tuple[Any, FloatArray]:
        """Return coded rows and the log prevalences."""
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        given = self.class_prior if class_prior is None else class_prior
        log_prior = check_prevalences(given, self.classes_.size)
        return self.coding_.encode(X), self.counts_.log_prior() if log_prior is None else log_prior

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        proba = self.predict_proba(X)
        result: AnyArray = self.classes_[np.argmax(proba, axis=1)]
        return result

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 500
    ) -> FloatArray:
        """Return intervals for P(class | x), over subsets and over the parameters of their levels.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=500
            Draws that are used, at most.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_level_and_draws(level, n_draws)
        coded, log_prior = self._read(X, class_prior)
        some = np.linspace(0, len(self._subsets) - 1, min(n_draws, len(self._subsets))).astype(int)
        masks = np.unpackbits(self._subsets[some], axis=1, count=self.n_features_in_)
        used = np.flatnonzero(masks.any(axis=0))
        slots = self.counts_.first[used] + 1 + coded.cells[:, used]
        # The same draws whatever rows are asked about: a case's interval does not depend on others.
        rng = np.random.default_rng(0)
        proba = np.empty((len(some), coded.cells.shape[0], self.classes_.size))
        for mask, out in zip(masks[:, used].astype(bool), proba, strict=True):
            drawn = self.counts_.drawn(rng, used, float(self.smoothing))
            value = log_prior + drawn[slots[:, mask]].sum(axis=1)
            value = np.exp(value - value.max(axis=1, keepdims=True))
            out[:] = value / value.sum(axis=1, keepdims=True)
        bounds = np.quantile(proba, [(1 - level) / 2, (1 + level) / 2], axis=0)
        result = np.moveaxis(bounds, 0, 2)
        return result if self.classes_.size > 2 else result[:, 1]

    # ------------------------------------------------------------------------------- files

    def _found_to_plain(self) -> Plain:
        arrays = {
            "slots": self.counts_.slots,
            "class_count": self.counts_.classes,
        }
        sections = {"coding": self.coding_.to_plain(), "draws": self.draws_.to_plain()}
        return joined(({}, arrays), **sections)

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = super()._fitted_from_plain(entries)
        known["coding"] = Section(kind=Coding).read(entries, "coding", known)
        known["counts"] = LevelCounts.from_plain(entries, known)
        known["draws"] = Section(kind=SubsetDraws).read(entries, "draws", known)
        return known

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        subset_settings(parameters, fitted["n_features_in"])

    def _load_fitted(self, fitted: Known) -> Self:
        super()._load_fitted(fitted)
        self.coding_, self.counts_ = fitted["coding"], fitted["counts"]
        self.class_count_ = self.counts_.classes
        self._store(fitted["draws"])
        return self
