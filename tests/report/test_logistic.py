"""Reports on a logistic regression: it selects, and has no correction to speak of."""

import numpy as np
import pandas as pd
import pytest

from honestbayes.report.notebook import make_report
from honestbayes.report.render import render
from honestbayes.tables.errors import InputError


def table(classes=2, flags=False, n=60):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, 8)) + 1.5 * y[:, None] * (np.arange(8) < 2)
    frame = pd.DataFrame(X.round(3)).add_prefix("gene")
    if flags:
        frame = (frame > 0.7).astype(int)
    frame.insert(0, "state", np.array(["ill", "well", "odd"], dtype=object)[y])
    return frame


def report_on(frame):
    words = {"n_features": 3, "n_folds": 2, "n_repeats": 1, "compare": False}
    return make_report(frame, "state", model="logistic", **words)


@pytest.mark.slow_cases("2", "3")
@pytest.mark.parametrize("classes", [2, 3])
def test_the_page_has_coefficients_and_speaks_of_no_correction(classes):
    frame = table(classes)
    frame.loc[3, "gene1"] = np.nan
    report = report_on(frame)
    assert report.ranking.n_discarded == 5
    assert all(
        len(one["coefficient"]) == (1 if classes == 2 else 3) for one in report.feature_rows()
    )
    names = {method.name for method in report.methods}
    assert {"logistic regression", "logistic regression, recalibrated"} < names
    assert "uncorrected" not in names
    page = render(report)
    assert "adds to its log-odds" in page
    assert "filled with the mean of their column" in page
    assert "The correction removes" not in page


@pytest.mark.slow
def test_flags_alone_will_do_and_texts_are_refused():
    assert len(report_on(table(flags=True)).feature_rows()) == 3
    frame = table()
    frame["site"] = np.where(frame["gene0"] > 0, "a", "b")
    with pytest.raises(InputError, match="text column"):
        report_on(frame)
