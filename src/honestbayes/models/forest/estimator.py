"""Decision trees: grown by scikit-learn, stored as arrays, predicted by a compiled loop.

A forest. The class shares of a leaf are those of the training cases in it, and a forest's are the
average over trees (Breiman 2001; Geurts, Ernst and Wehenkel 2006). With p(c | x) the forest's share
of class c, and p(c) its share for a row without any cell, the evidence is

    log P(x | c) = log(n p(c | x) + 1/C) - log(n p(c) + 1/C),

up to a constant of the row: one more case, divided between the C classes, keeps shares of n cases
away from 0.

Boosted trees. Each tree is fitted to the gradient of the log score of those before it (Friedman
2001), beginning with the log class frequencies, and the evidence is the sum of their leaves.

How far either can be trusted is learned from held-out cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import ExtraTreeClassifier

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import (
    KeptTable,
    TableColumn,
    TableNames,
    by_design,
    location_columns,
)
from honestbayes.base.numeric import (
    ColumnSummary,
    NumericSettings,
    NumericTraining,
    Screened,
    numeric_choices,
    numeric_values,
)
from honestbayes.base.parameters import is_number, whole_number
from honestbayes.base.part import Describe, FittedPart, TrainingLabels
from honestbayes.data import as_source
from honestbayes.data.kinds import Kind
from honestbayes.data.normal_scores import NormalScores
from honestbayes.files.fields import CLOSE, GIVEN, Check, Counts, Field, Floats, Known
from honestbayes.selection import Selection, parse_always_keep
from honestbayes.threads import one_blas_thread
from honestbayes.types import BoolArray, FloatArray, IntArray

_FARTHEST = 3e38
"""Bound of values: trees compare numbers of single precision."""

_LARGEST = 1e9
"""Bound of the values of leaves in files."""

_MOST_CASES = 5000
"""Cases that a tree is grown from: of more, each tree draws so many."""

_AVERAGED = 5
"""Trees whose average is one draw, for intervals. Nominal 90% intervals then covered 0.91 of the
true probabilities where log-odds are linear, 0.99 on noise and 0.62 where a product of two columns
decides (six sets of 200 cases each); with ten trees 0.78, 0.97 and 0.50."""

_BATCH = 1 << 22
"""Numbers of (row, tree, class) that are held at a time."""

# --------------------------------------------------------------------------------------------------
# Trees as arrays
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Decision trees, their N nodes one after the other.

    A node comes before its children, and the left child right after it.

    Attributes
    ----------
    first : ndarray of int of shape (T,)
        Root of each tree.
    feature : ndarray of int of shape (N,)
        Column that an inner node compares.
    threshold : ndarray of shape (N,)
        Rows with at most this value go left.
    right : ndarray of int of shape (N,)
        Right child; 0 for a leaf.
    share_left : ndarray of shape (N,)
        Share of an inner node's training cases that went left.
    value : ndarray of shape (N, C)
        Class shares of a node's training cases; what it adds to the log-odds in boosted trees.
    """

    first: Annotated[IntArray, Counts("n_trees")]
    feature: Annotated[IntArray, Counts("n_nodes")]
    threshold: Annotated[FloatArray, Floats("n_nodes")]
    right: Annotated[IntArray, Counts("n_nodes")]
    share_left: Annotated[FloatArray, Floats("n_nodes", low=0.0, high=1.0)]
    value: Annotated[FloatArray, Floats("n_nodes", "n_classes", low=-_LARGEST, high=_LARGEST)]

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse nodes that are not trees, or that compare columns that are not there."""
        first, n_nodes = self.first, self.right.size
        good = first.size > 0 and first[0] == 0 and np.all(np.diff(first) > 0)
        check(good and first[-1] < n_nodes, "first", "are not roots")
        size = np.diff(np.append(first, n_nodes))
        end = np.repeat(np.append(first, n_nodes)[1:], size)
        inner = np.flatnonzero(self.right)
        right = self.right[inner]
        # Children after their node, within its tree, and every node the child of one: no cycles,
        # and no nodes that two paths share.
        good = np.all(right > inner + 1) and np.all(right < end[inner])
        check(good, "right", "leads out of a tree")
        parents = np.bincount(np.append(inner + 1, right), minlength=n_nodes)
        parents[first] += 1
        check(np.all(parents == 1), "right", "does not make trees")
        good = np.all(self.feature[inner] < known["n_columns"])
        check(good, "feature", "is one that the model does not have")

    @classmethod
    def of(cls, fitted: Sequence[Any], classes: IntArray, n_classes: int) -> Trees:
        """Take fitted trees of scikit-learn; ``classes`` are the codes that the rows have."""
        trees = [each.tree_ for each in fitted]
        sizes = [tree.node_count for tree in trees]
        first = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        inner = np.concatenate([tree.children_right > 0 for tree in trees])
        start = np.repeat(first, sizes)
        right = start + np.concatenate([tree.children_right for tree in trees])
        left = start + np.concatenate([tree.children_left for tree in trees])
        cases = np.concatenate([tree.weighted_n_node_samples for tree in trees])
        # Without a limit on leaves scikit-learn grows trees depth first, left before right.
        assert np.array_equal(left[inner], np.flatnonzero(inner) + 1)
        share = np.zeros(inner.size)
        share[inner] = cases[left[inner]] / cases[inner]
        value = np.zeros((inner.size, n_classes))
        value[:, classes] = np.concatenate([tree.value[:, 0] for tree in trees])
        feature = np.concatenate([tree.feature for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(
            first,
            np.where(inner, feature, 0).astype(np.int64),
            np.where(inner, threshold, 0.0),
            np.where(inner, right, 0).astype(np.int64),
            share,
            value,
        )

    @classmethod
    def of_boosting(cls, boosted: Any, n_classes: int) -> Trees:
        """Take the trees of fitted boosted trees of scikit-learn, whose classes are codes.

        With two classes each tree adds to the log-odds of the second one, with more each adds to
        the score of its own class.
        """
        trees: dict[str, list[Any]] = {name: [] for name in cls.__slots__}
        start = 0
        # One list of trees for each iteration. scikit-learn has no public name for them.
        for iteration in boosted._predictors:
            for label, predictor in enumerate(iteration):
                nodes = predictor.nodes
                inner = nodes["is_leaf"] == 0
                order = depth_first(nodes["left"], nodes["right"], inner)
                place = np.empty(order.size, dtype=np.int64)
                place[order] = np.arange(order.size)
                nodes, inner = nodes[order], inner[order]
                left, right = place[nodes["left"][inner]], place[nodes["right"][inner]]
                share, right_or_0 = np.zeros(order.size), np.zeros(order.size, dtype=np.int64)
                share[inner] = nodes["count"][left] / nodes["count"][inner]
                right_or_0[inner] = start + right
                value = np.zeros((order.size, n_classes))
                own = value[:, boosted.classes_[1 if len(iteration) == 1 else label]]
                own[:] = nodes["value"]
                # scikit-learn's inner nodes hold what they would add as leaves. Here each holds
                # the mean of its leaves, so that a row without cells gets the root's.
                at = np.flatnonzero(inner)
                for node, a, b in zip(at[::-1], left[::-1], right[::-1], strict=True):
                    own[node] = share[node] * own[a] + (1 - share[node]) * own[b]
                trees["first"].append([start])
                trees["feature"].append(np.where(inner, nodes["feature_idx"], 0))
                trees["threshold"].append(np.where(inner, nodes["num_threshold"], 0.0))
                trees["right"].append(right_or_0)
                trees["share_left"].append(share)
                trees["value"].append(value)
                start += order.size
        whole = {name: np.concatenate(parts) for name, parts in trees.items()}
        for name in ("first", "feature", "right"):
            whole[name] = whole[name].astype(np.int64)
        # The threshold after the largest value is infinite: all observed cells go left.
        whole["threshold"] = np.clip(whole["threshold"], -_FARTHEST, _FARTHEST)
        return cls(**whole)

    @classmethod
    def single_leaf(cls, value: FloatArray) -> Trees:
        """Return one leaf, with values of shape (C,): there is nothing to compare."""
        none = np.zeros(1, dtype=np.int64)
        return cls(none, none, np.zeros(1), none, np.zeros(1), value[None])

    def shares(self, values: FloatArray, *, by_tree: bool = False) -> FloatArray:
        """Return the class shares of rows, shape (n, C): the average of all trees.

        ``by_tree``: those of each tree, shape (n, T, C).
        """
        total = self.totals(values, by_tree=by_tree)
        return total if by_tree else np.asarray(total / self.first.size)

    def totals(self, values: FloatArray, *, by_tree: bool = False) -> FloatArray:
        """Return the sum over trees of the values of the leaves that rows reach, shape (n, C).

        A missing cell goes both ways, weighted by the shares of the training cases that went there,
        so that a row without any cell gets the values of its trees' roots. ``by_tree``: the values
        of each tree, shape (n, T, C).
        """
        from honestbayes.models.forest.kernels import leaf_shares

        n_trees = self.first.size
        total = np.zeros((len(values), n_trees if by_tree else 1, self.value.shape[1]))
        leaf_shares(
            self.first,
            self.feature,
            self.threshold,
            self.right,
            self.share_left,
            self.value,
            single_precision(values),
            total,
        )
        return total if by_tree else total[:, 0]

    def importance(self, n_columns: int) -> FloatArray:
        """Return each column's share of what splits gain, shape (k,).

        The gain is the decrease in Gini impurity; in boosted trees that of the variance of leaves.
        """
        from honestbayes.models.forest.kernels import impurity_decreases

        decrease = np.zeros(n_columns)
        impurity_decreases(
            self.first, self.feature, self.right, self.share_left, self.value, decrease
        )
        return np.asarray(decrease / max(float(decrease.sum()), 1e-300))


def depth_first(left: IntArray, right: IntArray, inner: BoolArray) -> IntArray:
    """Return the nodes of a tree so that each comes before its children, left before right."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if inner[node]:
            waiting += [int(right[node]), int(left[node])]
    return np.array(order, dtype=np.int64)


