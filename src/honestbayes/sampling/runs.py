"""Runs of chains, from their starts or from a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.sampling.chains import (
    ChainRun,
    Kernel,
    Schedule,
    State,
    advance,
    start,
)
from honestbayes.sampling.checkpoint import (
    Chunks,
    check_place,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from honestbayes.sampling.draws import Draws
from honestbayes.status_line import StatusLine
from honestbayes.threads import one_blas_thread

# --------------------------------------------------------------------------------------------------
# Stages, each twice as long as the one before, until chains agree
#
# Stage m ends after 2^m times the sweeps of the schedule. The share of warm-up is the same in each,
# and so is the number of draws, of which every 2^m-th sweep is kept. Whether a stage is the last
# one is decided by its draws alone, so that draws are the same whatever the number of processes and
# however often a run was stopped and resumed.
# --------------------------------------------------------------------------------------------------


def at_stage(schedule: Schedule, stage: int) -> Schedule:
    """Return how long chains run at a stage, counted from 0, and what is kept.

    >>> at_stage(Schedule(500, 1000), 2)
    Schedule(n_warmup=2000, n_draws=1000, thin=4)
    """
    return Schedule(schedule.n_warmup << stage, schedule.n_draws, schedule.thin << stage)


def kept_on(draws: Draws, schedule: Schedule) -> Draws:
    """Return what the next stage keeps of the draws of one that is over.

    Draw i of stage m, counted from 1, is sweep 2^m (w + i) where w is the warm-up, in units of
    kept sweeps. The next stage keeps sweeps 2^(m+1) (w + i): of these draws number w + 2i.

    Parameters
    ----------
    draws : Draws
        Of the stage that is over.
    schedule : Schedule
        The first stage's.
    """
    first = schedule.n_warmup // schedule.thin + 1
    if draws.n_draws <= first:
        return Draws({}, draws.n_chains)
    return Draws({name: x[:, first::2] for name, x in draws.values.items()}, draws.n_chains)


def stage_of(run: ChainRun, schedule: Schedule) -> int:
    """Return the stage in which chains are, or that they have just ended.

    Parameters
    ----------
    run : ChainRun
        From a checkpoint, perhaps.
    schedule : Schedule
        The first stage's.
    """
    stage, done = 0, run.chains[0].n_sweeps
    while done > at_stage(schedule, stage).n_sweeps:
        stage += 1
    is_over = done == at_stage(schedule, stage).n_sweeps
    # What the next stage keeps is at most half of the draws: it has begun, without a sweep so far.
    return stage + 1 if is_over and run.draws.n_draws < schedule.n_draws else stage


# --------------------------------------------------------------------------------------------------
# Progress, and the run itself
# --------------------------------------------------------------------------------------------------


class Remaining:
    """Says how far chains are and what time they need.

    Parameters
    ----------
    n_chains : int
        Chains.
    schedule : Schedule
        The first stage's.
    n_doublings : int
        How often chains may go on to twice their length.
    """

    def __init__(self, n_chains: int, schedule: Schedule, n_doublings: int) -> None:
        self._most = n_chains * at_stage(schedule, n_doublings).n_sweeps
        self._first: tuple[int, float] | None = None
        self._line = StatusLine()

    def show(self, done: int, total: int) -> None:
        """Write so many of so many steps, and the time to go."""
        now = time.monotonic()
        if self._first is None:
            # The first steps may have compiled the kernel: they say nothing of those to come.
            self._first = (done, now)
        steps, seconds = done - self._first[0], now - self._first[1]
        left = ""
        if steps > 0 and done < total:
            each = seconds / steps
            left = f", about {each * (total - done):.0f} s to go"
            if self._most > total:
                left += f", or up to {each * (self._most - done):.0f} s if chains must go on"
        text = f"sampling: {done:,} of {total:,} steps ({done / total:.0%}){left}"
        self._line.show(text, last=done == total)


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

    def __call__(self, run: ChainRun) -> None:
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
        Whether chains may stop, given their draws; else they go on to the next stage.

    Returns
    -------
    draws : Draws
        As many as asked for, or fewer where the user stopped it.
    interrupted : bool
        Whether the user did.

    Raises
    ------
    KeyboardInterrupt
        Where the user stopped it before anything was kept: there is nothing to make a model of.
    """
    seed = sampling.seed
    states_seed, chains_seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(
        2
    )
    run: ChainRun | None = None
    save: Saver | None = None
    first = starts(states_seed)
    if sampling.checkpoint is not None:
        path, schedule = sampling.checkpoint, sampling.schedule
        # Without stages more draws of the same chains may be asked for later.
        stages = (schedule.n_draws, sampling.n_doublings) if sampling.n_doublings else ()
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
        stored = read_checkpoint(path, of, kernel.form().like(first), lengths)
        run, chunks = (None, Chunks()) if stored is None else stored
        save = Saver(path, of, chunks)
    if run is None:
        run = start(first, chains_seed)
    with one_blas_thread():
        draws, interrupted = _run_stages(kernel, run, sampling, agree, save)
    if draws.n_draws == 0:
        raise KeyboardInterrupt
    return draws, interrupted


def sample_in_blocks(
    kernel: Kernel,
    starts: Callable[[np.random.SeedSequence], Sequence[State]],
    sampling: Sampling,
    block: int,
    *depends_on: Any,
    agree: Callable[[Draws], bool] = lambda _draws: True,
) -> tuple[Draws, bool]:
    """Run chains whose kernel makes a block of draws in each step, as `sample` does.

    Parameters
    ----------
    kernel : Kernel
        What chains do; the arrays of its info have the draws of a block as their first axis.
    block : int
        Draws of each step.
    starts, sampling, *depends_on, agree
        As in `sample`; the schedule counts draws.
    """
    wanted = sampling.schedule
    blocks = Schedule(-(-wanted.n_warmup // block), -(-wanted.n_draws // block))

    def flat(draws: Draws) -> Draws:
        values = {
            name: value.reshape(value.shape[0], -1, *value.shape[3:])[:, : wanted.n_draws]
            for name, value in draws.values.items()
        }
        return Draws(values, draws.n_chains)

    draws, interrupted = sample(
        kernel,
        starts,
        replace(sampling, schedule=blocks),
        *depends_on,
        agree=lambda draws: agree(flat(draws)),
    )
    return flat(draws), interrupted


def _run_stages(
    kernel: Kernel,
    run: ChainRun,
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
            return drawn.first(first.n_draws), interrupted
        stage += 1
        run = ChainRun(run.chains, kept_on(run.draws, first))
        if save is not None:
            save.thin_out()
