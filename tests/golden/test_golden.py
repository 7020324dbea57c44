"""What users see is what it was when the record was made.

Bits are compared by `compare.py`, on one machine. Here the record may come from another one, with
other versions of NumPy, SciPy and numba: sums in another order move the last digits, so numbers
agree to within 1e-9. What is drawn by chains agrees to within Monte Carlo error only.
"""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from golden import cases, compare, figures, record

import honestbayes
from honestbayes.evaluation.baselines import BASELINES

CLOSE = 1e-9

STORED = figures.load(record.STORED / "figures.npz")
OF_FILES = figures.load(record.STORED / "files.npz")
"""What the stored model files predicted when they were written, whatever new fits give."""

STORED_MODELS = [name for name, case in cases.MODELS.items() if case.saved and case.stored]
EXACT = [name for name, case in cases.MODELS.items() if case.quick and not case.sampled]
SAMPLED = [name for name, case in cases.MODELS.items() if case.quick and case.sampled]


def differences(stored, found):
    """Names of figures that are not what they were; texts by their words and numbers."""
    missing = [f"{name} is in one only" for name in stored.keys() ^ found.keys()]
    both = stored.keys() & found.keys()
    return sorted([*missing, *(name for name in both if not alike(stored[name], found[name]))])


def alike(one, other, tolerance=CLOSE):
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "US":
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return all(alike_text(a, b, tolerance) for a, b in pairs)
    return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def alike_text(one, other, tolerance=CLOSE):
    """Whether texts have the same words, and numbers that are as good as the same."""
    number = figures.NUMBER
    if number.sub("#", one).split() != number.sub("#", other).split():
        return False
    pairs = zip(number.findall(one), number.findall(other), strict=True)
    return all(alike_number(a, b, tolerance) for a, b in pairs)


def alike_number(one, other, tolerance=CLOSE):
    if one == other:
        return True
    return abs(float(one) - float(other)) <= tolerance * max(1.0, abs(float(one)))


def stored_of(name):
    return figures.of_case(STORED, name)


def found_of(name):
    return figures.of_case(figures.condensed(record.figures_of(name)), name)


# --------------------------------------------------------------------------------- model files


@pytest.fixture(scope="module")
def model_files(tmp_path_factory):
    """The stored model files, each by itself."""
    place = tmp_path_factory.mktemp("models")
    with tarfile.open(record.STORED / record.ARCHIVE) as file:
        file.extractall(place, filter="data")
    return place


@pytest.mark.parametrize("name", STORED_MODELS)
def test_a_stored_model_loads_and_predicts_what_it_predicted(name, model_files):
    model = honestbayes.load(model_files / f"{name}{record.SUFFIX}")
    plain = dict(figures.flat(name, cases.predictions(name, model)))
    found = figures.of_case(figures.condensed(plain), name)
    # Also of chains: their draws are in the file.
    stored = figures.of_case(OF_FILES, name)
    stored = {word: value for word, value in stored.items() if word in found}
    assert differences(stored, found) == []


def test_each_kind_of_model_that_can_be_saved_has_a_stored_file(model_files):
    kinds = set()
    for path in model_files.iterdir():
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as file:
            kinds.add(json.loads(file.read("model.json"))["kind"])
    public = {n for n in honestbayes.__all__ if hasattr(getattr(honestbayes, n), "save")}
    assert kinds == public | {"table model"}


# ---------------------------------------------------------------------------------- fresh fits


@pytest.mark.slow_cases("bernoulli_learned", "categorical_selection", "commands", "mixed_three")
@pytest.mark.parametrize("name", [*EXACT, *cases.TOOLS])
def test_a_fresh_fit_gives_the_stored_figures(name):
    assert differences(stored_of(name), found_of(name)) == []


ONLY_READ = ("selection_", "classes_", "class_count_", "names_out", "support", "variance_prior_")
"""Of a sampled model, what no chain has a part in."""


@pytest.mark.slow_cases("factor_two", "factor_three")
@pytest.mark.parametrize("name", SAMPLED)
def test_fresh_chains_agree_with_the_stored_ones_to_within_monte_carlo_error(name):
    # On another machine a chain takes another way once a last digit decides a step.
    stored, found = stored_of(name), found_of(name)
    read = [{k: v for k, v in one.items() if k.startswith(ONLY_READ)} for one in (stored, found)]
    assert differences(*read) == []
    assert [k for k, gap in chain_gaps(stored, found).items() if not gap <= FARTHEST] == []


FARTHEST = 6.0
"""Standard errors. Those of short chains are themselves uncertain."""


def chain_gaps(stored, found):
    """The largest differences of means and predictions, in Monte Carlo standard errors."""
    result = {}
    error = np.hypot(stored["diagnostics_.mcse"], found["diagnostics_.mcse"])
    gap = np.abs(stored["diagnostics_.mean"] - found["diagnostics_.mean"])
    result["diagnostics"] = np.max(np.divide(gap, error, out=np.zeros_like(gap), where=gap > 0))
    worth = min(np.min(one[f"diagnostics_.{kind}"]) for one in (stored, found) for kind in ESS)
    for name, spread in predicted_spreads(stored).items():
        # A prediction is a mean over draws; its error follows from their spread and number.
        error = spread * np.sqrt(2 / max(worth, 1.0)) + CLOSE
        result[name] = np.max(np.abs(stored[name] - found[name]) / error)
    return result


