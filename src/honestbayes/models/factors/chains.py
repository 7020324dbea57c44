"""Chains over factor scores and ratios: the kernel, where chains start, and what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.correction.factor_event import project
from honestbayes.files.fields import Counts, Floats, Known
from honestbayes.files.records import Check
from honestbayes.models.factors.discarded import FactorEvent
from honestbayes.models.factors.fit import check_draws, draw_fields
from honestbayes.models.factors.kernels import Design
from honestbayes.models.factors.parameters import HIGHEST, LOWEST
from honestbayes.models.factors.sweep import HIGHEST_NOISE, LOWEST_NOISE, sweep
from honestbayes.sampling.chains import Info, State
from honestbayes.sampling.form import Form
from honestbayes.types import AnyArray, FloatArray

NUMBERS = ("log_loading_ratio", "log_noise", "alignment", "log_density")
"""What chains are judged by. Scores and loadings themselves turn freely, so they are not."""

_FAR = 1e30
"""Scores and missing cells in files, in units of standard deviations: far beyond any drawn."""


@dataclass(frozen=True, slots=True)
class FactorKernel:
    """One sweep of `factors.sweep`.

    Attributes
    ----------
    design : Design
        Columns and priors.
    event : FactorEvent
        What selection threw away.
    log_scale : ndarray of shape (T,)
        Logarithms of the nodes of the signal's scale; one node where ratios are learned.
    """

    design: Design
    event: FactorEvent
    log_scale: FloatArray

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Make one sweep."""
        scores, log_loading = state["scores"].copy(), state["log_loading"].copy()
        values = self.design.values.copy()
        values[self.design.missing] = state["hidden"]
        node, log_noise, log_shift, shifts, drawn, log_density, accepted = _interruptible_sweep(
            rng,
            self.design,
            self.event,
            scores,
            log_loading,
            float(state["log_noise"]),
            float(state["log_shift"]),
            int(state["node"]),
            values,
        )
        new = {
            "scores": scores,
            "log_loading": log_loading,
            "log_noise": np.array(log_noise),
            "log_shift": np.array(log_shift),
            "node": np.array(node),
            "hidden": values[self.design.missing],
        }
        info = self._info(drawn, shifts, new)
        return new, info | {"log_density": log_density, "accepted": accepted}

    def form(self) -> Form:
        """Return what states and draws can be."""
        n_cases, n_columns = self.design.values.shape
        n_groups = 1 + int(self.design.group.max(initial=0))
        known: Known = {
            "n_columns": n_columns,
            "n_classes": self.design.counts.size,
            "of_response": n_groups > 1,
        }
        n_hidden = int(self.design.missing.sum())
        ratio = Floats("n_chains", low=LOWEST, high=HIGHEST)
        return Form(
            state={
                "scores": Floats("n_chains", n_cases, "n_factors", low=-_FAR, high=_FAR),
                "log_loading": Floats("n_chains", n_groups, low=LOWEST, high=HIGHEST),
                "log_noise": Floats("n_chains", low=LOWEST_NOISE, high=HIGHEST_NOISE),
                "log_shift": ratio,
                "node": Counts("n_chains", high=self.log_scale.size - 1),
                "hidden": Floats("n_chains", n_hidden, low=-_FAR, high=_FAR),
            },
            drawn=draw_fields(known),
            sizes=known,
            check=_check,
        )

    def _info(
        self, drawn: tuple[Any, ...], shifts: FloatArray, state: Mapping[str, AnyArray]
    ) -> dict[str, Any]:
        """Return what is kept of a sweep; the classes' centres have their factors' shifts."""
        position, variance, loadings, _, expected, spread = drawn
        along, _ = project(state["scores"], self.event.basis)
        log_loading = state["log_loading"]
        of_response = {"log_response_ratio": log_loading[1]} if log_loading.size > 1 else {}
        return of_response | {
            "location": expected + shifts @ loadings.T,
            "spread": spread,
            "loadings": loadings,
            "variance": variance,
            "signal_ratio": self.design.ratio[position],
            "log_noise": float(state["log_noise"]),
            "log_shift_ratio": float(state["log_shift"]),
            "log_loading_ratio": log_loading[0],
            "log_scale": self.log_scale[int(state["node"])],
            "alignment": float(np.sum(along**2)),
        }


def _check(_state: Known, drawn: Known, check: Check) -> None:
    """Refuse draws that a model file may not hold either."""
    if drawn:
        check_draws(drawn, check)


def _interruptible_sweep(*given: Any) -> Any:
    """Make a sweep; an interrupt during compiled code comes as one, not as a SystemError."""
    try:
        return sweep(*given)
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise KeyboardInterrupt from None


def first_state(
    design: Design, n_factors: int, n_groups: int, rng: np.random.Generator
) -> dict[str, AnyArray]:
    """Return a scattered state: principal axes of the columns, turned at random and blurred.

    Parameters
    ----------
    design : Design
        Columns.
    n_factors : int
        Factors d.
    n_groups : int
        Loading ratios.
    rng : Generator
        Scatters.
    """
    values = np.where(design.missing, np.nan, design.values)
    n, _ = values.shape
    centre = np.zeros((design.counts.size, values.shape[1]))
    for label in range(design.counts.size):
        rows = values[design.codes == label]
        seen = np.maximum((~np.isnan(rows)).sum(axis=0), 1)
        centre[label] = np.nansum(rows, axis=0) / seen
    left = np.where(design.missing, 0.0, design.values - centre[design.codes])
    axes = np.zeros((n, n_factors))
    if n_factors and values.shape[1]:
        u = np.linalg.svd(left, full_matrices=False)[0][:, :n_factors]
        axes[:, : u.shape[1]] = np.sqrt(n) * u
    turn = np.linalg.qr(rng.normal(size=(n_factors, n_factors)))[0] if n_factors else np.eye(0)
    filled = centre[design.codes][design.missing]
    return {
        "scores": np.ascontiguousarray(
            0.8 * axes @ turn + 0.6 * rng.normal(size=(n, n_factors)), dtype=float
        ),
        "log_loading": rng.normal(size=n_groups),
        "log_noise": np.array(-0.7 * rng.random() if n_factors else 0.0),
        "log_shift": np.array(rng.normal()),
        "node": np.array(rng.integers(design.weights.shape[0])),
        "hidden": np.asarray(filled, dtype=float),
    }
