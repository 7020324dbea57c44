"""Files of the real-valued, categorical and mixed models: what has no meaning is refused."""

import numpy as np
import pytest
from fits import NAIVE_BAYES, fitted
from model_files import changed

import honestbayes
from honestbayes.files import ModelFileError


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("real", {"part0.mean": lambda a: a * np.nan}, "mean"),
        ("real", {"part0.within": lambda a: -1 - a}, "within"),
        ("real", {"part0.posterior.weights": lambda a: a * 2}, "weights"),
        ("real", {"part0.posterior.ratio": lambda a: a[::-1]}, "ratio"),
        ("real", {"log_prior": lambda a: a - 1}, "log_prior does not sum to 1"),
        ("categorical", {"part0.ranked.log_prob": lambda a: a / 2}, "not probabilities"),
        ("categorical", {"part0.ranked.counts": lambda a: a + 100}, "more than the cases"),
        ("categorical", {"part0.levels.n_levels": lambda a: a * 0}, "less than two"),
        ("mixed", {"kinds": lambda a: a * 0}, "kinds"),
    ],
)
def test_a_file_with_valid_checksums_and_no_meaning_is_refused(tmp_path, name, change, message):
    fitted(name).save(tmp_path / "good.honestbayes")

    def apply(_, arrays):
        for array, how in change.items():
            arrays[array] = how(arrays[array])

    path = changed(tmp_path / "good.honestbayes", tmp_path / "bad.honestbayes", apply)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


def test_what_is_stored_is_plain():
    model = fitted("mixed")
    content, arrays = model._to_plain()
    assert all(a.dtype.kind in "iufb" for a in arrays.values())
    assert set(content["parameters"]) == set(model.get_params())


def test_a_model_on_kept_columns_knows_their_kinds_alone():
    for name in (name for name in NAIVE_BAYES if name.startswith("mixed")):
        model = fitted(name)
        assert len(model.on_kept_columns().kinds_) == len(model.get_feature_names_out())