def single_precision(values: FloatArray) -> Any:
    """Return values as trees compare them, shape (n, k); NaN stays."""
    return np.ascontiguousarray(np.clip(values, -_FARTHEST, _FARTHEST), dtype=np.float32)


def completed(values: FloatArray, seed: int) -> FloatArray:
    """Replace the missing cells of training rows by observed ones of the same column, drawn.

    Whatever the class: drawn within classes, the few observed cells of a column that is mostly
    missing would tell the classes apart. A column without any observed cell is constant.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    generator, values = np.random.default_rng(seed), values.copy()
    for column in np.flatnonzero(missing.any(axis=0)).tolist():
        gone = missing[:, column]
        observed = values[~gone, column] if not gone.all() else np.zeros(1)
        values[gone, column] = generator.choice(observed, int(gone.sum()))
    return values


# --------------------------------------------------------------------------------------------------
# The forest as a part of an estimator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestSettings(NumericSettings):
    """Validated parameters."""

    splits: Literal["best", "random"]
    n_trees: int
    min_samples_leaf: int


def forest_settings(params: Mapping[str, Any], always_keep: BoolArray) -> ForestSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong."""
    splits = params["splits"]
    if splits not in ("best", "random"):
        msg = f"splits={splits!r} is not one of 'best', 'random'."
        raise ValueError(msg)
    return ForestSettings(
        **numeric_choices(params, always_keep, may_rank=True),
        splits=splits,
        n_trees=whole_number(params, "n_trees", 1),
        min_samples_leaf=whole_number(params, "min_samples_leaf", 1),
    )


