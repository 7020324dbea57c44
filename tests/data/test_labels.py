"""Labels that are hardly classes of their own are warned of, whichever estimator is fitted."""

import warnings

import numpy as np
import pytest

import honestbayes as hb
from honestbayes.data import encode_labels
from honestbayes.data.labels import missing_labels, spellings

SPELLED = np.array(["yes", "no", "Yes ", "NO"] * 10, dtype=object)
UNKNOWN = np.array(["yes", "no"] * 18 + ["unknown", "unknown", "not done", "not done"])


def table(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 4))


@pytest.mark.parametrize(
    "model",
    [
        hb.HonestClassifier(effort="quick", random_state=0),
        hb.SelectiveGaussianNB(n_features_to_select=2, recalibrate=None),
        hb.SelectiveMixedNB(n_features_to_select=2, recalibrate=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_fit_warns_of_one_label_in_several_spellings_and_of_labels_that_mean_missing(model) -> None:
    for y, words in ((SPELLED, "'NO', 'no' as 2 classes"), (UNKNOWN, "'unknown' as a class")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(table(40), y)
        told = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
        assert sum(words in text for text in told) == 1, told


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        ["HER2-", "HER2+", "HER2"],
        ["-1", "1"],
        ["A", "B"],
        ["mild", "none", "severe"],
        ["other", "setosa", "virginica"],
        ["case", "unknown"],
        [0, 1],
        [True, False],
    ],
    ids=str,
)
def test_ordinary_labels_are_not_warned_of(labels) -> None:
    classes, _ = encode_labels(labels * 20)
    assert len(classes) == len(labels)


@pytest.mark.parametrize(
    "word",
    ["unknown", "Not done", "N.D.", "n.a.", "missing", "??", "not-available", "TBD", "pending"],
)
def test_words_that_mean_missing_are_found_whatever_their_number(word: str) -> None:
    assert missing_labels(["a", "b", word], [40, 40, 2]) == [word]
    assert missing_labels(["a", "b", word], [40, 40, 40]) == [word]


@pytest.mark.parametrize("word", ["none", "other", "-", "x"])
def test_words_that_may_be_a_class_mean_missing_in_a_few_rows_only(word: str) -> None:
    assert missing_labels(["a", "b", word], [40, 40, 2]) == [word]
    assert missing_labels(["a", "b", word], [40, 40, 20]) == []


def test_spellings_differ_in_case_blanks_and_hyphens_only() -> None:
    found = spellings(
        ["non-event", "Non event", "NON_EVENT", "event", "e vent", "straße", "STRASSE"]
    )
    assert found == [["non-event", "Non event", "NON_EVENT"], ["straße", "STRASSE"]]
