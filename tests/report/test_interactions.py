"""The model with interactions in reports: no correction, no selection, and patterns in words."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from interaction_tables import FINAL, FOLDS, LONG, NAME, SUNNY, short_chains, weather

from honestbayes import InteractionClassifier
from honestbayes.catalogue import table_specs
from honestbayes.evaluation import cross_validate
from honestbayes.metrics import confident_predictions, summarise
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import (
    NAIVE_BAYES,
    UNCORRECTED,
    compared_methods,
    fit_model,
    own_names,
)
from honestbayes.report.options import Options
from honestbayes.report.record import table_names
from honestbayes.report.render import describe_settings, limits, render, write_folder
from honestbayes.report.verdict import describe_external, judge
from honestbayes.tables import read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OPTIONS = Options(n_folds=2, compare=False, model="interactions")
TITLE = "model with interactions"


def read(frame, **words):
    table = frame_table(frame, "t")
    return read_training(table, target="play", coded=True, keep_duplicates=True, **words)


@pytest.fixture(scope="module", autouse=True)
def _short_chains():
    with short_chains():
        yield


@pytest.fixture(scope="module")
def table():
    return read(weather())


@pytest.fixture(scope="module")
def analysis(table):
    return analyse(table, OPTIONS, name="t")


@pytest.fixture(scope="module")
def of_three():
    """Three classes, missing cells as a level, a column kept by design, patterns of any column."""
    frame = weather(60, ("no", "<i>maybe", "yes"), seed=1)
    frame.loc[::6, "sex"] = None
    options = replace(OPTIONS, missing_as_level=True, order=1)
    return analyse(read(frame, keep=["old"]), options, name="t")


def words_of(page):
    """The text of a page, without its script, style and pictures."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_held_out_results_are_those_of_short_chains_and_the_final_model_has_long_ones(
    analysis, table
):
    report = analysis.report
    assert report.in_use == TITLE
    assert [method.name for method in report.methods][:2] == [TITLE, NAIVE_BAYES]
    assert (report.settings["n_repeats"], report.paths, report.posterior) == (1, {}, None)
    direct = cross_validate(
        InteractionClassifier(**FOLDS, random_state=0), table.X, table.y, cv=2, random_state=0
    )
    np.testing.assert_allclose(report.cases.held_out, direct.proba[0])
    final = InteractionClassifier(**FINAL, random_state=0).fit(table.X, table.y)
    np.testing.assert_allclose(report.cases.fitted, final.predict_proba(table.X)[:, 1])


def test_the_final_chains_are_the_defaults_of_the_estimator():
    defaults = InteractionClassifier().get_params()
    assert {name: defaults[name] for name in LONG} == LONG


def test_what_two_columns_tell_together_is_found(analysis):
    scores = {m.name: m.summary.log_score.value for m in analysis.report.methods}
    assert scores[TITLE] < scores[NAIVE_BAYES] - 0.1


def test_a_model_without_a_correction_has_no_twin(analysis, of_three):
    for report in (analysis.report, of_three.report):
        assert report.cases.held_out_uncorrected is None
        assert not any("correct" in method.name for method in report.methods)
        assert list(report.calibration) == list(report.reliability) == [TITLE]
        assert report.verdict.correction_text == ""
        assert report.ranking.n_discarded == 0


def test_no_sentence_speaks_of_a_correction_or_of_what_was_discarded(analysis, of_three):
    for report in (analysis.report, of_three.report):
        text = f"{report.verdict} {words_of(render(report))} {limits(report)}"
        found = re.findall(r"\w*(?:correct|discard|kept by|lost|race|selected|slope in)\w*", text)
        assert set(found) <= {"kept by"}  # kept by design: none, among the settings


def test_patterns_are_in_the_words_of_the_table(analysis, of_three):
    found = analysis.report.section("interactions").record
    assert found.order == 2
    assert any("sex=m & wind=" in text or "sex=f & wind=" in text for text in found.pattern[:4])
    assert set(found.towards) == {"yes"}
    assert {c for cells in found.cells for c, _ in cells} <= {NAME, "sex", "wind", "old"}
    levels = {level for cells in found.cells for name, level in cells if name == NAME}
    assert levels <= {SUNNY, "rain", "fog"}
    three = of_three.report.section("interactions").record
    assert three.order == 1
    assert set(three.towards) <= {"no", "<i>maybe", "yes"}
    assert "sex=(missing)" in three.pattern
    assert all("&" not in text for text in three.pattern)


