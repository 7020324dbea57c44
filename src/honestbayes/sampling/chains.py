"""Parallel chains with independent random streams, which can be stopped and resumed.

The runner lets all chains advance by a few sweeps at a time, about half a second's worth, and then
looks up: it shows progress, writes a checkpoint, and can be interrupted. A chain is a state, the
state of its generator and a number of sweeps, all plain data; it does not know how its sweeps were
divided. So draws are the same whatever the number of processes and however often a run was stopped
and resumed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.files.fields import Check, Entries, Field, Known, values_from_plain
from honestbayes.sampling.draws import Draws
from honestbayes.types import AnyArray

# --------------------------------------------------------------------------------------------------
# Forms: what states and draws of a kernel can be
#
# Compiled code does not look at lengths, and a slice sampler never leaves a value that is not a
# number: whatever is handed to a kernel has to be of the kernel's own form.
# --------------------------------------------------------------------------------------------------


def _nothing(_state: Known, _drawn: Known, _check: Check) -> None:
    """Check nothing more than each field does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Shapes and ranges of all that chains remember and draw.

    Attributes
    ----------
    state : mapping of str to Field
        Arrays of a state, of shape ("n_chains", ...).
    drawn : mapping of str to Field
        Arrays of draws, of shape ("n_chains", "n_draws", ...).
    sizes : dict
        Lengths that the kernel knows; others are those of the states that chains start from.
    check : callable
        Given states, draws (none before the first) and what refuses, looks at what single fields
        cannot know.
    """

    state: Mapping[str, Field]
    drawn: Mapping[str, Field]
    sizes: Known = field(default_factory=dict)
    check: Callable[[Known, Known, Check], None] = _nothing

    def like(self, starts: Sequence[Mapping[str, AnyArray]]) -> Form:
        """Return the form with all lengths that states have, from those that chains start from."""
        known = {**self.sizes, "n_chains": len(starts)}
        first = {name: np.stack([state[name] for state in starts]) for name in starts[0]}
        entries = Entries({}, first, "start of ")
        values_from_plain(self.state, entries, known)
        entries.finish()
        lengths = {name: value for name, value in known.items() if name not in self.state}
        return Form(state=self.state, drawn=self.drawn, sizes=lengths, check=self.check)

    def read(self, entries: Entries, n_draws: int) -> tuple[Known, Known]:
        """Return states and draws of a file, each array of shape (n_chains, ...).

        Parameters
        ----------
        entries : Entries
            With the sections ``state`` and ``drawn``.
        n_draws : int
            Draws that chains must have kept by now; of none there are no arrays.
        """
        remembered, kept = entries.section("state"), entries.section("drawn")
        state = values_from_plain(self.state, remembered, dict(self.sizes))
        drawn: Known = {}
        if n_draws:
            drawn = values_from_plain(self.drawn, kept, {**self.sizes, "n_draws": n_draws})
        remembered.finish()
        kept.finish()
        self.check(state, drawn, entries.check)
        return state, drawn


# --------------------------------------------------------------------------------------------------
# Chains and the runner
# --------------------------------------------------------------------------------------------------


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

    def form(self) -> Form:
        """Return what states and draws can be, by which those of a file are checked."""
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
    n_draws : int
        Draws to keep of each chain.
    thin : int
        Sweeps for each draw that is kept.
    """

    n_warmup: int
    n_draws: int
    thin: int = 1

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain, all in all."""
        return self.n_warmup + self.n_draws * self.thin

    def keeps(self, sweep: int) -> bool:
        """Whether this sweep, counted from 1, is kept."""
        return sweep > self.n_warmup and (sweep - self.n_warmup) % self.thin == 0

    def n_kept(self, n_sweeps: int) -> int:
        """Return how many of so many sweeps are kept."""
        return max(n_sweeps - self.n_warmup, 0) // self.thin


@dataclass(frozen=True, slots=True)
class ChainRun:
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


def start(starts: Sequence[State], seed: np.random.SeedSequence) -> ChainRun:
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
    return ChainRun(chains, Draws({}, len(chains)))


def advance(
    kernel: Kernel,
    run: ChainRun,
    schedule: Schedule,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    save: Callable[[ChainRun], None] | None = None,
) -> tuple[ChainRun, bool]:
    """Run chains to the end of the schedule, or until they are interrupted.

    Parameters
    ----------
    kernel : Kernel
        What they do.
    run : ChainRun
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
    run : ChainRun
        Where the chains are, with all draws.
    interrupted : bool
        Whether the user stopped it. What chains are at is finished first, about half a second of
        work; a second request stops at once, and it is lost.

    Notes
    -----
    A process that is told to end (SIGTERM) while there is a place for checkpoints writes one first.
    """
    at_once, saved = 1, time.monotonic()
    going = _Going(run.chains, (run.draws,))
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    interrupted = False
    try:
        with _stop_requests(may_save=save is not None) as asked:
            while going.chains[0].n_sweeps < schedule.n_sweeps and asked.by is None:
                before = time.monotonic()
                until = min(going.chains[0].n_sweeps + at_once, schedule.n_sweeps)
                results = parallel(
                    delayed(_sweeps)(kernel, chain, schedule, until) for chain in going.chains
                )
                going = going.followed_by(results)
                now = time.monotonic()
                if now - before < SECONDS / 2:
                    at_once *= 2
                if progress is not None:
                    n_chains = len(going.chains)
                    progress(n_chains * until, n_chains * schedule.n_sweeps)
                if save is not None and now - saved > SAVE_EVERY:
                    run = going.run()
                    save(run)
                    going = _Going(run.chains, (run.draws,))
                    saved = time.monotonic()
            interrupted = asked.by is not None
    except KeyboardInterrupt:
        interrupted = True
    run = going.run()
    if save is not None:
        save(run)
    if asked.by == signal.SIGTERM:
        os.kill(os.getpid(), signal.SIGTERM)  # all is saved: end as the process was told to
    return run, interrupted


@dataclass(frozen=True, slots=True)
class _Going:
    """Chains on their way, with draws in pieces, which are not copied at each look.

    Attributes
    ----------
    chains : tuple of Chain
        Where each is.
    pieces : tuple of Draws
        What was kept so far, one after the other.
    """

    chains: tuple[Chain, ...]
    pieces: tuple[Draws, ...]

    def followed_by(self, results: Sequence[tuple[Chain, list[Info]]]) -> _Going:
        """Return the same after some sweeps of each chain."""
        piece = Draws({}, len(results)).followed_by([kept for _, kept in results])
        return _Going(tuple(chain for chain, _ in results), (*self.pieces, piece))

    def run(self) -> ChainRun:
        """Return the run, with all draws."""
        return ChainRun(self.chains, Draws.joined(self.pieces))


@dataclass(slots=True)
class _Asked:
    """Which signal has asked for an end, if any has."""

    by: int | None = None

    def note(self, number: int, _frame: Any) -> None:
        """Take a note of the first request; a second one is not to wait."""
        if self.by is not None:
            if number == signal.SIGTERM:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGTERM)
            raise KeyboardInterrupt
        self.by = number


@contextmanager
def _stop_requests(*, may_save: bool) -> Iterator[_Asked]:
    """Yield a record of whether the user has pressed Ctrl-C, or the process is asked to end.

    An exception that is raised while compiled code is called may be lost there, so the first
    request only leaves a note, and a second one stops at once. Other threads, and programs with a
    handler of their own, keep theirs; without a place to save to, a process that is told to end
    has nothing to wait for.
    """
    asked = _Asked()
    usual: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler}
    if may_save:
        usual[signal.SIGTERM] = signal.SIG_DFL
    in_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in usual if in_main and signal.getsignal(number) is usual[number]]
    for number in ours:
        signal.signal(number, asked.note)
    try:
        yield asked
    finally:
        for number in ours:
            signal.signal(number, usual[number])


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
