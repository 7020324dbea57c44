"""The mixture's kernels, run as plain Python, pass the checks that planted mistakes fail.

The mistakes are in tests/slow.
"""

from pathlib import Path

import pytest
from planted.mixture import CHECKS, plain_python

import honestbayes.models.mixture
from honestbayes.models.mixture import model as mixture_core


@pytest.mark.slow_cases("invariance", "prior")
@pytest.mark.parametrize("name", CHECKS)
def test_the_check_passes_on_the_kernels_as_they_are(name, monkeypatch):
    monkeypatch.setattr(honestbayes.models.mixture, "kernels", plain_python())
    assert CHECKS[name]() > 1e-4


def test_the_core_takes_the_kernels_from_where_they_are_planted():
    assert "from honestbayes.models.mixture import kernels" in Path(
        mixture_core.__file__
    ).read_text(encoding="utf-8")
