"""The cases of the golden record: public names and the command line only, so modules may move.

A model case fits a model and says which rows it predicts; a tool case computes figures without a
model file. Chains are short: what matters is that they stay the same, not that they are right.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from golden import tables
from golden.commands_run import folder_of_files, run
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

import honestbayes as hb
from honestbayes import evaluation, metrics
from honestbayes.decisions import decide, expected_benefit, mailing_benefits, profit, profit_curve
from honestbayes.models.interactions.estimator import windows
from honestbayes.selection import Selection, screen

SHORT = {"n_chains": 2, "n_draws": 40, "n_warmup": 40, "n_doublings": 0, "random_state": 0}
"""Chains that take little time and little room."""

BY_MIXED = ("--model", "mixed")


@dataclass(frozen=True)
class Case:
    """A model to fit, save and predict with.

    Attributes
    ----------
    fit : callable
        Returns the fitted model.
    rows : callable
        Returns new rows, some cells of which are missing.
    more : callable or None
        From the model, further results.
    sampled : bool
        Whether its figures come from chains, which another machine may draw otherwise.
    saved : bool
        Whether it can be saved.
    stored : bool
        Whether the stored record has its file; some would only repeat another.
    quick : bool
        Whether an ordinary test run fits it anew; `compare.py` fits all.
    """

    fit: Callable[[], Any]
    rows: Callable[[], Any]
    more: Callable[[Any], Mapping[str, Any]] | None = None
    sampled: bool = False
    saved: bool = True
    stored: bool = True
    quick: bool = True


def of(table: tables.Table, model: Any, **given: Any) -> Case:
    """A case of one model on one table; what is not about the fit is given to `Case`."""
    about = {k: given.pop(k) for k in ("more", "sampled", "saved", "stored", "quick") if k in given}
    return Case(lambda: model.fit(table.X, table.y, **given), lambda: table.new, **about)


@cache
def fitted_and_warned(name: str) -> tuple[Any, list[str]]:
    """The model of a case, fitted once, and what `fit` warned of: short chains are short."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MODELS[name].fit()
    return model, _in_words(caught)


def fitted(name: str) -> Any:
    """The model of a case."""
    return fitted_and_warned(name)[0]


def _in_words(caught: list[warnings.WarningMessage]) -> list[str]:
    return [f"{one.category.__name__}: {one.message}" for one in caught]


# --------------------------------------------------------------------------- binary features


def _all_of_bernoulli(model: Any) -> dict[str, Any]:
    table = tables.flags()
    return {
        "leave_one_out": model.leave_one_out(table.X, table.y),
        "leave_groups_out": model.leave_one_out(
            table.X, table.y, groups=tables.groups(len(table.y))
        ),
        "feature_path": model.feature_path(table.new, table.new_y),
    }


def _selected_elsewhere() -> Any:
    """The best columns and the record of their selection are all that is known."""
    table = tables.flags(gaps=0.0)
    whole = hb.SelectiveBernoulliNB(
        n_features_to_select=5, correction="selection", recalibrate=None, random_state=0
    ).fit(table.X, table.y)
    selection = Selection.from_dict(whole.selection_.to_dict())
    columns = table.X.iloc[:, list(selection.columns)]
    return hb.SelectiveBernoulliNB(recalibrate=None).fit_selected(columns, table.y, selection)


def _from_screenings() -> Any:
    """Two halves of the rows, screened apart."""
    table, half = tables.flags(), 16
    parts = [
        screen(table.X.iloc[rows], table.y[rows], binarize=None, classes=["ill", "well"])
        for rows in (slice(None, half), slice(half, None))
    ]
    model = hb.SelectiveBernoulliNB(n_features_to_select=5, recalibrate=None, random_state=0)
    return model.fit_screening(parts[0].merge_rows(parts[1]))


def _sparse() -> sparse.csr_array:
    return sparse.csr_array(tables.flags(gaps=0.0).X.to_numpy())


