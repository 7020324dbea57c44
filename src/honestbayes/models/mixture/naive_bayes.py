"""Binary naive Bayes by Markov chains: an experiment, and a check of the quadrature.

The sampler of the slides, over theta and alpha. It is the mixture's, with labels that stay what the
classes are; the probability of the selection is then that of naive Bayes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.base.parameters import true_or_false, whole_number
from honestbayes.data import as_source, encode_classes
from honestbayes.models.binary.model import TrainingRows
from honestbayes.models.mixture.model import MixturePart, MixtureTraining, mixture_settings
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling


def sample_naive_bayes(
    X: Any,
    y: Any,
    *,
    n_features_to_select: int = 10,
    correct: bool = True,
    class_pseudocounts: tuple[float, float] = (1.0, 1.0),
    alpha_prior: tuple[float, float] = (0.5, 5.0),
    theta_prior: tuple[float, float] = (0.0, 1.0),
    n_alpha: int | None = None,
    n_chains: int = 4,
    n_draws: int = 500,
    n_warmup: int = 50,
    thin: int = 5,
    n_jobs: int | None = None,
    seed: int = 0,
) -> MixturePart:
    """Select features and draw theta and alpha of binary naive Bayes by Markov chains.

    `SelectiveBernoulliNB(feature_prior="uniform")` integrates the same posterior by quadrature, in
    a fraction of the time; chains check it, and show what the slides of 2006 showed.

    Parameters
    ----------
    X, y : training data
        As `SelectiveBernoulliNB` takes them.
    n_features_to_select : int, default=10
        How many features to keep.
    correct : bool, default=True
        Whether the event that the others were discarded is conditioned on.
    class_pseudocounts, alpha_prior, theta_prior : tuple of float
        Priors, as in `SelectiveBernoulliNB`.
    n_alpha : int, optional
        Let alpha take so many prior quantiles only, as in `SelectiveMixture`.
    n_chains, n_draws, n_warmup, thin, n_jobs : int
        How chains are run, as in `SelectiveMixture`.
    seed : int, default=0
        Of the chains.

    Returns
    -------
    MixturePart
        ``draws["log_alpha"]`` is the trace; ``log_likelihood`` predicts.

    Examples
    --------
    >>> from honestbayes.models.mixture.naive_bayes import sample_naive_bayes
    >>> from honestbayes.datasets import simulate_naive_bayes
    >>> data = simulate_naive_bayes(60, 0, 200, random_state=0)
    >>> part = sample_naive_bayes(data.X_train, data.y_train, n_draws=300, n_chains=2)
    >>> part.draws["log_alpha"].shape
    (2, 300)
    """
    params: dict[str, Any] = {
        "n_features_to_select": n_features_to_select,
        "threshold": None,
        "correct": correct,
        "class_pseudocounts": class_pseudocounts,
        "alpha_prior": alpha_prior,
        "response_prior": alpha_prior,  # of the mixture; not used where labels are fixed
        "theta_prior": theta_prior,
        "n_alpha": n_alpha,
        "n_chains": n_chains,
        "n_draws": n_draws,
        "n_warmup": n_warmup,
        "thin": thin,
    }
    whole_number(params, "n_features_to_select", 1)
    params["correction"] = "selection" if true_or_false(params, "correct") else None
    rows = TrainingRows.screened(as_source(X), encode_classes(y), "auto", None)
    chosen = mixture_settings(params, np.zeros(rows.whole.n_features, dtype=bool))
    sampling = Sampling(Schedule(n_warmup, n_draws), n_chains, np.random.SeedSequence(seed), n_jobs)
    return MixtureTraining(chosen, rows, labels_are_fixed=True, sampling=sampling).fit()
