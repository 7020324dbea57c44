"""Linear algebra has one thread in our own loops, and as many as before after them."""

import threading

import pytest
from mixture_problem import selection_of
from threadpoolctl import threadpool_info, threadpool_limits

from honestbayes.correction.mixture_table import MixtureFactor, mixture_table
from honestbayes.threads import one_blas_thread

OUTSIDE = 3


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    with threadpool_limits(OUTSIDE, user_api="blas"):
        if blas_threads() != {OUTSIDE}:
            pytest.skip("this BLAS has one thread only")
        yield


@pytest.mark.usefixtures("three_threads")
def test_blocks_that_overlap_leave_the_number_as_it_was():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    assert blas_threads() == {1}
    second.__enter__()
    first.__exit__(None, None, None)  # the one that was entered first is left first
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {OUTSIDE}


@pytest.mark.usefixtures("three_threads")
def test_an_error_and_many_python_threads_leave_it_too():
    def fail():
        for _ in range(50):
            try:
                with one_blas_thread():
                    raise ValueError
            except ValueError:
                pass

    workers = [threading.Thread(target=fail) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert blas_threads() == {OUTSIDE}


@pytest.mark.usefixtures("three_threads")
def test_the_table_of_a_mixture_is_computed_with_one(monkeypatch):
    seen, whole = [], MixtureFactor.probabilities

    def probabilities(self, *given, **words):
        seen.append(blas_threads())
        return whole(self, *given, **words)

    monkeypatch.setattr(MixtureFactor, "probabilities", probabilities)
    mixture_table(selection_of(80))
    assert seen
    assert all(number == {1} for number in seen)
    assert blas_threads() == {OUTSIDE}
