"""Tables of fitted models as frames, and as they look in a notebook."""

import numpy as np
import pandas as pd
import pytest
from fits import FITS, fitted
from mixed_table import clinic

from honestbayes import ForwardProbabilitySelector, make_report
from honestbayes.tabular import MOST_ROWS, html_table

WITH_TABLES = ["binary, named", "categorical", "real", "mixed", "discriminant", "logistic"]


@pytest.mark.parametrize("name", [*WITH_TABLES, "honest"])
def test_a_feature_table_is_a_frame_and_shows_as_html(name):
    table = fitted(name).feature_table()
    frame = table.to_pandas()
    assert len(frame) == len(fitted(name).get_feature_names_out())
    assert list(frame["name"])
    shown = table._repr_html_()
    assert shown.count("<table>") == max(1, len(getattr(table, "parts", ())))
    assert shown.count("<tr>") >= min(len(frame), MOST_ROWS) + 1


def test_the_table_of_models_and_the_path_of_a_selector_are_frames():
    models = fitted("honest").model_table()
    assert list(models.to_pandas()["model"]) == list(models.name)
    X = np.random.default_rng(0).integers(0, 2, (40, 6))
    path = ForwardProbabilitySelector(n_features_to_select=2).fit(X, X[:, 1]).path_
    assert path.to_pandas()["name"].iloc[0] == "x1"
    assert "<td>x1</td>" in path._repr_html_()


def test_text_from_data_is_text_in_a_notebook():
    shown = html_table({"<b>": ["<script>", None, float("nan"), 0.123456, ["a", "&"]]})
    assert "<script>" not in shown
    assert "<th>&lt;b&gt;</th>" in shown
    assert "<td>0.1235</td>" in shown
    assert "<td>a, &amp;</td>" in shown
    long = html_table({"x": list(range(100))})
    assert "and 40 more rows" in long


def test_a_report_shows_its_page_and_its_cases_and_names_the_option_that_was_meant():
    frame = clinic(40)
    report = make_report(frame, "state", quick=True, n_folds=2, model="mixed")
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    cases = report.to_pandas()
    assert isinstance(cases, pd.DataFrame)
    assert len(cases) == 40
    assert set(cases["actual"]) == set(frame["state"])
    for wrong, right in (("n_feature", "n_features"), ("random_state", "seed"), ("cv", "n_folds")):
        with pytest.raises(TypeError, match=f"no option '{wrong}'; did you mean {right}"):
            make_report(frame, "state", **{wrong: 3})


@pytest.mark.parametrize("name", [*WITH_TABLES[1:], "mixed, two classes"])
def test_contributions_are_what_a_cell_adds_in_every_model(name):
    model, X = fitted(name), FITS[name].X
    rows = X[:5] if isinstance(X, np.ndarray) else X.iloc[:5]
    added = model.contributions(rows).values
    columns = model.kept_columns()
    assert added.shape[:2] == (5, columns.size)
    without = pd.DataFrame(rows).copy()
    without.isetitem(int(columns[0]), np.full(5, np.nan))
    if isinstance(X, np.ndarray):
        without = without.to_numpy()
    apart = model.predict_log_proba(rows) - model.predict_log_proba(without)
    expected = apart if apart.shape[1] > 2 else apart[:, 1] - apart[:, 0]
    np.testing.assert_allclose(added[:, 0], expected)