BERNOULLI = {
    "bernoulli_learned": of(
        tables.flags(), hb.SelectiveBernoulliNB(random_state=0), more=_all_of_bernoulli
    ),
    "bernoulli_selection": of(
        tables.flags(),
        hb.SelectiveBernoulliNB(
            n_features_to_select=6,
            feature_prior="uniform",
            correction="selection",
            class_prior=(0.7, 0.3),
            random_state=0,
        ),
    ),
    "bernoulli_threshold": of(
        tables.measurements(),
        hb.SelectiveBernoulliNB(
            threshold=0.25, feature_prior="uniform", correction="counts", recalibrate=None
        ),
        stored=False,
    ),
    "bernoulli_uncorrected": of(
        tables.measurements(),
        hb.SelectiveBernoulliNB(
            n_features_to_select=5,
            feature_prior="uniform",
            correction=None,
            theta_prior=(0.05, 0.95),
            alpha_prior=(1.0, 4.0),
            class_pseudocounts=(2.0, 1.0),
            binarize="median",
            recalibrate=None,
            random_state=0,
        ),
        stored=False,
    ),
    "bernoulli_selected": Case(
        _selected_elsewhere,
        lambda: tables.flags().new[list(fitted("bernoulli_selected").feature_names_in_)],
    ),
    "bernoulli_always": of(
        tables.flags(),
        hb.SelectiveBernoulliNB(
            n_features_to_select=4, always_keep=["flag 9", "flag 20"], random_state=0
        ),
    ),
    "bernoulli_paper": of(
        tables.flags(gaps=0.0),
        hb.SelectiveBernoulliNB(
            n_features_to_select=5,
            feature_prior="uniform",
            correction="selection",
            quadrature="paper",
            recalibrate=None,
            random_state=0,
        ),
        stored=False,
    ),
    "bernoulli_cv": of(
        tables.flags(),
        hb.SelectiveBernoulliNB(n_features_to_select="cv", recalibrate=None, random_state=0),
        groups=tables.groups(32),
        stored=False,
    ),
    "bernoulli_kept": Case(
        lambda: fitted("bernoulli_always").on_kept_columns(),
        lambda: tables.flags().new[list(fitted("bernoulli_always").get_feature_names_out())],
        stored=False,
    ),
    "bernoulli_screened": Case(_from_screenings, lambda: tables.flags().new, stored=False),
    "bernoulli_sparse": Case(
        lambda: hb.SelectiveBernoulliNB(n_features_to_select=5, random_state=0).fit(
            _sparse(), tables.flags(gaps=0.0).y
        ),
        lambda: sparse.csr_array(tables.flags(gaps=0.0).new.to_numpy()),
        stored=False,
    ),
}

# --------------------------------------------------------------- categories and measurements


def _distance_of_means(x: np.ndarray, y: np.ndarray) -> float:
    """A criterion of the user's own, free of origin and unit."""
    return abs(np.median(x[y == 1]) - np.median(x[y == 0])) / np.ptp(x)


CATEGORICAL = {
    "categorical_two": of(
        tables.levels(),
        hb.SelectiveCategoricalNB(random_state=0),
    ),
    "categorical_three": of(
        tables.levels(n_classes=3),
        hb.SelectiveCategoricalNB(n_features_to_select=5, always_keep=["grade 7"], random_state=0),
    ),
    "categorical_selection": of(
        tables.levels(),
        hb.SelectiveCategoricalNB(
            n_features_to_select=4,
            feature_prior="uniform",
            correction="selection",
            recalibrate=None,
            random_state=0,
        ),
    ),
    "categorical_chi2": of(
        tables.levels(n_classes=3),
        hb.SelectiveCategoricalNB(
            n_features_to_select=4,
            correction="selection",
            criterion="chi2",
            recalibrate=None,
            random_state=0,
        ),
        stored=False,
        quick=False,
    ),
    "categorical_information": of(
        tables.levels(),
        hb.SelectiveCategoricalNB(
            threshold=None,
            n_features_to_select=4,
            criterion="mutual_information",
            class_prior=(0.2, 0.8),
            recalibrate=None,
            random_state=0,
        ),
        stored=False,
    ),
    "categorical_kept": Case(
        lambda: fitted("categorical_two").on_kept_columns(),
        lambda: tables.levels().new[list(fitted("categorical_two").get_feature_names_out())],
        stored=False,
    ),
}

