"""Predicted and observed rates, published and ours."""

import numpy as np
import pytest

from honestbayes.experiments import colon, mixture, slides, slides_colon
from honestbayes.experiments.experiment import decimal_rows, errors_of, judged, of


def test_errors_of_a_table_are_those_of_its_cases() -> None:
    rng = np.random.default_rng(0)
    proba = rng.random(4000)
    y = (rng.random(4000) < proba).astype(int)
    found = judged(y, proba)
    table = list(zip(found["count"], found["predicted"], found["actual"], strict=True))
    errors = errors_of(table)
    assert errors["expected"] == pytest.approx(np.minimum(proba, 1 - proba).mean(), abs=1e-4)
    assert errors["actual"] == pytest.approx(np.mean((proba >= 0.5) != y), abs=1e-4)
    assert errors["actual"] == pytest.approx(found["actual_error"], abs=1e-4)
    rows = list(decimal_rows(found, method="ours"))
    assert [row["cases"] for row in rows] == found["count"].tolist()


def test_a_decimal_without_cases_has_no_row() -> None:
    rows = list(decimal_rows(judged([0, 1], np.array([0.25, 0.75]))))
    assert [row["probability from"] for row in rows] == [0.2, 0.7]


def test_figures_are_picked_by_settings() -> None:
    fits = [{"k": 1, "way": "a", "x": 3.0}, {"k": 2, "way": "a", "x": 5.0}]
    assert of(fits, "x", k=2, way="a").tolist() == [5.0]
    assert of(fits, "x", way="a").tolist() == [3.0, 5.0]


def test_published_tables_hold_all_test_cases() -> None:
    for table, n in ((mixture.TABLE_2_3, 2000), (slides.TABLE, 600)):
        for decimals in table.values():
            assert len(decimals) == 10
            assert sum(count for count, _, _ in decimals) == n
            for place, (count, predicted, _) in enumerate(decimals):
                assert not count or place / 10 <= predicted <= (place + 1) / 10


def test_the_printed_squared_errors_give_nearly_the_printed_test() -> None:
    printed = slides_colon.measured(
        slides_colon.PUBLISHED["uncorrected"], slides_colon.PUBLISHED["corrected"]
    )
    assert printed["groups better"] == 8
    assert printed["p-value"] == pytest.approx(slides_colon.P_VALUE, abs=0.001)


def test_groups_and_tests_of_the_colon_data_are_counted() -> None:
    one = {
        "uncorrected": {"log_score": [0.5, 0.7, 0.6], "expected_error": [0.1, 0.2, 0.3],
                        "actual_error": [0.2, 0.1, 0.4]},
        "corrected": {"log_score": [0.4, 0.8, 0.5]},
    }  # fmt: skip
    assert colon.better([one], "log_score").tolist() == [2]
    assert colon.optimistic([one], "uncorrected").tolist() == [2]
    assert colon.average([one], "corrected", "log_score")[0] == pytest.approx(17 / 30)
    assert 0.5 < colon.p_values([one], "log_score")[0] < 1
