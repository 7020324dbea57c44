"""What ``honestbayes select`` was asked for, and the selector that does it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np
import typer

from honestbayes.cli.options import check_folds
from honestbayes.cli.select import DEFAULT_FOLDS, DEFAULT_PATIENCE
from honestbayes.tables.errors import InputError

if TYPE_CHECKING:
    from honestbayes.search.boosted import BoostedProbabilitySelector
    from honestbayes.search.forward import ForwardProbabilitySelector
    from honestbayes.search.sampled import SubsetSampler
    from honestbayes.search.selector import TableSelector
    from honestbayes.tables import TrainingTable
    from honestbayes.types import FloatArray

DEFAULT_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How to select.

    Attributes
    ----------
    method : {"forward", "boosted", "sampled"}
        Which selector.
    features : int, "all" or None
        Columns, or rounds of boosting.
    expected : float or None
        Of the sampled method, the mean of a Poisson prior of the number of columns.
    patience : int or None
        Steps without improvement.
    held_out : int, float or None
        Folds, or a share of the rows.
    score_on : {"train", "held_out"}
        Rows on which candidates are compared.
    loss : {"squared_error", "log_loss"}
        What is made small.
    smoothing : float
        What levels are given more.
    n_bins : int
        Bins of measurements.
    seed : int
        Draws the rows that are held out.
    n_jobs : int
        Threads.
    """

    method: str
    features: int | Literal["all"] | None
    expected: float | None
    patience: int | None
    held_out: int | float | None
    score_on: Any
    loss: Any
    smoothing: float
    n_bins: int
    seed: int
    n_jobs: int

    @classmethod
    def of(
        cls,
        *,
        method: str,
        features: str | None,
        expected: float | None,
        patience: int | None,
        held_out: str | None,
        score_on: str,
        loss: str,
        grouped: bool,
        **more: Any,
    ) -> Self:
        """Read the options; refuse what contradicts itself, or means nothing."""
        if method == "sampled":
            _refuse_for_sampling(held_out, patience, score_on, loss)
        elif expected is not None:
            _refuse("only the sampled method has a prior of the number.", "--expected")
        rows = None if method == "sampled" else _held_out(held_out or str(DEFAULT_FOLDS))
        number = _features(features, method)
        if method == "boosted":
            _refuse_for_boosting(patience, score_on, loss)
        if not (0 < more["smoothing"] < math.inf):
            _refuse(f"{more['smoothing']:g} is not a number above 0.", "--smoothing")
        if rows is None and patience is not None:
            _refuse("patience needs rows that are held out; give folds.", "--held-out")
        if rows is None and score_on == "held_out":
            _refuse("candidates cannot be compared on rows that are not there.", "--held-out")
        if grouped and method != "sampled" and not isinstance(rows, int):
            _refuse("groups stay together in folds; give a number of folds.", "--held-out")
        if method == "forward" and number is None and patience is None and rows is not None:
            patience = DEFAULT_PATIENCE
        return cls(
            method=method,
            features=number,
            expected=expected,
            patience=patience,
            held_out=rows,
            score_on=score_on,
            loss=loss,
            **more,
        )

    def check_table(self, data: TrainingTable) -> None:
        """Refuse what this table is too small for, in the words of the options."""
        columns = len(data.encoding.columns)
        counts_columns = self.method != "boosted"
        if counts_columns and isinstance(self.features, int) and self.features > columns:
            most = f"{columns:,} or fewer" if columns > 1 else "1"
            words = "column" if columns == 1 else "columns"
            other = ", or 'all'" if self.method == "forward" else ""
            msg = (
                f"--features {self.features:,} is more than the {columns:,} {words} to select "
                f"from; give {most}{other}."
            )
            raise InputError(msg)
        if isinstance(self.held_out, int):
            check_folds(self.held_out, data, "--held-out")
        elif self.held_out is not None:
            self._check_share(data.y.size, len(data.labels))

    def _check_share(self, n_rows: int, n_classes: int) -> None:
        assert self.held_out is not None
        held = math.ceil(self.held_out * n_rows)
        if min(held, n_rows - held) < n_classes:
            msg = (
                f"--held-out {self.held_out:g} holds out {held:,} of {n_rows:,} rows, and both "
                f"parts need {n_classes} or more; give another share, or folds."
            )
            raise InputError(msg)


def _refuse(message: str, option: str) -> NoReturn:
    raise typer.BadParameter(message, param_hint=option)