GAUSSIAN = {
    "gaussian_two": of(tables.measurements(), hb.SelectiveGaussianNB()),
    "gaussian_three": of(
        tables.measurements(n_classes=3),
        hb.SelectiveGaussianNB(n_features_to_select=6, always_keep=[11]),
        groups=tables.groups(32),
    ),
    "gaussian_heavy": of(
        tables.measurements(),
        hb.SelectiveGaussianNB(
            n_features_to_select=6, feature_prior="heavy-tailed", correction="selection"
        ),
    ),
    "gaussian_heavy_three": of(
        tables.measurements(n_classes=3),
        hb.SelectiveGaussianNB(
            threshold=0.3, feature_prior="heavy-tailed", correction="counts", recalibrate=None
        ),
        stored=False,
    ),
    "gaussian_criterion": of(
        tables.measurements(gaps=0.0),
        hb.SelectiveGaussianNB(
            n_features_to_select=5,
            correction="selection",
            criterion=_distance_of_means,
            recalibrate=None,
        ),
        saved=False,
        quick=False,
    ),
    "gaussian_cv": of(
        tables.measurements(),
        hb.SelectiveGaussianNB(n_features_to_select="cv", class_prior=(0.6, 0.4)),
        stored=False,
    ),
    "gaussian_kept": Case(
        lambda: fitted("gaussian_two").on_kept_columns(),
        lambda: tables.measurements().new[:, fitted("gaussian_two").selection_.columns],
        stored=False,
    ),
}

MIXED = {
    "mixed_two": of(tables.mixed(), hb.SelectiveMixedNB(n_features_to_select=3, random_state=0)),
    "mixed_three": of(
        tables.mixed(n_classes=3),
        hb.SelectiveMixedNB(
            n_features_to_select={"binary": 2, "real": 4}, always_keep=["lab 9"], random_state=0
        ),
    ),
    "mixed_cv": of(
        tables.mixed(),
        hb.SelectiveMixedNB(
            n_features_to_select="cv",
            kinds={"finding 3": "categorical"},
            recalibrate=None,
            random_state=0,
        ),
        stored=False,
        quick=False,
    ),
    "mixed_kept": Case(
        lambda: fitted("mixed_two").on_kept_columns(),
        lambda: tables.mixed().new[list(fitted("mixed_two").get_feature_names_out())],
        stored=False,
    ),
}

# ------------------------------------------------------------------------------------- chains

CHAINS = {
    "mixture": of(
        tables.flags(),
        hb.SelectiveMixture(n_features_to_select=4, thin=2, **SHORT),
        sampled=True,
    ),
    "mixture_quantiles": of(
        tables.flags(),
        hb.SelectiveMixture(
            n_features_to_select=3,
            correction=None,
            always_keep=["flag 20"],
            n_alpha=12,
            class_prior=(0.6, 0.4),
            **SHORT | {"n_draws": 12},
        ),
        sampled=True,
        stored=False,
    ),
    "mixture_kept": Case(
        lambda: fitted("mixture").on_kept_columns(),
        lambda: tables.flags().new[list(fitted("mixture").get_feature_names_out())],
        sampled=True,
        stored=False,
    ),
    "factor_two": of(
        tables.measurements(),
        hb.SelectiveFactorClassifier(
            n_features_to_select=4, n_factors=1, recalibrate=None, **SHORT
        ),
        sampled=True,
    ),
    "factor_three": of(
        tables.measurements(n_classes=3),
        hb.SelectiveFactorClassifier(
            n_features_to_select=4,
            n_factors=2,
            feature_prior="learned",
            correction="counts",
            always_keep=[11],
            recalibrate=None,
            **SHORT | {"n_draws": 12},
        ),
        sampled=True,
    ),
    "factor_auto": of(
        tables.measurements(),
        hb.SelectiveFactorClassifier(n_features_to_select=4, **SHORT | {"n_draws": 12}),
        sampled=True,
        quick=False,
        stored=False,
    ),
    "factor_kept": Case(
        lambda: fitted("factor_three").on_kept_columns(),
        lambda: tables.measurements(n_classes=3).new[:, fitted("factor_three").selection_.columns],
        sampled=True,
        stored=False,
    ),
    "regressor": of(
        tables.responses(),
        hb.SelectiveFactorRegressor(n_features_to_select=4, n_factors=1, **SHORT),
        sampled=True,
    ),
    "regressor_auto": of(
        tables.responses(),
        hb.SelectiveFactorRegressor(
            n_features_to_select=3, correction=None, **SHORT | {"n_draws": 12}
        ),
        sampled=True,
        quick=False,
        stored=False,
    ),
}

