"""Whether one revision is slower than another, by tasks that both do in turns.

    python benchmarks/regression.py BASE [HEAD] [--factor 1.25] [--only WORDS]

BASE and HEAD are revisions of git; without HEAD, the files as they stand. Each revision is checked
out beside the other, and two processes, one for each, do the tasks of `regression_tasks.py` in
turns. Prints how many times as long the head takes, with an interval for the median, and exits with
1 where the whole interval lies above the factor. What the base cannot do is not compared, and said
to be so; what the head cannot do, and the base can, counts as slower.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

ROOT = Path(__file__).resolve().parents[1]
TASKS = Path(__file__).with_name("regression_tasks.py")
FACTOR = 1.25
STARTS, ROUNDS = 3, 5
"""Pairs of processes, since where a process has its memory matters too, and rounds of each."""
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many times as long the head takes.

    Attributes
    ----------
    ratio : float
        The median over rounds.
    low, high : float
        An interval that holds the median with a probability of at least 95%, if rounds are
        independent: two of the sorted ratios (the sign test).
    """

    ratio: float
    low: float
    high: float

    def is_slower(self, factor: float) -> bool:
        """Whether the head takes longer by more than the factor, beyond what chance explains."""
        return self.low > factor


def judge(base: Sequence[float], head: Sequence[float]) -> Verdict:
    """Compare seconds of two revisions, round by round.

    Raises
    ------
    ValueError
        If there are fewer than six rounds, of which no interval can be had.
    """
    ratios = np.sort(np.divide(head, base))
    left_out = int(binom.ppf(0.025, ratios.size, 0.5)) - 1
    if left_out < 0:
        msg = f"{ratios.size} rounds are too few to judge by: at least 6 are needed."
        raise ValueError(msg)
    return Verdict(float(np.median(ratios)), float(ratios[left_out]), float(ratios[-1 - left_out]))


@contextmanager
def checked_out(revision: str | None) -> Iterator[Path]:
    """Check a revision out into a folder of its own for a while; None: the files as they stand."""
    if revision is None:
        yield ROOT
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


class Runner:
    """A process that does tasks with the package of one folder."""

    def __init__(self, tree: Path) -> None:
        source = tree / "src"
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(TASKS)],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = Path(self._answer()["source"])
        if found.resolve() != source.resolve():
            self._process.communicate()
            msg = f"{source} was to be timed, but {found} was imported."
            raise RuntimeError(msg)

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, task: str) -> dict[str, Any]:
        """Return the seconds that a task took, or why it could not be done."""
        print(task, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            msg = f"A process that did tasks has ended with {self._process.returncode}."
            raise RuntimeError(msg)
        return json.loads(line)


def compare(base: Path, head: Path, tasks: list[str]) -> dict[str, list[tuple[Any, Any]]]:
    """Return what base and head answer to each task, in every round."""
    found: dict[str, list[tuple[Any, Any]]] = {task: [] for task in tasks}
    for _ in range(STARTS):
        with Runner(base) as first, Runner(head) as second:
            for number in range(ROUNDS):
                for task in tasks:
                    if number % 2:  # neither is always the one that comes after the other
                        late, early = second.run(task), first.run(task)
                        found[task].append((early, late))
                    else:
                        found[task].append((first.run(task), second.run(task)))
    return found


def told(task: str, answers: list[tuple[Any, Any]], factor: float) -> tuple[str, bool]:
    """Return a line about a task, and whether the head does worse."""
    for base, head in answers:
        if "why" in base:
            return f"{task:32} not compared: the base says {base['why']}", False
        if "why" in head:
            return f"{task:32} DOES NOT RUN: the head says {head['why']}", True
    before, after = ([pair[side]["seconds"] for pair in answers] for side in (0, 1))
    verdict = judge(before, after)
    slower = verdict.is_slower(factor)
    times = f"{1e3 * np.median(before):8.1f} {1e3 * np.median(after):8.1f}"
    interval = f"{verdict.ratio:6.2f} ({verdict.low:.2f} to {verdict.high:.2f})"
    return f"{task:32} {times} {interval}{'  SLOWER' if slower else ''}", slower


def main() -> int:
    """Compare two revisions, and return the exit code."""
    sys.path.insert(0, str(TASKS.parent))
    from regression_tasks import TASKS as ALL

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("base", help="a revision, such as HEAD~1")
    parser.add_argument("head", nargs="?", help="a revision; by default the files as they stand")
    parser.add_argument("--factor", type=float, default=FACTOR)
    parser.add_argument("--only", default="", help="tasks whose name holds this")
    arguments = parser.parse_args()
    tasks = [task for task in ALL if arguments.only in task]
    with ExitStack() as stack:
        trees = [
            stack.enter_context(checked_out(each)) for each in (arguments.base, arguments.head)
        ]
        found = compare(*trees, tasks)
    print(f"{'':32}  base, ms head, ms  ratio (interval)")
    verdicts = []
    for task, answers in found.items():
        line, slower = told(task, answers, arguments.factor)
        verdicts.append(slower)
        print(line)
    limit = f"more than {arguments.factor:g} times as long, or no longer done"
    print(f"{limit}: {sum(verdicts)} of {len(tasks)} tasks")
    return int(any(verdicts))


if __name__ == "__main__":
    sys.exit(main())
