"""Small tables of measurements that move together, and factor models that are quick to fit."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from honestbayes.models.factors import model as factor_estimator
from honestbayes.models.factors.spec import SPECS

FOLDS = {"n_chains": 1, "n_draws": 20, "n_warmup": 5, "n_doublings": 0}
FINAL = {"n_chains": 2, "n_draws": 30, "n_warmup": 10, "n_doublings": 0}
SPEC = SPECS[0]
LONG = dict(SPEC.chains.final_params)
"""The final chains of users."""


def genes(n=45, p=9, labels=("ill", "well"), seed=0):
    """Columns that share a factor, in units of their own; the first three tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % len(labels))
    X = rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(n, 1))
    X[:, :3] += 2.0 * y[:, None] * np.array([1, 1, -1])
    frame = pd.DataFrame((1000 + 50 * X).round(3), columns=[f"gene{j} <b>" for j in range(p)])
    frame.iloc[3, 1] = np.nan
    frame.insert(0, "state", np.array(labels, dtype=object)[y])
    return frame


@contextmanager
def short_chains():
    """Run chains of reports, and of the choice of the number of factors, for a moment only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor_estimator, "FOLD_WARMUP", 2)
        patch.setattr(factor_estimator, "FOLD_SAMPLES", 8)
        for words, chains in ((SPEC.chains.fold_params, FOLDS), (SPEC.chains.final_params, FINAL)):
            for key, value in chains.items():
                patch.setitem(words, key, value)
        yield