# ------------------------------------------------------------------------------- interactions


def _states() -> tables.Table:
    """Windows of a sequence, of which the last are new."""
    X, y = windows("abcabdacb" * 6, 4)
    return tables.Table(X[:-6], y[:-6], X[-6:], y[-6:])


def _response_of_levels() -> tables.Table:
    """A response that goes with the class of a table of levels."""
    levels = tables.levels(p=4)
    y = (levels.y == levels.y[0]) + np.arange(len(levels.y)) / 40
    return tables.Table(levels.X, y, levels.new, np.zeros(len(levels.new)))


INTERACTIONS = {
    "interactions": of(
        # So many cases that no class can be told from the others without doubt: where one can,
        # a few draws far out decide on a probability, and short chains do not agree.
        tables.levels(n=300, p=3, n_classes=3),
        hb.InteractionClassifier(missing="level", thin=4, **SHORT | {"n_draws": 100}),
        sampled=True,
    ),
    "sequence": of(
        _states(),
        hb.SequenceClassifier(order=3, thin=4, **SHORT),
        sampled=True,
        quick=False,
    ),
    "response_interactions": of(
        _response_of_levels(),
        hb.InteractionRegressor(missing="level", thin=4, **SHORT),
        sampled=True,
        quick=False,
    ),
}

# ----------------------------------------------------------------------- plain naive Bayes


def _weights(n: int) -> np.ndarray:
    return 1.0 + np.arange(n) % 3


SEARCH = {
    "discrete": of(tables.mixed(n=60), hb.DiscreteNB(n_bins=4), sample_weight=_weights(60)),
    "discrete_three": of(
        tables.mixed(n=60, n_classes=3), hb.DiscreteNB(smoothing=0.5, class_prior=(0.5, 0.3, 0.2))
    ),
    "forward": of(
        tables.mixed(n=60), hb.ForwardProbabilitySelector(held_out=3, patience=2, n_bins=4)
    ),
    "forward_log_loss": of(
        tables.mixed(n=60, n_classes=3),
        hb.ForwardProbabilitySelector(
            n_features_to_select=4,
            scoring="log_loss",
            score_on="held_out",
            held_out=0.3,
            random_state=0,
        ),
    ),
    "forward_estimator": of(
        tables.measurements(gaps=0.0),
        hb.ForwardProbabilitySelector(GaussianNB(), n_features_to_select=2),
        saved=False,
    ),
    "boosted": of(
        tables.mixed(n=60),
        hb.BoostedProbabilitySelector(n_rounds=5, held_out=3),
        sample_weight=_weights(60),
    ),
    "discriminant": of(
        tables.measurements(n_classes=3),
        hb.SelectiveDiscriminant(n_features_to_select=8, always_keep=[11]),
    ),
    "honest": of(tables.measurements(), hb.HonestClassifier(effort="quick", random_state=0)),
    "logistic": of(
        tables.measurements(gaps=0.0, n_classes=3),
        hb.SelectiveLogistic(n_features_to_select=5, random_state=0),
    ),
    "networks": of(
        tables.levels(n=60, p=4, n_classes=3),
        hb.AveragedNetworkClassifier(missing="level", **SHORT),
        sampled=True,
        quick=False,
    ),
    "averaged": of(
        tables.mixed(n=60, n_classes=3),
        hb.AveragedNB(**SHORT | {"n_draws": 400}),
        sampled=True,
        quick=False,
    ),
    "sampled": of(
        tables.mixed(n=60),
        hb.SubsetSampler(n_features_to_select=3, **SHORT | {"n_draws": 400}),
        sampled=True,
        quick=False,
    ),
}

# --------------------------------------------------------------------------- the command line


