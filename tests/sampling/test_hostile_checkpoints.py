"""Checkpoints that were tampered with, their checksums valid, are refused before any kernel runs.

Compiled code would follow a wrong length out of its memory, and never leave a NaN.
"""

import shutil

import numpy as np
import pytest
from checkpoints import STOPPED, predictions
from model_files import changed

from honestbayes.files import ModelFileError
from honestbayes.sampling import runs
from honestbayes.sampling.checkpoint import read_checkpoint


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Folder with the checkpoint of each kind of run, and what reads it in `fit`.

    Each has made four steps of warm-up and three draws.
    """
    folder, readers = tmp_path_factory.mktemp("checkpoints"), {}
    with pytest.MonkeyPatch.context() as patch:
        for name, run in STOPPED.items():

            def read(path, *given, name=name):
                readers[name] = lambda other: read_checkpoint(other, *given)
                return read_checkpoint(path, *given)

            patch.setattr(runs, "read_checkpoint", read)
            run.fit(folder / name, 3)
    return folder, readers


def refused(stopped, name, tmp_path, change):
    """What is said of a changed checkpoint where it is read."""
    folder, readers = stopped
    with pytest.raises(ModelFileError) as error:
        readers[name](changed(folder / name, tmp_path / "c", change))
    return str(error.value)


@pytest.mark.parametrize("name", STOPPED)
def test_a_run_goes_on_from_its_checkpoint_to_the_draws_of_one_that_was_not_stopped(
    name, stopped, tmp_path
):
    folder, _ = stopped
    on = STOPPED[name].fit(shutil.copy(folder / name, tmp_path / "c"), 5)
    whole = STOPPED[name].fit(None, 5)
    assert on.draws_.values.keys() == whole.draws_.values.keys()
    for one in whole.draws_.values:
        np.testing.assert_array_equal(on.draws_[one], whole.draws_[one])
    X = STOPPED[name].X
    np.testing.assert_array_equal(predictions(on, X), predictions(whole, X))


@pytest.mark.parametrize("name", STOPPED)
def test_fit_refuses_what_would_hang_or_crash_its_kernels(name, stopped, tmp_path):
    folder, _ = stopped
    first = "theta" if "mixture" in name else "log_loading"
    for other in ([[np.nan], [np.nan]], [[], []]):

        def change(_document, arrays, other=other):
            old = arrays[f"state.{first}"]
            arrays[f"state.{first}"] = np.broadcast_to(other, (2, min(old.shape[1], len(other[0]))))

        forged = changed(folder / name, tmp_path / "c", change)
        with pytest.raises(ModelFileError, match=rf"'c' is not a valid .*{first}.* start again\."):
            STOPPED[name].fit(forged, 5)


def arrays_of(stopped, name):
    found = {}
    changed(stopped[0] / name, stopped[0] / "copy", lambda _, arrays: found.update(arrays))
    return found


@pytest.mark.parametrize("name", STOPPED)
def test_arrays_of_another_length_type_or_chain_are_refused(name, stopped, tmp_path):
    for one, array in arrays_of(stopped, name).items():
        shapes = [
            array[:1],
            np.concatenate([array, array]),
            array.reshape(-1),
            array.astype(bool if array.dtype != bool else float),
            None,
        ]
        if array.ndim == 1:
            shapes[2] = array[:, None]
        else:
            shapes.append(array[:, :0] if array.shape[1] else np.zeros((2, 3)))
        for other in shapes:

            def change(_document, arrays, one=one, other=other):
                arrays.pop(one)
                if other is not None:
                    arrays[one] = other

            assert one in refused(stopped, name, tmp_path, change)


@pytest.mark.parametrize("name", STOPPED)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e101, -1e101])
def test_numbers_that_no_chain_comes_to_are_refused(name, value, stopped, tmp_path):
    for one, array in arrays_of(stopped, name).items():
        if array.dtype.kind != "f" or not array.size:
            continue

        def change(_document, arrays, one=one):
            arrays[one].reshape(-1)[-1] = value

        if value > 0 and np.isfinite(value) and one in ("drawn.spread", "drawn.variance"):
            continue  # variances may be large
        assert one in refused(stopped, name, tmp_path, change)


@pytest.mark.parametrize("value", [0.0, 1.0, 5e-324, -0.1])
def test_probabilities_that_leave_a_kernel_nothing_to_divide_by_are_refused(
    value, stopped, tmp_path
):
    for one in ("state.theta", "drawn.phi", "drawn.psi"):

        def change(_document, arrays, one=one):
            arrays[one].reshape(-1)[:2] = [value, 1 - value]

        if one != "state.theta" and value == 5e-324:
            continue  # its logarithm is a number
        assert one.removeprefix("drawn.") in refused(stopped, "mixture", tmp_path, change)


@pytest.mark.parametrize(
    ("name", "array"), [("mixture", "state.z"), ("mixture", "drawn.z"), ("factors", "state.node")]
)
@pytest.mark.parametrize("value", [-1, 10**3, 10**6])
def test_whole_numbers_out_of_range_are_refused(name, array, value, stopped, tmp_path):
    def change(_document, arrays):
        flat = arrays[array].reshape(-1)
        flat[0] = np.array(value).astype(flat.dtype)
        if flat.dtype == np.uint8:
            flat[0] = 2

    assert array in refused(stopped, name, tmp_path, change)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (("n_sweeps", -1), "n_sweeps"),
        (("n_sweeps", 1.5), "n_sweeps"),
        (("n_sweeps", 10**30), "n_sweeps"),
        (("n_sweeps", 9), "drawn"),
        (("n_sweeps", 2), "drawn"),
        (("n_chains", 1), "n_chains"),
        (("n_chains", "2"), "n_chains"),
        (("state", []), "state"),
        (("streams", None), "streams"),
        (("more", 1), "more"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(value, what, stopped, tmp_path):
    key, other = value

    def change(document, _arrays):
        document["content"][key] = other

    assert what in refused(stopped, "mixture", tmp_path, change)


@pytest.mark.parametrize(
    "stream",
    [
        ["-1", "1", 0, 0],
        [str(2**128), "1", 0, 0],
        ["5", "4", 0, 0],
        ["5", "9" * 400, 0, 0],
        ["5", "x", 0, 0],
        ["٣", "1", 0, 0],
        [5, 7, 0, 0],
        ["5", "7", 2, 0],
        ["5", "7", True, 0],
        ["5", "7", 0, 2**32],
        ["5", "7", 0, -1],
        ["5", "7", 0],
        "5701",
        None,
    ],
    ids=str,
)
def test_the_state_of_a_generator_that_is_none_is_refused(stream, stopped, tmp_path):
    def change(document, _arrays):
        document["content"]["streams"][1] = stream

    assert "streams are damaged" in refused(stopped, "factors", tmp_path, change)
