"""Small tables of categories in which two columns tell only together, and chains that are quick."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from honestbayes.models.interactions.spec import SPECS

FOLDS = {"n_chains": 1, "n_draws": 20, "n_warmup": 5, "n_doublings": 0, "thin": 1}
FINAL = {"n_chains": 2, "n_draws": 30, "n_warmup": 10, "n_doublings": 0, "thin": 1}
SPEC = SPECS[0]
LONG = dict(SPEC.chains.final_params)
"""The final chains of users."""

NAME = "<b>out</b>look"
SUNNY = "sun<script>alert(1)</script>"


def weather(n=80, labels=("no", "yes"), seed=0):
    """A text of three levels, one of two, and two flags; the sex and the wind tell together."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            NAME: rng.choice([SUNNY, "rain", "fog"], n),
            "sex": rng.choice(["m", "f"], n),
            "wind": rng.integers(0, 2, n),
            "old": rng.integers(0, 2, n),
        }
    )
    together = (frame["sex"] == "m").to_numpy() ^ (frame["wind"] == 1).to_numpy()
    first = rng.random(n) < np.where(together, 0.05, 0.95)
    others = rng.integers(1, len(labels), n)
    frame.insert(0, "play", np.array(labels, dtype=object)[np.where(first, 0, others)])
    return frame


@contextmanager
def short_chains():
    """Run the chains of reports for a moment only."""
    with pytest.MonkeyPatch.context() as patch:
        for words, chains in ((SPEC.chains.fold_params, FOLDS), (SPEC.chains.final_params, FINAL)):
            for key, value in chains.items():
                patch.setitem(words, key, value)
        yield
