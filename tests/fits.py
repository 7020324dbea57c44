"""Fitted models that tests read and do not change: each is fitted once in a process.

`FITS` has all kinds of models that can be saved. What holds for every file is tested over this one
table (tests/files), so a new kind of model costs one line here. A test that changes a model
changes a copy.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from honestbayes import (
    AveragedNB,
    AveragedNetworkClassifier,
    BoostedProbabilitySelector,
    DiscreteNB,
    ForwardProbabilitySelector,
    HonestClassifier,
    InteractionClassifier,
    InteractionRegressor,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveDiscriminant,
    SelectiveFactorClassifier,
    SelectiveFactorRegressor,
    SelectiveGaussianNB,
    SelectiveLogistic,
    SelectiveMixedNB,
    SelectiveMixture,
    SequenceClassifier,
    SubsetSampler,
)
from honestbayes.models.factors import model as factor_estimator
from honestbayes.models.forest.estimator import BoostedTreesClassifier, ForestClassifier
from honestbayes.models.interactions.estimator import windows
from honestbayes.models.kernel.estimator import KernelClassifier
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel
from honestbayes.tables.training import TrainingTable


@dataclass(frozen=True)
class Fit:
    """A model to fit, and the rows it predicts.

    So many mutations of its file are tried, of which less than a share may pass for a model.
    """

    kind: type
    make: Callable[[], Any]
    X: Any
    y: Any = None
    mutations: int = 0
    passing: float = 0.5


def of(model: Any, X: Any, y: Any, mutations: int = 0) -> Fit:
    """A model fitted to all rows."""
    return Fit(type(model), lambda: model.fit(X, y), X, y, mutations)


@cache
def fitted(name: str) -> Any:
    """The fitted model of a name."""
    return FITS[name].make()


# ------------------------------------------------------------------------------ binary features


def flags(n=40, p=30, seed=0, missing=0.0):
    """Zeros and ones, the first of which tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rate = rng.random(p)
    signal = (1 - rate) * 0.6 * y[:, None] * (np.arange(p) < 6)
    X = (rng.random((n, p)) < rate + signal).astype(float)
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    return X, y


FLAGS, FLAGS_Y = flags()
FLAGS_MISSING, _ = flags(missing=0.15)
FLAG_NAMES = [f"gene {j}" for j in range(30)]
NAMED_FLAGS = pd.DataFrame(FLAGS_MISSING, columns=FLAG_NAMES)


def _binary(X=FLAGS, **how):
    model = SelectiveBernoulliNB(**{"random_state": 0, "n_features_to_select": 5, **how})
    return of(model, X, FLAGS_Y, mutations=150)


def _on_kept_columns():
    model = SelectiveBernoulliNB(n_features_to_select="cv", random_state=0)
    return model.fit(FLAGS, FLAGS_Y).on_kept_columns()


BINARY = {
    "binary, learned": _binary(always_keep=[7]),
    "binary, named": _binary(NAMED_FLAGS, always_keep=["gene 7"]),
    "binary, uniform": _binary(feature_prior="uniform", correction="counts"),
    "binary, paper": _binary(quadrature="paper", n_features_to_select=4),
    "binary, kept": Fit(SelectiveBernoulliNB, _on_kept_columns, FLAGS, FLAGS_Y, mutations=150),
}

# ------------------------------------------------------- measurements, categories and all kinds


def mixed_frame(seed=0, n=45):
    """Measurements, flags and texts, with missing cells, and three classes."""
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 3
    table = pd.DataFrame({f"gene{j}": generator.normal(size=n) + (j < 2) * y for j in range(8)})
    for j in range(6):
        table[f"flag{j}"] = (generator.random(n) < 0.2 + 0.2 * (j == 0) * y).astype(float)
        words = np.array(["a", "b", "c,\n=1+1", "é"], dtype=object)[generator.integers(0, 4, n)]
        words[generator.random(n) < 0.05] = None
        table[f"site{j}"] = words
    table.iloc[3, 1] = np.nan
    return table, np.array(["x", "y", "z"], dtype=object)[y]


