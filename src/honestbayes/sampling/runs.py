"""A whole run: chains from their starts, or from a checkpoint, to their end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.sampling.chains import (
    Kernel,
    Run,
    Schedule,
    State,
    advance,
    show_progress,
    start,
)
from honestbayes.sampling.checkpoint import (
    check_place,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from honestbayes.sampling.draws import Draws
from honestbayes.threads import one_blas_thread


@dataclass(frozen=True, slots=True)
class Sampling:
    """How chains are run.

    Attributes
    ----------
    schedule : Schedule
        How long, in steps of the kernel.
    n_chains : int
        Chains.
    seed : SeedSequence
        Of the chains' streams and starting states.
    n_jobs : int or None
        Chains at work at once.
    checkpoint : path-like or None
        Where chains are written while they run.
    verbose : bool
        Whether progress is shown.
    """

    schedule: Schedule
    n_chains: int
    seed: np.random.SeedSequence
    n_jobs: int | None = None
    checkpoint: str | PathLike[str] | None = None
    verbose: bool = False


def sample(
    kernel: Kernel,
    starts: Callable[[np.random.SeedSequence], Sequence[State]],
    sampling: Sampling,
    *depends_on: Any,
) -> tuple[Draws, bool]:
    """Run chains, from a checkpoint where there is one.

    Parameters
    ----------
    kernel : Kernel
        What chains do.
    starts : callable
        Given a seed, their first states.
    sampling : Sampling
        How they are run.
    *depends_on
        All else that draws depend on: another run does not go on from a checkpoint of this one.

    Returns
    -------
    draws : Draws
        As many as asked for, or fewer where the user stopped it.
    interrupted : bool
        Whether the user did.
    """
    seed = sampling.seed
    states_seed, chains_seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(
        2
    )
    run: Run | None = None
    save = None
    first = starts(states_seed)
    if sampling.checkpoint is not None:
        path, n_warmup = sampling.checkpoint, sampling.schedule.n_warmup
        of = fingerprint(*depends_on, sampling.n_chains, n_warmup, seed.entropy, seed.spawn_key)
        check_place(path)
        run = read_checkpoint(path, of, kernel.form().like(first), sampling.schedule)

        def save(run: Run) -> None:
            write_checkpoint(path, run, of)

    if run is None:
        run = start(first, chains_seed)
    with one_blas_thread():
        run, interrupted = advance(
            kernel,
            run,
            sampling.schedule,
            n_jobs=sampling.n_jobs,
            progress=show_progress if sampling.verbose else None,
            save=save,
        )
    return run.draws.first(sampling.schedule.n_samples), interrupted
