"""Files of older versions load: what they lack has the value that was in force then."""

import json
import tarfile
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
from fits import fitted
from golden import record
from model_files import changed, taken_apart

import honestbayes
from honestbayes import SelectiveGaussianNB
from honestbayes.base.persistence import CriterionName
from honestbayes.files import ModelFileError
from honestbayes.files.fields import (
    REQUIRED,
    Entries,
    Floats,
    Number,
    Texts,
    Whole,
    record_from_plain,
    record_to_plain,
)


@pytest.fixture(scope="session")
def oldest(tmp_path_factory):
    """The oldest files that are kept, by name."""
    folder = tmp_path_factory.mktemp("oldest")
    with tarfile.open(record.STORED / record.ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return {path.stem: path for path in sorted(folder.rglob("*.honestbayes"))}


def description(path):
    return json.loads(taken_apart(path)["model.json"])


def without(*params):
    def change(document, arrays):
        del arrays
        for name in params:
            del document["content"]["parameters"][name]

    return change


def kinds_of(oldest):
    """Estimators of which there are files, with the parameters that these hold."""
    for path in oldest.values():
        document = description(path)
        kind = getattr(honestbayes, document["kind"], None)
        if kind is not None:  # else a model of tables, which holds an estimator
            yield kind, set(document["content"]["parameters"])


@pytest.fixture
def stored(tmp_path):
    """A file of today."""
    fitted("real").save(tmp_path / "today")
    return tmp_path / "today"


def test_the_value_in_force_then_is_used_and_not_todays_default(stored, tmp_path, monkeypatch):
    fields = {"criterion": CriterionName(absent="f")}
    monkeypatch.setattr(SelectiveGaussianNB, "_parameter_fields", fields)
    older = changed(stored, tmp_path / "older", without("criterion"))
    assert honestbayes.load(older).criterion == "f"


def test_a_parameter_that_every_file_has_may_not_be_missing(stored, tmp_path):
    broken = changed(stored, tmp_path / "broken", without("recalibrate"))
    with pytest.raises(ModelFileError, match=r"parameters\.recalibrate is missing"):
        honestbayes.load(broken)


def test_an_unknown_parameter_is_refused_by_name(stored, tmp_path):
    def change(document, arrays):
        del arrays
        document["content"]["parameters"]["tomorrow"] = 1

    with pytest.raises(ModelFileError, match=r"parameters\.tomorrow is unknown"):
        honestbayes.load(changed(stored, tmp_path / "newer", change))


def test_the_oldest_file_of_every_kind_still_loads(oldest):
    assert len(oldest) >= 9
    for path in oldest.values():
        honestbayes.load(path)


def test_every_parameter_is_in_the_oldest_files_or_has_a_value_for_them(oldest):
    checked = set()
    for kind, params in kinds_of(oldest):
        fields = kind._fields_of_parameters()
        later = {name for name, field in fields.items() if field.absent is not REQUIRED}
        new = set(fields) - params - later - {"estimator"}
        assert new == set(), f"{kind.__name__} has no value of {new} for older files"
        checked.add(kind)
    assert len(checked) >= 9


@dataclass(frozen=True)
class Spread:
    """A record that has grown: ``centre`` and ``names`` came later."""

    width: Annotated[np.ndarray, Floats("columns", low=0.0)]
    number: Annotated[int, Whole()]
    centre: Annotated[float, Number(absent=0.5)] = 0.0
    names: Annotated[tuple | None, Texts(absent=None)] = None


def read(content, arrays):
    entries = Entries(content, arrays)
    found = record_from_plain(Spread, entries, {})
    entries.finish()
    return found


def test_a_field_that_older_files_lack_has_its_value_of_then():
    found = read({"number": 3}, {"width": np.ones(2)})
    assert found.centre == 0.5  # not the default of today
    assert found.names is None


def test_a_field_that_is_there_is_read():
    before = Spread(np.ones(2), 3, 0.25, ("a", "é"))
    found = read(*record_to_plain(before))
    assert (found.centre, found.names, found.number) == (0.25, ("a", "é"), 3)
    np.testing.assert_array_equal(found.width, before.width)


@pytest.mark.parametrize(
    ("content", "arrays", "message"),
    [
        ({"number": 3}, {}, "width is missing"),
        ({}, {"width": np.ones(2)}, "number is missing"),
        ({"number": 3, "more": 1}, {"width": np.ones(2)}, "more is unknown"),
        ({"number": 3}, {"width": np.ones((2, 1))}, "width is an array of"),
        ({"number": 3}, {"width": -np.ones(2)}, "width is not from 0"),
        ({"number": -1}, {"width": np.ones(2)}, "number is not a number from 0"),
        ({"number": True}, {"width": np.ones(2)}, "number is not a number from 0"),
        ({"number": 3, "centre": "x"}, {"width": np.ones(2)}, "centre is 'x'"),
    ],
)
def test_what_a_record_cannot_be_is_refused(content, arrays, message):
    with pytest.raises(ModelFileError, match=message):
        read(content, arrays)
