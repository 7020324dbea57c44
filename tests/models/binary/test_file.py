"""Saved models come back bit for bit, and only models come back."""

import json
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fits import BINARY, flags
from fits import FLAG_NAMES as NAMES
from fits import FLAGS as X
from fits import FLAGS_MISSING as X_MISSING
from fits import FLAGS_Y as Y
from fits import fitted as shared
from grids import few
from model_files import (
    changed,
    header_of,
    npy,
    put_together,
    taken_apart,
    with_header,
)
from sklearn.base import clone

import honestbayes
from honestbayes import SelectiveBernoulliNB, load
from honestbayes.files import ModelFileError
from honestbayes.selection import screen, select

REAL = np.random.default_rng(3).normal(size=X.shape) + X
X_NEW, Y_NEW = flags(n=50, seed=7)
NASTY_NAMES = [
    "",
    "é",
    "日本",
    "\x00",
    "a\nb",
    '"quoted"',
    "=1+1",
    "</script>",
    "../../etc",
    "$x$",
    "\U0001f600",
    "x" * 5000,
    " ",
    *(f"n{j}" for j in range(17)),
]
UNIFORM = {"feature_prior": "uniform"}

CONFIGURATIONS = {
    "default": {},
    "learned, no correction": {"correction": None},
    "uniform, counts": {**UNIFORM, "correction": "counts"},
    "uniform, selection": {**UNIFORM, "correction": "selection"},
    "uniform, none": {**UNIFORM, "correction": None},
    "paper": {"quadrature": "paper"},
    "threshold": {"threshold": 0.3},
    "all": {"n_features_to_select": "all"},
    "none kept": {"n_features_to_select": 0},
    "none kept, uniform": {"n_features_to_select": 0, **UNIFORM},
    "one kept": {"n_features_to_select": 1, **UNIFORM, "correction": "counts"},
    "by index": {"always_keep": [3, 20]},
    "by negative index": {"always_keep": np.array([-1, 2])},
    "by mask": {"always_keep": np.arange(30) % 10 == 3},
    "by design only": {"always_keep": [3], "n_features_to_select": 0, **UNIFORM},
    "nothing by design": {"always_keep": []},
    "theta within": {"theta_prior": (0.05, 0.9), **UNIFORM, "correction": "counts"},
    "theta within, learned": {"theta_prior": (0.05, 0.9)},
    "prevalence": {"class_prior": np.array([0.9, 0.1])},
    "pseudocounts": {"class_pseudocounts": np.array([2, 3])},
    "not recalibrated": {"recalibrate": None},
    "cut": {"binarize": np.float32(0.5)},
    "median": {"binarize": "median"},
    "NumPy scalars": {"n_features_to_select": np.int32(4), "tol": np.float64(1e-8)},
    "a generator": {"random_state": np.random.RandomState(3)},
    "a NumPy seed": {"random_state": np.int64(3)},
    "chosen number": {"n_features_to_select": "cv"},
}
TELLING = (
    "default",
    "uniform, counts",
    "paper",
    "by mask",
    "chosen number",
)
"""Configurations that files of models of tables with missing cells tell apart."""

OF_THEIR_OWN = (
    "default",
    "uniform, counts",
    "threshold",
    "all",
    "none kept",
    "by negative index",
    "by mask",
    "by design only",
    "prevalence",
    "pseudocounts",
    "median",
    "NumPy scalars",
    "a generator",
    "a NumPy seed",
    "chosen number",
)
"""Configurations that kept columns and parameters tell apart."""

every_configuration = pytest.mark.parametrize("how", CONFIGURATIONS)
many_configurations = few("how", CONFIGURATIONS, OF_THEIR_OWN)
with_missing_cells = few("how", CONFIGURATIONS, TELLING)


@cache
def configured(how, *, missing=False):
    """A model that tests read and do not change."""
    return fitted(CONFIGURATIONS[how], X_MISSING if missing else X)


def fitted(how=None, X=X, y=Y):
    return SelectiveBernoulliNB(**{"random_state": 0, **(how or {})}).fit(X, y)


