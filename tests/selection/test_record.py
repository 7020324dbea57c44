"""The record of a selection turns to JSON and back, and refuses what it cannot be."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes.selection import Selection, screen, select


def example(*, names=True, missing=True, **how):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (20, 30)).astype(float)
    if missing:
        table[rng.random(table.shape) < 0.1] = np.nan
    labels = [0, 1] * 10
    frame = pd.DataFrame(table, columns=[f"gene {j}" for j in range(30)]) if names else table
    always = np.zeros(30, dtype=bool)
    always[[2, 5]] = True
    return select(screen(frame, labels), always_keep=always, **how)


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("how", [{"n_features": 5}, {"threshold": 0.3}, {}, {"n_features": 0}])
def test_a_record_comes_back_from_json_as_it_was(names, missing, how):
    selection = example(names=names, missing=missing, **how)
    text = json.dumps(selection.to_dict())
    assert Selection.from_dict(json.loads(text)) == selection
    assert (selection.kept_names is not None) == names


def test_a_record_with_unknown_ties_comes_back_from_json_as_it_was():
    selection = replace(example(n_features=5), ties_known=False)
    back = Selection.from_dict(json.loads(json.dumps(selection.to_dict())))
    assert back == selection
    assert back.n_tied_discarded is None


def corrupted():
    changes = {
        "rule": ["best", None, 3, ["top"]],
        "gamma_squared": [
            [-1, 2],
            [1, 0],
            [3, 2],
            [1],
            [1, 2, 3],
            0.25,
            [0.5, 1],
            ["1", "2"],
            None,
        ],
        "kept": [
            [0, 0, 1, 3, 4],
            [1, 2, 3, 4, 6],
            [1, 3, 4, 6, 99],
            [1, 3, 4, 6, -1],
            [1, 3],
            None,
            [1.5, 3, 4, 6, 7],
            ["1", "3", "4", "6", "7"],
            [True, 3, 4, 6, 7],
            "13467",
        ],
        "always_kept": [[2], [2, 2], [2, 5, 6], [2, None], {}],
        "n_features_in": [29, -1, None, "30", 30.0, float("inf"), True],
        "class_counts": [[0, 20], [10], [10, 10, 10], [10, "10"], [5, 5], None],
        "groups": [
            [],
            [[10, 10, 23]],
            [[10, 10, 23, 24]],
            [[11, 10, 23, 0]],
            [[10, 10, 23, -1]],
            [[10, 10, 23.0, 0]],
            [5],
            None,
            "all",
        ],
        "n_tied_kept": [-1, 6, 1.0, None, "1"],
        "ties_known": ["yes", 1, None],
        "kept_names": [["a"], "abcde", [1, 2, 3, 4, 5], 5],
        "always_kept_names": [["a"], "ab", [1, 2]],
    }
    return [(field, value) for field, values in changes.items() for value in values]


@pytest.mark.parametrize(("field", "value"), corrupted())
def test_a_corrupted_entry_is_refused(field, value):
    data = example(n_features=5, missing=False).to_dict()
    data[field] = value
    with pytest.raises(ValueError, match=r"not a (possible )?selection: "):
        Selection.from_dict(data)


@pytest.mark.parametrize("field", list(example(n_features=1).to_dict()))
def test_a_missing_entry_is_named(field):
    data = example(n_features=5).to_dict()
    del data[field]
    with pytest.raises(ValueError, match=f"not a selection: .*'{field}'"):
        Selection.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "selection", 3, {}, {"schema": 1}, {1: 2}])
def test_other_things_are_refused(data):
    with pytest.raises(ValueError, match="not a selection: "):
        Selection.from_dict(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(deadline=None, derandomize=True)
@given(st.data())
def test_any_entry_replaced_by_anything_gives_a_record_or_a_clear_refusal(data):
    plain = example(n_features=5).to_dict()
    plain[data.draw(st.sampled_from(sorted(plain)))] = data.draw(JSON)
    refusal = ""
    try:
        selection = Selection.from_dict(plain)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("not a ")
    else:
        assert Selection.from_dict(selection.to_dict()) == selection


def test_a_record_that_contradicts_itself_cannot_be_made():
    selection = example(n_features=5, missing=False)
    with pytest.raises(ValueError, match="do not add up to 31"):
        replace(selection, n_features_in=31)
    with pytest.raises(ValueError, match="more tied than kept"):
        replace(selection, n_tied_kept=6)
    with pytest.raises(ValueError, match="gamma squared is not between 0 and 1"):
        replace(selection, gamma_squared=Fraction(5, 4))
    with pytest.raises(ValueError, match="under the rule 'all'"):
        replace(selection, rule="all")
