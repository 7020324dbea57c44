"""The real data: what is stored, how it is prepared, and what a wrong folder says."""

import os

import numpy as np
import pytest

from honestbayes.datasets import load_colon, load_leukemia

needs_data = pytest.mark.skipif(
    not os.environ.get("HONESTBAYES_DATA"),
    reason="HONESTBAYES_DATA does not name a folder with the real data",
)


@pytest.fixture
def colon_folder(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "colon_alon.npz",
        X=rng.lognormal(5, 2, (4, 3)),
        y=np.array([1, 0, 1, 0], dtype=np.int8),
        gene=np.array(["Hsa.1", "i......2", "b."]),
        patient=np.array([1, 1, 2, 3], dtype=np.int16),
    )
    return tmp_path


def test_leukemia_has_27_all_and_11_aml_cases_with_unique_gene_names():
    data = load_leukemia()
    assert data.X.shape == (38, 3051)
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    assert np.bincount(data.y).tolist() == [27, 11]
    assert data.classes == ("ALL", "AML")
    assert len(set(data.feature_names.tolist())) == 3051
    assert "Golub" in data.description
    assert data.groups is None


def test_leukemia_arrays_are_standardised_and_hold_no_pickle():
    X = load_leukemia().X.astype(float)
    assert np.allclose(X.mean(axis=1), 0, atol=1e-5)
    assert np.allclose(X.std(axis=1, ddof=1), 1, atol=1e-5)


def test_colon_takes_logarithms_and_standardises_each_row(colon_folder):
    data = load_colon(colon_folder)
    raw = np.load(colon_folder / "colon_alon.npz", allow_pickle=False)["X"]
    for row, prepared in zip(raw, data.X, strict=True):
        logs = [np.log10(value) for value in row]
        assert prepared == pytest.approx((logs - np.mean(logs)) / np.std(logs))
    assert data.feature_names.tolist() == ["Hsa.1", "i.2", "b."]
    assert data.groups.tolist() == [1, 1, 2, 3]


def test_colon_intensities_are_given_as_they_are_where_that_is_asked_for(colon_folder):
    stored = np.load(colon_folder / "colon_alon.npz", allow_pickle=False)["X"]
    data = load_colon(colon_folder, standardize=False)
    np.testing.assert_array_equal(data.X, stored)
    assert data.X.dtype == np.float64
    assert "Raw intensities" in data.description
    assert "standardised" in load_colon(colon_folder).description


def test_colon_is_found_through_the_environment(colon_folder, monkeypatch):
    monkeypatch.setenv("HONESTBAYES_DATA", str(colon_folder))
    assert load_colon().X.shape == (4, 3)


def test_colon_without_a_folder_names_the_variable(monkeypatch):
    monkeypatch.delenv("HONESTBAYES_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="HONESTBAYES_DATA"):
        load_colon()


def test_colon_in_a_folder_without_the_file_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"colon_alon\.npz is not in the folder"):
        load_colon(tmp_path)


def test_colon_refuses_pickled_objects(tmp_path):
    np.savez(
        tmp_path / "colon_alon.npz",
        X=np.ones((2, 2)),
        y=np.array([0, 1]),
        gene=np.array(["a", "b"], dtype=object),
        patient=np.array([1, 2]),
    )
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_colon(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"X": -np.ones((4, 3))},
        {"X": np.full((4, 3), np.nan)},
        {"X": np.ones(4)},
        {"y": np.array([0, 1, 2, 1])},
        {"patient": np.array([1, 2])},
        {"gene": np.array(["a"])},
    ],
)
def test_colon_refuses_a_file_with_other_contents(colon_folder, change):
    stored = dict(np.load(colon_folder / "colon_alon.npz", allow_pickle=False))
    np.savez(colon_folder / "colon_alon.npz", **{**stored, **change})
    with pytest.raises(ValueError, match="does not hold positive intensities"):
        load_colon(colon_folder)


def test_colon_names_the_arrays_that_are_missing(tmp_path):
    np.savez(tmp_path / "colon_alon.npz", X=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"lacks the arrays \['gene', 'patient', 'y'\]"):
        load_colon(tmp_path)


@needs_data
def test_colon_has_40_tumours_and_22_patients_who_gave_a_pair():
    data = load_colon()
    assert data.X.shape == (62, 2000)
    assert np.bincount(data.y).tolist() == [22, 40]
    assert np.sum(np.unique(data.groups, return_counts=True)[1] == 2) == 22
    assert len(set(data.feature_names.tolist())) == 2000
    assert np.allclose(data.X.mean(axis=1), 0)
    assert np.allclose(data.X.std(axis=1), 1)


@needs_data
def test_bright_arrays_are_above_medians_of_raw_intensities_and_logarithms_do_not_help():
    # What the page of the experiment says of the literal reading of the paper.
    raw = load_colon(standardize=False).X
    above = raw > np.median(raw, axis=0)
    logs = np.log10(raw)
    np.testing.assert_array_equal(above, logs > np.median(logs, axis=0))
    share = above.mean(axis=1)
    assert share.min() < 0.15
    assert share.max() > 0.85
    standardised = load_colon().X
    share = (standardised > np.median(standardised, axis=0)).mean(axis=1)
    assert 0.3 < share.min() < share.max() < 0.7