MIXED, MIXED_LABELS = mixed_frame()
TWO_CLASSES = np.where(MIXED_LABELS == "x", 0, 1)
REAL = MIXED.filter(like="gene")
WORDS = MIXED.filter(like="site")
NAIVE_BAYES = {
    "real": of(SelectiveGaussianNB(n_features_to_select=3), REAL, MIXED_LABELS, mutations=60),
    "real, heavy tails": of(
        SelectiveGaussianNB(n_features_to_select=3, correction="selection", always_keep=["gene5"]),
        REAL,
        TWO_CLASSES,
    ),
    "real, array": of(
        SelectiveGaussianNB(n_features_to_select="cv", class_prior=[0.2, 0.3, 0.5]),
        REAL.to_numpy(),
        MIXED_LABELS,
    ),
    "real, none": of(SelectiveGaussianNB(n_features_to_select=0), REAL, MIXED_LABELS),
    "real, scores": of(
        SelectiveGaussianNB(n_features_to_select=3, normal_scores=True), REAL, MIXED_LABELS
    ),
    "discriminant": of(
        SelectiveDiscriminant(n_features_to_select=3), REAL, MIXED_LABELS, mutations=60
    ),
    "discriminant, all": of(
        SelectiveDiscriminant(n_features_to_select="all", always_keep=["gene5"]),
        REAL[::8],
        TWO_CLASSES[::8],
        mutations=60,
    ),
    "discriminant, flat": of(
        SelectiveDiscriminant(feature_prior="flat", shrinkage=0.5, normal_scores=False),
        REAL,
        MIXED_LABELS,
    ),
    "forest": of(ForestClassifier(n_trees=5, random_state=0), REAL, MIXED_LABELS, mutations=100),
    "forest, three columns": of(
        ForestClassifier(
            n_features_to_select=3,
            n_trees=5,
            splits="best",
            normal_scores=True,
            always_keep=["gene5"],
            recalibrate=None,
        ),
        REAL,
        TWO_CLASSES,
        mutations=60,
    ),
    "boosting": of(
        BoostedTreesClassifier(n_iterations=3, min_samples_leaf=2), REAL, MIXED_LABELS, mutations=60
    ),
    "kernel": of(KernelClassifier(n_features_to_select=3), REAL, MIXED_LABELS, mutations=60),
    "kernel, by ranking": of(
        KernelClassifier(n_features_to_select=2, normal_scores="ranking", always_keep=["gene5"]),
        REAL,
        TWO_CLASSES,
    ),
    "real, class variances": of(
        SelectiveGaussianNB(n_features_to_select=2, class_variances=True, always_keep=["gene5"]),
        REAL,
        MIXED_LABELS,
        mutations=60,
    ),
    "honest": of(
        HonestClassifier(effort="quick", random_state=0), MIXED, MIXED_LABELS, mutations=40
    ),
    "logistic": of(SelectiveLogistic(n_features_to_select=3), REAL, MIXED_LABELS, mutations=60),
    "logistic, all": of(
        SelectiveLogistic(n_features_to_select="all", normal_scores=True, always_keep=["gene5"]),
        REAL[::8],
        TWO_CLASSES[::8],
        mutations=60,
    ),
    "logistic, none": of(SelectiveLogistic(n_features_to_select=0), REAL, MIXED_LABELS),
    "categorical": of(
        SelectiveCategoricalNB(n_features_to_select=3, random_state=1),
        WORDS,
        MIXED_LABELS,
        mutations=60,
    ),
    "categorical, uniform": of(
        SelectiveCategoricalNB(
            n_features_to_select=2,
            feature_prior="uniform",
            always_keep=[0],
            class_pseudocounts=[1.0, 2.0, 3.0],
            alpha_prior=(1, 4),
        ),
        WORDS,
        MIXED_LABELS,
    ),
    "zeros and ones": of(
        SelectiveCategoricalNB(n_features_to_select=2, threshold=None, random_state=0),
        MIXED.filter(like="flag"),
        TWO_CLASSES,
    ),
    "mixed": of(
        SelectiveMixedNB(n_features_to_select=2, random_state=0),
        MIXED,
        MIXED_LABELS,
        mutations=60,
    ),
    "mixed, two classes": of(
        SelectiveMixedNB(
            kinds={"flag0": "categorical", "flag1": "categorical"},
            n_features_to_select={"real": 3, "binary": 1, "categorical": "all"},
            always_keep=["flag3", "gene7"],
            random_state=0,
        ),
        MIXED,
        TWO_CLASSES,
        mutations=60,
    ),
    "mixed, as many as one kind has": of(
        SelectiveMixedNB(n_features_to_select=8, random_state=0),
        MIXED,
        TWO_CLASSES,
    ),
    "mixed, none": of(SelectiveMixedNB(threshold=0.99, random_state=0), MIXED, TWO_CLASSES),
    "mixed, by a bound": of(SelectiveMixedNB(threshold=0.6, random_state=0), MIXED, TWO_CLASSES),
}

# ------------------------------------------------------------------------------------- chains

FEW = {"n_chains": 2, "n_doublings": 0, "n_warmup": 10, "n_draws": 10, "random_state": 0}
"""Chains too short to converge, and which do not go on until they have: a file does not mind."""

