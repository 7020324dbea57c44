"""The mixture on the thesis's simulation (section 2.4.4), beside its Table 2.3, and its speed.

Run: python benchmarks/mixture.py [--seeds 5] [--features 1 10 100] [--speed]
Writes benchmarks/results/mixture.md.

Each model runs six chains, two each from labels equal to the class, from random labels and from
labels that are all the same, with continuous alpha.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from honestbayes import SelectiveMixture
from honestbayes.datasets import simulate_mixture
from honestbayes.metrics import summarise

RESULTS = Path(__file__).parent / "results" / "mixture.md"

# Table 2.3 of the thesis: for each decile of the claimed probability the number of test cases, the
# average claim and the actual fraction of class 1; corrected, then uncorrected.
TABLE_2_3 = {
    1: (
        [(1083, 0.488, 0.472), (917, 0.536, 0.523)],
        [(1083, 0.424, 0.472), (917, 0.617, 0.523)],
    ),
    10: (
        [
            (19, 0.259, 0.105), (317, 0.368, 0.420), (530, 0.466, 0.494), (552, 0.549, 0.500),
            (480, 0.639, 0.529), (100, 0.735, 0.620), (2, 0.832, 1.000),
        ],
        [
            (19, 0.089, 0.105), (340, 0.155, 0.415), (45, 0.269, 0.622), (406, 0.359, 0.480),
            (52, 0.424, 0.558), (54, 0.560, 0.407), (443, 0.649, 0.519), (49, 0.735, 0.449),
            (329, 0.854, 0.505), (263, 0.945, 0.593),
        ],
    ),
    100: (
        [
            (71, 0.072, 0.183), (195, 0.154, 0.308), (237, 0.250, 0.300), (229, 0.349, 0.328),
            (234, 0.454, 0.504), (259, 0.549, 0.556), (253, 0.652, 0.565), (251, 0.748, 0.673),
            (192, 0.848, 0.729), (79, 0.928, 0.734),
        ],
        [
            (605, 0.033, 0.286), (122, 0.144, 0.361), (86, 0.246, 0.465), (63, 0.350, 0.508),
            (62, 0.448, 0.597), (90, 0.551, 0.589), (66, 0.650, 0.530), (87, 0.749, 0.529),
            (140, 0.856, 0.564), (679, 0.965, 0.666),
        ],
    ),
}  # fmt: skip


def published_errors(rows):
    """Return expected and actual error from rows of Table 2.3."""
    n = sum(count for count, _, _ in rows)
    expected = sum(count * min(p, 1 - p) for count, p, _ in rows) / n
    actual = sum(count * (a if p < 0.5 else 1 - a) for count, p, a in rows) / n
    return expected, actual


def run(seed, k, correction, n_jobs):
    """Fit one data set, and return errors, R-hat, steps that agree, and seconds."""
    data = simulate_mixture(random_state=seed)
    model = SelectiveMixture(
        n_features_to_select=k,
        correction=correction,
        n_chains=6,
        n_draws=400,
        n_warmup=150,
        n_doublings=0,
        random_state=seed,
        n_jobs=n_jobs,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # problems are counted from the diagnostics
        model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    found = summarise(data.y_test, model.predict_proba(data.X_test)[:, 1])
    rhat = float(model.diagnostics_.rhat.max())
    ess = float(min(model.diagnostics_.ess_bulk.min(), model.diagnostics_.ess_tail.min()))
    return found, rhat, ess, seconds


def experiment(seeds, numbers, n_jobs):
    """Yield a line of the table for each number of features and method."""
    for k in numbers:
        for place, correction in enumerate(("selection", None)):
            rows = [run(seed, k, correction, n_jobs) for seed in range(seeds)]
            expected = np.array([found.expected_error for found, *_ in rows])
            actual = np.array([found.actual_error.value for found, *_ in rows])
            log_score = np.mean([found.log_score.value for found, *_ in rows])
            gap = actual - expected
            published = published_errors(TABLE_2_3[k][place]) if k in TABLE_2_3 else (np.nan,) * 2
            yield (
                f"| {k} | {'corrected' if correction else 'uncorrected'} "
                f"| {expected.mean():.3f} | {actual.mean():.3f} "
                f"| {gap.mean():+.3f} ({gap.min():+.3f} to {gap.max():+.3f}) "
                f"| {published[0]:.3f} | {published[1]:.3f} | {log_score:.3f} "
                f"| {max(rhat for _, rhat, *_ in rows):.3f} "
                f"| {min(ess for _, _, ess, _ in rows):.0f} "
                f"| {np.median([seconds for *_, seconds in rows]):.1f} |"
            )


def prepared(k):
    """Return the problem that kernels take, of the first data set, and its classes."""
    from honestbayes.likelihood.quadrature import AlphaPrior
    from honestbayes.models.mixture.model import MixtureSettings, as_cells, make_problem
    from honestbayes.selection import select
    from honestbayes.selection.counts import screen

    data = simulate_mixture(random_state=0)
    selection = select(
        screen(data.X_train, data.y_train),
        n_features=k,
        threshold=None,
        always_keep=np.zeros(data.X_train.shape[1], dtype=bool),
        random_state=None,
    )
    cells = as_cells(data.y_train == 1, data.X_train[:, list(selection.columns)], None)
    prior = AlphaPrior(0.5, 5.0)
    settings = MixtureSettings(
        correct=True,
        pseudocounts=(1.0, 1.0),
        alpha_prior=prior,
        response_prior=prior,
        theta_range=(0.0, 1.0),
        n_alpha=None,
    )
    return make_problem(cells, selection, settings), data.y_train


def time_sweeps(k, repeats=15, sweeps=200):
    """Return microseconds per sweep with and without the correction, from the same states."""
    from honestbayes.correction.mixture_kernels import chain_work
    from honestbayes.models.mixture import kernels

    before = time.process_time()
    problem, y = prepared(k)
    built = time.process_time() - before
    without = problem._replace(table=problem.table._replace(n_discarded=0.0))
    rng, work = np.random.default_rng(0), chain_work(problem.table)
    labels, log_alpha = y.copy(), np.array([2.0, 5.0])
    theta = np.full(k + 1, 0.5)
    for _ in range(500):
        kernels.sweep(rng, labels, log_alpha, theta, problem, work)
    best = {True: np.inf, False: np.inf}
    for _ in range(repeats):
        for corrected, these in ((True, problem), (False, without)):
            total = 0.0
            for _ in range(sweeps):
                state = (labels.copy(), log_alpha.copy(), theta.copy())
                start = time.perf_counter()
                kernels.sweep(rng, *state, these, work)
                total += time.perf_counter() - start
            best[corrected] = min(best[corrected], total / sweeps)
    return 1e6 * best[True], 1e6 * best[False], built


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--features", type=int, nargs="*", default=[1, 10, 100])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--speed", action="store_true", help="time sweeps only")
    options = parser.parse_args()
    speed = [
        "| k | corrected | uncorrected | ratio | data and table, CPU s |",
        "|---|---|---|---|---|",
    ]
    for k in (10, 100):
        corrected, uncorrected, built = time_sweeps(k)
        speed.append(
            f"| {k} | {corrected:.0f} | {uncorrected:.0f} | {corrected / uncorrected:.2f} "
            f"| {built:.1f} |"
        )
        print(speed[-1], flush=True)
    if options.speed:
        return
    lines = [
        (
            "| k | | expected | actual | actual - expected (least to most) | thesis: expected "
            "| actual | log score | largest R-hat | least ESS | s |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in experiment(options.seeds, options.features, options.jobs):
        lines.append(line)
        print(line, flush=True)
    text = [
        "# The mixture on the thesis's simulation",
        "",
        (
            f"Made by `python benchmarks/mixture.py --seeds {options.seeds}`. 200 training and "
            "2,000 test cases, 10,000 features, alpha 300, P(class 1) 0.1 and 0.9 in the "
            "components. Means over seeds; six chains each from three kinds of starts."
        ),
        "",
        *lines,
        "",
        "Microseconds per sweep, n = 200, from the same states:",
        "",
        *speed,
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