def saved_and_loaded(model, folder):
    path = folder / "model.honestbayes"
    model.save(path)
    return load(path)


def same(one, two):
    """Whether two results are the same to the last bit, whatever they are made of."""
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.tolist() == two.tolist()
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(two).tobytes()
    return type(one) is type(two) and one == two


def record(value):
    """A frozen record as plain nested tuples."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is None or type(value).__name__ == "Selection":
        return value
    return tuple(record(getattr(value, name)) for name in fields)


def outputs(model, X):
    labels = model.classes_[np.arange(X.shape[0]) % 2]
    return {
        "predict": model.predict(X),
        "proba": model.predict_proba(X),
        "other prevalence": model.predict_proba(X, class_prior=[0.3, 0.7]),
        "log": model.predict_log_proba(X),
        "interval": model.predict_proba_interval(X[:7], n_draws=200),
        "contributions": model.contributions(X).values,
        "table": model.feature_table().to_dict(),
        "text": str(model.feature_table()),
        "path": model.feature_path(X, labels).to_dict(),
        "names": model.get_feature_names_out(),
        "support": model.get_support(),
        "slope": model.slope_,
        "words": (model.feature_prior_, model.correction_, model.n_features_in_),
        "classes": (model.classes_, model.class_count_),
        "number": record(model.number_choice_),
        "posterior": (record(model.posterior_), record(model.always_posterior_)),
        "prior": record(model.learned_prior_),
        "selection": model.selection_,
        "density": model.posterior_.density(np.linspace(-2, 8, 20)),
    }


def assert_same(model, other, X=X_NEW):
    expected, found = outputs(model, X), outputs(other, X)
    assert {name: same(expected[name], found[name]) for name in expected} == dict.fromkeys(
        expected, True
    )
    assert same(record(model._fit), record(other._fit))


# --------------------------------------------------------------------------------- round trips


@every_configuration
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(tmp_path, how):
    assert_same(configured(how), saved_and_loaded(configured(how), tmp_path))


@pytest.mark.slow_cases("by mask", "chosen number", "paper", "uniform, counts")
@with_missing_cells
def test_missing_values_change_nothing_about_that(tmp_path, how):
    model = configured(how, missing=True)
    loaded = saved_and_loaded(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model, loaded, X_MISSING)


@pytest.mark.parametrize("how", [{}, UNIFORM, {"binarize": "median"}, {"binarize": 0.25}], ids=str)
def test_cuts_of_real_values_come_back(tmp_path, how):
    model = fitted({"recalibrate": None, **how}, REAL)
    assert_same(model, saved_and_loaded(model, tmp_path), REAL)


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        ["日本", "é\n"],
        np.array(["no", "yes"], dtype=object),
        np.array(["", "\x01"], dtype=object),
        [0, 1],
        np.array([-128, 127], dtype=np.int8),
        np.array([0, 2**63], dtype=np.uint64),
        [0.1, 0.2],
        np.array([0.1, 0.2], dtype=np.float32),
        [-1.0, 1.0],
        [False, True],
    ],
    ids=str,
)
def test_class_labels_of_every_type_come_back(tmp_path, labels):
    labels = np.asarray(labels)
    if labels.dtype.kind == "f":  # fractions are not taken as classes
        labels = np.floor(labels * 10)
    model = fitted({"recalibrate": None}, y=labels[Y])
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    assert loaded.classes_.dtype.itemsize == model.classes_.dtype.itemsize
    assert same(model.predict(X_NEW), loaded.predict(X_NEW))
    assert_same(model, loaded)


@pytest.mark.slow_cases("{'feature_prior': 'uniform', 'correction': 'selection'}-nasty")
@pytest.mark.parametrize("names", [NAMES, NASTY_NAMES], ids=["plain", "nasty"])
@pytest.mark.parametrize("how", [{}, {**UNIFORM, "correction": "selection"}], ids=str)
def test_names_come_back(tmp_path, names, how):
    frame = pd.DataFrame(X, columns=np.array(names, dtype=object))
    words = {"n_features_to_select": 8, "always_keep": [names[2], names[9]], "recalibrate": None}
    model = fitted({**words, **how}, frame)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == names
    assert loaded.always_keep == [names[2], names[9]]
    assert same(outputs(model, frame), outputs(loaded, frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict_proba(frame.iloc[:, ::-1])


def test_names_that_are_not_text_come_back(tmp_path):
    frame = pd.DataFrame(X)  # columns 0, 1, ...
    model = fitted(X=frame)
    loaded = saved_and_loaded(model, tmp_path)
    assert not hasattr(loaded, "feature_names_in_")
    assert same(outputs(model, frame), outputs(loaded, frame))
    narrow = saved_and_loaded(model.on_kept_columns(), tmp_path)
    kept = frame[list(model.selection_.columns)]
    assert same(model.predict_proba(frame), narrow.predict_proba(kept))
    assert same(model.predict_proba(frame), narrow.predict_proba(frame))


def test_a_polars_frame_comes_back(tmp_path):
    frame = pl.DataFrame(X, schema=NAMES)
    model = fitted(X=frame)
    assert same(model.predict_proba(frame), saved_and_loaded(model, tmp_path).predict_proba(frame))


def test_a_model_of_features_selected_elsewhere_comes_back(tmp_path):
    selection = select(screen(X, Y), n_features=6)
    kept = X[:, list(selection.columns)]
    model = SelectiveBernoulliNB(recalibrate=None).fit_selected(kept, Y, selection)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.n_features_in_ == 6
    assert_same(model, loaded)
    assert same(model.predict_proba(kept), loaded.predict_proba(kept))


@pytest.mark.parametrize("frame", [False, True])
def test_a_model_from_counts_comes_back(tmp_path, frame):
    table = pd.DataFrame(X, columns=NAMES) if frame else X
    screening = screen(table, Y, classes=[1, 0])
    model = SelectiveBernoulliNB(recalibrate=None, random_state=0).fit_screening(screening)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.classes_.tolist() == [1, 0]
    assert same(outputs(model, table), outputs(loaded, table))


@many_configurations
def test_parameters_come_back_and_can_be_cloned_and_fitted_again(tmp_path, how):
    model = configured(how)
    loaded = saved_and_loaded(model, tmp_path)
    before, after = model.get_params(), loaded.get_params()
    for name, value in before.items():
        if name == "random_state" and isinstance(value, np.random.RandomState):
            assert after[name] is None
        elif isinstance(value, list | tuple | np.ndarray):
            assert list(after[name]) == list(value)
        else:
            assert after[name] == value
            assert type(after[name]) in (int, float, str, type(None))
    assert repr(loaded).startswith("SelectiveBernoulliNB(")
    again = clone(loaded).fit(X, Y)
    assert same(again.get_params(), clone(loaded).get_params())
    if not isinstance(before["random_state"], np.random.RandomState):
        assert same(again.predict_proba(X_NEW), model.predict_proba(X_NEW))


def test_the_same_model_makes_the_same_bytes_and_survives_a_second_trip(tmp_path):
    model = fitted({"always_keep": [2]})
    model.save(tmp_path / "one")
    load(tmp_path / "one").save(tmp_path / "two.any")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two.any").read_bytes()


def test_a_model_is_saved_over_an_older_one(tmp_path):
    fitted().save(tmp_path / "model")
    fitted(UNIFORM).save(tmp_path / "model")
    assert load(tmp_path / "model").feature_prior_ == "uniform"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow_cases(
    "True-{'feature_prior': 'uniform', 'correction': 'counts'}", "True-{'feature_prior': 'uniform'}"
)
@pytest.mark.parametrize("how", [{}, {**UNIFORM, "correction": "counts"}, UNIFORM], ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_a_model_of_ten_features_of_200_000_is_small(tmp_path, how, missing):
    rng = np.random.default_rng(0)
    n, p = 30, 200_000
    table = (rng.random((n, p)) < 0.4).astype(np.float32)
    if missing:
        table[rng.random(table.shape, dtype=np.float32) < 0.1] = np.nan
    y = np.arange(n) % 2
    model = SelectiveBernoulliNB(recalibrate=None, random_state=0, **how).fit(table, y)
    loaded = saved_and_loaded(model, tmp_path)
    assert (tmp_path / "model.honestbayes").stat().st_size < 200_000
    assert same(model.predict_proba(table[:3]), loaded.predict_proba(table[:3]))


def test_numpy_alone_reads_what_a_file_holds(tmp_path):
    model = fitted({**UNIFORM, "recalibrate": None})
    model.save(tmp_path / "m.honestbayes")
    with np.load(tmp_path / "m.honestbayes") as arrays:
        assert arrays["part0.selection.kept"].tolist() == list(model.selection_.kept)
        assert same(arrays["part0.ranked.posterior.alpha"], model.posterior_.alpha)
        one, zero = arrays["part0.ranked.table.log_one"], arrays["part0.ranked.table.log_zero"]
        weight = arrays["part0.ranked.table.log_weight"]
        columns = arrays["part0.selection.kept"]
    with zipfile.ZipFile(tmp_path / "m.honestbayes") as file:
        assert file.testzip() is None
        description = json.loads(file.read("model.json"))
    x = X_NEW[:, columns][:, None, None, :]
    terms = np.where(x == 1, one, zero).sum(axis=3) + weight
    evidence = np.diff(np.log(np.exp(terms).sum(axis=2)), axis=1)[:, 0]
    log_odds = description["content"]["part0"]["log_prior_odds"] + evidence
    assert 1 / (1 + np.exp(-log_odds)) == pytest.approx(model.predict_proba(X_NEW)[:, 1])
    assert description["schema"] == 1
    assert description["written_by"] == f"honestbayes {honestbayes.__version__}"


# ------------------------------------------------------------------------- kept columns only


@many_configurations
def test_a_model_on_kept_columns_has_the_same_probabilities(tmp_path, how):
    has_the_same_probabilities_on_kept_columns(configured(how), tmp_path)


@pytest.mark.slow_cases("by mask", "paper", "uniform, counts")
@with_missing_cells
def test_missing_values_change_nothing_about_that_either(tmp_path, how):
    has_the_same_probabilities_on_kept_columns(configured(how, missing=True), tmp_path)


def has_the_same_probabilities_on_kept_columns(model, tmp_path):
    narrow = model.on_kept_columns()
    columns = list(model.selection_.columns)
    assert narrow.n_features_in_ == len(columns)
    assert narrow.selection_ == model.selection_
    if columns and len(columns) < 30:
        assert same(narrow.predict_proba(X_NEW[:, columns]), model.predict_proba(X_NEW))
        assert same(
            narrow.predict_proba_interval(X_NEW[:4, columns], n_draws=50),
            model.predict_proba_interval(X_NEW[:4], n_draws=50),
        )
    if len(columns) < 30:
        assert same(narrow.predict_proba(X_NEW), model.predict_proba(X_NEW))
        assert_same(narrow, saved_and_loaded(narrow, tmp_path))
    assert same(narrow.feature_table().to_dict(), model.feature_table().to_dict())
    assert not model._kept_columns_only


def test_names_on_kept_columns_are_those_of_the_kept():
    frame = pd.DataFrame(X, columns=NAMES)
    model = fitted({"always_keep": ["gene 20"], "n_features_to_select": 3}, frame)
    narrow = model.on_kept_columns()
    kept = narrow.feature_names_in_.tolist()
    assert kept == model.get_feature_names_out().tolist()
    assert same(narrow.predict_proba(frame[kept]), model.predict_proba(frame))
    assert same(narrow.predict_proba(frame), model.predict_proba(frame))
    assert narrow.always_keep == ["gene 20"]
    with pytest.raises(ValueError, match="feature names"):
        narrow.predict_proba(frame[kept[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        narrow.predict_proba(frame.iloc[:, :7])


@pytest.mark.slow_cases("mask")
@pytest.mark.parametrize("always", [[5, 9], np.isin(np.arange(30), [5, 9])], ids=["index", "mask"])
def test_features_kept_by_design_keep_their_place_in_a_fit_of_the_copy(always):
    model = fitted({"always_keep": always, "n_features_to_select": 4})
    narrow = model.on_kept_columns()
    assert narrow.always_keep == [4, 5]
    again = clone(narrow).fit(X[:, list(model.selection_.columns)], Y)
    assert again.selection_.always_kept == (4, 5)
    assert repr(narrow) == repr(clone(narrow))


def test_a_copy_of_a_copy_on_kept_columns_is_the_same():
    narrow = fitted({"always_keep": [3]}).on_kept_columns()
    assert_same(narrow, narrow.on_kept_columns())
    assert narrow.get_params() == narrow.on_kept_columns().get_params()


def test_names_are_what_makes_a_file_large_and_kept_columns_drop_them(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"a rather long name of a feature {j}" for j in range(5000)]
    frame = pd.DataFrame((rng.random((20, 5000)) < 0.5).astype(np.int8), columns=names)
    model = fitted({"recalibrate": None}, frame, np.arange(20) % 2)
    model.save(tmp_path / "all")
    model.on_kept_columns().save(tmp_path / "kept")
    assert (tmp_path / "all").stat().st_size > 150_000
    assert (tmp_path / "kept").stat().st_size < 30_000


# -------------------------------------------------------------------------------- bad files


def test_a_model_that_is_not_fitted_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        SelectiveBernoulliNB().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = fitted()
    model.set_params(theta_prior=(0.9, 0.1))
    with pytest.raises(ValueError, match=r"cannot be saved: .*theta_prior"):
        model.save(tmp_path / "m")
    model.set_params(theta_prior=(0.0, 1.0), tol=np.inf)
    with pytest.raises(ValueError, match="plain data"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_an_absent_file_and_a_folder_are_the_usual_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(IsADirectoryError):
        fitted().save(tmp_path)
    with pytest.raises(FileNotFoundError):
        fitted().save(tmp_path / "absent" / "m")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One file of each kind of binary model."""
    folder = tmp_path_factory.mktemp("files")
    places = {name: folder / f"{name.removeprefix('binary, ')}.honestbayes" for name in BINARY}
    for name, place in places.items():
        shared(name).save(place)
    return {place.stem: place for place in places.values()}


