"""What `benchmarks/regression.py` times, one line of JSON for each task that is asked for.

Run by that program, once for each revision: names of tasks come in, one to a line, and seconds go
out; or, where this revision cannot do the task, why. The revision is the one that PYTHONPATH names.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import honestbayes
from honestbayes.data import pack_store
from honestbayes.selection import screen

RUNS = 3
"""Of a task, each time it is asked for; the shortest counts, which others disturbed least."""

Run = Callable[[], Any]


def labels(n: int) -> np.ndarray:
    """Return two classes, evenly."""
    return np.arange(n) % 2


@cache
def flags(n: int, p: int) -> np.ndarray:
    """Return flags, each in 2% to 50% of the cases; a hundred of them tell the class a little."""
    generator = np.random.default_rng(0)
    share = np.tile(generator.uniform(0.02, 0.5, p), (n, 1))
    share[labels(n) == 1, :100] *= 1.3
    return (generator.random((n, p)) < share).astype(np.int8)


def measurements(n: int, p: int) -> np.ndarray:
    """Return numbers, three of which tell the class."""
    X = np.random.default_rng(0).standard_normal((n, p))
    X[:, :3] += labels(n)[:, None]
    return X


def screen_bytes() -> Run:
    """Count an array in memory."""
    X, y = flags(2000, 5000), labels(2000)
    return lambda: screen(X, y)


def screen_csc() -> Run:
    """Count a sparse matrix."""
    from scipy import sparse

    X, y = sparse.csc_array(flags(2000, 5000)), labels(2000)
    return lambda: screen(X, y)


def screen_packed() -> Run:
    """Count a packed store, whose folder is there as long as the task is."""
    y = labels(2000)
    folder = tempfile.TemporaryDirectory()
    store = pack_store(flags(2000, 5000), Path(folder.name) / "store")
    return lambda: (screen(store, y), folder)


def fit_bernoulli() -> Run:
    """Fit with its layer."""
    X, y = flags(2000, 5000)[:500, :2000], labels(500)
    return lambda: honestbayes.SelectiveBernoulliNB(n_features_to_select=20, random_state=0).fit(
        X, y
    )


def predict_bernoulli() -> Run:
    """Predict 2,000 cases."""
    X = flags(2000, 5000)[:, :2000]
    model = fit_bernoulli()()
    return lambda: model.predict_proba(X)


def fit_logistic() -> Run:
    """Fit with its layer."""
    X, y = measurements(200, 500), labels(200)
    return lambda: honestbayes.SelectiveLogistic(n_features_to_select=10, random_state=0).fit(X, y)


def fit_honest() -> Run:
    """Fit the quick average."""
    X, y = measurements(60, 10), labels(60)
    return lambda: honestbayes.HonestClassifier(effort="quick", random_state=0).fit(X, y)


def predict_honest() -> Run:
    """Predict 200 cases."""
    X = measurements(200, 10)
    model = fit_honest()()
    return lambda: model.predict_proba(X)


TASKS: dict[str, Callable[[], Run]] = {
    "screen bytes": screen_bytes,
    "screen CSC": screen_csc,
    "screen a packed store": screen_packed,
    "fit SelectiveBernoulliNB": fit_bernoulli,
    "predict, SelectiveBernoulliNB": predict_bernoulli,
    "fit SelectiveLogistic": fit_logistic,
    "fit HonestClassifier, quick": fit_honest,
    "predict, HonestClassifier": predict_honest,
}


@cache
def prepared(name: str) -> Run:
    """Return a task that has been run once: imports and kernels are not timed."""
    run = TASKS[name]()
    run()
    return run


def shortest(run: Run) -> float:
    """Return the seconds of the quickest of a few runs."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def answer(name: str) -> dict[str, Any]:
    """Return seconds, or why there are none."""
    try:
        return {"seconds": shortest(prepared(name))}
    except Exception as error:  # whatever a revision does instead of the task
        return {"why": f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0]}


if __name__ == "__main__":
    print(json.dumps({"source": str(Path(honestbayes.__file__).parents[1])}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line.strip())), flush=True)
