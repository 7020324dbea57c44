"""scikit-learn's own checks of estimators with other settings than in the ordinary run."""

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveFactorClassifier,
    SelectiveGaussianNB,
    SelectiveMixedNB,
    SelectiveMixture,
)

FEW_SWEEPS = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 0}
SHORT = {"n_chains": 2, "n_draws": 40, "n_warmup": 10, "thin": 2}


class Models(list):
    """Models with a short name: scikit-learn would spell them out in the id of every check."""

    def __repr__(self):
        return f"{len(self)} models"


PIPELINES = Models(
    make_pipeline(StandardScaler(with_mean=False), model)
    for model in (
        *(LogisticRegression(C=c, max_iter=1000) for c in (0.01, 0.1, 1.0, 10.0)),
        LinearSVC(),
        BernoulliNB(),
        NearestCentroid(),
        DecisionTreeClassifier(max_depth=2, random_state=0),
        KNeighborsClassifier(3),
        RandomForestClassifier(5, random_state=0),
    )
)


# So few sweeps are too few, and the estimators say so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SelectiveBernoulliNB(feature_prior="uniform", correction="selection"),
        SelectiveBernoulliNB(correction=None),
        SelectiveBernoulliNB(quadrature="paper"),
        SelectiveCategoricalNB(recalibrate=None, feature_prior="uniform", random_state=0),
        SelectiveFactorClassifier(
            n_factors=1,
            feature_prior="heavy-tailed",
            correction=None,
            recalibrate=None,
            **FEW_SWEEPS,
        ),
        SelectiveGaussianNB(recalibrate=None),
        HonestClassifier(effort="quick"),
        HonestClassifier(candidates=PIPELINES),
        SelectiveMixedNB(random_state=0),
        SelectiveMixture(correction=None, n_features_to_select=1, n_alpha=10, **SHORT),
    ],
    expected_failed_checks=lambda estimator: (
        {
            # It fits a column of one value, -1: two values or fewer are categories.
            "check_fit_non_negative": "a column of one value is a category",
            "check_decision_proba_consistency": "fractions are no categories",
        }
        if isinstance(estimator, SelectiveCategoricalNB)
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
