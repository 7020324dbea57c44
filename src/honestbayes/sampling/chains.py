"""Chains that run side by side, each on a stream of its own, and can be stopped and resumed.

The runner lets all chains advance by a few sweeps at a time, about half a second's worth, and then
looks up: it shows progress, writes a checkpoint, and can be interrupted. A chain is a state, the
state of its generator and a number of sweeps, all plain data; it does not know how its sweeps were
divided. So draws are the same whatever the number of processes and however often a run was stopped
and resumed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.sampling.draws import Draws
from honestbayes.types import AnyArray

State = Mapping[str, AnyArray]
"""All that a chain remembers: named arrays."""

Info = Mapping[str, Any]
"""What is kept of a sweep: named numbers and arrays, of the same shapes in each sweep."""

Progress = Callable[[int, int], None]
"""Told how many sweeps of all chains are done, and how many there are in all."""

SECONDS = 0.5
"""How long chains run before the runner looks up."""

SAVE_EVERY = 60.0
"""Seconds between checkpoints."""


class Kernel(Protocol):
    """One sweep over all that is sampled."""

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the next state and what to keep of it; the given state stays as it is."""
        ...


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a chain is.

    Attributes
    ----------
    state : mapping of str to ndarray
        All that it remembers.
    stream : dict
        State of its PCG64 generator.
    n_sweeps : int
        Sweeps that it has made.
    """

    state: State
    stream: dict[str, Any]
    n_sweeps: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long chains run, and what is kept.

    Attributes
    ----------
    n_warmup : int
        Sweeps at the start that are not kept.
    n_samples : int
        Draws to keep of each chain.
    thin : int
        Sweeps for each draw that is kept.
    """

    n_warmup: int
    n_samples: int
    thin: int = 1

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain, all in all."""
        return self.n_warmup + self.n_samples * self.thin

    def keeps(self, sweep: int) -> bool:
        """Whether this sweep, counted from 1, is kept."""
        return sweep > self.n_warmup and (sweep - self.n_warmup) % self.thin == 0


@dataclass(frozen=True, slots=True)
class Run:
    """Chains on their way.

    Attributes
    ----------
    chains : tuple of Chain
        Where each is; all have made the same number of sweeps.
    draws : Draws
        What was kept so far.
    """

    chains: tuple[Chain, ...]
    draws: Draws


def start(starts: Sequence[State], seed: np.random.SeedSequence) -> Run:
    """Set chains to their starting states, each with its own stream.

    Parameters
    ----------
    starts : sequence of mapping of str to ndarray
        The first state of each chain.
    seed : SeedSequence
        Streams are spawned from it.
    """
    # A copy, because spawning from the caller's own would change it.
    own = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    streams = [dict(np.random.PCG64(child).state) for child in own.spawn(len(starts))]
    chains = tuple(
        Chain({name: np.array(value) for name, value in state.items()}, stream)
        for state, stream in zip(starts, streams, strict=True)
    )
    return Run(chains, Draws({}, len(chains)))


def advance(
    kernel: Kernel,
    run: Run,
    schedule: Schedule,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    save: Callable[[Run], None] | None = None,
) -> tuple[Run, bool]:
    """Run chains to the end of the schedule, or until they are interrupted.

    Parameters
    ----------
    kernel : Kernel
        What they do.
    run : Run
        From `start`, or what an earlier call returned.
    schedule : Schedule
        How long they run.
    n_jobs : int, optional
        Chains at work at once, through joblib; by default in threads, as kernels are compiled.
    progress : callable, optional
        Told how far the work is.
    save : callable, optional
        Writes a checkpoint: called now and then, at the end, and when interrupted.

    Returns
    -------
    run : Run
        Where the chains are, with all draws.
    interrupted : bool
        Whether the user stopped it. What chains are at is finished first, about half a second of
        work; a second request stops at once, and it is lost.
    """
    at_once, saved = 1, time.monotonic()
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    interrupted = False
    try:
        with _stop_requests() as is_asked_to_stop:
            while run.chains[0].n_sweeps < schedule.n_sweeps and not is_asked_to_stop():
                before = time.monotonic()
                until = min(run.chains[0].n_sweeps + at_once, schedule.n_sweeps)
                results = parallel(
                    delayed(_sweeps)(kernel, chain, schedule, until) for chain in run.chains
                )
                chains = tuple(chain for chain, _ in results)
                run = Run(chains, run.draws.followed_by([kept for _, kept in results]))
                now = time.monotonic()
                if now - before < SECONDS / 2:
                    at_once *= 2
                if progress is not None:
                    progress(len(chains) * until, len(chains) * schedule.n_sweeps)
                if save is not None and now - saved > SAVE_EVERY:
                    save(run)
                    saved = time.monotonic()
            interrupted = is_asked_to_stop()
    except KeyboardInterrupt:
        interrupted = True
    if save is not None:
        save(run)
    return run, interrupted


@contextmanager
def _stop_requests() -> Iterator[Callable[[], bool]]:
    """Yield what tells whether the user has pressed Ctrl-C; a second time raises at once.

    An exception that is raised while compiled code is called may be lost there, so the first
    request only leaves a note. Other threads, and programs with a handler of their own, keep
    theirs.
    """
    asked = False

    def note(_number: int, _frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _sweeps(
    kernel: Kernel, chain: Chain, schedule: Schedule, until: int
) -> tuple[Chain, list[Info]]:
    """Let one chain sweep until it has made so many."""
    bits: Any = np.random.PCG64()
    bits.state = chain.stream
    rng, state = np.random.Generator(bits), chain.state
    kept: list[Info] = []
    for sweep in range(chain.n_sweeps + 1, until + 1):
        state, info = kernel.step(rng, state)
        if schedule.keeps(sweep):
            kept.append(info)
    return replace(chain, state=state, stream=dict(bits.state), n_sweeps=until), kept