RNG = np.random.default_rng(0)
CODES = np.arange(45) % 3
MEASURED = RNG.normal(size=(45, 12)) + RNG.normal(size=(45, 1))
MEASURED[:, :2] += CODES[:, None]
MEASURED[3, 1] = np.nan
MEASURED_LABELS = np.array(["x", "y", "z"], dtype=object)[CODES]
MEASURED_FRAME = pd.DataFrame(MEASURED, columns=[f"gene{j}" for j in range(12)])
RESPONSE = np.where(np.isnan(MEASURED[:, 0]), 0.0, MEASURED[:, 0]) * 5 + 100


def _sampled(model: Any, X: Any, y: Any, mutations: int = 0) -> Fit:
    """A model fitted by short chains, shorter ones in folds, whatever they warn of."""

    def make():
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(factor_estimator, "FOLD_WARMUP", 1)
            patch.setattr(factor_estimator, "FOLD_SAMPLES", 2)
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y)

    return Fit(type(model), make, X, y, mutations)


FEW_DRAWS = {"n_chains": 2, "n_doublings": 0, "n_draws": 30, "n_warmup": 10, "random_state": 0}
CHAINS = {
    "factors": _sampled(
        SelectiveFactorClassifier(n_features_to_select=4, **FEW),
        MEASURED_FRAME,
        MEASURED_LABELS,
        mutations=60,
    ),
    "factors, two classes": _sampled(
        SelectiveFactorClassifier(
            n_factors=2,
            n_features_to_select=3,
            feature_prior="learned",
            correction="counts",
            always_keep=["gene9"],
            recalibrate=None,
            class_prior=[0.2, 0.8],
            factor_shifts=False,
            **FEW,
        ),
        MEASURED_FRAME,
        CODES == 0,
        mutations=60,
    ),
    "factors, none": _sampled(
        SelectiveFactorClassifier(
            n_factors=0, threshold=0.3, recalibrate=None, normal_scores=True, **FEW
        ),
        MEASURED,
        MEASURED_LABELS,
        mutations=60,
    ),
    "factors, no features": _sampled(
        SelectiveFactorClassifier(
            n_factors=1, n_features_to_select=0, recalibrate=None, class_pseudocounts=[1, 2], **FEW
        ),
        MEASURED,
        CODES == 0,
    ),
    "response": _sampled(
        SelectiveFactorRegressor(n_features_to_select=4, always_keep=[7], **FEW),
        MEASURED_FRAME,
        RESPONSE,
        mutations=60,
    ),
    "response, no factors": _sampled(
        SelectiveFactorRegressor(n_factors=0, correction=None, threshold=0.4, **FEW),
        MEASURED,
        RESPONSE,
    ),
    "response, no features": _sampled(
        SelectiveFactorRegressor(n_factors=1, n_features_to_select=0, **FEW), MEASURED, RESPONSE
    ),
    "mixture": _sampled(
        SelectiveMixture(n_features_to_select=4, always_keep=["gene 7"], **FEW),
        pd.DataFrame(FLAGS, columns=FLAG_NAMES),
        FLAGS_Y,
        mutations=60,
    ),
    "interactions": _sampled(
        InteractionClassifier(missing="level", thin=1, **FEW),
        WORDS,
        MIXED_LABELS,
        mutations=60,
    ),
    "interactions, apart": _sampled(
        InteractionClassifier(order=1, coefficient_prior="gaussian", compress=False, **FEW),
        MIXED[["flag0", "flag3"]].astype(int),
        TWO_CLASSES,
    ),
    "response, interactions": _sampled(
        InteractionRegressor(thin=1, missing="level", **FEW),
        WORDS,
        RESPONSE,
        mutations=60,
    ),
    "networks": _sampled(
        AveragedNetworkClassifier(missing="level", thin=20, **FEW_DRAWS),
        WORDS,
        MIXED_LABELS,
        mutations=60,
    ),
    "networks, screened": _sampled(
        AveragedNetworkClassifier(
            table_prior="bdeu",
            graph_prior=("arcs", 0.5),
            max_features=1,
            class_prior=[0.2, 0.8],
            **FEW,
        ),
        MIXED[["flag0", "flag3"]].astype(int),
        TWO_CLASSES,
    ),
    "networks, by accuracy": _sampled(
        AveragedNetworkClassifier(
            space="classifiers",
            graph_prior=("features", "uniform"),
            objective="accuracy",
            held_out=3,
            temperature=0.5,
            proposal="uniform",
            **FEW,
        ),
        MIXED[["flag0", "flag3"]].astype(int),
        TWO_CLASSES,
    ),
    "sequences": _sampled(
        SequenceClassifier(order=2, class_prior=[0.2, 0.3, 0.5], thin=1, **FEW),
        *windows("abcabcabcacb", 3),
        mutations=60,
    ),
}

# -------------------------------------------------- selectors, plain naive Bayes, and tables

