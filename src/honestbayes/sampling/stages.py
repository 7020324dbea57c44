"""Chains that go on until they agree: stages, each twice as long as the one before.

Stage m ends after 2^m times the sweeps of the schedule. The share of warm-up is the same in each,
and so is the number of draws, of which every 2^m-th sweep is kept. Whether a stage is the last one
is decided by its draws alone, so that draws are the same whatever the number of processes and
however often a run was stopped and resumed.
"""

from __future__ import annotations

from honestbayes.sampling.chains import Run, Schedule
from honestbayes.sampling.draws import Draws


def at_stage(schedule: Schedule, stage: int) -> Schedule:
    """Return how long chains run at a stage, counted from 0, and what is kept.

    >>> at_stage(Schedule(500, 1000), 2)
    Schedule(n_warmup=2000, n_samples=1000, thin=4)
    """
    return Schedule(schedule.n_warmup << stage, schedule.n_samples, schedule.thin << stage)


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


def stage_of(run: Run, schedule: Schedule) -> int:
    """Return the stage in which chains are, or that they have just ended.

    Parameters
    ----------
    run : Run
        From a checkpoint, perhaps.
    schedule : Schedule
        The first stage's.
    """
    stage, done = 0, run.chains[0].n_sweeps
    while done > at_stage(schedule, stage).n_sweeps:
        stage += 1
    is_over = done == at_stage(schedule, stage).n_sweeps
    # What the next stage keeps is at most half of the draws: it has begun, without a sweep so far.
    return stage + 1 if is_over and run.draws.n_draws < schedule.n_samples else stage
