"""AveragedNetworkClassifier on measurements: bins of DiscreteNB, learned from training rows."""

import numpy as np
import pandas as pd
import pytest

from honestbayes import AveragedNetworkClassifier, DiscreteNB, load
from honestbayes.base.part import TrainingLabels
from honestbayes.data.categories import learn_cuts
from honestbayes.data.kinds import as_columns
from honestbayes.files import ModelFileError

SHORT = {"n_chains": 2, "n_draws": 60, "n_warmup": 30, "n_doublings": 0, "thin": 50}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def mixed_table(n=200, seed=0):
    """A measurement that tells of the class, one that follows it, whole numbers, and texts."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.arange(n) % 2)
    height = rng.normal(size=n) + 1.5 * y
    frame = pd.DataFrame(
        {
            "height": height,
            "weight": height + 0.2 * rng.normal(size=n),
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["a", "b", "c"], n),
            "flag": np.where(rng.random(n) < 0.7, 2 * y - 1, 1 - 2 * y),
        }
    )
    return frame, y


def network(**words):
    return AveragedNetworkClassifier(random_state=0, **{**SHORT, **words})


def test_measurements_have_the_bins_of_discrete_nb():
    X, y = mixed_table()
    model = network(kinds={"age": "real"}).fit(X, y)
    coding = DiscreteNB(kinds={"flag": "real"}).fit(X, y).coding_
    bounds = dict(zip(model.get_feature_names_out(), model._part.cuts.bounds, strict=True))
    assert bounds["town"] is None
    for name in ("height", "weight", "age", "flag"):
        assert np.array_equal(bounds[name], coding.rules[list(X.columns).index(name)])


def test_predictions_are_those_of_the_bins_given_as_categories():
    X, y = mixed_table()
    new, _ = mixed_table(50, seed=1)
    new.loc[0, "height"], new.loc[1, "height"], new.loc[2, "height"] = -100.0, 100.0, np.nan
    model = network(kinds={"age": "categorical"}, n_bins=4).fit(X, y)
    columns = as_columns(X)
    measured = np.array([0, 1, 4])
    cuts = learn_cuts(columns, measured, np.arange(len(X)), 4)

    def cut(frame):
        read = as_columns(cuts.of(frame))
        values = {name: read.get(j) for j, name in enumerate(frame.columns)}
        return pd.DataFrame(values, columns=frame.columns)

    as_levels = network(n_bins=4).fit(cut(X), y)
    expected = as_levels.predict_proba(cut(new))
    assert np.array_equal(model.predict_proba(new), expected)
    # Beyond all that training has seen is the first or the last bin.
    edge = new.copy()
    edge.loc[0, "height"], edge.loc[1, "height"] = X["height"].min(), X["height"].max()
    assert np.array_equal(model.predict_proba(edge)[:2], expected[:2])


def test_bins_of_a_fold_are_learned_without_its_rows():
    """Values far out in rows that are held out move no bound of the others."""
    X, y = mixed_table(60)
    values = X[["height", "weight"]].to_numpy()
    rows = np.arange(0, 60, 5)
    far = values.copy()
    far[rows] += 1000.0
    labels = TrainingLabels(np.arange(2), y, None, np.ones(2), 0)
    parts = []
    for table in (values, far):
        (training,) = network(n_bins=3)._training_parts(table, labels)
        ((held_out, given),) = training._without([rows], None)
        assert np.array_equal(held_out, rows)
        parts.append(training._fitted(given, None))
    for one, other in zip(parts[0].cuts.bounds, parts[1].cuts.bounds, strict=True):
        assert np.array_equal(one, other)
    last = [bounds.size for bounds in parts[1].cuts.bounds]
    assert np.array_equal(training._values(parts[1], rows), np.tile(last, (rows.size, 1)))
    assert not np.array_equal(training.cuts.bounds[0], parts[1].cuts.bounds[0])  # those of all rows


def test_a_slope_is_learned_where_columns_are_cut():
    X, y = mixed_table(100)
    model = network(recalibrate="slope", n_draws=20, n_warmup=10, thin=20, n_bins=3)
    assert 0.2 < model.fit(X[["height", "weight"]], y).slope_ < 3.0


def test_a_file_holds_the_bounds(tmp_path):
    X, y = mixed_table()
    model = network(kinds=["real", "real", "real", "categorical", "binary"]).fit(X, y)
    model.save(tmp_path / "model")
    new, _ = mixed_table(50, seed=1)
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    small = network(max_features=2, kinds=dict.fromkeys(["age", "height"], "real")).fit(X, y)
    kept = small.on_kept_columns()
    names = list(small.get_feature_names_out())
    assert np.array_equal(kept.predict_proba(new[names]), small.predict_proba(new))
    kept.save(tmp_path / "kept")
    assert np.array_equal(
        load(tmp_path / "kept").predict_proba(new[names]), small.predict_proba(new)
    )


def test_a_file_with_bounds_that_are_none_is_refused():
    X, y = mixed_table()
    model = network().fit(X, y)
    for name, change in {"bound": 1e9, "size": 3, "is_cut": False}.items():
        content, arrays = model._to_plain()
        arrays = {word: np.array(value) for word, value in arrays.items()}
        place = int(np.argmax(arrays["part0.cuts.is_cut"])) if name == "is_cut" else 0
        arrays[f"part0.cuts.{name}"][place] = change
        with pytest.raises(ModelFileError):
            type(model)._from_plain(content, arrays)


def test_bins_have_words():
    X, y = mixed_table()
    table = network(n_bins=3).fit(X, y).feature_table()
    levels = dict(zip(table.name, table.levels, strict=True))
    assert [text.split()[0] for text in levels["height"]][::2] == ["up", "above"]
    assert "to" in levels["height"][1]
    assert levels["town"] == ("a", "b", "c")


def test_texts_called_measurements_and_infinite_numbers_are_refused():
    X, y = mixed_table()
    with pytest.raises(ValueError, match="'town' holds texts"):
        network(kinds={"town": "real"}).fit(X, y)
    with pytest.raises(ValueError, match="which is not one of"):
        network(kinds={"age": "number"}).fit(X, y)
    with pytest.raises(ValueError, match="n_bins"):
        network(n_bins=1).fit(X, y)
    X.loc[3, "height"] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        network().fit(X, y)


def test_missing_measurements_are_refused_or_a_level():
    X, y = mixed_table()
    X.loc[3, "height"] = np.nan
    with pytest.raises(ValueError, match="missing in column 'height'"):
        network().fit(X, y)
    model = network(missing="level").fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_measurements_that_tell_nothing_make_no_claims():
    rng = np.random.default_rng(0)
    y = rng.permuted(np.arange(100) % 2)
    X = rng.normal(size=(600, 15))
    proba = network().fit(X[:100], y).predict_proba(X[100:])
    assert np.mean(proba.min(axis=1)) >= 0.45
