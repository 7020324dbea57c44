"""A thousand mutated files of each model, and ten thousand checkpoints, with valid checksums.

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
from fits import FITS, fitted

from honestbayes.files import read_archive
from honestbayes.loading import loadable_kinds

N_MUTATIONS = {"model": 1000 * len(FITS), "checkpoint": 10_000}
FIRST = 1_000_000
"""Seeds from here on, so that no other test has tried them."""

AT_ONCE = 500
"""Mutations that one process tries, within the time that a test may take."""

CASES = [
    (what, name, first)
    for what, names in (("model", list(FITS)), ("checkpoint", list(STOPPED)))
    for name in names
    for first in range(FIRST, FIRST - (-N_MUTATIONS[what] // len(names)), AT_ONCE)
]


def test_there_are_as_many_as_said():
    for what, n_mutations in N_MUTATIONS.items():
        assert AT_ONCE * sum(case[0] == what for case in CASES) >= n_mutations


def test_every_kind_of_file_that_can_be_loaded_is_fuzzed(tmp_path):
    kinds = set()
    for name in {fit.kind: name for name, fit in FITS.items()}.values():
        fitted(name).save(tmp_path / "model")
        kinds.add(read_archive(tmp_path / "model").kind)
    assert kinds == set(loadable_kinds())


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