def content(key, value):
    def change(document, arrays):
        del arrays
        place = document["content"]
        *parents, last = key.split("/")
        for parent in parents:
            place = place[parent]
        place[last] = value

    return change


def array(name, edit):
    def change(document, arrays):
        del document
        arrays[name] = edit(arrays[name].copy())

    return change


def other_letters(letters):
    """Return names of columns with another letter for each g."""
    return np.where(letters == ord("g"), ord("a"), letters).astype(letters.dtype)


def put(position, value):
    def edit(values):
        values[position] = value
        return values

    return edit


def one_shape_only(weights):
    """All weight on the first shape."""
    return (np.arange(weights.size) == 0).astype(float)


MEANINGLESS = [
    ("learned", array("recalibration.slope", put(0, 0.0)), "recalibration.slope is not from 1e-06"),
    ("learned", array("recalibration.slope", put(0, -1)), "slope is not from"),
    ("learned", array("recalibration.slope", put(0, np.nan)), "slope holds a number that is not"),
    ("learned", array("recalibration.weight", put((0, 0), 1.0)), "weight does not sum to 1"),
    ("learned", content("part0/learned", False), "part0.ranked"),
    ("learned", content("correction", "selection"), "correction is 'selection', not one of"),
    ("learned", content("feature_prior", "uniform"), "feature_prior differs"),
    ("learned", content("part0/log_prior_odds", True), "log_prior_odds is True"),
    ("learned", content("classes/labels", [1, 1]), "list of 2 different labels"),
    ("learned", content("classes/labels", [0, 1, 2]), "list of 2 labels"),
    ("learned", content("classes/labels", [0, 2**70]), "does not fit its type"),
    ("learned", content("classes/kind", "M"), "classes.kind is 'M'"),
    ("learned", content("classes/bytes", 10**9), "classes.bytes"),
    ("learned", content("more", 1), "more is unknown"),
    ("learned", content("parameters/more", 1), "parameters.more is unknown"),
    ("learned", content("parameters/tol", 0), "tol=0 is not positive"),
    ("learned", content("parameters/alpha_prior", [1, -1]), "alpha_prior"),
    ("learned", content("parameters/alpha_prior", [1, "1"]), "alpha_prior holds something"),
    ("learned", content("parameters/class_prior", [0.5, 0.6]), "class_prior"),
    ("learned", content("parameters/quadrature", "other"), "quadrature='other'"),
    ("learned", content("parameters/n_features_to_select", 31), "31, which is not a number of"),
    ("learned", content("parameters/n_features_to_select", 2.5), "2.5, which is not a number of"),
    ("learned", content("parameters/binarize", []), "binarize is"),
    ("learned", content("parameters/random_state", -1), "random_state is -1, not a seed"),
    ("learned", content("part0/selection/rule", "best"), "rule 'best' is unknown"),
    ("learned", content("part0/selection/n_features_in", 29), "do not add up to 29"),
    ("learned", content("part0/selection/n_features_in", 10**15), "do not add up"),
    ("learned", content("part0/selection/gamma_squared", [2, 1]), "gamma squared"),
    ("learned", content("part0/selection/gamma_squared", [1, 0]), "denominator"),
    ("learned", content("part0/selection/gamma_squared", [1, 1]), "weaker than the bound"),
    ("learned", content("part0/selection/class_counts", [0, 40]), "a class has no cases"),
    ("learned", content("part0/selection/class_counts", [10**12, 40]), "too large"),
    ("learned", content("part0/selection/class_counts", [1, 40]), "is impossible"),
    (
        "learned",
        array("part0.ranked.block.observed", put((0, 0), 99)),
        "part0.ranked.block.observed holds an",
    ),
    ("learned", content("part0/selection/ties_known", 1), "ties_known is not true or false"),
    ("learned", content("part0/has_by_design", False), "by_design does not fit the selection"),
    ("learned", content("part0/ranked/prior/free", 1.5), "part0.ranked.prior.free is 1.5"),
    ("learned", content("part0/ranked/prior/converged", None), "part0.ranked.prior.converged"),
    ("learned", content("part0/ranked", []), "ranked is not an object"),
    ("learned", array("part0.selection.kept", put(0, 99)), "a kept column is outside the table"),
    ("learned", array("part0.selection.kept", put(0, 7)), "a column is kept twice"),
    (
        "learned",
        array("part0.selection.kept", put(0, -1)),
        "selection.kept holds an impossible number",
    ),
    (
        "learned",
        array("part0.binarization.cut", put(0, np.nan)),
        "cut holds a number that is not finite",
    ),
    ("learned", array("part0.binarization.high", put(0, -3.0)), "high is not above the cut"),
    ("learned", array("part0.binarization.high", put(0, np.inf)), "high is not above the cut"),
    ("learned", array("part0.correlation", put(0, 0.1)), "correlation is not that of the counts"),
    ("learned", array("part0.correlation", put(0, 2.0)), "correlation is not from"),
    (
        "learned",
        array("part0.binarization.cut", lambda a: a[:-1]),
        "cut is an array of float64 of shape",
    ),
    (
        "learned",
        array("part0.binarization.cut", lambda a: a.astype(np.int64)),
        "cut is an array of int64",
    ),
    (
        "learned",
        array("part0.ranked.block.ones", put((0, 0), -1)),
        "part0.ranked.block.ones holds an impossible",
    ),
    (
        "learned",
        array("part0.ranked.block.ones", put((0, 0), 41)),
        "part0.ranked.block.ones holds an impossible",
    ),
    ("learned", array("part0.ranked.block.kept", put(0, 9)), "part0.ranked.block.kept"),
    (
        "learned",
        array("part0.ranked.block.others", put(0, 99)),
        "part0.ranked.block.others are more",
    ),
    (
        "learned",
        array("part0.ranked.prior.alpha", lambda a: a[::-1]),
        "part0.ranked.prior.alpha is not increasing",
    ),
    (
        "learned",
        array("part0.ranked.prior.alpha", put(3, 7.3)),
        "part0.ranked.prior.alpha is not|differs from the",
    ),
    ("learned", array("part0.ranked.prior.alpha_weights", lambda a: a * 2), "does not sum to 1"),
    (
        "learned",
        array("part0.ranked.prior.shapes", lambda a: a * 2),
        "shapes is not from|does not sum to 1",
    ),
    (
        "learned",
        array("part0.ranked.prior.shapes", lambda a: a[:, ::-1]),
        "do not have the average",
    ),
    (
        "learned",
        array("part0.ranked.prior.shapes", lambda a: a[:, 1:]),
        "part0.ranked.prior.shapes is an array of",
    ),
    (
        "learned",
        array("part0.ranked.prior.shapes", lambda a: a[1:]),
        "shape_weights is an array of",
    ),
    ("learned", array("part0.ranked.prior.shape_weights", lambda a: a / 2), "does not sum to 1"),
    ("learned", array("part0.ranked.prior.shape_weights", one_shape_only), "is not positive"),
    (
        "learned",
        array("part0.ranked.prior.shape_weights", lambda a: a[::-1]),
        "do not have the average",
    ),
    (
        "learned",
        array("part0.ranked.table.log_weight", lambda a: a[::-1]),
        "differs from the weights of",
    ),
    ("learned", array("part0.ranked.prior.rule.weight", lambda a: -a), "rule.weight is not from 0"),
    (
        "learned",
        array("part0.ranked.prior.rule.theta", put(0, 1.5)),
        "part0.ranked.prior.rule.theta is not from 0 to 1",
    ),
    ("learned", array("part0.ranked.prior.rule.theta", lambda a: a[1:]), "not spread evenly"),
    (
        "learned",
        array("part0.ranked.prior.edges", lambda a: a[::-1]),
        "part0.ranked.prior.edges is not increasing",
    ),
    ("learned", array("part0.ranked.log_atom_weight", put((0, 0), np.nan)), "not a logarithm"),
    (
        "learned",
        array("part0.ranked.log_atom_weight", put(..., -np.inf)),
        "no weight where the prior",
    ),
    (
        "learned",
        array("part0.by_design.posterior.weights", lambda a: a[::-1]),
        "differs from the weights",
    ),
    (
        "uniform",
        array("part0.ranked.posterior.alpha", put(0, 0.0)),
        "part0.ranked.posterior.alpha is not positive",
    ),
    (
        "uniform",
        array("part0.ranked.posterior.alpha", put(0, np.inf)),
        "alpha holds a number that is not",
    ),
    (
        "uniform",
        array("part0.ranked.posterior.weights", lambda a: a / 2),
        "weights does not sum to 1",
    ),
    ("uniform", array("part0.ranked.table.log_weight", lambda a: a - 1), "do not sum to 1"),
    ("uniform", array("part0.ranked.table.log_one", put((0, 0, 0), 0.5)), "log_one is not from"),
    ("uniform", array("part0.ranked.table.log_one", put((0, 0, 0), -np.inf)), "that is not finite"),
    ("uniform", array("part0.ranked.table.log_one", put((1, 2, 3), -0.2)), "not probabilities"),
    (
        "uniform",
        array("part0.ranked.table.log_one", lambda a: a[..., 1:]),
        "log_one is an array of",
    ),
    ("uniform", content("part0/ranked/interval", [0.5, 0.2]), "interval is not an interval"),
    ("uniform", content("part0/ranked/interval", [0, "1"]), "interval is not an interval"),
    ("uniform", content("part0/ranked/posterior/tolerance", -1), "tolerance is -1"),
    ("named", array("feature_names.ends", lambda a: a[::-1]), "feature_names is not cut into"),
    ("named", array("feature_names.ends", lambda a: a[1:]), "different name for each column"),
    ("named", array("feature_names.text", put(0, 255)), "feature_names is not text"),
    ("named", array("feature_names.text", put(slice(None), 97)), "different name for each column"),
    ("named", array("feature_names.text", other_letters), "differs from the selection's"),
    ("named", content("parameters/always_keep", "mask"), "parameters.always_keep is missing"),
    ("kept", content("number_choice/chosen", 3), "not one of the numbers that were tried"),
    ("kept", content("has_number_choice", False), "number_choice"),
]


