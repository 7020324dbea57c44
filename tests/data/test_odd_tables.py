"""Tables of odd kinds are used or refused in words; none ends the process."""

import subprocess
import sys

import odd_tables
import pytest

ORDINARY = "SelectiveBernoulliNB"
BROKEN = ("index", "pointer", "cut")


@pytest.mark.slow_cases("SelectiveBernoulliNB")
@pytest.mark.parametrize(
    "name",
    [
        name if name == ORDINARY else pytest.param(name, marks=pytest.mark.slow)
        for name in odd_tables.ESTIMATORS
    ],
)
def test_odd_tables_are_used_or_refused(name):
    command = [sys.executable, odd_tables.__file__, name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split("|", 1) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, f"ended at {lines[-1:]}: {ended.stderr[-2000:]}"
    endings = dict(lines)
    assert len(endings) == len(odd_tables.TABLES)
    assert {table: end for table, end in lines if end not in ("used", "refused")} == {}
    assert "used" in endings.values()
    broken = {end for table, end in lines if any(word in table for word in BROKEN)}
    assert broken == {"refused"}
