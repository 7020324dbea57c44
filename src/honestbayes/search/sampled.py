"""Inclusion probabilities of features, from subsets sampled from their posterior distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honestbayes.base.parameters import selection_rule, whole_number
from honestbayes.files.fields import Entries, Field, Known, Plain, Section, joined
from honestbayes.models.subsets.estimator import NoFunction, SubsetEstimator
from honestbayes.models.subsets.model import Score, SubsetDraws, subset_settings
from honestbayes.search.scorers import counts_by_fold
from honestbayes.search.selector import TableSelector
from honestbayes.types import BoolArray


class SubsetSampler(SubsetEstimator, TableSelector):
    """Samples subsets of features from their posterior, and keeps those in most subsets.

    Parameters
    ----------
    objective : {"marginal_likelihood", "conditional_likelihood", "accuracy", "brier", \
"bhattacharyya"} or callable, default="marginal_likelihood"
        Score of a subset. "marginal_likelihood" integrates the parameters of naive Bayes out, so
        it does not mistake chance for signal. The next three score rows: the training rows, unless
        ``held_out`` is given. "bhattacharyya" is a distance between the classes. A function takes
        the sorted columns of a subset and returns a number of 0 or more; with ``log_score``, the
        logarithm of one.
    subset_prior : {"sizes", "subsets"}, ("poisson", mean) or callable, default="sizes"
        Prior of subsets: equal for all sizes, equal for all subsets, a Poisson distribution of the
        size, or a function of it.
    max_features : int, optional
        Size of the largest subset.
    proposal : {"two_step", "uniform"}, default="two_step"
        How a chain proposes its next subset: add or delete with probability 1/2 each (scheme 2 of
        the paper), or uniformly over all such changes (scheme 1). The acceptance follows from it,
        so the posterior does not.
    swap : float, default=0.5
        Share of proposals that exchange one feature for another.
    temperature : float, default=1.0
        The log score is divided by it. Of a share, such as the accuracy, the target is the share
        to the power of one over it; 1 is the paper's.
    log_score : bool, default=False
        Whether ``objective`` is a function that returns logarithms.
    min_probability : float, default=0.5
        Keep the features with at least this inclusion probability.
    n_features_to_select : int, optional
        Keep this number of features with the highest probabilities instead.
    held_out : int or splitter, optional
        Number of folds: each row is then scored by parameters that were learned without its fold.
    smoothing : float, default=1.0
        Dirichlet parameter of each level of a feature, in each class.
    n_bins : int, default=10
        Bins of a real-valued column, at most.
    kinds : mapping or sequence, optional
        Kinds of columns ("binary", "categorical", "real") that should not be inferred.
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
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Egmont-Petersen, M. Feature selection by Markov chain Monte Carlo sampling: a Bayesian approach.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SubsetSampler
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.integers(0, 2, (200, 30))
    >>> X[:, 7] = np.where(rng.random(200) < 0.8, y, 1 - y)
    >>> sampler = SubsetSampler(random_state=0).fit(X, y)
    >>> sampler.get_support(indices=True).tolist()
    [7]
    """

    _kind: ClassVar[str] = "SubsetSampler"
    _parameter_fields: ClassVar[Mapping[str, Field]] = {
        **TableSelector._parameter_fields,
        "objective": NoFunction(),
        "subset_prior": NoFunction(),
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
        log_score: bool = False,
        min_probability: float = 0.5,
        n_features_to_select: int | None = None,
        held_out: Any = None,
        smoothing: float = 1.0,
        n_bins: int = 10,
        kinds: Any = None,
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
        self.log_score = log_score
        self.min_probability = min_probability
        self.n_features_to_select = n_features_to_select
        self.held_out = held_out
        self.smoothing = smoothing
        self.n_bins = n_bins
        self.kinds = kinds
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_doublings = n_doublings
        self.thin = thin
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Draw subsets.

        Parameters
        ----------
        X : table of shape (n, p)
            Array, sparse matrix, pandas or polars frame; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Rows of one group are held out together, in folds.
        """
        if isinstance(self.held_out, float | np.floating):
            msg = "held_out is a share; give a number of folds, so that every row is scored."
            raise ValueError(msg)
        X, labels, weight = self._training(X, y, None)
        params = self.get_params(deep=False)
        settings = subset_settings(params, self.n_features_in_)
        self._check_what_to_keep()
        held_out = self._hold_out(labels, weight, groups)
        cases = self._cases(X, labels, weight, held_out)
        fold = np.maximum(held_out.fold, 0).astype(np.int64)
        counts = [cases.counts()]
        if held_out.is_any:
            counts += counts_by_fold(cases, held_out.fold, None)
        draws = settings.run(cases.coded, labels, fold, counts)
        self._store(draws)
        self._conclude(interrupted=draws.interrupted)
        return self

    def _check_what_to_keep(self) -> None:
        """Refuse a probability or a number that keeps nothing sensible."""
        least: Any = self.min_probability
        if not (isinstance(least, float | int | np.number) and 0 < least <= 1):
            msg = f"min_probability={least!r} is not a probability above 0."
            raise ValueError(msg)
        if self.n_features_to_select is not None:
            given = {"n_features_to_select": self.n_features_to_select, "threshold": None}
            whole_number(given, "n_features_to_select", 0)
            selection_rule(given, int(self.n_features_in_))

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        probability = self.inclusion_probabilities_
        if self.n_features_to_select is None:
            return np.asarray(probability >= self.min_probability)
        mask = np.zeros(probability.size, dtype=bool)
        number = int(self.n_features_to_select)
        mask[np.lexsort((np.arange(probability.size), -probability))[:number]] = True
        return mask

    # ------------------------------------------------------------------------------- files

    def _found_to_plain(self) -> Plain:
        return joined(draws=self.draws_.to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known = super()._fitted_from_plain(entries)
        known["draws"] = Section(kind=SubsetDraws).read(entries, "draws", known)
        return known

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        subset_settings(parameters, fitted["n_features_in"])
        selector = cls(**parameters)
        selector.n_features_in_ = fitted["n_features_in"]
        selector._check_what_to_keep()

    def _load_fitted(self, fitted: Known) -> Self:
        super()._load_fitted(fitted)
        self._store(fitted["draws"])
        return self
