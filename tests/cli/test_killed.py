"""A process that is killed leaves the old files or the new ones, never a mixture."""

import json
import os
from pathlib import Path

import pytest
from commands import run_alone

WRITER = Path(__file__).resolve().parents[1] / "killed_writer.py"


@pytest.mark.slow  # files/test_whole.py kills writers in the ordinary run
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
def test_a_killed_process_leaves_the_old_or_the_new(tmp_path):
    counts = json.loads(run_alone(tmp_path, 1, cwd=tmp_path, start=(WRITER,)).done())
    # The kills fell where they could do harm: both runs were seen, and unfinished work beside them.
    assert set(counts["states"]) == {"well", "wild"}
    assert len(counts["states"]) > 20
    assert counts["left over"] > 5
