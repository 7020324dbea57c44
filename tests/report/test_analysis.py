"""The record of a report holds what direct computation gives."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from grids import few
from hostile_table import HOSTILE, LABELS, hostile_frame
from mixed_table import clinic, mixed_frame
from scipy.special import logit

import honestbayes
from honestbayes import SelectiveBernoulliNB
from honestbayes.evaluation import cross_validate
from honestbayes.report.analysis import analyse, data_summary
from honestbayes.report.methods import CORRECTED, CORRECTED_SLOPE, UNCORRECTED, fit_model
from honestbayes.report.notebook import make_report
from honestbayes.report.options import Options, check_folder
from honestbayes.report.render import write_folder
from honestbayes.report.wording import percent
from honestbayes.tables import read_training
from honestbayes.tables.errors import InputError
from honestbayes.tables.files import frame_table
from honestbayes.tables.model import TableModel

MODELS = ("mixed", "binary")


def test_held_out_results_are_those_of_cross_validation(analysis, table):
    report = analysis.report
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0)
    direct = cross_validate(model, table.X, table.y, cv=2, n_repeats=2, random_state=0)
    assert report.in_use == CORRECTED_SLOPE
    assert report.cases.held_out == pytest.approx(direct.proba.mean(axis=0))
    assert report.method(CORRECTED_SLOPE).summary.log_score == direct.summary().log_score
    frequency = dict(zip(table.X.columns, direct.selected_frequency, strict=True))
    rows = report.feature_rows()
    assert [f["selected"] for f in rows] == [frequency[f["name"]] for f in rows]


def test_differences_are_of_the_method_minus_the_model_in_use(analysis):
    report = analysis.report
    used = report.method(report.in_use)
    assert used.log_score_difference is None
    for method in report.methods:
        if method is not used:
            gap = method.summary.log_score.value - used.summary.log_score.value
            assert method.log_score_difference.value == pytest.approx(gap)
            low, high = method.log_score_difference.interval
            assert low <= method.log_score_difference.value <= high


def test_the_final_model_is_fitted_to_all_rows(analysis, table):
    model = SelectiveBernoulliNB(n_features_to_select=5, random_state=0).fit(table.X, table.y)
    assert analysis.report.cases.fitted == pytest.approx(model.predict_proba(table.X)[:, 1])
    assert analysis.report.ranking.n_discarded == table.X.shape[1] - 5
    assert analysis.report.ranking.bound == pytest.approx(model.selection_.gamma)


@pytest.mark.parametrize("coded", [True, False])
def test_the_overview_of_columns_agrees_with_the_table(coded):
    frame = clinic()
    table = read_training(frame_table(frame, "clinic.csv"), target="state", coded=coded)
    columns = {column.name: column for column in data_summary(table, "clinic.csv").columns}
    for name, column in columns.items():
        observed = frame[name].dropna()
        assert column.n_missing == len(frame) - len(observed)
        assert column.n_distinct == observed.nunique()
        if column.read_as == "continuous":
            assert sum(column.histogram) == len(observed)
            assert f"{observed.min():.4g} to {observed.max():.4g}, median" in column.values
        else:
            assert column.histogram == ()
            for value, share in observed.value_counts(normalize=True)[:3].items():
                assert f"{value} {percent(share)}" in column.values
    assert columns["stage"].read_as == "categorical"
    assert columns["smoker"].read_as == columns["flag"].read_as == "binary"


def test_the_informative_columns_are_found_and_described(analysis):
    by_column = {row["column"]: row for row in analysis.report.feature_rows()}
    assert set(HOSTILE) <= set(by_column)
    assert all(by_column[name]["means_one"].startswith("above ") for name in HOSTILE)
    assert all(by_column[name]["p_positive"] > by_column[name]["p_negative"] for name in HOSTILE)
    assert all(by_column[name]["evidence_if_one"] > 0 for name in HOSTILE)


@pytest.mark.parametrize("model", MODELS)
def test_prevalence_moves_the_model_by_the_exact_offset(table, model):
    plain = fit_model(table, Options(n_features=5, model=model))
    moved = fit_model(table, Options(n_features=5, prevalence=0.02, model=model))
    gap = logit(moved.predict_proba(table.X)[:, 1]) - logit(plain.predict_proba(table.X)[:, 1])
    n0, n1 = np.bincount(table.y)
    assert gap == pytest.approx(np.full(60, logit(0.02) - np.log((n1 + 1) / (n0 + 1))))


@few("model", MODELS, ["mixed"])
def test_the_model_in_use_follows_the_wish_not_to_recalibrate(table, model):
    options = Options(
        n_features=3,
        n_folds=2,
        n_repeats=1,
        path=False,
        compare=False,
        recalibrate=False,
        model=model,
    )
    found = analyse(table, options, name="x")
    assert "not run on these folds" in found.report.verdict.advice
    assert found.report.in_use == CORRECTED
    assert found.model.slope_ == 1
    assert found.report.paths == {}


def test_the_json_file_is_strict_json_and_holds_the_names_as_they_are(folder, analysis):
    def refuse(word):
        raise AssertionError(word)

    data = json.loads((folder / "report.json").read_text("ascii"), parse_constant=refuse)
    assert {feature["column"] for feature in data["features"]} >= set(HOSTILE)
    assert data["data"]["labels"] == list(LABELS)
    assert data["verdict"]["calibration"] == analysis.report.verdict.calibration
    assert len(data["cases"]["held_out"]) == 60


def test_no_cell_of_the_predictions_starts_a_formula(folder, analysis):
    with (folder / "predictions.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 60
    assert rows[0]["class"] in ("'" + LABELS[1], LABELS[0])
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())
    held_out = [float(row["held_out"]) for row in rows]
    shown = (1 / 62, 61 / 62)
    assert held_out == pytest.approx(np.clip(analysis.report.cases.held_out, *shown), rel=1e-5)
    fitted = [float(row["fitted"]) for row in rows]
    assert fitted == pytest.approx(np.clip(analysis.report.cases.fitted, *shown), rel=1e-5)


def test_the_saved_model_gives_the_fitted_probabilities_bit_for_bit(folder, analysis):
    model = honestbayes.load(folder / "model.honestbayes")
    assert isinstance(model, TableModel)
    p = model.predict_proba(hostile_frame())[:, 1]
    assert np.array_equal(p, analysis.report.cases.fitted)


@pytest.mark.slow  # cli/test_report.py: the command in a report repeats it bit for bit
def test_the_same_seed_gives_the_same_report_and_page(analysis, table, folder, tmp_path):
    options = Options(n_features=5, n_folds=2, n_repeats=2, seed=0, model="binary")
    again = analyse(table, options, name="a<b>.csv", command=analysis.report.command)
    write_folder(again.report, TableModel.of_training(again.model, table), tmp_path / "again")
    for name in ("report.json", "report.html", "predictions.csv", "model.honestbayes"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_report_replaces_a_report_and_nothing_else(analysis, table, tmp_path):
    model = TableModel.of_training(analysis.model, table)
    write_folder(analysis.report, model, tmp_path / "out")
    write_folder(analysis.report, model, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "predictions.csv").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'predictions.csv', which is not part of a report"):
        write_folder(analysis.report, model, tmp_path / "mine")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'notes.txt'"):
        write_folder(analysis.report, model, tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    with pytest.raises(InputError, match="is not a folder"):
        check_folder(tmp_path / "out" / "notes.txt")
    with pytest.raises(InputError, match="does not exist"):
        check_folder(tmp_path / "nowhere" / "out")


@pytest.mark.slow_cases("mixed")
@few("model", MODELS, ["mixed"])
def test_a_class_drawn_at_random_is_said_to_be_unpredictable(model):
    generator = np.random.default_rng(1)
    frame = hostile_frame(n=80, p=150, seed=1).drop(columns=[*HOSTILE, "group <i>", "name"])
    target = "<svg onload=alert(3)>"
    frame[target] = generator.permutation(frame[target].to_numpy())
    table = read_training(frame_table(frame, "random"), target=target)
    report = analyse(table, Options(n_repeats=1, path=False, model=model), name="random").report
    assert report.verdict.calibration == "no signal"
    chance = report.methods[-1].summary.log_score.value
    for method in report.methods[:-1]:
        # Below one half is chance too: folds with more of a class outside have less inside.
        assert method.summary.auc.interval[0] <= 0.5, method.name
        assert method.summary.log_score.interval[1] > chance, method.name


@pytest.mark.slow_cases("binary")
@few("model", MODELS, ["binary"])
def test_groups_reach_every_method(model):
    # Each case twice, with a class that nothing predicts: only groups keep the twins apart.
    generator = np.random.default_rng(3)
    frame = hostile_frame(n=40, p=300, seed=2).drop(columns=[*HOSTILE, "group <i>", "name"])
    target = "<svg onload=alert(3)>"
    frame[target] = generator.permutation(frame[target].to_numpy())
    frame["pair"] = np.arange(40).astype(str)
    twins = frame.loc[frame.index.repeat(2)].reset_index(drop=True)
    options = Options(n_features=20, n_folds=4, n_repeats=1, path=False, model=model)
    alone = read_training(frame_table(twins, "twins"), target=target, ignore=["pair"])
    paired = read_training(frame_table(twins, "twins"), target=target, groups="pair")
    blind = analyse(alone, replace(options, compare=False), name="twins").report
    knowing = analyse(paired, options, name="twins").report
    assert blind.method(UNCORRECTED).summary.auc.interval[0] > 0.5  # chance is excluded
    for method in knowing.methods[:-1]:
        assert method.summary.auc.interval[0] < 0.5, method.name
    assert knowing.data.n_groups == 40


@pytest.mark.slow  # test_honest.py has the same of the model that is taken by default
def test_a_frame_in_memory_gives_the_same_report(analysis, folder, tmp_path):
    report = make_report(
        hostile_frame().drop(columns="name"),
        "<svg onload=alert(3)>",
        folder=tmp_path / "out",
        n_features=5,
        n_folds=2,
        n_repeats=2,
        model="binary",
    )
    assert report.verdict == analysis.report.verdict
    model = (tmp_path / "out" / "model.honestbayes").read_bytes()
    assert model == (folder / "model.honestbayes").read_bytes()


@pytest.mark.slow_cases("cv")
@pytest.mark.parametrize("number", ["all", "cv"])
def test_a_page_is_written_however_the_number_of_features_is_asked_for(number, tmp_path):
    frame = mixed_frame(n=44).drop(columns="name")
    report = make_report(
        frame,
        "<svg onload=alert(3)>",
        folder=tmp_path / "out",
        n_features=number,
        n_folds=2,
        quick=True,
        model="mixed",
    )
    assert report.settings["n_features"] == number
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
