"""Feature importance of the average: against loops over swaps, and on tables with a known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import honestbayes
from honestbayes import HonestClassifier, SelectiveGaussianNB
from honestbayes.average.importance import (
    FeatureImportance,
    FoldModel,
    HeldOutPool,
    cells_of,
    feature_importance,
    groups_of_columns,
    permutations_of,
)
from honestbayes.base.part import TrainingLabels
from honestbayes.base.recalibration import Recalibration
from honestbayes.data.column_coding import ColumnCoding

QUICK = {"effort": "quick", "random_state": 0}


def groups_and_nulls(n=200, n_null=1000, seed=0):
    """Five strong columns, five weak ones, ten copies of one, and null ones."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    strong = rng.normal(size=(n, 5)) + 1.2 * y[:, None]
    weak = rng.normal(size=(n, 5)) + 0.5 * y[:, None]
    copies = rng.normal(size=(n, 1)) + y[:, None] + 0.3 * rng.normal(size=(n, 10))
    return np.c_[strong, weak, copies, rng.normal(size=(n, n_null))], y


# --------------------------------------------------------------------------------------------------
# The definition, by loops: folds of two cases have one permutation without fixed points, a swap
# --------------------------------------------------------------------------------------------------


def swapped_pool(n_classes, seed):
    """Return a pool of two logistic models in folds of two cases, and what they are made of."""
    rng = np.random.default_rng(seed)
    n, p = 24, 5
    X = rng.normal(size=(n, p))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n)  # columns 0 and 1 repeat each other
    codes = np.arange(n) % n_classes
    prior = np.full(n_classes, 1 / n_classes)
    coefficients = rng.normal(size=(2, n // 2, p, n_classes))
    columns = (np.array([0, 1, 2]), np.array([1, 3]))
    slopes, weights = (0.7, 1.3), np.array([0.6, 0.3])
    folds = [np.array([2 * f, 2 * f + 1]) for f in range(n // 2)]

    def probability(model, fold, x):
        """Return the recalibrated probabilities of a row; with slope s, softmax(prior + s l)."""
        used = columns[model]
        evidence = x[used] @ coefficients[model, fold, : used.size]
        odds = prior * np.exp(slopes[model] * evidence)
        return odds / odds.sum()

    def pooled(fold, x):
        total = np.log(prior)
        for model, weight in enumerate(weights):
            total = total + weight * (np.log(probability(model, fold, x)) - np.log(prior))
        return np.exp(total) / np.exp(total).sum()

    return X, codes, prior, coefficients, columns, slopes, weights, folds, probability, pooled


def measured(n_classes, seed):
    X, codes, prior, coefficients, columns, slopes, weights, folds, probability, pooled = (
        swapped_pool(n_classes, seed)
    )
    log_proba = np.array(
        [
            [np.log(probability(model, f, X[i])) for f, rows in enumerate(folds) for i in rows]
            for model in (0, 1)
        ]
    )

    def fold_model(model, fold, rows):
        used = columns[model]
        kept = X[np.ix_(rows, used)]

        def evaluate(cells):
            return cells_of(kept, cells) @ coefficients[model, fold, : used.size]

        return FoldModel(used, evaluate)

    pool = HeldOutPool(
        folds,
        [[fold_model(model, f, rows) for model in (0, 1)] for f, rows in enumerate(folds)],
        log_proba,
        np.log(prior),
        weights,
        [Recalibration.plugged_in(slope) for slope in slopes],
    )
    labels = TrainingLabels(np.arange(n_classes), codes, None, np.ones(n_classes))
    coding = ColumnCoding.learn(X, ("real",) * X.shape[1])
    return feature_importance(pool, X, coding, labels), X, codes, folds, pooled


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_loss_direction_and_use_are_those_of_loops_over_swapped_cells(n_classes, seed):
    found, X, codes, folds, pooled = measured(n_classes, seed)
    together = [[0, 1], [2], [3]]  # no model looks at column 4
    assert sorted(found.column.tolist()) == [0, 1, 2, 3]
    losses = []
    for group in together:
        increase = []
        moved = {column: ([], []) for column in group}
        for fold, (first, second) in enumerate(folds):
            for i, other in ((first, second), (second, first)):
                changed = X[i].copy()
                changed[group] = X[other, group]
                before, after = pooled(fold, X[i]), pooled(fold, changed)
                increase.append(np.log(before[codes[i]]) - np.log(after[codes[i]]))
                for column, (step, odds) in moved.items():
                    step.append(np.sign(X[other, column] - X[i, column]))
                    odds.append(np.log(after[1] / after[0]) - np.log(before[1] / before[0]))
        for column, (step, odds) in moved.items():
            (index,) = np.flatnonzero(found.column == column)
            assert found.loss[index] == pytest.approx(np.mean(increase), abs=1e-10)
            error = np.std(increase, ddof=1) / np.sqrt(len(increase))
            half = 2.0687 * error  # t of 23 degrees of freedom
            assert found.upper[index] - found.loss[index] == pytest.approx(half, rel=1e-4)
            assert found.loss[index] - found.lower[index] == pytest.approx(half, rel=1e-4)
            if n_classes == 2:
                expected = np.dot(step, odds) / np.sqrt(np.dot(step, step) * np.dot(odds, odds))
                assert found.direction[index] == pytest.approx(expected, abs=1e-10)
            else:
                assert np.isnan(found.direction[index])
        losses.append(np.mean(increase))
    rank = np.argsort(np.argsort(-np.array(losses)))
    for group, place in zip(together, rank, strict=True):
        assert set(found.group[np.isin(found.column, group)].tolist()) == {place}
    shares = {0: 0.6 / 0.9, 1: 1.0, 2: 0.6 / 0.9, 3: 0.3 / 0.9}
    for column, share in shares.items():
        assert found.selected[found.column == column] == pytest.approx(share)


def test_permutations_leave_no_case_where_it_is_and_differ():
    generator = np.random.default_rng(0)
    for n in (2, 3, 7, 50):
        found = permutations_of(n, 4, generator)
        assert len(found) == min(4, n - 1)
        for each in found:
            np.testing.assert_array_equal(np.sort(each), np.arange(n))
            assert np.all(each != np.arange(n))
        assert len({tuple(each) for each in found}) == len(found)
    assert [each.tolist() for each in permutations_of(1, 4, generator)] == [[0]]


@pytest.mark.parametrize("kind", ["array", "sparse", "pandas", "polars", "tuple"])
def test_cells_are_taken_from_any_row_whatever_the_container(kind):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (6, 4)).astype(float)
    rows = rng.integers(0, 6, (9, 4))
    expected = [[values[rows[i, j], j] for j in range(4)] for i in range(9)]
    table = values
    if kind == "sparse":
        table = sparse.csr_array(values)
    elif kind == "pandas":
        table = pd.DataFrame(values, index=list("fedcba"))
    elif kind == "polars":
        pl = pytest.importorskip("polars")
        table = pl.DataFrame(values)
    elif kind == "tuple":
        table = (values, None)
    found = cells_of(table, rows)
    if kind == "tuple":
        assert found[1] is None
        found = found[0]
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_groups_are_of_columns_alike_within_classes_only():
    rng = np.random.default_rng(0)
    n = 100
    codes = np.arange(n) % 2
    shared = rng.normal(size=n)
    values = np.c_[
        shared + 6 * codes,
        -shared + 0.2 * rng.normal(size=n),  # the opposite of the first within classes
        rng.normal(size=n) + 6 * codes,  # alike through the class only
        rng.normal(size=n),
    ]
    values[::7, 0] = np.nan
    group = groups_of_columns(values, np.arange(4), codes)
    assert group[0] == group[1]
    assert len({*group.tolist()}) == 3


# --------------------------------------------------------------------------------------------------
# What users meet
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_strong_columns_and_a_group_of_copies_come_first(effort):
    X, y = groups_and_nulls()
    model = HonestClassifier(effort=effort, random_state=0).fit(X, y)
    table = model.feature_table()
    columns = [int(name[1:]) for name in table.name]
    assert {*columns[:15]} == {*range(5), *range(10, 20)}
    copies = {int(table.group[columns.index(column)]) for column in range(10, 20)}
    assert len(copies) == 1
    assert np.sum(table.group == copies.pop()) == 10
    first = np.array(columns[:15])
    assert np.all(table.lower[:15] > 0)
    assert np.all(table.direction[:15][np.isin(first, range(5))] > 0.3)
    text = str(table)
    assert text.splitlines()[0].split()[:3] == ["column", "kind", "importance"]


@pytest.mark.slow
def test_intervals_of_null_columns_hold_0_in_nine_of_ten():
    """Null columns that models of the folds keep: those that are selected are no fair sample, for
    the luckiest of 1,000; 20 tables, standard error of the share by tables."""
    share = []
    for seed in range(20):
        X, y = groups_and_nulls(seed=seed)
        measured = HonestClassifier(effort="quick", random_state=seed).fit(X, y)._importance
        null = measured.column >= 20
        assert null.sum() >= 5
        share.append(np.mean((measured.lower[null] <= 0) & (measured.upper[null] >= 0)))
    error = np.std(share, ddof=1) / np.sqrt(20)
    assert np.mean(share) > 0.9 - 2 * error
    assert np.mean(share) > 0.85


def test_importance_is_kept_in_files_and_by_restriction(tmp_path):
    X, y = groups_and_nulls(n=80, n_null=100)
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(X.shape[1])])
    model = HonestClassifier(n_features_to_select=12, **QUICK).fit(frame, y)
    table = model.feature_table()
    assert np.isfinite(table.importance).all()
    model.save(tmp_path / "model")
    for other in (honestbayes.load(tmp_path / "model"), model.on_kept_columns()):
        again = other.feature_table()
        assert sorted(again.name) == sorted(table.name)
        by_name = dict(zip(again.name, again.importance, strict=True))
        assert all(
            by_name[name] == loss for name, loss in zip(table.name, table.importance, strict=True)
        )
    columns = table.to_pandas().columns
    assert {"name", "importance", "lower", "upper", "direction", "group", "selected"} <= {*columns}


def test_all_kinds_of_columns_and_missing_cells():
    rng = np.random.default_rng(0)
    n = 120
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) + 1.5 * y,
            "colour": np.where(rng.random(n) < 0.8, np.where(y, "red", "green"), "blue"),
            "flag": (rng.random(n) < 0.5).astype(int),
            "age": rng.normal(50, 10, n),
        }
    )
    frame.loc[3, "colour"] = None
    frame.loc[5:9, "size"] = np.nan
    table = HonestClassifier(**QUICK).fit(frame, y).feature_table()
    found = {name: index for index, name in enumerate(table.name)}
    assert {*table.name[:2]} == {"size", "colour"}
    assert table.direction[found["size"]] > 0.3
    assert np.isnan(table.direction[found["colour"]])


