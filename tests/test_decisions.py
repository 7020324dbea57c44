"""Decisions are those of an exhaustive search, and what is wrong is said."""

import re

import numpy as np
import pytest

from honestbayes.decisions import (
    case_benefits,
    decide,
    expected_benefit,
    mailing_benefits,
    profit,
    profit_curve,
)


def problem(seed, *, per_case, n_actions=None, n_classes=None, n=None):
    """Draw probabilities, benefits and classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30)) if n is None else n
    n_classes = int(rng.integers(2, 6)) if n_classes is None else n_classes
    n_actions = int(rng.integers(1, 6)) if n_actions is None else n_actions
    proba = rng.dirichlet(np.ones(n_classes), n)
    benefits = rng.normal(size=(n, n_actions, n_classes) if per_case else (n_actions, n_classes))
    y = rng.integers(0, n_classes, n)
    return rng, proba, benefits, y


def worth(benefits, case, action, label):
    """Look up one benefit."""
    return benefits[case][action][label] if benefits.ndim == 3 else benefits[action][label]


@pytest.mark.parametrize("per_case", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_decisions_are_those_of_an_exhaustive_search(seed, per_case):
    _, proba, benefits, _ = problem(seed, per_case=per_case)
    n_actions, n_classes = benefits.shape[-2:]
    found = [
        [
            sum(proba[i][c] * worth(benefits, i, a, c) for c in range(n_classes))
            for a in range(n_actions)
        ]
        for i in range(len(proba))
    ]
    np.testing.assert_allclose(expected_benefit(proba, benefits), found, rtol=0, atol=1e-14)
    assert decide(proba, benefits).tolist() == [row.index(max(row)) for row in found]


@pytest.mark.parametrize("per_case", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_profit_adds_up_what_each_action_was_worth(seed, per_case):
    rng, _, benefits, y = problem(seed, per_case=per_case)
    actions = rng.integers(0, benefits.shape[-2], len(y))
    gained = [worth(benefits, i, a, c) for i, (a, c) in enumerate(zip(actions, y, strict=True))]
    assert case_benefits(y, actions, benefits).tolist() == gained
    assert profit(y, actions, benefits) == pytest.approx(sum(gained))
    weight = rng.random(len(y))
    weighted = profit(y, actions, benefits, sample_weight=weight)
    assert weighted == pytest.approx(sum(w * g for w, g in zip(weight, gained, strict=True)))


def test_no_rule_beats_decide_where_the_probabilities_are_right():
    _, proba, benefits, _ = problem(3, per_case=True, n_actions=3, n=6)
    value = expected_benefit(proba, benefits)
    every = np.stack(np.meshgrid(*[range(3)] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    totals = value[np.arange(6), every].sum(axis=1)
    assert every[np.argmax(totals)].tolist() == decide(proba, benefits).tolist()


@pytest.mark.parametrize("per_case", [False, True])
def test_exact_ties_go_to_the_first_action(per_case):
    for seed in range(50):
        rng, proba, benefits, _ = problem(seed, per_case=per_case, n_actions=1)
        same = np.repeat(benefits, rng.integers(2, 9), axis=-2)
        assert not decide(proba, same).any()
    # Half of 2 is as much as 1 for sure, and it is the order of the actions that counts.
    assert decide([[0.5, 0.5]], [[0.0, 2.0], [1.0, 1.0]]).tolist() == [0]
    assert decide([[0.5, 0.5]], [[1.0, 1.0], [0.0, 2.0]]).tolist() == [0]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 1, 2], None),
        (["a", "b", "c"], None),
        ([-1.5, 0.0, 3.25], None),
        ([7, 8, 9], None),
        (["high", "low", "middle"], ["high", "low", "middle"]),
        ([2, 0, 1], [2, 0, 1]),
        (np.array([1, "x", None], dtype=object), [1, "x", None]),
    ],
)
def test_labels_may_be_of_any_sort(labels, classes):
    rng, proba, benefits, _ = problem(1, per_case=True, n_actions=2, n_classes=3, n=20)
    codes = np.concatenate([np.arange(3), rng.integers(0, 3, 17)])
    y = np.asarray(labels)[codes]
    actions = rng.integers(0, 2, 20)
    expected = profit(codes, actions, benefits)
    assert profit(y, actions, benefits, classes=classes) == expected
    assert profit(y.tolist(), actions, benefits, classes=classes) == expected
    curve = profit_curve(y, proba, benefits, classes=classes)
    assert curve.profit.tolist() == profit_curve(codes, proba, benefits).profit.tolist()


def test_truth_values_are_labels_and_actions():
    y = np.array([False, True, True])
    assert profit(y, y, [[0, 0], [-1, 5]]) == 10
    assert profit(y, [True, False, True], [[0, 0], [-1, 5]], classes=[False, True]) == 4


def test_whole_numbers_from_0_are_columns_even_if_some_are_absent():
    benefits = [[1.0, 10.0, 100.0]]
    assert profit([0, 2], [0, 0], benefits) == 101
    assert profit([True, True], [0, 0], [[1.0, 10.0]]) == 20
    assert profit([1, 2, 3], [0, 0, 0], benefits) == 111
    assert profit([2, 2], [0, 0], benefits, classes=[0, 1, 2]) == 200


def test_numbers_that_may_be_columns_or_labels_are_refused():
    for y in ([1, 1], [2, 2], [1, 2]):
        with pytest.raises(ValueError, match="may be columns or labels: give classes"):
            profit(y, [0, 0], [[1.0, 10.0, 100.0]])


def test_classes_say_which_column_is_whose():
    benefits = [[0.0, 0.0], [-1.0, 5.0]]
    y = ["yes", "no", "yes"]
    assert profit(y, [1, 1, 1], benefits) == 9  # sorted: "no", "yes"
    assert profit(y, [1, 1, 1], benefits, classes=["yes", "no"]) == 3


def test_no_cases_are_worth_nothing():
    benefits = [[0.0, 0.0], [-1.0, 5.0]]
    assert decide(np.empty((0, 2)), benefits).shape == (0,)
    assert profit([], [], benefits) == 0
    curve = profit_curve([], np.empty((0, 2)), benefits)
    assert (curve.acted_on.tolist(), curve.profit.tolist(), curve.chosen) == ([0.0], [0.0], 0)


@pytest.mark.parametrize("per_case", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_profit_curve_is_the_profit_of_each_budget(seed, weighted, per_case):
    rng, proba, benefits, y = problem(seed, per_case=per_case, n_actions=2)
    n = len(y)
    actual = benefits + rng.normal(size=benefits.shape)
    weight = rng.integers(0, 4, n) if weighted else None
    curve = profit_curve(y, proba, benefits, actual, sample_weight=weight)
    value = expected_benefit(proba, benefits)
    w = np.ones(n) if weight is None else weight
    promising = sorted(range(n), key=lambda i: value[i, 0] - value[i, 1])
    for size in range(n + 1):
        actions = np.zeros(n, dtype=int)
        actions[promising[:size]] = 1
        assert curve.acted_on[size] == sum(w[i] for i in promising[:size])
        got = profit(y, actions, actual, sample_weight=weight)
        assert curve.profit[size] == pytest.approx(got)
        promised = w @ value[np.arange(n), actions]
        assert curve.expected[size] == pytest.approx(promised)
    assert curve.best == int(np.argmax(curve.profit))


@pytest.mark.parametrize("per_case", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_chosen_point_is_what_decide_does_and_promises_most(seed, per_case):
    rng, proba, benefits, y = problem(seed, per_case=per_case, n_actions=2)
    actual = benefits + rng.normal(size=benefits.shape)
    curve = profit_curve(y, proba, benefits, actual)
    actions = decide(proba, benefits)
    assert curve.chosen == actions.sum()
    assert curve.profit[curve.chosen] == pytest.approx(profit(y, actions, actual))
    assert curve.expected[curve.chosen] == pytest.approx(curve.expected.max())


def test_where_acting_is_worth_exactly_as_much_nothing_is_done():
    curve = profit_curve([0, 1], [[0.5, 0.5], [0.25, 0.75]], [[0, 0], [-1, 1]])
    assert curve.chosen == 1
    assert decide([[0.5, 0.5], [0.25, 0.75]], [[0, 0], [-1, 1]]).sum() == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_budget_stops_before_it_is_exceeded_and_before_a_loss(seed):
    rng, proba, benefits, y = problem(seed, per_case=True, n_actions=2, n=12)
    weight = rng.integers(1, 4, 12)
    curve = profit_curve(y, proba, benefits, sample_weight=weight)
    value = expected_benefit(proba, benefits)
    promising = sorted(range(12), key=lambda i: value[i, 0] - value[i, 1])
    for budget in [0, 0.5, 1, 2, 3.7, 5, 11, 24, 1000, np.inf]:
        actions, spent = np.zeros(12, dtype=int), 0
        for i in promising:
            spent += weight[i]
            if spent > budget or value[i, 1] <= value[i, 0]:
                break
            actions[i] = 1
        expected = profit(y, actions, benefits, sample_weight=weight)
        assert curve.at(budget) == pytest.approx(expected)


def test_the_order_is_by_what_is_known_beforehand():
    proba = [[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]
    expected, actual = mailing_benefits([50, 10, 2], 1.5), mailing_benefits([0, 30, 0], 1.5)
    curve = profit_curve([0, 1, 0], proba, expected, actual)
    # Expected: 5 - 1.5, 2 - 1.5 and 1 - 1.5.
    assert curve.expected == pytest.approx([0, 3.5, 4, 3.5])
    assert curve.profit == pytest.approx([0, -1.5, 27, 25.5])
    assert (curve.chosen, curve.best) == (2, 2)
    # Without any other benefits the expected ones are what happens.
    assert profit_curve([0, 1, 0], proba, expected).profit == pytest.approx([0, -1.5, 7, 5.5])


def test_mail_where_the_expected_gift_exceeds_the_cost():
    rng = np.random.default_rng(0)
    p, gift = rng.random(500), rng.gamma(2.0, 8.0, 500)
    proba = np.column_stack([1 - p, p])
    benefits = mailing_benefits(gift, 0.68)
    assert benefits.shape == (500, 2, 2)
    assert not benefits[:, 0].any()
    assert decide(proba, benefits).tolist() == (p * gift > 0.68).astype(int).tolist()
    np.testing.assert_allclose(expected_benefit(proba, benefits)[:, 1], p * gift - 0.68, atol=1e-12)
    # Exactly worth its cost: not mailed.
    assert decide([[0.75, 0.25]], mailing_benefits([4.0], 1.0)).tolist() == [0]


def test_profit_of_a_mailing_is_gifts_less_costs():
    y, gift = [0, 1, 1, 0], np.array([0.0, 20.0, 5.0, 0.0])
    actual = mailing_benefits(gift, 0.5)
    assert profit(y, [1, 1, 0, 0], actual) == 19.0
    assert profit(y, [1, 1, 1, 1], actual, sample_weight=[2, 1, 1, 2]) == 25 - 0.5 * 6


TWO = [[0.0, 0.0], [-1.0, 5.0]]
P = [[0.5, 0.5], [0.1, 0.9]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decide([0.2, 0.8], TWO), "proba has shape (2,); give one row for each case"),
        (lambda: decide([[1.0], [1.0]], TWO), "proba has shape (2, 1)"),
        (lambda: decide([[0.5, 0.6]], TWO), "proba must hold probabilities that sum to 1"),
        (lambda: decide([[-0.5, 1.5]], TWO), "proba must hold probabilities"),
        (lambda: decide([[np.nan, 1.0]], TWO), "proba must hold probabilities"),
        (lambda: decide([[np.inf, 0.0]], TWO), "proba must hold probabilities"),
        (lambda: decide(P, [0.0, 1.0]), "benefits has shape (2,); give (n_actions, 2)"),
        (lambda: decide(P, 1.0), "benefits has shape ()"),
        (lambda: decide(P, [[0.0, 1.0, 2.0]]), "benefits has shape (1, 3); give (n_actions, 2)"),
        (lambda: decide(P, np.zeros((3, 2, 2))), "case to case, (2, n_actions, 2)"),
        (lambda: decide(P, np.zeros((0, 2))), "benefits has shape (0, 2)"),
        (lambda: decide(P, [[0.0, np.nan]]), "benefits must be finite numbers"),
        (lambda: decide(P, [[0.0, np.inf]]), "benefits must be finite numbers"),
        (lambda: profit([[0, 1]], [0, 1], TWO), "y has shape (1, 2); give one label"),
        (lambda: profit([0, 1, 1], [0, 1], TWO), "y has 3 cases, but actions has 2"),
        (lambda: profit([0, 1], [[0, 1]], TWO), "actions must be one whole number"),
        (lambda: profit([0, 1], [0.0, 1.0], TWO), "actions must be one whole number"),
        (lambda: profit([0, 1], [0, 2], TWO), "actions holds 2, but benefits has actions 0 to 1"),
        (lambda: profit([0, 1], [0, -1], TWO), "actions holds -1"),
        (lambda: profit([0, 1], [0, 1], [1.0, 2.0]), "benefits has shape (2,)"),
        (lambda: profit([0, 1], [0, 1], np.zeros((3, 2, 2))), "benefits has shape (3, 2, 2)"),
        (lambda: profit([0, 1], [0, 1], [[np.nan, 1.0]] * 2), "benefits must be finite"),
        (lambda: profit(["a", "b", "c"], [0, 1, 1], TWO), "there are 2 classes, but the labels"),
        (lambda: profit(["a", "a"], [0, 1], TWO), "labels are ['a']; give classes"),
        (lambda: profit([0, 1], [0, 1], TWO, classes=[0, 1, 2]), "labels are [0, 1, 2]"),
        (lambda: profit([0, 1], [0, 1], TWO, classes=[1, 1]), "labels are [1, 1]"),
        (lambda: profit([0, 1], [0, 1], TWO, classes=[[0, 1], [2, 3]]), "labels are [[0, 1], [2"),
        (lambda: profit([0, 1], [0, 1], TWO, classes=1), "labels are [1]"),
        (lambda: profit([0, 2], [0, 1], TWO, classes=[0, 1]), "y holds 2, which is not among"),
        (lambda: profit(["a", "b"], [0, 1], TWO, classes=["a", "c"]), "y holds 'b', which is not"),
        (lambda: profit([0.0, np.nan], [0, 1], TWO), "y holds nan, which is not among"),
        (
            lambda: profit(np.array([0.0, np.nan], dtype=object), [0, 1], TWO),
            "y holds nan, which is not among",
        ),
        (lambda: profit(["a", None], [0, 1], TWO), "y holds labels that cannot be sorted"),
        (lambda: profit([0, 1], [0, 1], TWO, sample_weight=[1, -1]), "sample_weight must be 2"),
        (lambda: profit([0, 1], [0, 1], TWO, sample_weight=[1]), "sample_weight must be 2 finite"),
        (lambda: profit([0, 1], [0, 1], TWO, sample_weight=[1, np.nan]), "sample_weight must be"),
        (lambda: profit([0, 1], [0, 1], TWO, sample_weight=[1, np.inf]), "sample_weight must be"),
        (lambda: profit_curve([0, 1, 1], P, TWO), "y has 3 cases, but proba has 2 rows"),
        (lambda: profit_curve([0, 1], P, [TWO[0]]), "two actions, but expected_benefits has 1"),
        (lambda: profit_curve([0, 1], P, TWO, [*TWO, TWO[0]]), "but actual_benefits has 3"),
        (lambda: profit_curve([0, 1], P, [[0.0, 1.0, 2.0]]), "expected_benefits has shape (1, 3)"),
        (
            lambda: profit_curve([0, 1], P, TWO, np.zeros((2, 3))),
            "actual_benefits has shape (2, 3)",
        ),
        (
            lambda: profit_curve([0, 1], P, TWO, np.full((2, 2), np.nan)),
            "actual_benefits must be finite",
        ),
        (lambda: profit_curve([0, 5], P, TWO, classes=[0, 1]), "y holds 5, which is not among"),
        (lambda: profit_curve([0, 1], P, TWO, sample_weight=[-1, 1]), "sample_weight must be 2"),
        (lambda: profit_curve([0, 1], P, TWO).at(-1), "budget=-1 is not a number of 0 or more"),
        (lambda: profit_curve([0, 1], P, TWO).at(np.nan), "budget=nan is not a number"),
        (lambda: mailing_benefits([[1.0]], 1.0), "gift must be one finite number for each case"),
        (lambda: mailing_benefits(5.0, 1.0), "gift must be one finite number"),
        (lambda: mailing_benefits([1.0, np.nan], 1.0), "gift must be one finite number"),
        (lambda: mailing_benefits([1.0], np.nan), "cost=nan is not a finite number"),
        (lambda: mailing_benefits([1.0], [1.0, 2.0]), "cost=[1.0, 2.0] is not a finite number"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
