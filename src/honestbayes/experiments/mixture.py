"""Section 2.4.4 of Li's thesis: data of a two-component mixture, with and without correction.

The thesis finds a gap between expected and actual error after correction, and presumes that its
chains did not move the labels away from the classes. Its alphas take ten values. Here each of both
is done and left undone.

On complete data, where nothing is discarded, it finds predictions "ironically worse", because
labels of random starts gather in one group. Here chains of several lengths start in two ways.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from honestbayes.data import as_source
from honestbayes.datasets import simulate_mixture
from honestbayes.datasets.simulation import MixtureData
from honestbayes.experiments.experiment import (
    NOBODY,
    Cell,
    Decimals,
    Experiment,
    ExperimentRun,
    Findings,
    PublishedFigure,
    ResultFigure,
    ResultTable,
    Settings,
    Size,
    decimal_rows,
    errors_of,
    judged,
    of,
)
from honestbayes.likelihood.quadrature import AlphaPrior, paper_alpha_nodes
from honestbayes.models.binary.estimator import SelectiveBernoulliNB
from honestbayes.models.binary.model import TrainingRows
from honestbayes.models.mixture.estimator import SelectiveMixture
from honestbayes.models.mixture.model import (
    MixtureKernel,
    MixtureSettings,
    as_cells,
    log_joint,
    make_problem,
    starting_states,
)
from honestbayes.models.mixture.naive_bayes import sample_naive_bayes
from honestbayes.plots.drawing import GREY, look, subplots, tidy
from honestbayes.sampling.chains import Schedule, advance, start
from honestbayes.sampling.draws import AGREED as DOUBLED_ABOVE
from honestbayes.sampling.draws import RHAT_LIMIT, Draws
from honestbayes.selection import select

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# --------------------------------------------------------------------------------------------------
# Fits of the mixture: correct, and as in the thesis
# --------------------------------------------------------------------------------------------------


PRIOR = AlphaPrior(0.5, 5.0)
N_VALUES = 10
"""Values that alphas may take in the thesis: quantiles of the prior."""

AGREED = 1.1
"""R-hat of log(alpha) below which chains from different starts count as agreeing."""


@dataclass(frozen=True, slots=True)
class FittingMethod:
    """A way to fit the model.

    Attributes
    ----------
    correct : bool
        Whether the selection is conditioned on.
    stuck : bool
        Whether labels stay equal to the classes.
    n_alpha : int or None
        How many values alphas may take; None: any.
    """

    correct: bool
    stuck: bool = False
    n_alpha: int | None = None


WAYS = {
    "uncorrected": FittingMethod(correct=False),
    "corrected": FittingMethod(correct=True),
    "corrected, ten alphas": FittingMethod(correct=True, n_alpha=N_VALUES),
    "corrected, stuck labels": FittingMethod(correct=True, stuck=True),
    "corrected, both": FittingMethod(correct=True, stuck=True, n_alpha=N_VALUES),
}
TITLES = {
    "uncorrected": "uncorrected",
    "corrected": "corrected",
    "corrected, ten alphas": "ten alphas",
    "corrected, stuck labels": "stuck labels",
    "corrected, both": "stuck labels and ten alphas",
}
AS_THESIS = "corrected, both"
"""Alphas as in the thesis, and labels as it presumes that they were."""


def fit(
    data: MixtureData, k: int, name: str, seed: int, n_chains: int, n_warmup: int, n_draws: int
) -> dict[str, Any]:
    """Fit in one way, with five sweeps for each draw as in the thesis.

    Chains start from the classes, from random labels and from equal ones. With labels that stay
    equal to the classes the model is naive Bayes, which for any alpha needs no chains: with 1,000
    features theirs stay near alpha = 0.2 when they come there.
    """
    way = WAYS[name]
    chains: dict[str, Any] = {
        "n_chains": n_chains,
        "n_warmup": n_warmup,
        "n_draws": n_draws,
        "thin": 5,
    }
    fitted = _mixture if not way.stuck else _naive_bayes if way.n_alpha is None else _stuck
    return {"k": k, "way": name} | fitted(data, k, way, seed, chains)


def _mixture(
    data: MixtureData, k: int, way: FittingMethod, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    model = SelectiveMixture(
        n_features_to_select=k,
        correction="selection" if way.correct else None,
        n_alpha=way.n_alpha,
        random_state=seed,
        n_jobs=1,
        n_doublings=0,
        **chains,
    ).fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    proba = model.predict_proba(data.X_test)[:, 1]
    same = np.mean(model.draws_.pooled("z") == data.y_train, axis=1)
    return {
        "seconds": seconds,
        "gamma": float(model.selection_.gamma),
        "labels_as_classes": float(np.maximum(same, 1 - same).mean()),
        **_of_chains(model.draws_),
    } | judged(data.y_test, proba)


def _stuck(
    data: MixtureData, k: int, way: FittingMethod, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    part = sample_naive_bayes(
        data.X_train,
        data.y_train,
        n_features_to_select=k,
        n_alpha=way.n_alpha,
        n_jobs=1,
        seed=seed,
        **chains,
    )
    seconds = time.process_time() - began
    kept = data.X_test[:, list(part.selection.columns)]
    joint = part.log_prior + part.log_likelihood((kept, None))
    return {
        "seconds": seconds,
        "gamma": float(part.selection.gamma),
        "labels_as_classes": 1.0,
        **_of_chains(part.draws),
    } | judged(data.y_test, expit(joint[:, 1] - joint[:, 0]))


def _of_chains(draws: Draws) -> dict[str, Any]:
    return {
        "alpha": float(np.exp(np.median(draws["log_alpha"]))),
        "agree": bool(draws.diagnostics(["log_alpha"]).rhat[0] < AGREED),
    }


def _naive_bayes(
    data: MixtureData, k: int, way: FittingMethod, seed: int, chains: dict[str, Any]
) -> dict[str, Any]:
    del way, chains
    began = time.process_time()
    model = SelectiveBernoulliNB(
        n_features_to_select=k,
        correction="selection",
        feature_prior="uniform",
        recalibrate=None,
        random_state=seed,
    ).fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "gamma": float(model.selection_.gamma),
        "labels_as_classes": 1.0,
        "alpha": float(np.exp(model.posterior_.quantile(np.array([0.5]))[0])),
        "agree": None,
    } | judged(data.y_test, model.predict_proba(data.X_test)[:, 1])


# --------------------------------------------------------------------------------------------------
# Complete data
# --------------------------------------------------------------------------------------------------


EARLIER = "any theta"
"""Thetas and alphas start at random, whatever the data, as in `SelectiveMixture` before."""

NEAR_DATA = "theta near data"
"""Thetas start at the frequencies of ones, as `starting_states` gives them."""

DEFAULT = "default of SelectiveMixture"
"""The default of `SelectiveMixture`, with doublings until R-hat is at most 1.01."""

THIN = 5
"""Sweeps from one draw to the next."""

ONE_COMPONENT = 0.1
"""Share of the cases below which the smaller component counts as empty."""


def complete(
    seed: int,
    n_train: int,
    n_test: int,
    n_features: int,
    alpha: float,
    starts: str,
    lengths: Sequence[int],
) -> dict[str, Any]:
    """Simulate one data set, keep all features, and judge chains of several lengths.

    A chain of one length is the beginning of a longer one. The first third of each is discarded.
    Chains start from the classes, from random labels and from a single component.
    """
    data = simulate_mixture(n_train, n_test, n_features, alpha=alpha, random_state=seed)
    if starts == DEFAULT:
        began = time.process_time()
        model = SelectiveMixture(n_features_to_select="all", random_state=seed, n_jobs=1)
        model.fit(data.X_train, data.y_train)
        found = _of_complete(model.draws_) | {"sweeps": None}
        found["seconds"] = time.process_time() - began
        return {"fits": [found | _scores(data.y_test, model.predict_proba(data.X_test)[:, 1])]}
    is_1 = data.y_train == 1
    rows = TrainingRows.screened(as_source(data.X_train), (np.array([0, 1]), is_1), "auto", None)
    nowhere = np.zeros(n_features, dtype=bool)
    selection = select(rows.whole, n_features=n_features, threshold=None, always_keep=nowhere)
    columns = list(selection.columns)
    problem = make_problem(
        as_cells(is_1, data.X_train[:, columns], None),
        selection,
        MixtureSettings(
            correct=True,
            pseudocounts=(1.0, 1.0),
            alpha_prior=PRIOR,
            response_prior=PRIOR,
            theta_range=(0.0, 1.0),
            n_alpha=None,
        ),
    )
    rng = np.random.default_rng(seed)
    states = starting_states(problem, 3, rng)
    if starts == EARLIER:
        for state in states:
            state["log_alpha"] = rng.uniform(1.0, 6.0, 2)
            state["theta"] = rng.random(n_features + 1)
    run = start(states, np.random.SeedSequence(seed))
    fits = []
    began = time.process_time()
    for n_sweeps in lengths:
        n_draws = n_sweeps // THIN
        run, _ = advance(MixtureKernel(problem, THIN), run, Schedule(0, n_draws), n_jobs=1)
        seconds = time.process_time() - began
        draws = Draws({k: v[:, n_draws // 3 :] for k, v in run.draws.values.items()}, 3)
        joint = log_joint(draws.spread(150), data.X_test[:, columns], None)
        found = _of_complete(draws) | {"sweeps": n_sweeps, "seconds": seconds}
        fits.append(found | _scores(data.y_test, expit(joint[:, 1] - joint[:, 0])))
    return {"fits": fits}


def _of_complete(draws: Draws) -> dict[str, Any]:
    """Return R-hat, and the share of chains that have one component in most draws."""
    rhat = draws.diagnostics(["log_alpha", "log_posterior"]).rhat
    share = draws["z"].mean(axis=2)
    alone = np.minimum(share, 1 - share) < ONE_COMPONENT
    return {
        "in_one_component": float(np.mean(alone.mean(axis=1) > 0.5)),
        "rhat_alpha": float(rhat[0]),
        "rhat_posterior": float(rhat[1]),
        "alpha": float(np.exp(np.median(draws["log_alpha"]))),
    }


def _scores(y: Any, proba: Any) -> dict[str, Any]:
    found = judged(y, proba)
    return {name: found[name] for name in ("expected_error", "actual_error", "log_score")}


GAMMA = {1: 0.30, 10: 0.24, 100: 0.18, 1000: 0.12}
"""Smallest correlation of a kept feature (section 2.4.4)."""

SECONDS = {1: (70, 3324), 10: (82, 2648), 100: (193, 2881), 1000: (1277, 4300)}
"""Table 2.4: uncorrected and corrected, 50 iterations of 5 sweeps each."""

TABLE_2_3: dict[tuple[int, str], Decimals] = {
    (1, "corrected"): [NOBODY] * 4 + [(1083, 0.488, 0.472), (917, 0.536, 0.523)] + [NOBODY] * 4,
    (1, "uncorrected"): [NOBODY] * 4
    + [(1083, 0.424, 0.472), NOBODY, (917, 0.617, 0.523)]
    + [NOBODY] * 3,
    (10, "corrected"): [
        *[NOBODY, NOBODY, (19, 0.259, 0.105), (317, 0.368, 0.420), (530, 0.466, 0.494)],
        *[(552, 0.549, 0.500), (480, 0.639, 0.529), (100, 0.735, 0.620), (2, 0.832, 1.0), NOBODY],
    ],
    (10, "uncorrected"): [
        *[(19, 0.089, 0.105), (340, 0.155, 0.415), (45, 0.269, 0.622), (406, 0.359, 0.480)],
        *[(52, 0.424, 0.558), (54, 0.560, 0.407), (443, 0.649, 0.519), (49, 0.735, 0.449)],
        *[(329, 0.854, 0.505), (263, 0.945, 0.593)],
    ],
    (100, "corrected"): [
        *[(71, 0.072, 0.183), (195, 0.154, 0.308), (237, 0.250, 0.300), (229, 0.349, 0.328)],
        *[(234, 0.454, 0.504), (259, 0.549, 0.556), (253, 0.652, 0.565), (251, 0.748, 0.673)],
        *[(192, 0.848, 0.729), (79, 0.928, 0.734)],
    ],
    (100, "uncorrected"): [
        *[(605, 0.033, 0.286), (122, 0.144, 0.361), (86, 0.246, 0.465), (63, 0.350, 0.508)],
        *[(62, 0.448, 0.597), (90, 0.551, 0.589), (66, 0.650, 0.530), (87, 0.749, 0.529)],
        *[(140, 0.856, 0.564), (679, 0.965, 0.666)],
    ],
    (1000, "corrected"): [
        *[(692, 0.033, 0.140), (129, 0.148, 0.271), (88, 0.247, 0.375), (64, 0.350, 0.500)],
        *[(68, 0.454, 0.426), (71, 0.548, 0.634), (69, 0.646, 0.580), (83, 0.744, 0.795)],
        *[(143, 0.857, 0.804), (593, 0.966, 0.841)],
    ],
    (1000, "uncorrected"): [
        *[(919, 0.016, 0.185), (33, 0.145, 0.455), (28, 0.240, 0.429), (21, 0.350, 0.619)],
        *[(20, 0.441, 0.400), (25, 0.552, 0.480), (20, 0.648, 0.700), (31, 0.749, 0.645)],
        *[(44, 0.856, 0.545), (859, 0.980, 0.818)],
    ],
}
"""Table 2.3: cases, mean probability and share of class 1 by the first decimal."""


def runs(size: Size) -> list[Settings]:
    """Return the runs on selected features, and those on complete data."""
    return [*_runs_of_selected(size), *_runs_of_complete(size)]


def _runs_of_complete(size: Size) -> list[Settings]:
    """Return the runs on complete data.

    A chain of the thesis had 250 sweeps over the labels. 1,600 sweeps take a minute, so that only
    the first three data sets of its size have these. The default takes at least 28,000 sweeps and
    runs on a 25th of the features, with an alpha that leaves the components as far apart.
    """
    n_sets = {"toy": 2, "quick": 2, "full": 10}[size]
    small = {"n_train": 100, "n_test": 1000, "n_features": 400, "alpha": 12.0}
    thesis = {"n_train": 200, "n_test": 1000, "n_features": 10_000, "alpha": 300.0}
    if size == "toy":
        thesis = {"n_train": 20, "n_test": 50, "n_features": 100, "alpha": 3.0}
    elif size == "quick":
        thesis = {"n_train": 100, "n_test": 1000, "n_features": 2000, "alpha": 60.0}
    lengths = {"toy": [[30, 60]], "quick": [[100, 300]], "full": [[300, 1600]] * 3}[size]
    settings: list[Settings] = [
        {
            "seed": seed,
            **thesis,
            "starts": starts,
            "lengths": lengths[seed] if seed < len(lengths) else lengths[0][:1],
        }
        for seed in range(n_sets)
        for starts in (EARLIER, NEAR_DATA)
    ]
    if size != "toy":
        default: Settings = {**small, "starts": DEFAULT, "lengths": []}
        settings += [{"seed": seed, **default} for seed in range(n_sets)]
    return settings


def _runs_of_selected(size: Size) -> list[Settings]:
    toy = size == "toy"
    sets = {
        "toy": {2: 1, 5: 1},
        "quick": {1: 3, 10: 3, 100: 3, 1000: 2},
        "full": dict.fromkeys(GAMMA, 10),
    }
    return [
        {"seed": seed, "k": k, "n_train": 40 if toy else 200, "n_features": 200 if toy else 10_000}
        | {"n_chains": 3, "n_warmup": 5 if toy else 50, "n_draws": 10 if toy else 100}
        for k, n_sets in sets[size].items()
        for seed in range(n_sets)
    ]


def run(**settings: Any) -> dict[str, Any]:
    """Run one data set, on complete data where the settings name starts."""
    return complete(**settings) if "starts" in settings else selected(**settings)


def selected(
    seed: int,
    k: int,
    n_train: int,
    n_features: int,
    n_chains: int,
    n_warmup: int,
    n_draws: int,
) -> dict[str, Any]:
    """Simulate one data set and fit it in all ways."""
    data = simulate_mixture(n_train, 10 * n_train, n_features, random_state=seed)
    chains = (n_chains, n_warmup, n_draws)
    return {"fits": [fit(data, k, name, seed, *chains) for name in WAYS]}


def summarize(done: Sequence[ExperimentRun]) -> Findings:
    """Compare the data sets with the thesis, and draw its figures."""
    whole = [run for run in done if "starts" in run.settings]
    done = [run for run in done if "starts" not in run.settings]
    fits = [one for run in done for one in run.results["fits"]]
    checks = tuple(_checks(fits)) if done[0].settings["n_features"] == 10_000 else ()
    first = [one for run in done if run.settings["seed"] == 0 for one in run.results["fits"]]
    return Findings(
        conclusion=f"{conclusion(fits)}\n\n{conclusion_on_complete(whole)}",
        checks=checks,
        tables=(_errors(fits), _chains(fits), _decimals(first), _times(fits), _complete(whole)),
        figures=(
            ResultFigure(
                "errors",
                "Figure 2.13: expected and actual error by number of features kept, averages over "
                "data sets and bars of two standard deviations of single data sets. Crosses: "
                "published.",
                lambda: draw_errors(fits),
            ),
            ResultFigure(
                "scores",
                "Figure 2.14: log score and squared error by number of features kept.",
                lambda: draw_scores(fits),
            ),
            ResultFigure(
                "gaps",
                "Actual less expected error of the corrected model, fitted in four ways, and the "
                "published gap (crosses).",
                lambda: draw_gaps(fits),
            ),
        ),
    )


def _checks(fits: Sequence[dict[str, Any]]) -> Iterator[PublishedFigure]:
    for k, gamma in GAMMA.items():
        chance = norm.isf(k / 10_000 / 2) / np.sqrt(200)
        yield PublishedFigure(
            what=f"gamma, {k:,} kept",
            published=gamma,
            ours=of(fits, "gamma", k=k, way="corrected"),
            digits=2,
            why=f"unknown; features unrelated to the class would give {chance:.2f}",
        )
    for (k, method), decimals in TABLE_2_3.items():
        for name, error in errors_of(decimals).items():
            check = PublishedFigure(
                what=f"{name} error, {k:,} kept, {method}",
                published=error,
                ours=of(fits, f"{name}_error", k=k, way=method),
                why="not known",
            )
            if method == "uncorrected":
                yield check
                continue
            as_thesis = replace(
                check,
                what=f"{check.what}, stuck labels and ten alphas",
                ours=of(fits, f"{name}_error", k=k, way=AS_THESIS),
            )
            if as_thesis.holds:
                check = replace(check, why="within the range of stuck labels and ten alphas")
            yield from (check, as_thesis)


def _mean(fits: Sequence[dict[str, Any]], name: str, **settings: Any) -> float:
    return float(of(fits, name, **settings).mean())


def _numbers(fits: Sequence[dict[str, Any]]) -> list[int]:
    return list(dict.fromkeys(f["k"] for f in fits))


def _errors(fits: Sequence[dict[str, Any]]) -> ResultTable:
    names = ("expected_error", "actual_error", "log_score", "squared_error")
    rows: list[dict[str, Cell]] = [
        {
            "features kept": k,
            "fitted": way,
            **{name.replace("_", " "): _mean(fits, name, k=k, way=way) for name in names},
        }
        for k in _numbers(fits)
        for way in WAYS
    ]
    return ResultTable("errors", "Averages over data sets", rows)


def _chains(fits: Sequence[dict[str, Any]]) -> ResultTable:
    rows: list[dict[str, Cell]] = [
        {
            "features kept": k,
            "fitted": way,
            "median alpha": float(np.median(of(fits, "alpha", k=k, way=way))),
            "labels equal to the class": _mean(fits, "labels_as_classes", k=k, way=way),
            "data sets": of(fits, "agree", k=k, way=way).size,
            "of these, chains agree": _agreeing(fits, k, way),
        }
        for k in _numbers(fits)
        for way in WAYS
    ]
    return ResultTable(
        "chains",
        "What the chains found. The true alpha is 300, and 90% of the labels equal the class.",
        rows,
        2,
    )


def _agreeing(fits: Sequence[dict[str, Any]], k: int, way: str) -> int | None:
    """Return in how many fits chains agree; nothing where there are no chains."""
    agree = of(fits, "agree", k=k, way=way)
    return None if None in agree else int(agree.sum())


def _decimals(first: Sequence[dict[str, Any]]) -> ResultTable:
    rows = [
        row
        for fit in first
        if fit["way"] in ("corrected", "uncorrected")
        for row in decimal_rows(fit, **{"features kept": fit["k"], "method": fit["way"]})
    ]
    return ResultTable("decimals", "As table 2.3: test cases of the first data set", rows)


def _times(fits: Sequence[dict[str, Any]]) -> ResultTable:
    rows: list[dict[str, Cell]] = []
    for k in _numbers(fits):
        published = SECONDS.get(k, (None, None))
        rows.append(
            {
                "features kept": k,
                "uncorrected": float(np.median(of(fits, "seconds", k=k, way="uncorrected"))),
                "corrected": float(np.median(of(fits, "seconds", k=k, way="corrected"))),
                "published, uncorrected": published[0],
                "published, corrected": published[1],
            }
        )
    return ResultTable(
        "times",
        "As table 2.4: processor seconds of our 2,250 sweeps (three chains), and published ones of "
        "250 sweeps over labels, 5,000 over thetas, in R",
        rows,
        digits=1,
    )


def _gaps(fits: Sequence[dict[str, Any]], numbers: Sequence[int]) -> str:
    """Return actual less expected error by number of features, in points."""
    gaps = [of(fits, "actual_error", k=k) - of(fits, "expected_error", k=k) for k in numbers]
    return ", ".join(f"{100 * gap.mean():+.1f}" if gap.size else "none" for gap in gaps)


def conclusion(fits: Sequence[dict[str, Any]]) -> str:
    """Return the conclusion."""
    numbers = _numbers(fits)
    gaps = {way: _gaps([f for f in fits if f["way"] == way], numbers) for way in WAYS}
    kept = ", ".join(f"{k:,}" for k in numbers)
    published = ", ".join(
        f"{100 * (error['actual'] - error['expected']):+.1f}"
        for error in (errors_of(TABLE_2_3[k, "corrected"]) for k in GAMMA)
    )
    k = numbers[-2]
    alpha = float(np.median(of(fits, "alpha", k=k, way="corrected, stuck labels")))
    values = paper_alpha_nodes(PRIOR, N_VALUES)
    low, high = values[values <= alpha].max(), values[values > alpha].min()
    at_low = [f for f in fits if f["way"] == AS_THESIS and np.isclose(f["alpha"], low, rtol=1e-3)]
    agree = {way: of(fits, "agree", way=way) for way in ("corrected", "corrected, ten alphas")}
    return (
        f"Actual less expected error in points, with {kept} features kept: {gaps['uncorrected']} "
        f"without correction, {gaps['corrected']} with it (published: {published}). At one value "
        "of the parameters, as here, it need not be zero even for a right model.\n\n"
        f"What became of the gap of the thesis: with labels that stay equal to the classes it is "
        f"{gaps['corrected, stuck labels']}; with alphas that take the {N_VALUES} values of the "
        f"thesis {gaps['corrected, ten alphas']}; with both {gaps[AS_THESIS]}. The thesis presumes "
        "that its labels stayed at the classes. Features tell less about the classes than about "
        f"the components, so that alpha is then about {alpha:,.0f} with {k:,} features kept, where "
        f"300 is true of the components. The values next to it are {low:.0f} and {high:,.0f}. "
        f"Chains are at {low:.0f} in {len(at_low)} of {of(fits, 'k', way=AS_THESIS).size} fits, "
        f"and the gap of these is {_gaps(at_low, numbers)}. This can be how the published gap came "
        "about, and is no proof: the combination was looked for because that gap was to be "
        f"explained, the thesis does not print its alphas, and elsewhere chains are at another "
        "value, so that the range over data sets is wide.\n\n"
        "Left to themselves, labels do not stay in our chains: with "
        f"{kept} features kept they equal the class in {_labels(fits, 'corrected')} of the cases, "
        f"with ten values of alpha in {_labels(fits, 'corrected, ten alphas')}, on average over "
        "draws; a third of the chains start at the classes. Why they stayed in the thesis is not "
        "known. Chains from three kinds of starts agree about alpha in "
        f"{int(agree['corrected'].sum())} of {agree['corrected'].size} fits, with ten values in "
        f"{int(agree['corrected, ten alphas'].sum())} of {agree['corrected, ten alphas'].size}: "
        "figures of the latter depend on where chains start."
    )


def _labels(fits: Sequence[dict[str, Any]], way: str) -> str:
    shares = [_mean(fits, "labels_as_classes", k=k, way=way) for k in _numbers(fits)]
    return ", ".join(f"{share:.0%}" for share in shares)


_Key = tuple[int, int, str, int | None]
"""Training cases, features, starts and sweeps."""


def _by_length(whole: Sequence[ExperimentRun]) -> dict[_Key, list[dict[str, Any]]]:
    """Return fits on complete data by size, starts and sweeps of each chain."""
    groups: dict[_Key, list[dict[str, Any]]] = {}
    for run in whole:
        size = (run.settings["n_train"], run.settings["n_features"], run.settings["starts"])
        for one in run.results["fits"]:
            groups.setdefault((*size, one["sweeps"]), []).append(one)
    order = {EARLIER: 0, NEAR_DATA: 1, DEFAULT: 2}
    return dict(sorted(groups.items(), key=lambda item: (order[item[0][2]], item[0][3] or 0)))


def _complete(whole: Sequence[ExperimentRun]) -> ResultTable:
    measures = {
        "in_one_component": "chains in one component",
        "rhat_alpha": "R-hat of log(alpha)",
        "rhat_posterior": "R-hat of log posterior",
        "expected_error": "expected error",
        "actual_error": "actual error",
        "log_score": "log score",
    }
    rows: list[dict[str, Cell]] = []
    for (n_train, n_features, starts, sweeps), fits in _by_length(whole).items():
        row: dict[str, Cell] = {
            "cases": n_train,
            "features": n_features,
            "starts": starts,
            "sweeps": "28,000 or more" if sweeps is None else f"{sweeps:,} x 3",
            "data sets": len(fits),
            f"of these, R-hat above {RHAT_LIMIT}": sum(map(_disagree, fits)),
            "processor seconds": float(np.median(of(fits, "seconds"))),
        }
        for name, title in measures.items():
            values = of(fits, name)
            row[title] = float(values.mean())
            row[f"± {title}"] = (
                float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else None
            )
        rows.append(row)
    return ResultTable(
        "complete",
        "Complete data: all features kept. Averages over data sets and their standard errors (±). "
        "A chain is in one component where, in most of its draws, the other one has less than a "
        "tenth of the cases.",
        rows,
    )


def _disagree(fit: dict[str, Any]) -> bool:
    return bool(max(fit["rhat_alpha"], fit["rhat_posterior"]) > RHAT_LIMIT)


def conclusion_on_complete(whole: Sequence[ExperimentRun]) -> str:
    """Return the conclusion on complete data."""
    parts, default, longest = [], "", 0
    for (n_train, n_features, starts, sweeps), fits in _by_length(whole).items():
        found = (
            f"expected error {_mean(fits, 'expected_error'):.3f} and actual error "
            f"{_mean(fits, 'actual_error'):.3f}"
        )
        disagree = f"{sum(map(_disagree, fits))} of {len(fits)} data sets"
        if sweeps is None:
            default = (
                f" The default of SelectiveMixture (28,000 sweeps, doubled while R-hat is above "
                f"{DOUBLED_ABOVE}) would take about seven minutes for each data set of the thesis' "
                f"size. It ran on {n_train} cases and {n_features:,} features with a smaller "
                f"alpha, which leaves the components as far apart: {found}, R-hat above "
                f"{RHAT_LIMIT} in {disagree}."
            )
            continue
        longest = max(longest, sweeps)
        parts.append(
            f"{starts}, {sweeps:,} sweeps ({len(fits)} data sets): "
            f"{_mean(fits, 'in_one_component'):.0%} of the chains in one component, R-hat above "
            f"{RHAT_LIMIT} in {disagree}, {found}"
        )
    return (
        'Complete data: the thesis finds predictions from all features "ironically worse" than '
        "from selected ones, and blames its chains of 250 sweeps, which gathered all cases in one "
        f"group. That is right. By starts and length: {'; '.join(parts)}. To save time, chains of "
        f"{longest:,} sweeps ran on the first data sets only.{default}\n\n"
        "The gathering comes from the start, not from the model. Thetas that start anywhere are "
        "far from the frequencies of ones. A case then fits best into the component with most "
        "cases, and the first sweeps empty the other one, whatever the labels were. The state "
        "lasts, because alpha and the thousands of thetas that are tied to it move slowly "
        "together. R-hat is large meanwhile, so the state is noticed, and longer chains cure it. "
        "SelectiveMixture now starts thetas near the frequencies of ones, and alpha at the number "
        "of columns or above where labels start at random or all alike. Chains from all starts "
        "then leave them within tens of sweeps. The model and its posterior are the same."
    )


def draw_errors(fits: Sequence[dict[str, Any]]) -> Figure:
    """Draw figure 2.13, and the same as the thesis ran it."""
    ways = {"uncorrected": "uncorrected", "corrected": "corrected", AS_THESIS: "corrected"}
    figure, axes = subplots(1, 3, figsize=(11, 3.6), sharey=True)
    for axis, (way, method) in zip(axes, ways.items(), strict=True):
        for index, name in enumerate(("actual", "expected")):
            _curve(axis, fits, f"{name}_error", way, index, name)
            shown = [k for k in _numbers(fits) if k in GAMMA]
            errors = [errors_of(TABLE_2_3[k, method])[name] for k in shown]
            axis.plot(shown, errors, "x", color=look(index).color, markersize=7)
        axis.set(title=TITLES[way])
        _by_number(axis)
    axes[0].set(ylabel="error rate", ylim=(0, 0.6))
    axes[0].legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def draw_scores(fits: Sequence[dict[str, Any]]) -> Figure:
    """Draw figure 2.14."""
    figure, axes = subplots(1, 2, figsize=(8, 3.4))
    for axis, name in zip(axes, ("log_score", "squared_error"), strict=True):
        for index, way in enumerate(("corrected", "uncorrected")):
            _curve(axis, fits, name, way, index, way)
        axis.set(ylabel=name.replace("_", " "))
        _by_number(axis)
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def draw_gaps(fits: Sequence[dict[str, Any]]) -> Figure:
    """Draw the gap that remains after correction, by the way of fitting."""
    figure, axis = subplots(figsize=(7.4, 3.8))
    gaps = [{**f, "gap": f["actual_error"] - f["expected_error"]} for f in fits]
    for index, way in enumerate(list(WAYS)[1:]):
        _curve(axis, gaps, "gap", way, index, TITLES[way])
    for k, error in ((k, errors_of(TABLE_2_3[k, "corrected"])) for k in GAMMA):
        label = "published" if k == 1 else None
        axis.plot(k, error["actual"] - error["expected"], "xk", markersize=8, label=label)
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.set(ylabel="actual less expected error")
    _by_number(axis)
    figure.legend(frameon=False, fontsize=9, loc="outside right upper")
    return figure


def _curve(
    axis: Any, fits: Sequence[dict[str, Any]], name: str, way: str, index: int, label: str
) -> None:
    numbers = _numbers(fits)
    values = [of(fits, name, k=k, way=way) for k in numbers]
    axis.errorbar(
        np.array(numbers) * 1.07 ** (index - 1),
        [v.mean() for v in values],
        [2 * v.std(ddof=1) if v.size > 1 else 0.0 for v in values],
        **look(index)._asdict(),
        label=label,
        markersize=4,
        elinewidth=0.8,
    )


def _by_number(axis: Any) -> None:
    axis.set(xlabel="features kept", xscale="log")
    tidy(axis)


EXPERIMENT = Experiment(
    name="mixture",
    title="A mixture, and the gap that remained",
    source="Li (2007), section 2.4.4: tables 2.3 and 2.4, figures 2.13 and 2.14",
    question=(
        "200 training cases of a mixture of two components that hold 10% and 90% of class 1; the "
        "1, 10, 100 or 1,000 of 10,000 features that correlate best with the class are kept. Does "
        "the model know how often it is wrong, and why did the thesis' corrected one not quite? "
        "And why does the thesis find predictions from all features worse?"
    ),
    runs=runs,
    run=run,
    summarize=summarize,
    version=2,
)
