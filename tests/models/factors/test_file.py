"""Files of the factor models: what has no meaning is refused, or not written."""

import pickle

import numpy as np
import pytest
from fits import fitted
from model_files import changed

import honestbayes
from honestbayes.files import ModelFileError

TWO_CLASSES = "factors, two classes"


@pytest.mark.slow_cases("factors-part0.drawn.location-<lambda>-location holds")
@pytest.mark.parametrize(
    ("name", "array", "how", "message"),
    [
        ("factors", "part0.drawn.location", lambda a: a * np.nan, "location holds"),
        ("factors", "part0.drawn.spread", lambda a: -a, "spread is not from"),
        (
            "factors, two classes",
            "part0.drawn.loadings",
            lambda a: a * 1e20,
            "leave next to no noise",
        ),
        (
            "factors, two classes",
            "part0.drawn.loadings",
            lambda a: a[..., :1],
            "loadings is an array",
        ),
        ("factors", "part0.drawn.unit", lambda a: a * 0, "unit is not positive"),
        ("factors", "part0.choice.n_factors", lambda a: a + 9, "was not tried"),
        ("factors", "part0.posterior.weights", lambda a: a * 2, "weights"),
        ("response", "drawn.centre", lambda a: a[1:], "centre is an array"),
        ("response", "selection.kept", lambda a: a * 0, "kept are not columns"),
        ("response", "selection.groups", lambda a: a + 1, "groups"),
    ],
)
def test_a_file_with_valid_checksums_and_no_meaning_is_refused(tmp_path, name, array, how, message):
    fitted(name).save(tmp_path / "good")

    def change(_, arrays):
        arrays[array] = how(arrays[array])

    path = changed(tmp_path / "good", tmp_path / "bad", change)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("factors", ("parameters", "n_factors"), "many", "neither a number nor"),
        ("factors", ("parameters", "n_chains"), 0, "n_chains=0"),
        ("factors", ("parameters", "checkpoint"), "/tmp/x", "checkpoint"),
        ("factors", ("part0", "n_factors"), -1, "not a number of factors"),
        ("factors", ("feature_prior",), "uniform", "feature_prior"),
        ("factors", ("parts",), ["real"], "parts are not those of Selective"),
        ("response", ("selection", "gamma_squared"), [3, 2], "not a share"),
        ("response", ("selection", "n_cases"), 10**400, "not a possible number"),
        ("response", ("parameters", "correction"), "counts", "correction='counts'"),
        ("response", ("variance_prior", "scale"), 0.0, "not positive"),
    ],
)
def test_a_description_without_meaning_is_refused(tmp_path, name, place, value, message):
    fitted(name).save(tmp_path / "good")

    def change(document, _):
        *path, last = place
        section = document["content"]
        for key in path:
            section = section[key]
        section[last] = value

    path = changed(tmp_path / "good", tmp_path / "bad", change)
    with pytest.raises(ModelFileError, match=message):
        honestbayes.load(path)


def test_what_cannot_be_read_again_is_not_written(tmp_path):
    model = fitted("response")
    odd = pickle.loads(pickle.dumps(model))
    odd.draws_["spread"][:] = 0.0
    with pytest.raises(ValueError, match=r"cannot be saved: .*spread"):
        odd.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
