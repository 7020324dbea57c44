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
    start,
)
from honestbayes.sampling.checkpoint import (
    check_place,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from honestbayes.sampling.chunks import Chunks
from honestbayes.sampling.draws import Draws
from honestbayes.sampling.progress import Remaining
from honestbayes.sampling.stages import at_stage, kept_on, stage_of
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
    n_doublings : int
        How often chains may go on to twice their length where their draws do not agree.
    """

    schedule: Schedule
    n_chains: int
    seed: np.random.SeedSequence
    n_jobs: int | None = None
    checkpoint: str | PathLike[str] | None = None
    verbose: bool = False
    n_doublings: int = 0


@dataclass(slots=True)
class Saver:
    """Writes checkpoints of a run one after the other.

    Attributes
    ----------
    path : path-like
        Where.
    of : str
        Fingerprint of what the run depends on.
    chunks : Chunks
        Those that hold the first of its draws.
    """

    path: str | PathLike[str]
    of: str
    chunks: Chunks

    def __call__(self, run: Run) -> None:
        """Write a checkpoint; of the draws only those that no chunk holds."""
        self.chunks = write_checkpoint(self.path, run, self.of, self.chunks)

    def thin_out(self) -> None:
        """Note that draws which chunks hold were thinned out."""
        self.chunks = self.chunks.thinned_out()


def sample(
    kernel: Kernel,
    starts: Callable[[np.random.SeedSequence], Sequence[State]],
    sampling: Sampling,
    *depends_on: Any,
    agree: Callable[[Draws], bool] = lambda _draws: True,
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
    agree : callable, optional
        Whether chains may stop, given their draws; else they go on (`sampling.stages`).

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
    save: Saver | None = None
    first = starts(states_seed)
    if sampling.checkpoint is not None:
        path, schedule = sampling.checkpoint, sampling.schedule
        # Without stages more draws of the same chains may be asked for later.
        stages = (schedule.n_samples, sampling.n_doublings) if sampling.n_doublings else ()
        of = fingerprint(
            *depends_on,
            sampling.n_chains,
            schedule.n_warmup,
            seed.entropy,
            seed.spawn_key,
            *stages,
        )
        check_place(path)
        lengths = [at_stage(schedule, stage) for stage in range(sampling.n_doublings + 1)]
        found = read_checkpoint(path, of, kernel.form().like(first), lengths)
        run, chunks = (None, Chunks()) if found is None else found
        save = Saver(path, of, chunks)
    if run is None:
        run = start(first, chains_seed)
    with one_blas_thread():
        return _run_stages(kernel, run, sampling, agree, save)


def _run_stages(
    kernel: Kernel,
    run: Run,
    sampling: Sampling,
    agree: Callable[[Draws], bool],
    save: Saver | None,
) -> tuple[Draws, bool]:
    """Run chains until their draws agree, or may not be made longer."""
    first = sampling.schedule
    stage = stage_of(run, first) if sampling.n_doublings else 0
    progress = Remaining(len(run.chains), first, sampling.n_doublings)
    drawn = run.draws
    while True:
        run, interrupted = advance(
            kernel,
            run,
            at_stage(first, stage),
            n_jobs=sampling.n_jobs,
            progress=progress.show if sampling.verbose else None,
            save=save,
        )
        drawn = run.draws if run.draws.n_draws else drawn
        if interrupted or stage >= sampling.n_doublings or agree(drawn):
            return drawn.first(first.n_samples), interrupted
        stage += 1
        run = Run(run.chains, kept_on(run.draws, first))
        if save is not None:
            save.thin_out()
