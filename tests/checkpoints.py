"""Runs that leave a checkpoint, and go on from it: small, and of every kind of kernel."""

import warnings
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from fits import CODES, FLAGS, FLAGS_Y, MEASURED, MEASURED_LABELS, RESPONSE
from sklearn.exceptions import ConvergenceWarning

from honestbayes import SelectiveFactorClassifier, SelectiveFactorRegressor, SelectiveMixture

FEW = {"n_chains": 2, "n_warmup": 4, "n_doublings": 0, "random_state": 0}


@dataclass(frozen=True)
class Stopped:
    """A model whose chains are stopped early, and its training table."""

    kind: type
    words: dict[str, Any]
    X: Any
    y: Any

    def fit(self, checkpoint: Any, n_draws: int) -> Any:
        """Fit, from the checkpoint where there is one."""
        model = self.kind(**self.words, **FEW, n_draws=n_draws, checkpoint=checkpoint)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(self.X, self.y)


STOPPED = {
    "mixture": Stopped(
        SelectiveMixture,
        {"n_features_to_select": 4, "always_keep": [7], "thin": 1, "recalibrate": None},
        FLAGS,
        FLAGS_Y,
    ),
    "mixture, grid": Stopped(
        SelectiveMixture,
        {"n_features_to_select": 4, "thin": 1, "n_alpha": 10, "recalibrate": None},
        FLAGS,
        FLAGS_Y,
    ),
    "factors": Stopped(
        SelectiveFactorClassifier,
        {"n_factors": 2, "n_features_to_select": 4, "recalibrate": None},
        MEASURED,
        MEASURED_LABELS,
    ),
    "factors, none": Stopped(
        SelectiveFactorClassifier,
        {"n_factors": 0, "n_features_to_select": 4, "recalibrate": None},
        MEASURED,
        CODES == 0,
    ),
    "response": Stopped(
        SelectiveFactorRegressor,
        {"n_factors": 1, "n_features_to_select": 3},
        MEASURED,
        RESPONSE,
    ),
}


def predictions(model: Any, X: Any) -> Any:
    """Probabilities, or means and deviations or quantiles of a response; else selected columns."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if not hasattr(model, "predict"):
        return model.transform(X)
    if "return_std" in signature(model.predict).parameters:
        return np.column_stack(model.predict(X, return_std=True))
    return np.column_stack([model.predict(X), model.predict_quantiles(X, [0.05, 0.95])])
