"""What an average of models predicts, and which columns it looks at."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honestbayes.models.honest.held_out import rows_of
from honestbayes.models.honest.members import Member
from honestbayes.models.honest.numbers import Numbers
from honestbayes.models.honest.pool import pooled
from honestbayes.models.honest.remarks import said_once
from honestbayes.models.honest.training import Views
from honestbayes.models.shared.intervals import draws_per_class, intervals_of_mixture
from honestbayes.models.shared.kept_columns import KeptColumns
from honestbayes.models.shared.parameters import check_level_and_draws
from honestbayes.models.shared.predictions import FromLogProbabilities
from honestbayes.sources.columns import as_table
from honestbayes.sources.kinds import columns_of
from honestbayes.sources.some_rows import ReadAhead, row_batches
from honestbayes.sources.source import as_source, dense_values
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_LEAST_DRAWS = 100
"""Of each model, for intervals: over all classes that a case may turn out to be of."""


class PooledModels(FromLogProbabilities, KeptColumns):
    """Base of the average: fitted models, and what they say together.

    Classes of a single case are not modelled (``_modelled``); ``_class_weights`` are the
    parameters of the Dirichlet posterior of all class frequencies.
    """

    classes_: AnyArray
    class_count_: AnyArray
    class_prior: Any
    n_features_in_: int
    _class_weights: FloatArray
    _modelled: BoolArray
    _members: tuple[Member, ...]
    _numbers: Numbers

    def _describe(self, column: int) -> str:
        """Return how messages call a column of the table."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" if names is None else f"column {names[column]!r}"

    def _views(self, plain: Any) -> Views:
        """Return the columns that vary as they are, and as numbers."""
        return Views(plain, self._numbers.numbers(plain, self._describe))

    def _kept_columns(self) -> list[IntArray]:
        """Return the columns that any model of the average looks at, those of most weight first."""
        return [np.argsort(-self._use(), kind="stable")[: int(np.sum(self._use() > 0))]]

    def _use(self) -> FloatArray:
        """Return the weight of the models that look at each column, shape (p,)."""
        total = np.zeros(self.n_features_in_)
        for member in self._members:
            total[self._columns_of(member)] += member.weight
        return total

    def _columns_of(self, member: Member) -> IntArray:
        """Return the table's columns that a model looks at, each once."""
        columns = member.columns
        if member.as_numbers:
            columns = self._numbers.sources()[columns]
        return np.asarray(self._numbers.varying()[np.unique(columns)])

    # --------------------------------------------------------------- prediction

    def predict_log_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """Return log P(class | x), shape (n, n_classes).

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        """
        check_is_fitted(self)
        said = [self._log_proba(self._read(some), class_prior) for some in row_batches(X)]
        return said[0] if len(said) == 1 else np.concatenate(said)

    def _log_proba(self, views: Views, class_prior: Any) -> FloatArray:
        """Return log P(class | x) of a table that was read."""
        result = self._with_single_cases(self._modelled_log_proba(views))
        given = self._given_log_prior(class_prior)
        if given is not None:
            result = result + given - np.log(self._class_weights / self._class_weights.sum())
            result = result - np.log(np.exp(result).sum(axis=1, keepdims=True))
        return result

    def _modelled_log_proba(self, views: Views) -> FloatArray:
        """Return log P(class | x) of the classes of two cases or more."""
        log_prior, n_cases = self._log_prior(), int(self.class_count_.sum())
        if not self._members:
            return np.repeat(log_prior[None], views.plain.shape[0], axis=0)
        with said_once():
            said = [
                member.layer.log_proba(
                    member.evidence(views.of(member.as_numbers), log_prior, n_cases), log_prior
                )
                for member in self._members
            ]
        weights = np.array([member.weight for member in self._members])
        return pooled(np.stack(said), weights, log_prior, self._observed_share(views))

    def _observed_share(self, views: Views) -> FloatArray | None:
        """Return the share of each row's cells that is observed, shape (n,); None where all are.

        A column counts as much as the models that look at it.
        """
        sources = self._numbers.sources()
        use = self._use()[self._numbers.varying()[sources]] / np.bincount(sources)[sources]
        columns = np.flatnonzero(use > 0)
        if hasattr(views.numbers, "indptr") and not np.isnan(views.numbers.data).any():
            return None
        cells = dense_values(as_source(columns_of(views.numbers, columns)))
        missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
        if not missing.any():
            return None
        return np.asarray(1 - missing @ use[columns] / use[columns].sum())

    def _log_prior(self) -> FloatArray:
        weights = self._class_weights[self._modelled]
        return np.asarray(np.log(weights / weights.sum()))

    def _with_single_cases(self, log_proba: FloatArray) -> FloatArray:
        """Give classes of a single case their share."""
        if self._modelled.all():
            return log_proba
        share = self._class_weights / self._class_weights.sum()
        result = np.repeat(np.log(share)[None], len(log_proba), axis=0)
        result[:, self._modelled] = log_proba + np.log(share[self._modelled].sum())
        return result

    def predict_proba_interval(
        self, X: Any, level: float = 0.9, *, class_prior: Any = None, n_draws: int = 2000
    ) -> FloatArray:
        """Return intervals for P(class | x).

        An interval holds ``level`` of what the candidates say, each as often as it counts, over
        the slope and lapses of each and over its own parameters; the mean is `predict_proba`.

        Parameters
        ----------
        X : table of shape (n, p)
            Rows to predict.
        level : float, default=0.9
            Probability that the interval holds.
        class_prior : array-like of shape (n_classes,), optional
            Prevalences where the model is used.
        n_draws : int, default=2000
            Draws for each of two classes over all candidates, or half of those of all classes.

        Returns
        -------
        ndarray of shape (n, 2), or (n, n_classes, 2) for more than two classes
            Lower and upper bounds, for two classes those of ``classes_[1]``.
        """
        check_is_fitted(self)
        check_level_and_draws(level, n_draws)
        found = [
            self._intervals(self._read(some), level, class_prior, n_draws)
            for some in row_batches(X)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _intervals(self, views: Views, level: float, class_prior: Any, n_draws: int) -> FloatArray:
        """Return intervals for a table that was read."""
        target = np.exp(self._log_proba(views, class_prior))
        given = self._given_log_prior(class_prior)
        result = np.repeat(target[:, :, None], 2, axis=2)
        modelled = np.flatnonzero(self._modelled)
        weights, n_cases = self._class_weights[modelled], int(self.class_count_.sum())
        total = sum(member.weight for member in self._members)
        per_class = draws_per_class(n_draws, weights.size)

        def draws(rows: slice) -> list[tuple[float, Any]]:
            shares = [member.weight / total for member in self._members]
            return [
                (
                    share,
                    member.draws(
                        rows_of(views.of(member.as_numbers), rows),
                        weights,
                        n_cases,
                        max(_LEAST_DRAWS // weights.size, int(per_class * share), 1),
                    ),
                )
                for member, share in zip(self._members, shares, strict=True)
            ]

        if self._members:
            whole = target[:, modelled].sum(axis=1, keepdims=True)
            with warnings.catch_warnings():  # all was said by `_log_proba`
                warnings.simplefilter("ignore")
                bounds = intervals_of_mixture(
                    draws,
                    target[:, modelled] / whole,
                    weights / weights.sum(),
                    None if given is None else np.exp(given[modelled]),
                    n_draws,
                    level,
                )
            if bounds.shape[1] == 1:
                bounds = np.concatenate([1 - bounds[:, :, ::-1], bounds], axis=1)
            result[:, modelled] = bounds * whole[:, :, None]
        return result[:, 1] if self.classes_.size == 2 else result

    def _read(self, X: Any) -> Views:
        X = as_table(X, may_be_empty=self.n_features_in_ == 0)
        self._columns_in(X)
        plain = self._numbers.plain(X, self._describe)
        if hasattr(plain, "blocks"):  # a source: what any model looks at is read once
            plain = ReadAhead(plain)
            plain.read_ahead(np.searchsorted(self._numbers.varying(), self.kept_columns()))
        return self._views(plain)