@pytest.mark.parametrize(
    ("which", "change", "message"), MEANINGLESS, ids=[message for _, _, message in MEANINGLESS]
)
def test_a_file_with_valid_checksums_and_no_meaning_is_refused(
    files, tmp_path, which, change, message
):
    path = changed(files[which], tmp_path / "bad.honestbayes", change)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert_one_sentence(str(caught.value), tmp_path)


def assert_one_sentence(text, folder):
    assert text.startswith("'bad.honestbayes' ")
    assert text.endswith(".")
    assert "\n" not in text
    assert len(text) < 400
    assert str(folder) not in text


def test_a_file_with_shapes_and_without_their_weights_is_refused(files, tmp_path):
    def forget(_, arrays):
        del arrays["part0.ranked.prior.shape_weights"]

    path = changed(files["learned"], tmp_path / "bad.honestbayes", forget)
    with pytest.raises(ModelFileError, match=r"ranked\.prior\.shape_weights is missing"):
        load(path)


def test_a_file_that_is_changed_to_itself_loads(files, tmp_path):
    for path in files.values():
        same_again = changed(path, tmp_path / path.name, lambda *_: None)
        model = load(path)
        named = hasattr(model, "feature_names_in_")
        table = pd.DataFrame(X_NEW, columns=NAMES) if named else X_NEW
        assert_same(model, load(same_again), table)