def test_the_record_holds_the_interactions_and_what_was_asked_for(analysis, of_three, tmp_path):
    model = TableModel.of_training(of_three.model, read_three())
    write_folder(of_three.report, model, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    patterns = list(of_three.report.section("interactions").record.pattern)
    assert found["sections"]["interactions"]["record"]["pattern"] == patterns
    assert found["settings"]["order"] == 1
    assert found["settings"]["missing_as_level"] is True
    header = (tmp_path / "out" / "predictions.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "held_out: yes" in header
    assert "uncorrected" not in header
    (section,) = model.estimator._sections(table_names(model))
    shown = section.record
    assert sorted(shown.pattern) == sorted(patterns)
    assert "order" not in Options(model="mixed").to_dict()
    assert analysis.report.settings["order"] is None


def read_three():
    frame = weather(60, ("no", "<i>maybe", "yes"), seed=1)
    frame.loc[::6, "sex"] = None
    return read(frame, keep=["old"])


def test_the_page_has_the_patterns_and_names_stay_text(analysis, of_three, chromium, tmp_path):
    alarms = []
    for number, report in enumerate((analysis.report, of_three.report)):
        place = tmp_path / f"{number}.html"
        place.write_text(render(report), encoding="utf-8")
        page = chromium.new_page()
        page.on("dialog", lambda dialog: (alarms.append(dialog.message), dialog.dismiss()))
        page.goto(place.as_uri())
        page.evaluate("document.getElementById('unfold').click()")
        rows = page.locator("#patterns tbody tr")
        assert rows.count() == len(report.section("interactions").record.pattern)
        texts = rows.locator("th").all_inner_texts()
        assert texts == list(report.section("interactions").record.pattern)
        assert page.locator("#patterns b, #patterns i, #patterns script").count() == 0
        assert page.locator("#cases-compared").count() == 0
        assert alarms == []
        page.close()


def test_missing_cells_and_settings_are_said(analysis, of_three):
    assert (
        "10 missing cells are taken for a category of its own: missingness may depend on the class."
        in (limits(of_three.report))
    )
    assert "patterns of one column," in limits(of_three.report)[0]
    assert "patterns of up to 2 columns," in limits(analysis.report)[0]
    settings = dict(describe_settings(of_three.report))
    assert settings["order"] == "1"
    assert settings["missing cells"] == "a separate category"
    assert settings["features to keep"] == "all"
    assert settings["recalibration"] == "none"
    kept = next(f for f in of_three.report.feature_rows() if f["column"] == "sex")
    assert kept["levels"] == ("f", "m", "(missing)")
    assert next(f for f in of_three.report.feature_rows() if f["column"] == "old")["by_design"]


def test_missing_cells_are_refused_with_their_columns():
    frame = weather(30)
    frame.loc[[1, 2], ["sex", "old"]] = None
    with pytest.raises(InputError, match="in columns 'sex', 'old'; treat missing cells"):
        fit_model(read(frame), OPTIONS)


def test_measurements_and_odd_flags_are_cut_into_bins():
    frame = weather(30).assign(height=np.arange(30) / 7, sign=15 * [-1, 1])
    for given in ({}, {"sign": "categorical"}):
        fitted = fit_model(read(frame, kinds=given), OPTIONS)
        assert fitted.n_features_in_ == 6
        assert "height" in fitted.feature_table().name


def test_options_that_mean_nothing_are_refused():
    for words in ({"n_features": 3}, {"threshold": 0.2}, {"path": True}):
        with pytest.raises(ValueError, match="keeps all columns, because it does not correct"):
            Options(model="interactions", **words)
    assert Options(model="interactions", n_features="all").number_to_keep == "all"
    assert Options(model="interactions").number_to_keep == "all"
    with pytest.raises(ValueError, match="order is not for the mixed model"):
        Options(order=2, model="mixed")
    with pytest.raises(ValueError, match="missing_as_level is not for the factors model"):
        Options(model="factors", missing_as_level=True)


def test_a_model_without_a_correction_may_have_a_slope(analysis):
    spec = table_specs()["interactions"]
    assert own_names(spec) == (TITLE, f"{TITLE}, recalibrated")
    words = {
        "n_features": "all",
        "threshold": None,
        "always_keep": None,
        "n_candidates": 4,
        "seed": 0,
    }
    found = compared_methods(spec, **words, kinds=4 * ["categorical"], more={"order": 3})
    assert found[TITLE].order == 3
    assert UNCORRECTED not in found
    used = analysis.report.method(TITLE)
    judged = type("Judged", (), {"summary": used.summary, "confident": used.confident})
    text = judge(("no", "yes"), None, judged, judged, n_repeats=1, n_features=4)
    assert text.headline.startswith("The recalibrated model expected")
    assert text.correction_text.startswith("The calibration slope was")


def test_the_reason_for_being_too_sure_is_not_dependence_between_features(analysis):
    y = analysis.report.cases.actual
    proba = np.where(np.arange(y.size) % 4 == 0, 1 - y, y) * 0.98 + 0.01
    text = describe_external(
        summarise(y, proba),
        confident_predictions(y, proba, at_least=0.95),
        ("no", "yes"),
        "interactions",
        False,
    )
    assert (
        "Overconfident, most likely because the class depends on the columns in other ways" in text
    )
