"""Model files of every kind that were tampered with: a model, or one sentence, and nothing else.

Mutations keep checksums valid, so that what is read has to make sense (`model_files.mutated`).
"""

import json
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from checkpoints import predictions
from fits import FITS, fitted
from fuzzed_files import rows_for
from grids import each_once
from model_files import changed, mutated, taken_apart

import honestbayes
from honestbayes.catalogue import all_specs
from honestbayes.files import ModelFileError
from honestbayes.loading import loadable_kinds
from honestbayes.tables.errors import InputError
from honestbayes.tables.model import TableModel

HOSTILE = [name for name, fit in FITS.items() if fit.mutations]


FIRST = 60
"""How many mutations of a file the ordinary run tries."""


UNKNOWN_LEVELS = (
    "ignore:(column .* has categories that were not in training|.*not seen in fit"
    "|column .* was .* in all training rows)"
)
"""A mutation may rename a category of a text column, or move the cut of a binary one."""


@pytest.mark.slow_cases(
    "factors, two classes",
    "factors",
    "interactions",
    "mixed, two classes",
    "mixed",
    "networks",
    "response, interactions",
    "response",
    "table, mixed",
)
@pytest.mark.filterwarnings(UNKNOWN_LEVELS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_mutated_file_loads_as_a_model_or_is_refused(name, tmp_path):
    load_mutated(name, min(FIRST, FITS[name].mutations), tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings(UNKNOWN_LEVELS)
@pytest.mark.parametrize("name", [name for name in HOSTILE if FITS[name].mutations > FIRST])
def test_of_many_mutated_files_each_loads_as_a_model_or_is_refused(name, tmp_path):
    load_mutated(name, FITS[name].mutations, tmp_path)


def load_mutated(name, n_mutations, folder):
    good, bad, mark = (folder / word for word in ("good", "bad.honestbayes", "executed"))
    fitted(name).save(good)
    loaded = 0
    for seed in range(n_mutations):
        mutated(good, bad, seed, mark)
        loaded += loads_or_is_refused(bad, FITS[name].X)
    assert not mark.exists()
    # Most mutations are found.
    assert 0 < loaded < FITS[name].passing * n_mutations


def test_mutations_of_every_kind_are_tried_often(tmp_path):
    fitted("plain").save(tmp_path / "good")
    kinds = Counter(
        mutated(tmp_path / "good", tmp_path / "bad", seed, tmp_path / "mark") for seed in range(150)
    )
    assert sorted(kinds) == ["array", "bytes", "entries", "header", "json"]
    assert min(kinds.values()) >= 8


def test_no_kind_of_model_file_is_left_out():
    public = (getattr(honestbayes, name) for name in honestbayes.__all__)
    kinds = {kind for kind in public if hasattr(kind, "save")} | {TableModel}
    kinds |= {spec.estimator for spec in all_specs()}
    assert {FITS[name].kind for name in HOSTILE} == kinds
    names = {kind._kind for kind in kinds - {TableModel}} | {"table model"}
    assert names == set(loadable_kinds())


def loads_or_is_refused(path, X):
    """Whether a file loads; what the model says then makes sense. No other error passes."""
    try:
        model = honestbayes.load(path)
    except ModelFileError as error:
        sentence = str(error)
    else:
        judge(model, X)
        return True
    assert "\n" not in sentence
    assert len(sentence) < 400
    return False


def judge(model, X):
    """Look at what a model says of rows, where it knows their columns."""
    rows = rows_for(model, X)
    if rows is None:
        return
    if not hasattr(model, "predict"):
        assert model.transform(rows).shape[0] == len(rows)
        assert str(getattr(model, "path_", model))
    elif hasattr(model, "predict_proba"):
        try:
            p = model.predict_proba(rows)
        except InputError:  # a column or level of another name is a valid model of other tables
            return
        assert np.all(np.isfinite(p))
        assert np.all((p >= 0) & (p <= 1))
        assert np.allclose(p.sum(axis=1), 1, atol=1e-12)
    else:
        assert model.predict(rows).shape == (len(rows),)


NUMBERS_OF_FACTORS = {
    "drawn.location": [1e29, -1e29, 1e100],
    "drawn.spread": [1e-300, 1e59, 1e300],
    "drawn.unit": [1e-308, 1e301, 1.7e308],
    "drawn.centre": [1.7e308, -1.7e308],
    "unit": [5e-324, 1e301, 1.7e308],
}


@pytest.mark.slow_cases("factors", "real", "response")
@pytest.mark.parametrize("name", ["factors", "factors, none", "response", "real"])
def test_extreme_numbers_in_a_forged_file_give_finite_predictions_or_are_refused(name, tmp_path):
    fitted(name).save(tmp_path / "good")
    rows = FITS[name].X * np.array([[1.0], [1e300], [-1e-300]] * 15)
    passed = 0
    for first, second in combinations(NUMBERS_OF_FACTORS, 2):
        for one, other in product(NUMBERS_OF_FACTORS[first], NUMBERS_OF_FACTORS[second]):

            def change(_document, arrays, forged=((first, one), (second, other))):
                for (ending, value), array in product(forged, arrays):
                    if f".{array}".endswith(f".{ending}"):
                        arrays[array][:] = value

            try:
                model = honestbayes.load(changed(tmp_path / "good", tmp_path / "bad", change))
            except ModelFileError:
                continue
            passed += 1
            assert np.all(np.isfinite(predictions(model, rows))), (first, one, second, other)
    assert passed > 10


LARGE = {"class_pseudocounts", "binarize", "tol", "smoothing"}
"""Numbers that may be large."""


@pytest.mark.slow_cases("factors-[1000000000000000000000000000000]")
@each_once(
    "name, nasty",
    ["mixed", "real", "binary, learned", "mixture", "factors", "plain"],
    [[[1]], 10**30, -(10**30), 10**400, [10**30], {"a": [1]}],
)
def test_a_list_or_a_number_beyond_64_bits_anywhere_is_refused(name, nasty, tmp_path):
    fitted(name).save(tmp_path / "good")
    keys = json.loads(taken_apart(tmp_path / "good")["model.json"])["content"]
    places = [(key,) for key in keys] + [("parameters", key) for key in keys["parameters"]]
    for place in places:
        if place[-1] in LARGE and nasty in (10**30, -(10**30), [10**30]):
            continue

        def change(document, _arrays, place=place):
            inside = document["content"]
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = nasty

        with pytest.raises(ModelFileError):
            honestbayes.load(changed(tmp_path / "good", tmp_path / "bad", change))


def renamed(_document, arrays):
    """Turn the names of the columns round, as bytes."""
    arrays["feature_names.text"] = arrays["feature_names.text"][::-1].copy()


def twice(_document, arrays):
    """Give all columns the name of no letters."""
    arrays["feature_names.text"] = arrays["feature_names.text"][:0]
    arrays["feature_names.ends"] = 0 * arrays["feature_names.ends"]


def scaled(name, factor):
    """Multiply an array."""

    def change(_document, arrays):
        arrays[name] = arrays[name] * factor

    return change


def turned(name):
    """Turn an array round."""

    def change(_document, arrays):
        arrays[name] = arrays[name][::-1].copy()

    return change


FORGED = {
    "an average whose models know other names": ("honest", renamed, "names"),
    "a model of columns of one name": ("plain", twice, "different name for each column"),
    "kinds of other columns": ("mixed", turned("kinds"), "differs from the selection's"),
    "coefficients whose squares overflow": (
        "logistic, all",
        scaled("part0.posterior.mean", 1e200),
        "is not from -1e",
    ),
    "a covariance below zero": (
        "discriminant, flat",
        scaled("part0.covariance.factor", -1.0),
        "is not a covariance",
    ),
    "rates of ones that are all 0": (
        "binary, named",
        scaled("part0.ranked.prior.rule.theta", 0.0),
        "is not inside its cells",
    ),
    "scores whose squares overflow": (
        "subsets, sampled",
        scaled("draws.score", 1e200),
        "is not from -1e",
    ),
}


@pytest.mark.parametrize(("name", "change", "complaint"), FORGED.values(), ids=FORGED)
def test_a_forged_file_is_refused_when_it_is_loaded(name, change, complaint, tmp_path):
    fitted(name).save(tmp_path / "good")
    with pytest.raises(ModelFileError, match=complaint) as error:
        honestbayes.load(changed(tmp_path / "good", tmp_path / "bad", change))
    assert "\n" not in str(error.value)