def test_an_unknown_kind_and_a_newer_schema_say_so(files, tmp_path):
    entries = taken_apart(files["learned"])
    document = json.loads(entries["model.json"])
    for change, message in (
        ({"kind": "SelectiveQuantumNB"}, "unknown kind, 'SelectiveQuantumNB'"),
        ({"schema": 2, "more": 1}, "schema 2, .* a newer honestbayes is needed"),
        ({"schema": 0}, "names no schema"),
        ({"format": "other"}, "not a model file of honestbayes"),
    ):
        entries["model.json"] = json.dumps({**document, **change}).encode()
        put_together(tmp_path / "bad.honestbayes", entries)
        with pytest.raises(ModelFileError, match=message) as caught:
            load(tmp_path / "bad.honestbayes")
        assert_one_sentence(str(caught.value), tmp_path)


def test_an_array_that_asks_for_a_terabyte_gets_nothing(files, tmp_path):
    entries = taken_apart(files["uniform"])
    name = "part0.ranked.table.log_one.npy"
    for shape in ((10**12,), (2, 10**6, 10**6), (0, 10**18), (10**400,)):
        put_together(
            tmp_path / "bad.honestbayes",
            {**entries, name: with_header(entries[name], header_of(shape=shape))},
        )
        with pytest.raises(ModelFileError, match="an array"):
            load(tmp_path / "bad.honestbayes")


def test_a_planted_pickle_is_not_run(files, tmp_path):
    from model_files import Planted

    mark = tmp_path / "executed"
    planted = npy(np.array([Planted(mark)], dtype=object))
    entries = taken_apart(files["uniform"])
    put_together(tmp_path / "bad.honestbayes", {**entries, "part0.binarization.cut.npy": planted})
    with pytest.raises(ModelFileError, match="plain numbers"):
        load(tmp_path / "bad.honestbayes")
    assert not mark.exists()
    with np.load(tmp_path / "bad.honestbayes", allow_pickle=True) as trusting:
        assert trusting["part0.binarization.cut"].size == 1  # NumPy, told to trust, does run it
    assert mark.exists()


@pytest.mark.parametrize("name", ["n_features_in", "has_number_choice", "kept_columns_only"])
def test_a_whole_number_longer_than_any_float_is_refused(files, tmp_path, name):
    changed(
        files["learned"],
        tmp_path / "bad.honestbayes",
        lambda document, _: document["content"].update({name: 10**400}),
    )
    with pytest.raises(ModelFileError, match="not a valid model file"):
        load(tmp_path / "bad.honestbayes")
