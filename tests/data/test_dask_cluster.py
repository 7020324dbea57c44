"""A cluster gives the same bits, also where a worker is killed in the middle."""

import os
import signal
import threading

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from honestbayes import SelectiveBernoulliNB  # noqa: E402


def slow_chunk(block):
    """Read a chunk as from a slow disk."""
    import time

    time.sleep(0.02)
    return block


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    where = str(tmp_path_factory.mktemp("workers"))
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=where,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_killed_worker_does_not_change_the_model(client):
    generator = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = (generator.random((60, 400)) < 0.3 + 0.3 * np.outer(y, np.arange(400) < 4)).astype(np.int8)
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0)
    expected = model.fit(X, y).predict_log_proba(X)
    selection = model.selection_
    lazy = da.from_array(X, chunks=(30, 20)).map_blocks(slow_chunk, dtype=X.dtype)
    workers = {name: worker["pid"] for name, worker in _pids(client).items()}
    victim = next(iter(workers.values()))
    killer = threading.Timer(0.4, os.kill, (victim, signal.SIGKILL))
    killer.start()
    model.fit(lazy, y)
    killer.join()
    assert model.selection_ == selection
    np.testing.assert_array_equal(model.predict_log_proba(X), expected)
    assert victim not in [worker["pid"] for worker in _pids(client).values()]


def _pids(client):
    return client.run(lambda: {"pid": os.getpid()})
