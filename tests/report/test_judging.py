"""What the verdict is given: other methods, and other numbers of features on the same folds."""

import numpy as np
import pandas as pd
import pytest

from honestbayes import SelectiveMixedNB
from honestbayes.evaluation import compare, cross_validate
from honestbayes.report.analysis import analyse, other_numbers
from honestbayes.report.options import Options
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table


@pytest.fixture(scope="module")
def table():
    """Twelve columns that tell a little each: more are better."""
    generator = np.random.default_rng(0)
    y = np.arange(420) % 2
    X = generator.normal(size=(420, 12)) + 0.5 * y[:, None]
    frame = pd.DataFrame(X).add_prefix("x").assign(outcome=np.where(y == 1, "yes", "no"))
    return read_training(frame_table(frame, "t"), target="outcome", coded=True)


def evaluated(table, number, n_repeats=1):
    model = SelectiveMixedNB(kinds=table.kinds, n_features_to_select=number, random_state=0)
    words = {"cv": 2, "n_repeats": n_repeats, "random_state": 0}
    return cross_validate(model, table.X, table.y, **words)


def test_numbers_are_compared_on_the_first_drawing_of_the_folds(table):
    in_use = evaluated(table, 2, n_repeats=3)
    by_number = {number: evaluated(table, number) for number in (2, 10)}
    options = Options(n_features=2, n_folds=2, n_repeats=3, model="mixed")
    (found,) = other_numbers(by_number, in_use, table, options)
    assert found.n_features == 10
    (direct,) = compare({"a": by_number[10], "b": by_number[2]})
    assert found.difference == direct.log_score


def test_nothing_is_said_of_numbers_where_the_number_was_chosen_or_a_bound_given(table):
    by_number = {10: evaluated(table, 10)}
    for options in (Options(n_features="cv", model="mixed"), Options(threshold=0.2, model="mixed")):
        assert other_numbers(by_number, by_number[10], table, options) == ()


@pytest.mark.slow
def test_a_report_whose_path_shows_a_better_number_and_a_better_method_says_so(table):
    options = Options(n_features=1, n_folds=2, n_repeats=1, model="mixed")
    found = analyse(table, options, name="t").report.verdict
    assert (
        "use a logistic regression: there are more cases (420) than features (12)" in found.advice
    )
    assert "do better with this model than the number in use" in found.advice
    assert "--features 1" in found.advice  # 10 or 12
    assert found.correction_text.startswith("Without the correction")