def _refuse_for_boosting(patience: int | None, score_on: str, loss: str) -> None:
    if patience is not None:
        _refuse("boosting makes all its rounds; give --features.", "--patience")
    if score_on == "held_out":
        _refuse("boosting chooses on training rows.", "--score-on")
    if loss == "log_loss":
        _refuse("boosting has a loss of its own, judged by squared error.", "--loss")


def _refuse_for_sampling(
    held_out: str | None, patience: int | None, score_on: str, loss: str
) -> None:
    """Refuse what belongs to selectors that take one column after the other."""
    why = "the sampled method integrates parameters out, and holds no rows out."
    for option, is_given in (
        ("--held-out", held_out is not None),
        ("--patience", patience is not None),
        ("--score-on", score_on == "held_out"),
        ("--loss", loss == "log_loss"),
    ):
        if is_given:
            _refuse(why, option)


def _held_out(word: str) -> int | float | None:
    """Return folds, a share, or None.

    >>> _held_out("5"), _held_out("0.3"), _held_out("none")
    (5, 0.3, None)
    """
    if word == "none":
        return None
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if 0 < number < 1:
        return number
    if number >= 2 and number == math.floor(number) and word.isdecimal():
        return int(word)
    _refuse(
        f"{word!r} is neither a share between 0 and 1, nor 2 folds or more, nor 'none'.",
        "--held-out",
    )


def _features(word: str | None, method: str) -> int | Literal["all"] | None:
    if word is None:
        return None
    if word == "all" and method == "forward":
        return "all"
    if not word.isdecimal() or int(word) < 1:
        other = {"forward": ", or 'all'", "boosted": " of rounds"}.get(method, "")
        _refuse(f"{word!r} is not a number from 1 on{other}.", "--features")
    return int(word)


def fitted_selector(
    chosen: Choices, data: TrainingTable, weight: FloatArray | None
) -> TableSelector:
    """Select, by a table whose columns are those of the file."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    from honestbayes.search import BoostedProbabilitySelector, ForwardProbabilitySelector

    if chosen.method == "sampled":
        return _fitted_sampler(chosen, data)
    held_out: Any = chosen.held_out
    if isinstance(held_out, int):
        kind = StratifiedKFold if data.groups is None else StratifiedGroupKFold
        held_out = kind(held_out, shuffle=True, random_state=chosen.seed)
    words: dict[str, Any] = {
        "held_out": held_out,
        "smoothing": chosen.smoothing,
        "n_bins": chosen.n_bins,
        "n_jobs": chosen.n_jobs,
        "random_state": chosen.seed,
    }
    selector: ForwardProbabilitySelector | BoostedProbabilitySelector
    if chosen.method == "boosted":
        rounds: Any = chosen.features or DEFAULT_ROUNDS
        selector = BoostedProbabilitySelector(n_rounds=rounds, **words)
    else:
        selector = ForwardProbabilitySelector(
            n_features_to_select=chosen.features,
            scoring=chosen.loss,
            score_on=chosen.score_on,
            patience=chosen.patience,
            **words,
        )
    y = np.array(data.labels, dtype=np.str_)[data.y]
    selector.fit(candidates(data), y, weight, groups=data.groups)
    # How many threads there were says nothing of the result.
    selector.set_params(n_jobs=None)
    return selector


def _fitted_sampler(chosen: Choices, data: TrainingTable) -> SubsetSampler:
    """Draw subsets of the columns; what chains lack is said with the result."""
    from sklearn.exceptions import ConvergenceWarning

    from honestbayes.search import SubsetSampler

    number: Any = chosen.features
    sampler = SubsetSampler(
        prior="sizes" if chosen.expected is None else ("poisson", chosen.expected),
        n_features_to_select=number,
        smoothing=chosen.smoothing,
        n_bins=chosen.n_bins,
        n_jobs=chosen.n_jobs,
        random_state=chosen.seed,
    )
    y = np.array(data.labels, dtype=np.str_)[data.y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sampler.fit(candidates(data), y)
    sampler.set_params(n_jobs=None)
    return sampler


def candidates(data: TrainingTable) -> Any:
    """Return the columns to select from, as they are in the file: numbers, or texts."""
    import pandas as pd

    encoding = data.encoding
    if not encoding.levels:
        return data.X
    columns: dict[str, Any] = {}
    for position, feature in enumerate(encoding.features):
        values = data.X.iloc[:, position].to_numpy()
        levels = encoding.levels.get(feature.column)
        if levels is not None:  # the code of a level, also where it is a yes-or-no feature
            places = np.where(np.isnan(values), -1, values).astype(np.int64)
            values = np.array([*levels, None], dtype=object)[places]
        columns[feature.column] = values
    return pd.DataFrame(columns, copy=False)