def grow(
    values: FloatArray, codes: IntArray, n_classes: int, settings: ForestSettings, seed: int
) -> Trees:
    """Grow trees on training rows, shape (n, k)."""
    if not values.shape[1]:
        return Trees.single_leaf(np.bincount(codes, minlength=n_classes) / codes.size)
    rows = single_precision(completed(values, seed))
    n, least = codes.size, settings.min_samples_leaf
    if settings.splits == "random" and n <= _MOST_CASES:
        # What ExtraTreesClassifier does, without cloning a template for each tree, which takes as
        # long as growing it where there are few cases.
        seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=settings.n_trees)
        responses = np.ascontiguousarray(codes[:, None], dtype=float)
        trees = [
            ExtraTreeClassifier(min_samples_leaf=least, random_state=each)
            for each in seeds.tolist()
        ]
        for tree in trees:
            tree.fit(rows, responses, check_input=False)
        return Trees.of(trees, np.unique(codes), n_classes)
    forest = ExtraTreesClassifier if settings.splits == "random" else RandomForestClassifier
    grown = forest(
        settings.n_trees,
        min_samples_leaf=least,
        bootstrap=True,
        max_samples=_MOST_CASES if n > _MOST_CASES else None,
        random_state=seed,
    ).fit(rows, codes)
    return Trees.of(grown.estimators_, grown.classes_, n_classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedSettings(NumericSettings):
    """Validated parameters."""

    n_iterations: int
    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int


def boosted_settings(params: Mapping[str, Any], always_keep: BoolArray) -> BoostedSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong."""
    rate = params["learning_rate"]
    if not (is_number(rate) and 0 < rate <= 1):
        msg = f"learning_rate={rate!r} is not a number above 0 and at most 1."
        raise ValueError(msg)
    return BoostedSettings(
        **numeric_choices(params, always_keep, may_rank=True),
        n_iterations=whole_number(params, "n_iterations", 1),
        learning_rate=float(rate),
        max_leaf_nodes=whole_number(params, "max_leaf_nodes", 2),
        min_samples_leaf=whole_number(params, "min_samples_leaf", 1),
    )


def boost(
    values: FloatArray, codes: IntArray, n_classes: int, settings: BoostedSettings, seed: int
) -> Trees:
    """Fit boosted trees to training rows, shape (n, k)."""
    if not values.shape[1]:
        return Trees.single_leaf(np.zeros(n_classes))
    grown = HistGradientBoostingClassifier(
        learning_rate=settings.learning_rate,
        max_iter=settings.n_iterations,
        max_leaf_nodes=settings.max_leaf_nodes,
        min_samples_leaf=settings.min_samples_leaf,
        early_stopping=False,
        random_state=seed,
    ).fit(single_precision(completed(values, seed)), codes)
    return Trees.of_boosting(grown, n_classes)


@dataclass(frozen=True, slots=True)
class ForestPart:
    """Fitted columns of a forest.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    scores : NormalScores or None
        Transforms values to normal scores, if not None.
    trees : Trees
        The trees.
    summary : ColumnSummary
        Summaries of single columns.
    """

    selection: Annotated[Selection, GIVEN]
    scores: NormalScores | None
    trees: Trees
    summary: ColumnSummary

    def check_against(self, known: Known, check: Check) -> None:
        """Refuse leaves whose values are not shares."""
        del known
        value = self.trees.value
        good = value.min() >= 0 and np.abs(value.sum(axis=1) - 1).max() <= CLOSE
        check(good, "trees.value", "are not shares of classes")

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return the evidence, shape (n, C), up to a constant of each row."""
        nothing = self.trees.shares(np.full((1, values.shape[1]), np.nan))
        return self._smoothed(self.trees.shares(values)) - self._smoothed(nothing)

    def _smoothed(self, shares: FloatArray) -> FloatArray:
        """Return log shares that one more case, divided between the classes, keeps from 0."""
        n = sum(self.selection.class_counts)
        return np.asarray(np.log((n * shares + 1 / shares.shape[-1]) / (n + 1)))

    def draw_evidence(
        self, values: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals.

        A draw is the average of a few trees, drawn with replacement. That of as many trees as there
        are would vary only by the random choices of the fit: with more and more trees intervals
        would shrink to nothing. Trees have common errors, because they saw the same cases: with a
        correlation of 1/5 between trees, five of them have about the variance that a whole forest
        has over training samples (Breiman 2001, section 2). This is a rule of thumb, which does not
        cover what all trees miss. Given y* too, draws are weighted by P(y* | x).
        """
        n_trees, n_classes = self.trees.first.size, self.trees.value.shape[1]
        drawn = generator.integers(0, n_trees, (n_draws, min(_AVERAGED, n_trees)))
        weight = np.zeros((n_draws, n_trees))
        np.add.at(weight, (np.arange(n_draws)[:, None], drawn), 1 / drawn.shape[1])
        nothing = self._smoothed(self.trees.shares(np.full((1, values.shape[1]), np.nan)))
        log_shares = np.empty((len(values), n_draws, n_classes))
        step = max(1, _BATCH // (n_trees * n_classes))
        for start in range(0, len(values), step):
            shares = self.trees.shares(values[start : start + step], by_tree=True)
            log_shares[start : start + step] = self._smoothed(np.matmul(weight, shares))
        evidence = log_shares - nothing
        evidence = evidence[..., 1:] - evidence[..., :1]
        return np.broadcast_to(evidence, (n_classes, *evidence.shape)), np.moveaxis(
            log_shares, 2, 0
        )


@dataclass(frozen=True, slots=True)
class BoostedPart:
    """Fitted columns of boosted trees; attributes are those of `ForestPart`."""

    selection: Annotated[Selection, GIVEN]
    scores: NormalScores | None
    trees: Trees
    summary: ColumnSummary

    def read(self, X: Any, describe: Describe) -> FloatArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        return numeric_values(X, self.scores, describe)

    def rows(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return some rows of values that were read."""
        return values[rows]

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """Return the evidence, shape (n, C), up to a constant of each row.

        It is what the trees add to the log class frequencies, with which boosting begins. What
        they add for a row without any cell is not 0 where classes differ in size; it is taken off
        in proportion to the cells that are missing, so that such a row gets the class frequencies.
        """
        total = self.trees.totals(values)
        missing = np.isnan(values)
        if missing.any():
            nothing = self.trees.totals(np.full((1, values.shape[1]), np.nan))
            total -= missing.mean(axis=1)[:, None] * nothing
        return total

    def draw_evidence(
        self, values: FloatArray, n_draws: int, _: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the evidence itself, as many times: boosting has no posterior to draw from."""
        evidence = self.log_likelihood(values)
        n, n_classes = evidence.shape
        more = (evidence[:, 1:] - evidence[:, :1])[None, :, None]
        shape = (n_classes, n, n_draws)
        return np.broadcast_to(more, (*shape, n_classes - 1)), np.zeros(shape)


@dataclass(frozen=True, slots=True)
class BoostedTraining(NumericTraining):
    """Columns of a training table, to which boosted trees are fitted."""

    settings: BoostedSettings

    @one_blas_thread()
    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> BoostedPart:
        del whole
        selection = self._selected(statistic)
        values, scores = statistic.kept(selection)
        n_classes = self.labels.classes.size
        trees = boost(values, statistic.codes, n_classes, self.settings, self.labels.seed)
        summary = statistic.summary(selection, values, scores)
        return BoostedPart(selection, scores, trees, summary)


@dataclass(frozen=True, slots=True)
class ForestTraining(NumericTraining):
    """Columns of a training table, on which a forest is grown."""

    settings: ForestSettings

    def _fitted(self, statistic: Screened, whole: FittedPart | None) -> ForestPart:
        del whole
        selection = self._selected(statistic)
        values, scores = statistic.kept(selection)
        n_classes = self.labels.classes.size
        trees = grow(values, statistic.codes, n_classes, self.settings, self.labels.seed)
        summary = statistic.summary(selection, values, scores)
        return ForestPart(selection, scores, trees, summary)


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept columns
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestFeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design, and how much trees use them.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Correlation with the class; for more than two classes the root of the share of the sum of
        squares between them.
    importance : ndarray of shape (k,)
        Share of the decrease in Gini impurity by splits of this feature. It is that of training
        cases: uninformative features have some, the more the more features there are.
    centre : ndarray of shape (C, k)
        Mean of the column in each class.
    spread : ndarray of shape (k,)
        Standard deviation within a class.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    importance: FloatArray
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        del names
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self.r.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
            "importance": self.importance.tolist(),
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        importance = TableColumn(title="importance", key="importance", style="percent")
        return (*location_columns(self.classes), importance)

    def _page_note(self) -> str:
        return (
            "Centre: the mean of a class. Spread: a typical deviation within a class. Importance: "
            "share of what all splits gain in the training cases, which uninformative features "
            "have "
            "too."
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        centres = {
            f"centre_{label}": self.centre[c].tolist() for c, label in enumerate(self.classes)
        }
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            "importance": self.importance.tolist(),
            **centres,
            "spread": self.spread.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max(map(len, ("feature", *self.name)))
        lines = [f"{'feature':<{width}}       r  importance"]
        for j, name in enumerate(self.name):
            remark = "  by design" if self.by_design[j] else ""
            lines.append(f"{name:<{width}}  {self.r[j]:6.3f}  {self.importance[j]:>10.1%}{remark}")
        return "\n".join(lines)


def feature_table(
    part: ForestPart | BoostedPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> ForestFeatureTable:
    """Return the table of the kept columns."""
    return ForestFeatureTable(
        name=names,
        classes=classes,
        r=part.summary.r,
        importance=part.trees.importance(len(part.selection.columns)),
        centre=part.summary.centre,
        spread=part.summary.spread,
        by_design=by_design(part.selection),
    )


class TreesClassifier(SelectiveClassifier):
    """Base of classifiers by trees.

    A subclass defines how parameters become settings (`_settings_of`) and its training part
    (`_training_part`).
    """

    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _fitted_choices: ClassVar[Mapping[str, Field]] = {}
    _training_part: ClassVar[type[NumericTraining]]

    always_keep: Any
    random_state: Any
    correction_ = None

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[NumericTraining]:
        source = as_source(X)
        always = parse_always_keep(self.always_keep, source.feature_names, source.shape[1])
        settings = self._settings_of(self.get_params(deep=False), always)
        return [self._training_part(settings, source, labels, self.random_state)]

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, ForestPart | BoostedPart)
        self.selection_: Selection = part.selection
        self.trees_: Trees = part.trees

    def feature_table(self) -> ForestFeatureTable:
        """Return how much the trees use each kept feature."""
        table: ForestFeatureTable = super().feature_table()
        return table


class ForestClassifier(TreesClassifier):
    """A forest of decision trees with calibrated probabilities, a candidate of `HonestClassifier`.

    scikit-learn grows the trees; here they are plain arrays, so that the model can be saved without
    pickles. Before recalibration the class shares of complete rows are scikit-learn's to the last
    bit.

    A missing cell of a new case goes both ways, weighted by the shares of the training cases that
    went there; a row without any cell gets the class frequencies. A missing cell of a training case
    becomes an observed one of the same column, drawn whatever the class.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default="all"
        How many features the trees see, those with the largest F. None: 10.
    threshold : float, optional
        Instead, with ``n_features_to_select=None``, all features whose r (root of the share of the
        sum of squares between classes; the absolute correlation for two classes) is above this.
    splits : {"random", "best"}, default="random"
        "random": extremely randomised trees, which draw the thresholds. "best": a random forest,
        whose trees see bootstrap samples.
    n_trees : int, default=200
        Number of trees.
    min_samples_leaf : int, default=2
        Fewest training cases in a leaf.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases, inside `fit`.
    normal_scores : bool or "ranking", default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows.
        "ranking": columns are ranked by these, and used as they are.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength; an int is also the seed of trees and folds.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    trees_ : Trees
        The trees.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_, outlier_rate_ : float
        Posterior means of the slope on the evidence, and of the outlier rate.
    correction_ : None
        This model does not condition on the discarded features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    Notes
    -----
    Of more than 5,000 cases each tree sees 5,000, drawn with replacement. Trees compare numbers in
    single precision.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45, 5-32.
    Geurts, Ernst and Wehenkel (2006), Extremely randomized trees, Machine Learning 63, 3-42.
    """

    _kind: ClassVar[str] = "ForestClassifier"
    _part_classes: ClassVar[Mapping[str, type]] = {"forest": ForestPart}
    _training_part = ForestTraining

    def __init__(
        self,
        *,
        n_features_to_select: Any = "all",
        threshold: float | None = None,
        splits: Literal["random", "best"] = "random",
        n_trees: int = 200,
        min_samples_leaf: int = 2,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        normal_scores: bool | Literal["ranking"] = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.splits = splits
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.normal_scores = normal_scores
        self.random_state = random_state

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> ForestSettings:
        return forest_settings(parameters, always_keep)


class BoostedTreesClassifier(TreesClassifier):
    """Boosted trees with calibrated probabilities, a candidate of `HonestClassifier`.

    scikit-learn's `HistGradientBoostingClassifier` fits the trees; here they are plain arrays, so
    that the model can be saved without pickles. They see interactions and sharp thresholds, which
    pay where many cases meet few columns.

    Missing cells are treated as in `ForestClassifier`. Intervals show the uncertainty of slope and
    outlier rate only: boosting has no posterior to draw from.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default="all"
        How many features the trees see, those with the largest F. None: 10.
    threshold : float, optional
        Instead, with ``n_features_to_select=None``, all features whose r (root of the share of the
        sum of squares between classes; the absolute correlation for two classes) is above this.
    n_iterations : int, default=100
        Number of trees, for each class where there are more than two.
    learning_rate : float, default=0.1
        Factor on what each tree adds.
    max_leaf_nodes : int, default=31
        Largest number of leaves of a tree.
    min_samples_leaf : int, default=20
        Fewest training cases in a leaf.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases, inside `fit`.
    normal_scores : bool or "ranking", default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows.
        "ranking": columns are ranked by these, and used as they are.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength; an int is also the seed of the folds.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    trees_ : Trees
        The trees.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_, outlier_rate_ : float
        Posterior means of the slope on the evidence, and of the outlier rate.
    correction_ : None
        This model does not condition on the discarded features.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29, 1189-1232.
    """

    _kind: ClassVar[str] = "BoostedTreesClassifier"
    _part_classes: ClassVar[Mapping[str, type]] = {"boosting": BoostedPart}
    _training_part = BoostedTraining

    def __init__(
        self,
        *,
        n_features_to_select: Any = "all",
        threshold: float | None = None,
        n_iterations: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        always_keep: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        normal_scores: bool | Literal["ranking"] = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_iterations = n_iterations
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.always_keep = always_keep
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.normal_scores = normal_scores
        self.random_state = random_state

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> BoostedSettings:
        return boosted_settings(parameters, always_keep)
