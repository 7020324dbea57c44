"""The colon experiment of the 2008 paper (section 5): ten groups of 200 genes, five kept."""

import numpy as np
import pytest

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import load_colon


@pytest.mark.slow
def test_the_correction_improves_the_log_score_in_each_group_of_genes(data_folder):
    colon = load_colon(data_folder)
    order = np.random.default_rng(0).permutation(2000)
    X = (np.median(colon.X, axis=0) < colon.X).astype(np.int8)  # cut once, as in the paper
    scores = {}
    for correction in (None, "selection"):
        model = SelectiveBernoulliNB(
            n_features_to_select=5,
            feature_prior="uniform",
            correction=correction,
            recalibrate=None,
            random_state=0,
        )
        rows = []
        for columns in order.reshape(10, 200):
            p = model.leave_one_out(X[:, columns], colon.y)
            likelihood = np.where(colon.y == 1, p, 1 - p)
            error = np.mean((p >= 0.5) != colon.y)
            rows.append((error, np.mean((1 - likelihood) ** 2), -np.mean(np.log(likelihood))))
        scores[correction] = np.array(rows)
    # Published: error 0.194 and 0.182. Computed apart: 0.194, 0.156, 0.617 and 0.197, 0.152, 0.539.
    np.testing.assert_allclose(scores[None].mean(axis=0), (0.194, 0.156, 0.617), atol=0.03)
    np.testing.assert_allclose(scores["selection"].mean(axis=0), (0.197, 0.152, 0.539), atol=0.03)
    assert np.all(scores["selection"][:, 2] < scores[None][:, 2])