RNG = np.random.default_rng(0)
N = 90
THREE = np.arange(N) % 3
THREE_LABELS = np.array(["x", "ü", "z"], dtype=object)[THREE]
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(THREE, 1.0),
        "colour": np.where(RNG.random(N) < 0.5, THREE_LABELS, None),
        "größe $": RNG.integers(0, 2, N).astype(float),
        "noise": RNG.normal(size=N),
        "stage": RNG.integers(0, 4, N),
        "nothing": "same",
    }
)
FRAME.loc[3, "size"] = np.nan
ARRAY = RNG.integers(0, 3, (N, 5)).astype(float)
ARRAY[:, 1] = np.where(RNG.random(N) < 0.7, THREE == 0, RNG.integers(0, 2, N))
WEIGHT = RNG.integers(1, 4, N) / 3


def _weighted(model: Any, X: Any, y: Any, mutations: int = 0) -> Fit:
    # Less is known of what paths and counts of slots can be, so more mutations pass.
    return Fit(type(model), lambda: model.fit(X, y, WEIGHT), X, y, mutations, passing=45 / 80)


SELECTORS = {
    "forward": _weighted(
        ForwardProbabilitySelector(held_out=3, patience=2), FRAME, THREE_LABELS, mutations=80
    ),
    "forward, array": _weighted(
        ForwardProbabilitySelector(
            n_features_to_select=np.int64(3),
            scoring="log_loss",
            score_on="held_out",
            held_out=0.4,
            smoothing=0.5,
            n_bins=4,
            kinds={0: "categorical"},
            n_jobs=1,
            random_state=7,
        ),
        ARRAY,
        THREE == 0,
        mutations=80,
    ),
    "forward, all": _weighted(
        ForwardProbabilitySelector(
            n_features_to_select="all", kinds=["real"] * 4 + ["categorical"]
        ),
        ARRAY,
        THREE,
    ),
    "boosted": _weighted(
        BoostedProbabilitySelector(n_rounds=6, held_out=3), FRAME, THREE_LABELS, mutations=80
    ),
    "boosted, array": _weighted(BoostedProbabilitySelector(n_rounds=2), ARRAY, THREE == 0),
}
PLAIN = {
    "plain": _weighted(
        DiscreteNB(kinds={"stage": "categorical"}), FRAME, THREE_LABELS, mutations=80
    ),
    "plain, array": _weighted(
        DiscreteNB(smoothing=2, class_prior=np.array([0.3, 0.7])), ARRAY, THREE == 0, mutations=80
    ),
    "plain, bytes": _weighted(DiscreteNB(), (ARRAY > 0).astype(np.int8), THREE),
}
SUBSETS = {
    "subsets, averaged": _sampled(
        AveragedNB(subset_prior=("poisson", 2.0), class_prior=[0.2, 0.3, 0.5], **FEW_DRAWS),
        FRAME,
        THREE_LABELS,
        mutations=80,
    ),
    "subsets, sampled": _sampled(
        SubsetSampler(objective="brier", held_out=3, n_features_to_select=2, **FEW_DRAWS),
        ARRAY,
        THREE,
        mutations=80,
    ),
}


def clinic_frame(n=60, seed=0):
    """A table as people have it: numbers, texts, a flag, missing cells, and a state."""
    generator = np.random.default_rng(seed)
    sick = generator.permutation(np.arange(n) % 2)
    stage = np.where(generator.random(n) < 0.7, sick * 2, generator.integers(0, 3, n))
    table = pd.DataFrame(
        {
            "dose": generator.normal(size=n) + sick,
            "stage": np.array(["I", "II", "III"], dtype=object)[stage],
            "smoker": np.where(generator.random(n) < 0.3 + 0.4 * sick, "yes", "no"),
            "flag": (generator.random(n) < 0.3 + 0.4 * sick).astype(int),
            "state": np.where(sick, "sick", "healthy"),
        }
    )
    table.loc[3, "dose"] = np.nan
    table.loc[4, "stage"] = None
    return table


@cache
def of_clinic(*, coded: bool) -> tuple[TableModel, Any, TrainingTable]:
    """The model of this table, the estimator that it was made from, and the training data."""
    table = read_training(frame_table(clinic_frame(), "t"), target="state", coded=coded)
    words = {"n_features_to_select": 2 if coded else 4, "random_state": 0}
    model = SelectiveBernoulliNB(**words)
    if coded:
        model = SelectiveMixedNB(kinds=table.kinds, **words)
    model.fit(table.X, table.y)
    return TableModel.of_training(model, table), model, table


def _of_clinic(*, coded: bool) -> TableModel:
    return of_clinic(coded=coded)[0]


TABLES = {
    f"table, {model}": Fit(
        TableModel, partial(_of_clinic, coded=model == "mixed"), clinic_frame(), mutations=250
    )
    for model in ("mixed", "binary")
}

FITS: dict[str, Fit] = BINARY | NAIVE_BAYES | CHAINS | SELECTORS | PLAIN | SUBSETS | TABLES
