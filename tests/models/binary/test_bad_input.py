"""Bad input gets one clear sentence: each test reads it."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.preprocessing import StandardScaler

from honestbayes import SelectiveBernoulliNB

RNG = np.random.default_rng(0)
Y = np.array([0, 1] * 10)
X = (RNG.random((20, 12)) < 0.3 + 0.4 * Y[:, None]).astype(float)
NAMES = [f"gene {j}" for j in range(12)]
FRAME = pd.DataFrame(X, columns=NAMES)


def refused(message, X=X, y=Y, error=ValueError, **how):
    with pytest.raises(error, match=message):
        SelectiveBernoulliNB(**{"random_state": 0, **how}).fit(X, y)


def changed(row, column, value, table=X):
    table = table.copy()
    table[row, column] = value
    return table


# ------------------------------------------------------------------------------------ classes


def test_one_class():
    refused(r"y holds only one class, .*1.*; give the labels of two", y=np.ones(20, dtype=int))
    refused("only one class, 'ill'", y=["ill"] * 20)


def test_more_than_two_classes():
    refused("Only binary classification is supported.* with 3 classes", y=[0, 1, 2, 0] * 5)


@pytest.mark.parametrize(
    "y",
    [
        np.where(np.arange(20) == 3, np.nan, Y.astype(float)),
        np.where(np.arange(20) == 3, None, np.array(["a", "b"] * 10, dtype=object)),
        pd.Series(["a", "b", "a", None] * 5),
        pd.array([0, 1, 0, None] * 5, dtype="Int64"),
        pl.Series([0, 1, 0, None] * 5),
    ],
    ids=["nan", "None", "pandas", "nullable", "polars"],
)
def test_missing_labels_are_named(y):
    refused("y contains NaN: it is missing in row 3", y=y)


def test_infinite_labels_are_named():
    refused("y contains infinity in row 3", y=np.where(np.arange(20) == 3, np.inf, Y))


def test_real_numbers_are_no_labels():
    refused("Unknown label type: continuous", y=RNG.normal(size=20))


def test_no_labels():
    refused("requires y to be passed", y=None)


@pytest.mark.parametrize("length", [19, 21])
def test_labels_of_another_length(length):
    refused(
        f"inconsistent numbers of samples: X has 20 rows, y has {length}",
        y=[0, 1, 1] * 7 if length == 21 else Y[:19],
    )


def test_several_targets_at_once():
    refused(r"y should be a 1d array, got an array of shape \(20, 2\)", y=np.stack([Y, Y], axis=1))


def test_a_column_of_labels_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        SelectiveBernoulliNB(random_state=0, recalibrate=None).fit(X, Y[:, None])


def test_sample_weights_are_refused_with_the_reason():
    message = "sample_weight is not supported: .* needs whole counts of cases.*class_prior"
    with pytest.raises(TypeError, match=message):
        SelectiveBernoulliNB().fit(X, Y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match="unexpected arguments"):
        SelectiveBernoulliNB().fit(X, Y, weights=np.ones(20))


# ------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_named_by_number(make, value):
    refused(f"infinity: column 3 is {value} .*in row 7; replace it", X=make(changed(7, 3, value)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_infinite_values_are_named_by_name(frame):
    table = frame(dict(zip(NAMES, changed(7, 3, np.inf).T, strict=True)))
    refused("infinity: column 'gene 3' is inf .*in row 7", X=table)


def test_infinite_values_at_prediction_are_named():
    model = SelectiveBernoulliNB(random_state=0).fit(FRAME, Y)
    column = model.selection_.columns[0]
    table = pd.DataFrame(changed(4, column, np.inf), columns=NAMES)
    with pytest.raises(ValueError, match=f"infinity: column 'gene {column}' is inf .*in row 4"):
        model.predict_proba(table)


def test_other_values_where_only_zero_and_one_may_be():
    refused(r"column 3 holds 2\.0 in row 7; with binarize=None", X=changed(7, 3, 2), binarize=None)
    table = pd.DataFrame(changed(7, 3, 2), columns=NAMES)
    refused(r"column 'gene 3' holds 2\.0 in row 7", X=table, binarize=None)


def test_data_scaled_so_that_zero_and_one_are_gone():
    model = SelectiveBernoulliNB(random_state=0).fit(FRAME, Y)
    scaled = pd.DataFrame(StandardScaler().fit_transform(X), columns=NAMES)
    message = (
        r"column 'gene \d+' holds -?\d\.\d+ in row 0, but was trained on the two values 0 and 1; "
        "give the data on the scale of the training data"
    )
    with pytest.raises(ValueError, match=message):
        model.predict_proba(scaled)


@pytest.mark.parametrize("width", [11, 13])
def test_another_number_of_columns_at_prediction(width):
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    wide = np.zeros((2, width))
    message = f"X has {width} features, but SelectiveBernoulliNB is expecting 12 features"
    for table in (wide, sparse.csr_array(wide)):
        for predict in (model.predict, model.predict_proba, model.predict_proba_interval):
            with pytest.raises(ValueError, match=message):
                predict(table)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_renamed_columns_at_prediction(frame):
    model = SelectiveBernoulliNB(random_state=0).fit(frame(dict(zip(NAMES, X.T, strict=True))), Y)
    other = ["tumour", *NAMES[1:]]
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*tumour"):
        model.predict_proba(frame(dict(zip(other, X.T, strict=True))))


def test_reordered_columns_at_prediction():
    model = SelectiveBernoulliNB(random_state=0).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        model.predict_proba(FRAME[NAMES[::-1]])


def test_a_name_that_occurs_twice():
    twice = FRAME.rename(columns={"gene 5": "gene 2"})
    refused("column name 'gene 2' occurs twice; rename one of them", X=twice)


@pytest.mark.parametrize(
    "table",
    [np.zeros((0, 3)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), sparse.csr_array((0, 3))],
    ids=["array", "pandas", "polars", "sparse"],
)
def test_a_table_without_rows(table):
    refused(r"Found array with 0 sample\(s\)", X=table, y=[])


@pytest.mark.parametrize(
    "table",
    [np.zeros((20, 0)), pd.DataFrame(index=range(20)), sparse.csr_array((20, 0))],
    ids=["array", "pandas", "sparse"],
)
def test_a_table_without_columns(table):
    refused(r"0 feature\(s\)", X=table)


@pytest.mark.parametrize("word", ["high", "1 or 2"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_text_is_named(frame, missing, word):
    text = [word] * 19 + [None if missing else word]
    table = frame({"a": X[:, 0], "b": text})
    refused(f"column 'b' holds '{word}', which is not a number; encode it", X=table)


def test_an_array_of_text():
    refused("column 0 holds .a., which is not a number", X=np.array([["a", "b"]] * 20))


def test_complex_numbers():
    refused("Complex data not supported: column 0 holds", X=X + 1j)
    refused("Complex data not supported: column 0 holds", X=sparse.csr_array(X + 1j))
    refused("column 0 holds complex numbers .complex128., as all columns do.*give X.real", X=X + 0j)
    some = X.astype(np.complex64)
    some[3, 1] = 1j
    refused("column 1 holds complex numbers .complex64.; give its real and imaginary", X=some)
    refused("column 1 holds complex numbers .complex64.", X=sparse.csc_array(some))


def test_a_single_column_or_row_in_place_of_a_table():
    refused("Expected 2D array, got 1D array", X=X[:, 0])
    refused("Expected 2D array, got a single column", X=FRAME["gene 0"])
    refused("Expected 2D array, got a single column", X=pl.Series(X[:, 0]))
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict_proba(X[0])


# --------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"n_features_to_select": 13},
            "n_features_to_select=13 is more than the 12 features to choose from",
        ),
        (
            {"n_features_to_select": 11, "always_keep": [0, 1]},
            "more than the 10 features to choose from",
        ),
        ({"n_features_to_select": -1}, "n_features_to_select=-1 is not a whole number"),
        ({"n_features_to_select": 2.5}, "n_features_to_select=2.5 is not a whole number"),
        ({"n_features_to_select": np.nan}, "n_features_to_select=nan is not a whole number"),
        ({"n_features_to_select": np.inf}, "n_features_to_select=inf is not a whole number"),
        ({"n_features_to_select": True}, "n_features_to_select=True is not a whole number"),
        ({"n_features_to_select": [3]}, "n_features_to_select=[3] is not a whole number"),
        (
            {"n_features_to_select": "most"},
            "n_features_to_select='most' is not a number, 'all', 'cv' or None",
        ),
        (
            {"n_features_to_select": 3, "threshold": 0.2},
            "give n_features_to_select or threshold, not both",
        ),
        ({"threshold": -0.1}, "threshold=-0.1 is not a correlation between 0 and 1"),
        ({"threshold": 1.5}, "threshold=1.5 is not a correlation between 0 and 1"),
        ({"threshold": np.nan}, "threshold=nan is not a correlation between 0 and 1"),
        ({"threshold": "0.2"}, "threshold='0.2' is not a correlation between 0 and 1"),
        ({"tol": 0}, "tol=0 is not positive"),
        ({"tol": -1e-8}, "tol=-1e-08 is not positive"),
        ({"tol": np.nan}, "tol=nan is not positive"),
        ({"tol": "small"}, "tol='small' is not positive"),
        ({"theta_prior": (0.5, 0.5)}, "theta_prior=(0.5, 0.5) is not an interval within (0, 1)"),
        ({"theta_prior": (-0.1, 1)}, "theta_prior=(-0.1, 1) is not an interval"),
        ({"theta_prior": (0, 1.1)}, "theta_prior=(0, 1.1) is not an interval"),
        ({"theta_prior": 0.5}, "theta_prior=0.5 is not a pair of numbers"),
        ({"theta_prior": (0, 0.5, 1)}, "theta_prior=(0, 0.5, 1) is not a pair of numbers"),
        ({"alpha_prior": (0, 5)}, "alpha_prior=(0, 5) must be two positive numbers"),
        ({"alpha_prior": (0.5, np.inf)}, "alpha_prior=(0.5, inf) must be two positive numbers"),
        ({"alpha_prior": ("a", 1)}, "alpha_prior=('a', 1) is not a pair of numbers"),
        ({"class_pseudocounts": (0, 1)}, "class_pseudocounts=(0, 1) must be two positive numbers"),
        ({"class_pseudocounts": 1}, "class_pseudocounts=1 is not a pair of numbers"),
        ({"class_prior": [0.5, 0.6]}, "class_prior=[0.5, 0.6] must be two positive prevalences"),
        ({"class_prior": [0.0, 1.0]}, "class_prior=[0.0, 1.0] must be two positive prevalences"),
        ({"class_prior": [1.0]}, "class_prior=[1.0] must be two positive prevalences"),
        ({"class_prior": "even"}, "class_prior=even must be two positive prevalences"),
        ({"recalibrate": "sigmoid"}, "recalibrate='sigmoid' is not one of None, 'slope'"),
        (
            {"correction": "event"},
            "correction='event' is not one of 'auto', 'counts', 'selection', None",
        ),
        (
            {"feature_prior": "flat"},
            "feature_prior='flat' is not one of 'auto', 'learned', 'uniform'",
        ),
        ({"quadrature": "simpson"}, "quadrature='simpson' is not one of 'adaptive', 'paper'"),
        ({"binarize": "mean"}, "binarize='mean' is not one of 'auto', 'median', a number, None"),
        ({"binarize": np.inf}, "binarize=inf is not finite"),
        (
            {"feature_prior": "learned", "correction": "selection"},
            "for correction='selection' use feature_prior='uniform'",
        ),
        (
            {"feature_prior": "learned", "quadrature": "paper"},
            "quadrature='paper' needs feature_prior='uniform'",
        ),
        ({"always_keep": ["gene 0"]}, "always_keep names 'gene 0', which is not a column of X"),
        ({"always_keep": [12]}, "always_keep names column 12, but X has 12 columns"),
        ({"always_keep": [True]}, "always_keep is a mask of 1 features, but X has 12"),
        ({"random_state": "seed"}, "cannot be used to seed"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_parameter_without_meaning_is_refused(how, message):
    refused(re.escape(message), **how)


def test_prevalences_at_prediction_are_checked_too():
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="must be two positive prevalences that sum to 1"):
        model.predict_proba(X, class_prior=[0.5, 0.2])


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, np.nan])
def test_the_level_of_an_interval_is_between_zero_and_one(level):
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        model.predict_proba_interval(X, level)


def test_an_interval_needs_draws():
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_draws=0 is not a positive whole number"):
        model.predict_proba_interval(X, n_draws=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: model.predict_log_proba(X),
        lambda model: model.predict_proba_interval(X),
        lambda model: model.get_support(),
        lambda model: model.get_feature_names_out(),
        lambda model: model.feature_table(),
        lambda model: model.contributions(X),
        lambda model: model.feature_path(X, Y),
    ],
)
def test_a_model_that_was_not_fitted_says_so(call):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        call(SelectiveBernoulliNB())


def test_a_path_on_other_classes_is_refused():
    model = SelectiveBernoulliNB(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"y holds .*2.*, but the classes are"):
        model.feature_path(X, Y + 1)
