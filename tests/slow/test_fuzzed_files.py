"""Ten thousand mutated model files and as many checkpoints, with valid checksums.

Each is refused in one sentence, or is a model all of whose output is finite. None crashes, hangs
for five seconds or runs what it holds. They are read in processes of their own, so that a crash is
seen.
"""

import subprocess
import sys
from pathlib import Path

import fuzzed_files
import pytest
from checkpoints import STOPPED
from fits import FITS

N_MUTATIONS = 10_000
FIRST = 1_000_000
"""Seeds from here on, so that no other test has tried them."""

AT_ONCE = 500
"""Mutations that one process tries, within the time that a test may take."""

MODELS = [name for name, fit in FITS.items() if fit.mutations]
CASES = [
    (what, name, first)
    for what, names in (("model", MODELS), ("checkpoint", list(STOPPED)))
    for name in names
    for first in range(FIRST, FIRST - (-N_MUTATIONS // len(names)), AT_ONCE)
]


def test_there_are_as_many_as_said():
    for what in ("model", "checkpoint"):
        assert AT_ONCE * sum(case[0] == what for case in CASES) >= N_MUTATIONS


@pytest.mark.parametrize(("what", "name", "first"), CASES)
def test_a_mutated_file_is_refused_or_gives_finite_output(what, name, first, tmp_path):
    seeds = str(first), str(first + AT_ONCE)
    command = [sys.executable, fuzzed_files.__file__, what, name, *seeds, str(tmp_path)]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )
    place = tmp_path / "at"
    where = place.read_text(encoding="utf-8") if place.exists() else "the start"
    assert ended.returncode == 0, f"{where}: {ended.returncode}\n{ended.stderr[-3000:]}"
    assert 0 < int(ended.stdout) < 0.7 * AT_ONCE
