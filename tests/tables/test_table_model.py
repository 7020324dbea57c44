"""A model that takes tables as they are: the same from a file, in parts, or from any frame."""

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from fits import clinic_frame as frame
from fits import of_clinic
from model_files import changed

import honestbayes
from honestbayes import SelectiveMixedNB
from honestbayes.files import ModelFileError
from honestbayes.tables import open_table
from honestbayes.tables.checks import row_digests
from honestbayes.tables.errors import InputError


@pytest.fixture(params=["mixed", "binary"])
def fitted(request):
    return of_clinic(coded=request.param == "mixed")


@pytest.fixture
def saved(fitted, tmp_path):
    fitted[0].save(tmp_path / "good.honestbayes")
    return tmp_path / "good.honestbayes"


def test_it_predicts_what_the_estimator_predicts_from_frames_of_any_kind(fitted):
    model, estimator, table = fitted
    expected = estimator.predict_proba(table.X)
    rows = frame()
    for kind in (rows, pl.from_pandas(rows), pa.Table.from_pandas(rows), rows.iloc[:, ::-1]):
        assert np.array_equal(model.predict_proba(kind), expected)
    labels = model.predict(rows)
    assert set(labels) == {"healthy", "sick"}
    assert ((labels == "sick") == (expected[:, 1] >= 0.5)).all()


def test_a_file_in_parts_gives_what_the_frame_gives(fitted, tmp_path):
    frame(3000, seed=1).to_csv(tmp_path / "long.csv", index=False)
    parts = [
        fitted[0].estimator.predict_proba(features)
        for features, _, _ in fitted[0].batches(open_table(tmp_path / "long.csv"))
    ]
    whole = fitted[0].predict_proba(frame(3000, seed=1))
    assert np.array_equal(np.concatenate(parts), whole)


def test_unknown_levels_are_missing_and_named(fitted):
    rows = frame()
    rows["stage"] = rows["stage"].where(rows.index != 0, "IV")
    values, unknown = fitted[0].encode(rows)
    assert unknown == {"stage": ("IV",)}
    rows.loc[0, "stage"] = None
    assert np.array_equal(values, fitted[0].encode(rows)[0], equal_nan=True)


def test_columns_that_are_not_there_are_named(fitted, tmp_path):
    with pytest.raises(InputError, match="has no column 'dose'"):
        fitted[0].predict_proba(frame().drop(columns="dose"))
    frame().drop(columns=["dose", "stage"]).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(InputError, match=r"few.csv lacks 2 columns that the model needs: '.*'\."):
        next(fitted[0].batches(open_table(tmp_path / "few.csv")))


CORRUPTIONS = [
    (lambda c: c.update(labels=["a", "a"]), "labels are not two or more different texts"),
    (lambda c: c.update(labels=["a"]), "labels are not two or more different texts"),
    (lambda c: c.update(target=3), "target is not a text"),
    (lambda c: c.pop("encoding"), "encoding is missing"),
    (lambda c: c["encoding"]["names"].reverse(), "do not fit together"),
    (lambda c: c.update(estimator_kind="dict"), "estimator_kind is unknown"),
    (lambda c: c.update(estimator_kind=["SelectiveMixedNB"]), "estimator_kind is unknown"),
    (lambda c: c["encoding"].update(levels={}), "encoding is refused"),
    (lambda c: c["encoding"]["columns"].__setitem__(0, 7), "encoding is refused"),
    (lambda c: c.update(more=1), "more is unknown"),
    (lambda c: c.update(missing="-"), "missing is not a list of texts"),
    (lambda c: c.update(missing=["-", 9]), "missing is not a list of texts"),
    (lambda c: c.update(trained_on="patients.csv"), "trained_on is not a hash"),
    (
        lambda c: c["estimator"].update(kept_columns_only=False),
        "different name for each column|not fit|differs from the selection",
    ),
    (lambda c: c["estimator"].pop("recalibration"), "recalibration is missing"),
]


@pytest.mark.parametrize(("corrupt", "message"), CORRUPTIONS, ids=[m for _, m in CORRUPTIONS])
def test_what_cannot_be_a_model_is_refused(saved, tmp_path, corrupt, message):
    changed(
        saved,
        tmp_path / "bad.honestbayes",
        lambda document, _: corrupt(document["content"]),
    )
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(tmp_path / "bad.honestbayes")


def test_words_for_missing_cells_and_the_hash_of_the_training_are_kept(fitted, tmp_path):
    model, _, table = fitted
    model = replace(model, missing=("-", "999"))
    model.save(tmp_path / "m.honestbayes")
    loaded = honestbayes.load(tmp_path / "m.honestbayes")
    assert loaded.missing == ("-", "999")
    assert loaded.trained_on == model.trained_on
    rows = frame()
    gaps, words = rows.copy(), rows.astype({"dose": object})
    gaps.loc[:3, "dose"], words.loc[:3, "dose"] = np.nan, 999.0
    words["dose"] = words["dose"].astype(float)
    assert np.array_equal(loaded.predict_proba(words), model.predict_proba(gaps))
    features = loaded.encode(rows)[0]
    assert loaded.was_trained_on(row_digests(features, table.y))
    assert loaded.was_trained_on(row_digests(features[::-1], table.y[::-1]))
    assert not loaded.was_trained_on(row_digests(features[1:], table.y[1:]))
    assert not loaded.was_trained_on(row_digests(features, 1 - table.y))


def test_a_file_names_its_estimator(fitted):
    model, estimator, _ = fitted
    content, _ = model._to_plain()
    assert content["estimator_kind"] == type(estimator).__name__
    assert ("coded" in content["encoding"]) == isinstance(estimator, SelectiveMixedNB)
