"""Ratios of the speed that is expected, each measured in one run on one machine.

    python benchmarks/speed.py

Prints each ratio beside its bound. Arrays are int8 in C order unless said otherwise; times are the
best of several, alternating between the two contenders.
"""

import subprocess
import sys
import time
import tracemalloc
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from honestbayes import SelectiveBernoulliNB
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.selection import screen

PAPERS = {"feature_prior": "uniform", "recalibrate": None}


def best_times(compared_methods, repeats):
    """Return the best time of each contender, taken in turns."""
    for run in compared_methods.values():
        run()
    times = dict.fromkeys(compared_methods, np.inf)
    for _ in range(repeats):
        for name, run in compared_methods.items():
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def report(what, ratio, bound, detail=""):
    """Print one ratio beside its bound."""
    verdict = "" if bound is None else ("holds" if ratio <= bound else "DOES NOT HOLD")
    limit = "" if bound is None else f"(bound {bound:g})"
    print(f"{what:66} {ratio:7.2f} {limit:13} {verdict:14} {detail}", flush=True)


def fit_and_predict():
    """Time fit + predict against scikit-learn's selection and naive Bayes."""
    data = simulate_naive_bayes(200, 2000, n_features=10_000, random_state=0)
    models = {
        "selection": {**PAPERS, "correction": "selection"},
        "counts": {**PAPERS, "correction": "counts"},
        "learned": {"recalibrate": None},
        "learned + slope (default)": {},
    }
    for k in (10, 100, 1000, 10_000):
        baseline = make_pipeline(SelectKBest(f_classif, k=k), BernoulliNB())
        compared_methods = {"peer": lambda baseline=baseline: run(baseline, data)}
        for name, options in models.items():
            model = SelectiveBernoulliNB(n_features_to_select=k, random_state=0, **options)
            compared_methods[name] = lambda model=model: run(model, data)
        times = best_times(compared_methods, 5 if k < 10_000 else 3)
        bound = 2.0 if k <= 100 else 1.0
        for name, options in models.items():
            report(
                f"fit + predict, k={k}, {name}: against scikit-learn",
                times[name] / times["peer"],
                bound if "recalibrate" in options else None,  # the slope fits 20 models more
                f"{1e3 * times[name]:.1f} ms against {1e3 * times['peer']:.1f} ms",
            )


def tall_tables():
    """Time fit alone where nearly every feature has counts of its own."""
    for n, p in ((4000, 1000), (20_000, 1000), (2000, 10_000)):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, n)
        theta, alpha = rng.uniform(0.02, 0.98, p), np.exp(rng.normal(5, 1.5, p))
        frequency = rng.beta(alpha * theta, alpha * (1 - theta), size=(2, p))
        X = (rng.random((n, p)) < frequency[y]).astype(float)
        models = {
            "peer": make_pipeline(SelectKBest(f_classif, k=10), BernoulliNB()),
            "learned": SelectiveBernoulliNB(random_state=0),
        }
        times = best_times(
            {name: partial(model.fit, X, y) for name, model in models.items()}, repeats=5
        )
        report(
            f"fit, floats, {n} x {p}: against scikit-learn",
            times["learned"] / times["peer"],
            10.0,
            f"{1e3 * times['learned']:.1f} ms against {1e3 * times['peer']:.1f} ms",
        )


def run(model, data):
    """Fit and predict."""
    model.fit(data.X_train, data.y_train).predict_proba(data.X_test)


def correction_cost():
    """Time fit alone, correction on against off."""
    data = simulate_naive_bayes(200, 2, n_features=10_000, random_state=0)
    for k in (10, 100, 1000):
        times = best_times(
            {
                name: lambda name=name, k=k: SelectiveBernoulliNB(
                    n_features_to_select=k, correction=name, random_state=0, **PAPERS
                ).fit(data.X_train, data.y_train)
                for name in (None, "selection", "counts")
            },
            7,
        )
        for name in ("selection", "counts"):
            more = 1e3 * (times[name] - times[None])
            ratio = times[name] / times[None]
            verdict = "holds" if ratio <= 1.2 or more <= 5 else "DOES NOT HOLD"
            print(
                f"{f'fit, k={k}, {name} against no correction (1.2x or 5 ms)':66} {ratio:7.2f} "
                f"{f'+{more:.1f} ms':13} {verdict}",
                flush=True,
            )


def screening():
    """Time the screening of a CSC matrix against summing its columns."""
    for density in (0.02, 0.3):
        shape = (2000, 100_000) if density < 0.1 else (1000, 20_000)
        matrix = sparse.random_array(shape, density=density, format="csc", rng=0)
        matrix.data[:] = 1
        matrix = matrix.astype(np.int8)
        y = np.random.default_rng(0).integers(0, 2, shape[0])
        times = best_times(
            {"sum": lambda m=matrix: m.sum(axis=0), "screen": lambda m=matrix, y=y: screen(m, y)}, 7
        )
        report(
            f"screening, CSC int8, density {density}: against summing columns",
            times["screen"] / times["sum"],
            3.0,
            f"{1e3 * times['screen']:.1f} ms",
        )


def memory():
    """Measure peak memory beyond the input at n = 1000, p = 1,000,000."""
    X = (np.random.default_rng(0).integers(0, 256, (1000, 1_000_000), dtype=np.uint8) < 80).view(
        np.int8
    )
    y = np.random.default_rng(1).integers(0, 2, 1000)
    for name, options in {
        "selection": {**PAPERS, "correction": "selection"},
        "default": {},
    }.items():
        tracemalloc.start()
        start = time.perf_counter()
        SelectiveBernoulliNB(random_state=0, **options).fit(X, y)
        elapsed = time.perf_counter() - start
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        report(f"peak memory of fit beyond the input, {name}: MB", peak, 400, f"{elapsed:.1f} s")


def import_time():
    """Time `import honestbayes` against its dependencies, in fresh interpreters."""
    baseline = "import sklearn.naive_bayes, numpy, scipy.special"
    times = best_times(
        {
            code: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
            for code in (baseline, "import honestbayes", "pass")
        },
        7,
    )
    ratio = (times["import honestbayes"] - times["pass"]) / (times[baseline] - times["pass"])
    report("import honestbayes: against scikit-learn, numpy, scipy.special", ratio, 1.3)


if __name__ == "__main__":
    import_time()
    fit_and_predict()
    tall_tables()
    correction_cost()
    screening()
    memory()