ESS = ("ess_bulk", "ess_tail")


def predicted_spreads(stored):
    """How far what is predicted varies over draws, from intervals that hold 90%."""
    if "interval" not in stored:
        return {"mean": stored["sd"]}
    bounds = stored["interval"]
    width = (bounds[..., 1] - bounds[..., 0]) / (2 * 1.645)
    # For two classes the bounds are those of the second one.
    return {"proba": width if width.ndim > 1 else np.stack([width, width], axis=1)}


# ------------------------------------------------------------------------- the command line


@pytest.fixture(scope="module")
def folder():
    with record.folder_of_files() as place:
        yield place


@pytest.mark.slow_cases("messy")
@pytest.mark.parametrize("name", record.REPORTS)
def test_a_report_says_what_it_said(name, folder):
    stored = json.loads((record.STORED / "reports" / f"{name}.json").read_text("ascii"))
    found = json.loads(record.report_of(name, folder)[f"{name}.json"])
    assert list(tree_differences("", without_chains(stored), without_chains(found))) == []


def without_chains(report):
    """Of the mixture keep what is an average over draws and cases; counts of cases may jump."""
    few = []
    for method in report["methods"]:
        if method["name"] == "two-component mixture":
            words = ("expected_error", "mean_probability", "n_cases")
            few.append({"name": method["name"]} | {w: method["summary"][w] for w in words})
        else:
            few.append(method)
    return report | {"methods": few}


LOOSE = dict.fromkeys((baseline.name for baseline in BASELINES), 0.01) | {
    "two-component mixture": 0.05
}
"""Methods whose numbers depend on chains, or on where solvers of scikit-learn stop."""


def tree_differences(place, stored, found, tolerance=CLOSE):
    """Yield the places at which two reports differ."""
    if isinstance(stored, dict) and isinstance(found, dict):
        if stored.keys() != found.keys():
            yield f"{place}: {sorted(stored.keys() ^ found.keys())}"
        name = str(stored.get("name", ""))
        mine = next((LOOSE[word] for word in LOOSE if name.startswith(word)), tolerance)
        for key in stored.keys() & found.keys():
            yield from tree_differences(f"{place}/{key}", stored[key], found[key], mine)
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for row, (a, b) in enumerate(zip(stored, found, strict=True)):
            yield from tree_differences(f"{place}/{row}", a, b, tolerance)
    elif isinstance(stored, float) and isinstance(found, float):
        if abs(stored - found) > tolerance * max(1.0, abs(stored)):
            yield f"{place}: {stored} is now {found}"
    elif stored != found:
        yield f"{place}: {stored!r} is now {found!r}"


@pytest.mark.parametrize("command", ["honestbayes", *record.COMMANDS])
def test_help_says_what_it_said(command, help_texts):
    stored = Path(record.STORED, "help", f"{command}.txt").read_text("utf-8")
    assert record.words_of(help_texts[command]) == record.words_of(stored)


@pytest.fixture(scope="module")
def help_texts():
    return record.help_texts()


# ------------------------------------------------------------------------- what would be found


def test_a_slope_that_is_a_little_larger_is_found():
    stored = stored_of("bernoulli_learned")
    moved = stored | {"slope_": stored["slope_"] * (1 + 1e-8)}
    assert differences(stored, moved) == ["slope_"]


def test_a_last_bit_is_found_by_the_comparison_of_trees():
    stored = stored_of("bernoulli_learned")
    moved = stored | {"proba": np.nextafter(stored["proba"], 1)}
    (line,) = compare.array_differences(stored, moved)
    assert line.startswith("proba: largest difference ")


def test_a_field_that_is_new_or_gone_is_found():
    assert differences({"a": np.ones(1)}, {"b": np.ones(1)}) == [
        "a is in one only",
        "b is in one only",
    ]


def test_a_number_in_a_text_is_compared_as_a_number():
    assert alike_text("slope 0.3333333333333333", "slope  0.3333333333333334")
    assert not alike_text("slope 0.333", "slope 0.334")
    assert not alike_text("slope 0.333", "slopes 0.333")


def test_how_far_numbers_in_texts_differ_is_said():
    said = compare.text_difference("slope 0.5 of 3", "slope 0.75 of 3")
    assert said == "largest difference 0.25"
    assert compare.text_difference("slope 0.5", "slopes 0.5") == "-slope 0.5 / +slopes 0.5"


def test_figures_come_back_from_their_file_bit_by_bit(tmp_path):
    given = {
        "a.numbers": np.array([[0.1, -0.0], [np.nan, 1e-300]]),
        "a.whole": np.arange(3),
        "a.word": np.array("grün"),
        "a.words": np.array(["x", ""]),
        "a.none": np.array([], dtype=np.str_),
        "a.flags": np.array([True, False]),
    }
    figures.save(given, tmp_path / "f.npz")
    assert list(compare.array_differences(given, figures.load(tmp_path / "f.npz"))) == []
