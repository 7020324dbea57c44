"""A classifier for real-valued features that move together, honest after selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from honestbayes.correction.gaussian import VariancePrior
from honestbayes.models.factor_core import (
    FactorDraws,
    FactorSettings,
    class_kernel,
    run_chains,
)
from honestbayes.models.factor_estimator import (
    MOST_FACTORS,
    FactorChoice,
    FactorEstimator,
    check_words,
    fold_sampling,
    prior_and_correction,
)
from honestbayes.models.gaussian_core import GaussianFit, RatioPosterior, fit_moments
from honestbayes.models.gaussian_part import real_source
from honestbayes.models.parameters import (
    check_prevalences,
    check_recalibrate,
    group_codes,
    pseudocounts,
    refuse_arguments,
    selection_rule,
)
from honestbayes.models.parts import TrainingLabels
from honestbayes.models.slope import (
    EFFECTIVE_SHARE,
    fit_slope,
    held_out_folds,
    warn_of_too_few_groups,
)
from honestbayes.sampling.runs import Sampling
from honestbayes.screening import Source, check_as_many, encode_labels
from honestbayes.screening.levels import as_table
from honestbayes.screening.moments import screen_moments
from honestbayes.screening.sources import RowsOf
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.types import AnyArray, FloatArray, IntArray


class SelectiveFactorClassifier(ClassifierMixin, FactorEstimator):
    """Classifier for real-valued features that move together, selected by correlation.

    Naive Bayes counts what two features share twice. Here features load on a few latent factors
    that all cases have: feature j of case i in class c is

        nu_j + mu_cj + lambda_j' z_i + e_ij,

    with z_i ~ N(delta_c, I) and e_ij ~ N(0, s2_j). Class effects mu_cj have the variance w_j in
    units of the typical variance within classes, loadings the variance w_lambda s2_j, and the
    factors' own shifts delta_c a variance that all share: what moves many features within a class
    often also differs between classes. The square roots of w_lambda and of the shifts' variance
    are half Cauchy with scale 1. s2_j is inverse gamma with a shape that is learnt from all
    features, and a scale that is that of the whole variance within classes times the share of
    noise, which is exponential with mean 1. Without factors this is `SelectiveGaussianNB`.

    The posterior is sampled by Markov chains, conditioned on the event that the other features
    were discarded: its probability given the factors' scores is one of a quadratic form.

    Parameters
    ----------
    n_features_to_select : int, "all" or None, default=None
        How many features to keep. None: 10, or all when there are fewer.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    n_factors : int or "auto", default="auto"
        How many factors. "auto": of 0 to 3 the number with the best log score in five folds of
        the training cases, found inside `fit`.
    feature_prior : {"auto", "learned", "heavy-tailed"}, default="auto"
        How signal ratios w_j are distributed over features. "learned": as estimated from all
        screened features by the model without factors. "heavy-tailed": w is a scale times the
        square of a half Cauchy variable, and the scale is sampled. "auto": heavy-tailed where the
        selection event is conditioned on, else learned.
    factor_shifts : bool, default=True
        Whether classes may differ in the factors themselves. False: delta_c is 0.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What is known of the discarded features. "counts": what all features say of the
        distribution of ratios. "selection": the event that they were discarded, given factors
        and ratios; a learned distribution of ratios uses all features here too (see Notes).
        None: nothing; ratios are learnt from the kept features only. "auto": selection.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, outside the race.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Cases of each class that the Dirichlet prior of the class frequencies is worth.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"slope"} or None, default=None
        "slope": one factor on the evidence, learnt from held-out predictions inside `fit`.
    n_chains : int, default=4
        Markov chains.
    n_samples : int, default=500
        Draws to keep of each.
    n_warmup : int, default=500
        Sweeps before these.
    n_jobs : int, optional
        Chains, or folds, at work at once. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the chains.
    checkpoint : path-like, optional
        A file to which chains are written now and then, and from which an equal fit goes on.

    Attributes
    ----------
    selection_ : Selection
        What was kept and what was thrown away.
    n_factors_ : int
        Number of factors.
    factor_choice_ : FactorChoice or None
        The numbers that were tried, where the number was to be chosen.
    draws_ : Draws
        What the chains have drawn; None where no feature was kept.
    diagnostics_ : Diagnostics
        Whether to trust it.
    posterior_ : RatioPosterior
        The distribution of signal ratios that was learnt without factors.
    variance_prior_ : VariancePrior
        The prior of the features' variances within classes.
    slope_ : float
        The factor on the evidence; 1 without recalibration.
    feature_prior_, correction_ : str or None
        What "auto" became.
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
    A learned distribution of ratios uses the discarded features, and so does the event. They say
    different things: the first how strong features are, given which the second says how far the
    factors' scores go along with the classes (if they did, more features would have been kept).
    Given the true distribution of ratios nothing is counted twice. But it is learnt by a model
    without factors, which takes chance correlation of factors and classes for signal, and that
    evidence is then met again in the event. The heavy-tailed prior with the event has no such
    seam: its scale, the factors and the ratios are one posterior given the kept features and the
    event. Over tables drawn from the prior, and over tables with few strong features, it is the
    best calibrated of the three and has the best log score, so it is the default (see the docs).

    A discarded feature with missing cells is taken to have seen a fair sample of the cases.

    An interrupt (Ctrl-C) while chains run leaves a model of the draws so far, and is raised again.

    References
    ----------
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes.models.factor_classifier import SelectiveFactorClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 300)) + rng.normal(size=(40, 1))
    >>> X[:, :3] += y[:, None]
    >>> model = SelectiveFactorClassifier(
    ...     n_features_to_select=5, n_factors=1, n_warmup=300, n_samples=300, random_state=0
    ... )
    >>> model.fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all"] | None = None,
        threshold: float | None = None,
        n_factors: int | Literal["auto"] = "auto",
        feature_prior: Literal["auto", "learned", "heavy-tailed"] = "auto",
        factor_shifts: bool = True,
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["slope"] | None = None,
        n_chains: int = 4,
        n_samples: int = 500,
        n_warmup: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_factors = n_factors
        self.feature_prior = feature_prior
        self.factor_shifts = factor_shifts
        self.correction = correction
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, **refused: Any) -> Self:
        """Select features and run the chains.

        Parameters
        ----------
        X : table of shape (n, p)
            Training rows; NaN and None are missing.
        y : array-like of shape (n,)
            Class labels of two or more kinds.
        groups : array-like of shape (n,), optional
            Cases of one group (one patient, say) are held out together where the number of
            factors is chosen or the slope learnt.
        **refused
            ``sample_weight`` is refused: the correction needs whole cases. For a different
            prevalence use ``class_prior``.
        """
        refuse_arguments(refused)
        X = as_table(X)
        classes, codes = encode_labels(y)
        check_as_many(X.shape[0], codes.size)
        check_prevalences(self.class_prior, classes.size)
        check_recalibrate(self.recalibrate)
        sampling = self._sampling()
        weights = pseudocounts(self.class_pseudocounts, classes.size)
        labels = TrainingLabels(classes, codes, group_codes(groups, codes.size), weights)
        validate_data(self, X, skip_check_array=True)
        source = real_source(X, type(self).__name__)
        settings = self._settings(source)
        training = _Training(source, labels, settings)
        n_factors, slope = self._learn_inside(training, sampling)
        fit = training.without_factors()
        drawn = training.draw(fit, n_factors, sampling)
        self._become(fit, drawn, labels, settings, n_factors, slope)
        if drawn is not None and drawn.interrupted:
            raise KeyboardInterrupt
        return self

    def _settings(self, source: Source) -> FactorSettings:
        """Check the words about selection and the model."""
        params = self.get_params(deep=False)
        check_words(params)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        rule = selection_rule(params, int(np.sum(~always)))
        return FactorSettings(
            *rule, always, *prior_and_correction(params), bool(self.factor_shifts)
        )

    def _learn_inside(self, training: _Training, sampling: Sampling) -> tuple[int, float]:
        """Choose the number of factors and learn the slope from held-out cases, where asked."""
        self.factor_choice_: FactorChoice | None = None
        choose = self.n_factors == "auto"
        numbers = range(MOST_FACTORS + 1) if choose else [int(self.n_factors)]
        if not choose and self.recalibrate is None:
            return numbers[0], 1.0
        labels = training.labels
        folds = held_out_folds(labels.codes, labels.groups, repeats=1)
        if not folds:
            warn_of_too_few_groups(labels.groups)
            return (1 if choose else numbers[0]), 1.0
        evidence = training.held_out(folds, numbers, sampling)
        rows = np.concatenate(folds)
        codes, log_prior = labels.codes[rows], labels.log_prior()
        loss = []
        slopes = []
        for one in evidence:
            slope = 1.0
            if self.recalibrate == "slope":
                slope = fit_slope(one, codes, log_prior, share=EFFECTIVE_SHARE)
            log_proba = log_softmax(log_prior + slope * one, axis=1)
            loss.append(-float(log_proba[np.arange(rows.size), codes].mean()))
            slopes.append(slope)
        best = int(np.argmin(loss))
        if choose:
            self.factor_choice_ = FactorChoice(np.array(numbers), np.array(loss), numbers[best])
        return numbers[best], slopes[best]

    def _become(
        self,
        fit: GaussianFit,
        drawn: FactorDraws | None,
        labels: TrainingLabels,
        settings: FactorSettings,
        n_factors: int,
        slope: float,
    ) -> None:
        self.classes_ = labels.classes
        self.class_count_ = np.array(fit.selection.class_counts)
        self.selection_: Selection = fit.selection
        self.posterior_: RatioPosterior = fit.posterior
        self.variance_prior_: VariancePrior = fit.variance_prior
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        self.slope_ = slope
        self._log_prior = labels.log_prior()
        self._show(drawn, n_factors)

    # --------------------------------------------------------------- prediction

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes), without underflow.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict; missing cells are integrated out.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        check_is_fitted(self)
        values = self._read(X)
        given = self.class_prior if class_prior is None else class_prior
        log_prior = check_prevalences(given, self.classes_.size)
        if log_prior is None:
            log_prior = self._log_prior
        total = np.zeros((values.shape[0], self.classes_.size))
        if self._drawn is not None:
            total += self._drawn.log_likelihood(values)
        return np.asarray(log_softmax(log_prior + self.slope_ * total, axis=1))

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return P(class | x), shape (n, n_classes)."""
        return np.asarray(np.exp(self.predict_log_proba(X, class_prior=class_prior)))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        result: AnyArray = self.classes_[np.argmax(log_proba, axis=1)]
        return result


@dataclass(frozen=True, slots=True)
class _Training:
    """A training table: fitted as a whole, or without some rows."""

    source: Source
    labels: TrainingLabels
    settings: FactorSettings

    def without_factors(self) -> GaussianFit:
        """Select, and learn the distribution of ratios and variances."""
        moments = screen_moments(self.source, self.labels.codes, self.labels.classes)
        return fit_moments(moments, self.settings.gaussian())

    def draw(self, fit: GaussianFit, n_factors: int, sampling: Sampling) -> FactorDraws | None:
        """Run the chains; None where no feature was kept."""
        columns = np.array(fit.selection.columns, dtype=np.int64)
        if columns.size == 0:
            return None
        values = np.asarray(self.source.take(columns), dtype=float)
        kernel, standard = class_kernel(values, self.labels.codes, fit, self.settings)
        return run_chains(kernel, standard, n_factors, 1, sampling)

    def held_out(
        self, folds: Sequence[IntArray], numbers: Sequence[int], sampling: Sampling
    ) -> FloatArray:
        """Return log likelihoods of held-out rows for each number of factors, shape (g, n, C)."""
        found = Parallel(n_jobs=sampling.n_jobs, prefer="threads")(
            delayed(self._fold)(rows, f, numbers, sampling) for f, rows in enumerate(folds)
        )
        return np.concatenate(found, axis=1)

    def _fold(
        self, rows: IntArray, f: int, numbers: Sequence[int], sampling: Sampling
    ) -> FloatArray:
        others = np.setdiff1d(np.arange(self.labels.codes.size), rows)
        labels = replace(self.labels, codes=self.labels.codes[others], groups=None)
        training = _Training(RowsOf(self.source, others), labels, self.settings)
        fit = training.without_factors()
        columns = np.array(fit.selection.columns, dtype=np.int64)
        held_out = RowsOf(self.source, rows).take(columns)
        result = np.zeros((len(numbers), rows.size, self.labels.classes.size))
        for position, n_factors in enumerate(numbers):
            short = fold_sampling(sampling, f, n_factors)
            drawn = training.draw(fit, n_factors, short)
            if drawn is not None:
                if drawn.interrupted:
                    raise KeyboardInterrupt
                result[position] = drawn.log_likelihood(held_out)
        return result
