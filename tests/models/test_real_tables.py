"""Real tables, also with a constant column and with three classes, give probabilities."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import datasets

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveDiscriminant,
    SelectiveGaussianNB,
    SelectiveLogistic,
    SelectiveMixedNB,
)

ROWS, COLUMNS = 120, 40
"""What is used of a larger table."""

SKLEARN = ("iris", "wine", "digits", "breast_cancer")
EXPRESSION = ("colon_alon", "golub_3051", "khan_srbct", "lymphoma", "singh_prostate")
DISCRETE = (
    "car",
    "dna_statlog",
    "housevotes84",
    "monks1_train",
    "monks2_train",
    "monks3_train",
    "monks1_test",
    "monks2_test",
    "monks3_test",
    "mushroom",
    "nursery",
    "promoters",
    "spect",
    "tic_tac_toe",
    "vote",
    "zoo",
)
ORDINARY = ("breast-cancer", "german", "glass", "haberman", "pima", "sonar")
KDD98 = {"donor_19372x50": "Donate", "lrn_categorical_95412x22": "TARGET_B"}
NOT_FEATURES = ["split", "ID", "Donation.Amount", "TARGET_D"]


def of_csv(path, target=None):
    """Columns as pandas reads them; the last one is the class, unless another is named."""
    frame = pd.read_csv(path, nrows=20_000)
    target = frame.columns[-1] if target is None else target
    y = frame[target].astype(str).to_numpy()
    return frame.drop(columns=[target, *NOT_FEATURES], errors="ignore"), y


def read(name, folder):
    """Features and classes of a table by its name, in full."""
    if name in SKLEARN:
        return getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if name in EXPRESSION:
        with np.load(folder / f"{name}.npz") as file:
            return pd.DataFrame(file["X"].astype(float)).add_prefix("g"), file["y"]
    if name == "dorothea":
        with np.load(folder / "dorothea.npz") as file:
            parts = np.ones(file["indices"].size, dtype=np.int8), file["indices"], file["indptr"]
            X = sparse.csr_matrix(parts, shape=tuple(file["shape"]))[:800]
            often = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:COLUMNS]
            return pd.DataFrame(X[:, often].toarray()).add_prefix("m"), file["y"][:800]
    if name == "sms_spam":
        frame = pd.read_csv(
            folder / "sms_spam.tsv.gz", sep="\t", header=None, names=["y", "text"], quoting=3
        )
        words = ("call", "free", "now", "you", "txt", "ok", "love", "win", "prize", "home")
        text = frame["text"].astype(str).str.lower()
        return pd.DataFrame({word: text.str.contains(word) for word in words}), frame["y"]
    if name in KDD98:
        return of_csv(folder / "kdd98" / f"{name}.csv.gz", KDD98[name])
    part = "discrete" if name in DISCRETE else "ordinary"
    return of_csv(folder / part / f"{name}.csv.gz")


def part_of(X, y):
    """Some rows and columns, drawn at random; classes of a single case stay as they are."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(y))[:ROWS])
    columns = np.sort(rng.permutation(X.shape[1])[:COLUMNS])
    return X.iloc[rows, columns].reset_index(drop=True), np.asarray(y)[rows]


def with_three_classes(X, y):
    """Three classes: rare ones merged, or the largest one cut at the median of a column."""
    labels, codes = np.unique(y, return_inverse=True)
    if labels.size > 2:
        order = np.argsort(np.argsort(-np.bincount(codes)))
        return np.array(["first", "second", "rest"])[np.minimum(order[codes], 2)]
    largest = np.argmax(np.bincount(codes))
    column = next(X[c] for c in X if X[c].nunique() > 1)
    ranks = column.astype("category").cat.codes.to_numpy()
    upper = (codes == largest) & (ranks > np.quantile(ranks[codes == largest], 0.4))
    return np.where(upper, "upper", codes.astype(str))


def suitable(X, n_classes):
    """Models for the columns of a table; the quick average suits every table."""
    models = [HonestClassifier(effort="quick", random_state=0), SelectiveMixedNB()]
    texts = any(not pd.api.types.is_numeric_dtype(X[c]) for c in X)
    if texts:
        as_text = X.astype(object).where(X.notna(), None)
        whole = all(
            all(v is None or isinstance(v, str) or (v >= 0 and v == int(v)) for v in as_text[c])
            for c in X
        )
        return [*models, SelectiveCategoricalNB()] if whole else models
    if n_classes == 2:
        models.append(SelectiveBernoulliNB())
    return [*models, SelectiveGaussianNB(), SelectiveDiscriminant(), SelectiveLogistic()]


def check(model, X, y):
    """Probabilities are finite and sum to 1, and no warning is anyone else's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
        probability = model.predict_proba(X)
    assert {warning.category for warning in caught} <= {UserWarning}
    assert probability.shape == (len(y), len(np.unique(y)))
    assert np.all(np.isfinite(probability))
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    # Better than the shares of the classes, or not much worse: nothing was misread.
    codes = np.unique(y, return_inverse=True)[1]
    shares = np.bincount(codes) / len(y)
    log_score = np.mean(np.log(probability[np.arange(len(y)), codes]))
    assert log_score > np.sum(shares * np.log(shares)) - 0.1
    return probability


ALL = (*EXPRESSION, "dorothea", "sms_spam", *DISCRETE, *ORDINARY, *KDD98)


@pytest.fixture(params=[*SKLEARN, *ALL])
def real_table(request):
    name = request.param
    folder = None if name in SKLEARN else request.getfixturevalue("data_folder")
    return part_of(*read(name, folder))


def test_every_file_of_the_folder_is_read_here(data_folder):
    files = {path.name.partition(".")[0] for path in data_folder.rglob("*.*z")}
    sequences = {path.name.partition(".")[0] for path in (data_folder / "sequences").iterdir()}
    assert files - sequences - {"valtargt"} == set(ALL)  # valtargt holds no features


def test_a_real_table_with_a_constant_column_gives_probabilities_of_three_classes(real_table):
    X, y = real_table
    y = with_three_classes(X, y)
    wide = X.assign(constant=1.301)
    check(SelectiveMixedNB(), wide, y)


@pytest.mark.slow
def test_a_real_table_gives_every_suitable_model_probabilities_whatever_is_constant(real_table):
    X, y = real_table
    # Zeros and ones in bytes are counted, and in a table that holds floats they are summed: there
    # rounding decides between columns of equal strength. So the constant is of the table's type.
    in_bytes = all(dtype in (np.int8, bool) for dtype in X.dtypes)
    wide = X.assign(constant=np.ones(len(y), X.dtypes.iloc[0]) if in_bytes else 1.301)
    for labels in (y, with_three_classes(X, y)):
        for model in suitable(X, len(np.unique(labels))):
            expected = check(model, X, labels)
            if isinstance(model, SelectiveCategoricalNB | SelectiveBernoulliNB):
                wide_values = X.assign(constant=1)  # a discarded feature, which counts
                check(model, wide_values, labels)
            else:
                np.testing.assert_array_equal(check(model, wide, labels), expected)
