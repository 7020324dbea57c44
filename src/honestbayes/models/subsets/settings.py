"""What the user of subset sampling chose, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from honestbayes.models.plain.counts import LevelCounts
from honestbayes.models.shared.parameters import check_checkpoint, positive_number, whole_number
from honestbayes.models.subsets.chains import SubsetDraws, run_subsets
from honestbayes.models.subsets.priors import log_prior_of_subsets
from honestbayes.models.subsets.problem import LOG, SHARE, TWO_STEP, UNIFORM
from honestbayes.models.subsets.scores import (
    KINDS,
    OF_ROWS,
    SUMS,
    SubsetScore,
    bhattacharyya,
    log_bayes_factors,
    rows_of,
)
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling
from honestbayes.sources.coding import Coded
from honestbayes.types import AnyArray, FloatArray, IntArray

PROPOSALS = {"uniform": UNIFORM, "two_step": TWO_STEP}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSettings:
    """Validated choices: score, prior, proposals and chains."""

    objective: Any
    log_score: bool
    log_prior: FloatArray
    scheme: int
    swap: float
    temperature: float
    smoothing: float
    thin: int
    sampling: Sampling

    def run(
        self,
        coded: Coded,
        labels: AnyArray,
        fold: IntArray,
        counts: list[LevelCounts],
    ) -> SubsetDraws:
        """Score subsets and run the chains.

        Parameters
        ----------
        coded, labels, fold : Coded, ndarray, ndarray
            Rows that are judged, where the score looks at rows.
        counts : list of LevelCounts
            Of all training rows first; where folds are held out, of each fold's others after it.
        """
        p = coded.n_levels.size
        score = self._score(coded, labels, fold, counts)
        return run_subsets(
            score,
            p,
            self.log_prior,
            scheme=self.scheme,
            swap=self.swap,
            temperature=self.temperature,
            thin=self.thin,
            sampling=self.sampling,
            depends_on=(coded.cells, np.asarray(labels), np.asarray(fold), self.smoothing),
        )

    def _score(
        self, coded: Coded, labels: AnyArray, fold: IntArray, counts: list[LevelCounts]
    ) -> SubsetScore:
        """Return the score of subsets of these rows."""
        if callable(self.objective):
            kind = LOG if self.log_score else SHARE
            return SubsetScore("a function", kind, function=self.objective)
        kind = KINDS[self.objective]
        if self.objective in OF_ROWS:
            learned, judged = (counts[:1], fold * 0) if len(counts) == 1 else (counts[1:], fold)
            rows = rows_of(coded, labels, judged, learned, self.smoothing, OF_ROWS[self.objective])
            return SubsetScore(self.objective, kind, rows=rows)
        make = log_bayes_factors if self.objective == "marginal_likelihood" else bhattacharyya
        return SubsetScore(self.objective, kind, values=make(counts[0], self.smoothing))


def subset_settings(params: Mapping[str, Any], p: int) -> SubsetSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them."""
    objective = params["objective"]
    if not callable(objective) and (not isinstance(objective, str) or objective not in KINDS):
        *first, last = map(repr, KINDS)
        msg = f"objective={objective!r} is not {', '.join(first)}, {last} or a function of columns."
        raise ValueError(msg)
    if params["proposal"] not in PROPOSALS:
        msg = f"proposal={params['proposal']!r} is not one of 'two_step', 'uniform'."
        raise ValueError(msg)
    swap = params["swap"]
    if not (isinstance(swap, float | int | np.number) and 0 <= swap < 1):
        msg = f"swap={swap!r} is not a share from 0 on and below 1."
        raise ValueError(msg)
    most = p
    if params["max_features"] is not None:
        most = min(p, whole_number(params, "max_features", 1))
    given = params["thin"]
    if given is None:
        # A sum is so quick that each feature may have a turn between draws.
        given = max(1, p if objective in SUMS else p // 10)
    else:
        given = whole_number(params, "thin", 1)
    check_checkpoint(params)
    return SubsetSettings(
        objective=objective,
        log_score=bool(params.get("log_score", False)),
        log_prior=log_prior_of_subsets(params["prior"], p, most),
        scheme=PROPOSALS[params["proposal"]],
        swap=float(swap),
        temperature=positive_number(params, "temperature"),
        smoothing=positive_number(params, "smoothing"),
        thin=given,
        sampling=Sampling(
            Schedule(whole_number(params, "n_warmup", 0), whole_number(params, "n_samples", 1)),
            whole_number(params, "n_chains", 1),
            np.random.SeedSequence(check_random_state(params["random_state"]).randint(2**31)),
            params["n_jobs"],
            params["checkpoint"],
            bool(params["verbose"]),
        ),
    )