def _fitted_by_command(table: str, *words: str) -> Any:
    """The model that `honestbayes fit` writes, read back."""
    with folder_of_files() as folder:
        run("fit", f"{table}.csv", *words, "--quiet", "--out", "model", folder=folder)
        return hb.load(folder / "model")


def _rows_of_file(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[:: len(frame) // tables.NEW].reset_index(drop=True)


TABLE_MODELS = {
    "table_mixed": Case(
        partial(_fitted_by_command, "messy", "--target", "outcome", "--features", "2", *BY_MIXED),
        lambda: _rows_of_file(tables.messy()),
    ),
    "table_binary": Case(
        partial(
            _fitted_by_command,
            "messy",
            *("--target", "outcome", "--model", "binary", "--keep", "age", "--prevalence", "0.2"),
        ),
        lambda: _rows_of_file(tables.messy()),
    ),
    "table_three": Case(
        partial(_fitted_by_command, "three", "--target", "kind", "--features", "2", *BY_MIXED),
        lambda: _rows_of_file(tables.three()),
    ),
}

MODELS: dict[str, Case] = (
    BERNOULLI | CATEGORICAL | GAUSSIAN | MIXED | CHAINS | INTERACTIONS | SEARCH | TABLE_MODELS
)


def model_figures(name: str) -> dict[str, Any]:
    """All that the fitted model of a case says in public."""
    case = MODELS[name]
    model, warned = fitted_and_warned(name)
    is_of_table = hasattr(model, "labels")
    estimator = model.estimator if is_of_table else model
    result = {word: value for word, value in vars(estimator).items() if word.endswith("_")}
    if is_of_table:
        result |= {word: getattr(model, word) for word in ("columns", "target", "labels")}
    result |= predictions(name, model)
    for word in ("feature_table", "components"):
        if hasattr(model, word):
            table = getattr(model, word)()
            result |= {word: table, f"{word}_text": str(table)}
    if case.more is not None:
        result |= case.more(model)
    return result | {"fit_warnings": warned}


def predictions(name: str, model: Any) -> dict[str, Any]:
    """What a model says of new rows, whether it was fitted or loaded."""
    X = MODELS[name].rows()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _predictions(model, X)
    return result | {"predict_warnings": _in_words(caught)}


def _predictions(model: Any, X: Any) -> dict[str, Any]:
    if hasattr(model, "path_"):
        kept = model.transform(X)
        return {"path_text": str(model.path_), "transform": pd.DataFrame(kept).to_csv()}
    if not hasattr(model, "predict"):
        return {"transform": pd.DataFrame(model.transform(X)).to_csv()}
    if hasattr(model, "predict_quantiles"):
        quantiles = model.predict_quantiles(X, [0.05, 0.5, 0.95])
        if not hasattr(model, "selection_"):
            return {"median": model.predict(X), "quantiles": quantiles}
        mean, sd = model.predict(X, return_std=True)
        return {"mean": mean, "sd": sd, "quantiles": quantiles}
    result = {"predict": model.predict(X), "proba": model.predict_proba(X)}
    n_classes = result["proba"].shape[1]
    elsewhere = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    result["proba_elsewhere"] = model.predict_proba(X, class_prior=elsewhere)
    if hasattr(model, "predict_log_proba"):
        result["log_proba"] = model.predict_log_proba(X)
    if hasattr(model, "predict_proba_interval"):
        result["interval"] = model.predict_proba_interval(X)
    if hasattr(model, "slope_"):
        result["interval_half"] = model.predict_proba_interval(X, 0.5, n_draws=200)
    if isinstance(model, hb.SelectiveBernoulliNB):
        result["contributions"] = model.contributions(X).values
    if isinstance(model, hb.HonestClassifier):
        result["contributions"] = (model.kept_columns()[:20], model.contributions(X).values)
    if hasattr(model, "get_feature_names_out"):
        result["names_out"] = model.get_feature_names_out()
        result["support"] = model.get_support()
    return result


# -------------------------------------------------------------------------------------- tools


def _screening() -> dict[str, Any]:
    table = tables.measurements()
    whole = screen(table.X, table.y)
    left, right = (screen(table.X[:, part], table.y) for part in (slice(9), slice(9, None)))
    cut = screen(tables.flags().X, tables.flags().y, binarize=0.5)
    return {
        "whole": whole,
        "correlation": whole.correlation(),
        "merged": left.merge_columns(right),
        "cut": cut,
    }


def _decisions() -> dict[str, Any]:
    rng = np.random.default_rng(8)
    proba = rng.dirichlet([2.0, 1.0], 20).round(6)
    y = (rng.random(20) < proba[:, 1]).astype(int)
    benefits = mailing_benefits(rng.gamma(2.0, 5.0, 20).round(3), cost=2.5)
    actions = decide(proba, benefits)
    curve = profit_curve(y, proba, benefits)
    return {
        "benefits": benefits,
        "expected": expected_benefit(proba, benefits),
        "actions": actions,
        "profit": profit(y, actions, benefits),
        "curve": curve,
        "best": curve.best,
        "at_5": curve.at(5),
    }


def _probabilities(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([9, n_classes])
    proba = rng.dirichlet([0.8] * n_classes, 60)
    # Classes that are less sure than the probabilities say.
    truth = 0.7 * proba + 0.3 / n_classes
    y = np.array([rng.choice(n_classes, p=row) for row in truth])
    return y, proba if n_classes > 2 else proba[:, 1]


def _metrics(n_classes: int) -> dict[str, Any]:
    y, p = _probabilities(n_classes)
    pairs = tables.groups(y.size)
    names = ("actual_error", "log_score", "squared_error", "optimism", "auc", "calibration_slope")
    result = {name: getattr(metrics, name)(y, p) for name in names}
    result["expected_error"] = metrics.expected_error(p)
    result["summary"] = metrics.summarise(y, p, groups=pairs)
    result["summary_text"] = str(metrics.summarise(y, p))
    result["confident"] = metrics.confident_predictions(y, p, at_least=0.8, groups=pairs)
    result["reliability"] = metrics.reliability(y, p, n_bins=5)
    result["reliability_exact"] = metrics.reliability(
        y, p, n_bins=4, strategy="quantile", interval="exact"
    )
    result["calibration_table"] = metrics.calibration_table(y, p)
    if n_classes == 2:
        result["thresholds"] = metrics.threshold_table(y, p, prevalence=0.3)
    return result


def _evaluation() -> dict[str, Any]:
    table = tables.flags()
    found = {
        prior: evaluation.cross_validate(
            hb.SelectiveBernoulliNB(n_features_to_select=4, feature_prior=prior, recalibrate=None),
            table.X,
            table.y,
            cv=3,
            n_repeats=2,
            random_state=0,
        )
        for prior in ("learned", "uniform")
    }
    pairs = evaluation.compare(found)
    summaries = {name: one.summary() for name, one in found.items()}
    return found | {"pairs": pairs, "pairs_text": str(pairs[0]), "summaries": summaries}


def _commands() -> dict[str, Any]:
    """What the other commands print and write."""
    with folder_of_files() as folder:
        told = partial(run, folder=folder)
        few = ("--features", "2", *BY_MIXED)
        fit = ("fit", "messy.csv", "--target", "outcome", *few, "--out", "model")
        select = ("select", "messy.csv", "--target", "outcome", "--features", "3")
        return {
            "fit": told(*fit),
            "predict": told("predict", "model", "messy.csv", "--interval", "0.8"),
            "evaluate": told("evaluate", "model", "messy.csv"),
            "evaluate_json": told("evaluate", "model", "messy.csv", "--json"),
            "inspect": told("inspect", "model"),
            "inspect_json": told("inspect", "model", "--json"),
            "select": told(*select),
            "path": Path(folder, "messy-selection", "path.csv").read_text("utf-8"),
            "reduced": Path(folder, "messy-selection", "reduced.csv").read_text("utf-8"),
        }


TOOLS: dict[str, Callable[[], Mapping[str, Any]]] = {
    "screening": _screening,
    "decisions": _decisions,
    "metrics_two": partial(_metrics, 2),
    "metrics_three": partial(_metrics, 3),
    "evaluation": _evaluation,
    "commands": _commands,
}