def test_classifiers_of_the_user_sparse_tables_and_covariates():
    X, y = groups_and_nulls(n=80, n_null=20)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    table = HonestClassifier(candidates=[pipeline], random_state=0).fit(X, y).feature_table()
    assert {*table.name[:10]} >= {f"x{j}" for j in range(10, 20)} - {f"x{j}" for j in range(5)}
    flags = sparse.csr_array((X > 0.5).astype(np.int8))
    table = HonestClassifier(**QUICK).fit(flags, y).feature_table()
    assert np.isfinite(table.importance[: min(40, len(table.name))]).all()
    model = HonestClassifier(covariates=[0], **QUICK).fit(X, y)
    assert "x0" not in model.feature_table().name


def test_nothing_is_measured_where_nothing_is_learned():
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = HonestClassifier(**QUICK).fit(X, np.arange(6) % 2)
    model.feature_table()
    with np.errstate(all="raise"):
        none = FeatureImportance(*[np.zeros(0, dtype=np.int64)] * 2, *[np.zeros(0)] * 5)
    assert none.take(np.arange(3)).column.size == 0


def test_it_can_be_left_out_and_a_file_remembers_that(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 10))
    X[:, 0] += 2 * y
    with_it = HonestClassifier(effort="quick", random_state=0).fit(X, y)
    without = HonestClassifier(effort="quick", random_state=0, importance=False).fit(X, y)
    assert np.isfinite(with_it.feature_table().importance).any()
    assert np.isnan(without.feature_table().importance).all()
    np.testing.assert_array_equal(with_it.predict_proba(X), without.predict_proba(X))
    without.save(tmp_path / "model")
    assert honestbayes.load(tmp_path / "model").importance is False


def test_rows_of_exchanged_cells_have_the_sum_of_the_evidence_of_their_cells():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 8)) + 0.5 * y[:, None] * rng.normal(size=8)
    X[::7, 2] = np.nan
    model = SelectiveGaussianNB(n_features_to_select=5, recalibrate=None, class_variances=True)
    (part,) = model.fit(X, y)._parts
    values = part.read(X[:, list(part.selection.columns)], str)
    cells = rng.integers(0, 60, (40, 5))
    found = part.cell_evidence(values)[cells, :, np.arange(5)].sum(axis=1)
    np.testing.assert_allclose(found, part.log_likelihood(cells_of(values, cells)), atol=1e-12)
    paper = SelectiveGaussianNB(
        n_features_to_select=5, recalibrate=None, feature_prior="heavy-tailed"
    )
    (part,) = paper.fit(X, y)._parts
    assert part.cell_evidence(part.read(X[:, list(part.selection.columns)], str)) is None
