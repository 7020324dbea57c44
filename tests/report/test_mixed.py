"""The report of a table with measurements, categories and flags, by the mixed model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from grids import slow
from hostile_table import HOSTILE
from mixed_table import STAGES, clinic, mixed_frame

import honestbayes
from honestbayes import SelectiveMixedNB
from honestbayes.evaluation import cross_validate
from honestbayes.report.analysis import analyse
from honestbayes.report.methods import (
    CORRECTED_SLOPE,
    UNCORRECTED,
    compared_methods,
    fit_model,
    naive_bayes,
)
from honestbayes.report.notebook import make_report
from honestbayes.report.options import Options
from honestbayes.report.record import table_names
from honestbayes.report.render import limits, render
from honestbayes.tables import read_training
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

pytestmark = pytest.mark.slow


def read(frame, **words):
    return read_training(frame_table(frame, "t"), target="state", coded=True, **words)


def test_held_out_results_are_those_of_the_mixed_estimator(mixed, mixed_table):
    model = SelectiveMixedNB(kinds=mixed_table.kinds, n_features_to_select=5, random_state=0)
    direct = cross_validate(model, mixed_table.X, mixed_table.y, cv=2, n_repeats=2, random_state=0)
    report = mixed.report
    assert report.in_use == CORRECTED_SLOPE
    assert report.cases.held_out == pytest.approx(direct.proba.mean(axis=0))
    assert report.method(CORRECTED_SLOPE).summary.log_score == direct.summary().log_score
    frequency = dict(zip(mixed_table.X.columns, direct.selected_frequency, strict=True))
    rows = report.feature_rows()
    assert [f["selected"] for f in rows] == [frequency[f["name"]] for f in rows]


def test_probabilities_are_those_of_the_estimator_on_the_frame_itself():
    frame = clinic()
    table = read(frame)
    ours = fit_model(table, Options(n_features=4, model="mixed"))
    # A text with two levels is 0/1 in a report, and would be a category for the estimator.
    smoker = frame["smoker"].map({"yes": 1.0, "no": 0.0})
    plain = frame.drop(columns="state").assign(smoker=smoker)
    direct = SelectiveMixedNB(n_features_to_select=4, random_state=0)
    direct.fit(plain, (frame["state"] == "ill").astype(int))
    assert direct.kinds_ == table.kinds
    assert ours.predict_proba(table.X) == pytest.approx(direct.predict_proba(plain), abs=1e-12)


def test_each_kind_has_a_race_of_its_own(mixed, mixed_table):
    report = mixed.report
    rankings = {ranking.kind: ranking for ranking in report.rankings}
    assert [rankings[kind].n_kept for kind in ("binary", "categorical", "real")] == [2, 2, 5]
    assert rankings["real"].n_discarded == mixed_table.kinds.count("real") - 5
    assert rankings["real"].bound == pytest.approx(mixed.model.selections_["real"].gamma)
    assert rankings["real"].just_missed[0][1] <= rankings["real"].bound
    assert report.ranking.n_kept == 9
    assert report.ranking.n_discarded == rankings["real"].n_discarded
    assert report.ranking.rule == (
        "of each kind the features that correlate best are kept: 2 of 2 binary, 2 of 2 "
        "categorical, 5 of 44 continuous"
    )


def test_features_are_described_by_their_kind(mixed):
    by_column = {row["column"]: row for row in mixed.report.feature_rows()}
    y = mixed_frame()
    for name in HOSTILE:
        feature = by_column[name]
        assert feature["kind"] == "real"
        assert feature["centre"][1] > feature["centre"][0]
        assert feature["correlation"] > 0
        # Shrunk towards each other, and about where the values are.
        values = y.groupby("<svg onload=alert(3)>")[name].mean().sort_values()
        gap = feature["centre"][1] - feature["centre"][0]
        assert 0.5 < gap / (values.iloc[1] - values.iloc[0]) <= 1
    stage = by_column["stage <u>"]
    assert stage["kind"] == "categorical"
    assert stage["levels"] == tuple(sorted(STAGES))
    negative, positive = stage["probability"]
    assert sum(positive) == pytest.approx(1)
    assert (
        np.sign(stage["evidence"]).tolist() == np.sign(np.log(positive) - np.log(negative)).tolist()
    )
    assert by_column["flag"]["kind"] == "binary"


def test_the_evidence_of_categories_is_what_they_add_to_the_log_odds():
    table = read(clinic(), ignore=[f"lab{j}" for j in range(12)])
    model = fit_model(table, Options(n_features=1, recalibrate=False, model="mixed"))
    features = model._feature_tables()["categorical"].in_report("categorical", table_names(table))
    stage = features.rows[0]
    assert stage["column"] == "stage"
    rows = table.X.iloc[:5].copy()
    rows.loc[:, :] = np.nan
    rows["stage"] = [np.nan, 0, 1, 2, 3]
    log_p = model.predict_log_proba(rows)
    log_odds = log_p[:, 1] - log_p[:, 0]
    assert log_odds[1:] - log_odds[0] == pytest.approx(stage["evidence"])


def test_the_page_speaks_of_cuts_only_where_there_are_any(mixed, analysis):
    assert "cut at the median" not in render(mixed.report)
    assert any("cut at the median" in limit for limit in limits(analysis.report))
    assert any("normally distributed" in limit for limit in limits(mixed.report))


def test_the_saved_model_gives_the_fitted_probabilities_bit_for_bit(mixed_folder, mixed):
    model = honestbayes.load(mixed_folder / "model.honestbayes")
    assert isinstance(model, TableModel)
    assert np.array_equal(model.predict_proba(mixed_frame())[:, 1], mixed.report.cases.fitted)


def test_the_json_file_holds_every_kind_of_feature(mixed_folder):
    data = json.loads((mixed_folder / "report.json").read_text("ascii"))
    kinds = [feature["kind"] for feature in data["features"]]
    assert [kinds.count(kind) for kind in ("binary", "categorical", "real")] == [2, 2, 5]
    assert data["posterior"] is None
    assert data["settings"]["model"] == "mixed"


@pytest.mark.slow  # a table of flags alone, below, is a frame in memory too
def test_a_frame_in_memory_gives_the_report_of_the_mixed_model(mixed, mixed_folder, tmp_path):
    report = make_report(
        mixed_frame().drop(columns="name"),
        "<svg onload=alert(3)>",
        folder=tmp_path / "out",
        n_features=5,
        n_folds=2,
        n_repeats=2,
        model="mixed",
    )
    assert report.verdict == mixed.report.verdict
    model = (tmp_path / "out" / "model.honestbayes").read_bytes()
    assert model == (mixed_folder / "model.honestbayes").read_bytes()


def test_a_table_of_codes_is_refused_by_the_binary_model():
    with pytest.raises(ValueError, match="needs a binary feature for each category"):
        fit_model(read(clinic()), Options(model="binary"))


@pytest.mark.parametrize(
    "words",
    [
        {"n_features": "all"},
        slow({"threshold": 0.2}),
        {"threshold": 0.99},
        slow({"n_features": 1, "n_folds": "loo"}),
    ],
)
def test_every_way_to_select_gives_a_report(words, tmp_path):
    n = 14 if "n_folds" in words else 60
    table = read(clinic(n), keep=["answer", "ward"])
    quick = {"n_folds": 2, "n_repeats": 1, "path": False, "compare": False, "model": "mixed"}
    options = Options(**quick | words)
    found = analyse(table, options, name="t")
    assert render(found.report)
    by_design = {f["column"] for f in found.report.feature_rows() if f["by_design"]}
    assert by_design == {"answer", "ward"}
    assert found.report.ranking.rule.endswith(" continuous, 2 by design")
    model = TableModel.of_training(found.model, table)
    model.save(tmp_path / "m")
    again = honestbayes.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(clinic(n))[:, 1], found.report.cases.fitted)


def test_the_uncorrected_model_is_the_same_without_the_correction():
    found = compared_methods(
        naive_bayes(["real", "binary"]),
        n_features=3,
        threshold=None,
        always_keep=None,
        n_candidates=12,
        seed=0,
        kinds=["real", "binary"],
    )
    assert found[UNCORRECTED].correction is None
    assert found[UNCORRECTED].recalibrate is None
    assert found[CORRECTED_SLOPE].get_params() == (
        SelectiveMixedNB(
            kinds=["real", "binary"], n_features_to_select=3, random_state=0
        ).get_params()
    )


def test_of_many_levels_the_page_shows_those_that_say_most(mixed):
    table = next(table for table in mixed.report.features if table.kind == "categorical")
    number = 40
    many = table.rows[0] | {
        "levels": tuple(f"level {v}" for v in range(number)),
        "probability": ((1 / number,) * number,) * 2,
        "evidence": tuple(0.01 * v for v in range(number)),
    }
    many = replace(table, rows=(many,))
    page = render(replace(mixed.report, features=(many,)))
    assert "level 39<" in page
    assert "level 27<" not in page
    assert "and 28 levels more with less evidence" in page


def test_a_table_of_flags_alone_has_the_posterior_of_alpha_in_either_model():
    generator = np.random.default_rng(0)
    frame = clinic()[["state"]]
    ill = (frame["state"] == "ill").to_numpy()
    for j in range(30):
        frame[f"flag{j}"] = (generator.random(80) < 0.4 + 0.3 * ill * (j < 3)).astype(int)
    found = {
        model: make_report(frame, "state", n_folds=2, n_repeats=1, path=False, model=model)
        for model in ("mixed", "binary")
    }
    densities = [report.posterior for report in found.values()]
    np.testing.assert_allclose(densities[0].log_alpha, densities[1].log_alpha)
    for name, density in densities[0].by_method.items():
        np.testing.assert_allclose(density, densities[1].by_method[name])
