"""The average of models in reports: what it is made of, what it needs, what stands beside it."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mixed_table import SPECIES, clinic, mixed_frame, species

import honestbayes
from honestbayes import HonestClassifier
from honestbayes.evaluation import cross_validate
from honestbayes.evaluation.baselines import FREQUENCIES
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import CORRECTED_NAIVE, UNCORRECTED_NAIVE, fit_model
from honestbayes.report.notebook import make_report
from honestbayes.report.options import Options
from honestbayes.report.render import describe_settings, limits, next_steps, render, write_folder
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

TARGET = "<svg onload=alert(3)>"
AVERAGE = "average of models"
QUICK = {"n_folds": 2, "n_repeats": 1, "compare": False, "effort": "quick"}


def read(frame, target, **words):
    return read_training(frame_table(frame, "a<b>.csv"), target=target, coded=True, **words)


def measured(n=40, p=30, seed=0):
    """Measurements, the first of which tell of the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :3] += 1.5 * y[:, None]
    frame = pd.DataFrame(X.round(4), columns=[f"g{j}" for j in range(p)])
    return frame.assign(state=np.array(["ill", "well"])[y])


def words_of(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.fixture(scope="module")
def table():
    return read(mixed_frame(), TARGET, ids="name")


@pytest.fixture(scope="module")
def analysis(table):
    return analyse(table, Options(**QUICK), name="a<b>.csv")


@pytest.fixture(scope="module")
def confined():
    """One set of four columns, one of them by design."""
    table = read(measured(), "state", keep=["g9"])
    return analyse(table, Options(n_features=3, **QUICK), name="t"), table


def test_the_average_is_in_use_and_naive_bayes_stands_beside_it(analysis):
    report = analysis.report
    assert isinstance(analysis.model, HonestClassifier)
    assert report.in_use == AVERAGE
    names = [method.name for method in report.methods]
    assert names == [UNCORRECTED_NAIVE, CORRECTED_NAIVE, AVERAGE, FREQUENCIES]
    assert report.uncorrected == UNCORRECTED_NAIVE
    assert set(report.reliability) == {UNCORRECTED_NAIVE, AVERAGE}
    assert report.verdict.headline.startswith("The average of models expected an error rate of ")
    said = report.verdict.correction_text
    assert said.startswith("Naive Bayes on the features that correlate best, not corrected for ")
    before, after = (report.method(n).summary.calibration.slope for n in (names[0], AVERAGE))
    assert f"slope was {before:.2f}; that of the average of models is {after:.2f}." in said
    assert report.settings["effort"] == "quick"


def columns_of(report):
    return report.section("kept").record.columns


def test_the_models_and_columns_are_those_of_the_estimator(analysis, table):
    found, model = analysis.report.section("average").record, analysis.model
    tried = model.model_table().to_dict()
    expected = sorted(zip(tried["model"], tried["weight"], tried["log_score"], strict=True))
    assert sorted((m.name, m.weight, m.log_score) for m in found.models) == expected
    assert found.models[-1].name == "class frequencies"
    totals = [sum(model.weight for model in family) for family in found.families()]
    assert totals == sorted(totals, reverse=True)
    assert found.n_models == sum(weight > 0 for weight in tried["weight"][:-1])
    shown = {column.column: column for column in columns_of(analysis.report)}
    needed = {table.encoding.features[place].column for place in model.kept_columns()}
    assert shown.keys() == needed
    kinds = dict(zip([f.column for f in table.encoding.features], model.kinds_, strict=True))
    assert all(kinds[name] == column.kind for name, column in shown.items())
    assert analysis.report.ranking.n_kept == len(needed)
    assert found.restriction_cost is None


@pytest.mark.slow
def test_held_out_results_are_those_of_cross_validation(analysis, table):
    model = HonestClassifier(effort="quick", kinds=list(table.kinds), random_state=0)
    again = cross_validate(model, table.X, table.y, cv=2, random_state=0)
    assert np.array_equal(analysis.report.cases.held_out, again.proba[0])


def test_the_page_says_what_it_is_made_of_and_nothing_of_thresholds(analysis):
    text = words_of(render(analysis.report))
    for words in (
        "models in the average",
        "The models of the average",
        "naive Bayes on columns of each kind",
        "The columns that it needs",
        "a new case needs all of these",
        "Case by case: uncorrected naive Bayes and the average",
        "as many as each model asks for",
        "a slope and an outlier rate for each model",
        "filled with the mean of their column by the others",
    ):
        assert words in text, words
    for words in ("slope in use", "lost the race", "cut at the median", "The kept features"):
        assert words not in text, words
    assert dict(describe_settings(analysis.report))["effort"] == "quick"
    assert limits(analysis.report)[0].startswith("The average is only as good as its models.")


def test_the_next_steps_of_an_average_of_many_columns_offer_a_short_set(analysis):
    command = "honestbayes report t.csv --target state --seed 0"
    given = f"{command} --out r"
    verdict = replace(analysis.report.verdict, calibration="calibrated")
    report = replace(analysis.report, command=given, verdict=verdict)
    for n_kept, offered in ((30, True), (5, False)):
        ranking = replace(report.ranking, n_kept=n_kept)
        found = [step.command for step in next_steps(replace(report, ranking=ranking))]
        assert (f"{command} --features 10 --out r-short" in found) == offered


def test_the_folder_holds_a_model_that_predicts_the_same(analysis, table, tmp_path):
    write_folder(analysis.report, TableModel.of_training(analysis.model, table), tmp_path / "out")
    again = honestbayes.load(tmp_path / "out" / "model.honestbayes")
    proba = again.predict_proba(mixed_frame())
    np.testing.assert_allclose(proba[:, 1], analysis.report.cases.fitted, rtol=0, atol=1e-12)
    n_models = analysis.report.section("average").record.n_models
    plain = json.loads((tmp_path / "out" / "report.json").read_text("ascii"))
    assert plain["ranking"]["slope"] is None
    assert plain["sections"]["average"]["record"]["n_models"] == n_models
    assert len(plain["sections"]["average"]["record"]["models"]) == len(
        analysis.report.section("average").record.models
    )


def test_one_set_of_columns_is_kept_and_its_cost_is_said(confined):
    analysis, table = confined
    report, found = analysis.report, analysis.report.section("average").record
    columns = columns_of(report)
    assert len(columns) == 4
    assert {c.column for c in columns if c.by_design} == {"g9"}
    assert (report.ranking.n_kept, report.ranking.n_by_design) == (3, 1)
    assert report.ranking.rule == "4 of 30 columns are used, the same by all models"
    assert found.restriction_cost == analysis.model.restriction_cost_
    assert all(0 <= column.selected <= 1 for column in columns)
    text = words_of(render(report))
    assert "Keeping to one set of columns costs " in text
    assert "No model of the average uses 26 columns: they correlate less" in text
    assert "3, the same for all models" in text
    # The report has the most important ones first, the model those that most models use.
    needed = TableModel.of_training(analysis.model, table).columns
    assert sorted(needed) == sorted(column.column for column in columns)


@pytest.mark.slow
def test_three_classes_and_missing_cells_have_a_report_too():
    table = read(species(30), "kind")
    found = analyse(table, Options(**QUICK), name="t")
    assert found.report.cases.fitted.shape == (30, 3)
    page = render(found.report)
    assert "The models of the average" in page
    assert SPECIES[0] not in re.sub(r'alt="[^"]*"', "", page)


def test_options_reach_the_estimator():
    table = read(clinic(40), "state")
    model = fit_model(table, Options(n_features="all", effort="quick", prevalence=0.1, seed=3))
    assert model.n_features_to_select is None
    assert (model.effort, model.random_state) == ("quick", 3)
    assert model.class_prior == pytest.approx((0.9, 0.1))
    assert tuple(model.kinds) == table.kinds


@pytest.mark.slow
def test_a_frame_in_memory_is_given_to_the_average_by_default(confined):
    report = make_report(measured(), "state", keep=["g9"], n_features=3, **QUICK)
    assert report.settings["model"] == "honest"
    assert report.verdict == confined[0].report.verdict


@pytest.mark.parametrize("width", [400, 1280])
def test_a_browser_shows_all_of_it_without_scrolling_sideways(analysis, chromium, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(render(analysis.report), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 900})
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.goto(path.as_uri())
    page.evaluate("document.getElementById('unfold').click()")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = page.locator("#models tbody tr").count()
    assert rows == len(analysis.report.section("average").record.models)
    shown = page.locator("#columns-used tbody tr").count()
    assert shown == min(20, len(columns_of(analysis.report)))
    assert page.locator("#picture-scatter-light").is_visible()
    assert heard == []
    page.close()
