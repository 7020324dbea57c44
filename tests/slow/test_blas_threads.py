"""Threads of linear algebra that wait for each other do not slow our own loops."""

import os
import subprocess
import sys

import pytest

TABLE = """
import time
import numpy as np
from honestbayes.selection import screen
from honestbayes.correction.mixture_table import mixture_table
from honestbayes.selection import select

def table(n, p):
    rng = np.random.default_rng(0)
    X = (rng.random((n, p)) < 0.5).astype(int)
    words = dict(n_features=2, threshold=None, always_keep=np.zeros(p, bool), random_state=0)
    return mixture_table(select(screen(X, np.arange(n) % 2), **words))

table(20, 10)
start = time.process_time()
table(200, 500)
print(time.process_time() - start)
"""
MOST = 3.0


def seconds(threads):
    """Processor time, of all threads, of a mixture's table of 200 cases."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, "-c", TABLE]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(ended.stdout)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread")
def test_eight_threads_take_little_more_than_one():
    # Without the limit the ratio was 7 on two cores, and that of the time on the clock 10.
    assert seconds(8) < MOST * seconds(1)
