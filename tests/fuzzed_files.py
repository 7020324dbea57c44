"""Read mutated files, one after the other, in a process that may crash without harm.

The name of each mutation is written before it is tried, so that whoever waits for this process
knows at which one it has crashed; one that takes too long ends it.
"""

import faulthandler
import shutil
import sys
import warnings
from functools import partial
from inspect import signature
from pathlib import Path

import numpy as np
from checkpoints import STOPPED, predictions
from fits import FITS, fitted
from model_files import mutated

import honestbayes
from honestbayes.files import ModelFileError
from honestbayes.tables.errors import InputError
from honestbayes.tables.model import TableModel

TOO_LONG = 5.0
"""Seconds that one mutation may take."""


def rows_for(model, X):
    """Rows with as many columns as a model knows, or None where nobody has such a table."""
    if isinstance(model, TableModel):
        return X
    width = model.n_features_in_
    if not 0 < width <= 10_000:
        return None
    names = getattr(model, "feature_names_in_", None)
    if names is None and not hasattr(X, "columns"):
        return X[:, :width] if width <= X.shape[1] else np.zeros((3, width))
    if names is None or not hasattr(X, "columns") or width != X.shape[1]:
        return None
    renamed = X.set_axis(names, axis=1)
    return None if renamed.columns.has_duplicates else renamed


def or_refused(make):
    """What a function makes of a file, or None where it refuses the file in one sentence."""
    try:
        return make()
    except ValueError as error:
        said = error
    ours = isinstance(said, ModelFileError) or "checkpoint of a run with other data" in str(said)
    if not ours or "\n" in str(said):
        raise said
    return None


def reads_model(path, X):
    """Whether a mutated file is a model; all that it says is then finite."""
    model = or_refused(lambda: honestbayes.load(path))
    if model is None:
        return False
    rows = rows_for(model, X)
    if rows is None:
        return True
    try:
        found = predictions(model, rows)
    except InputError:  # a model of tables with other columns
        return True
    assert len(found) == len(rows)
    if hasattr(model, "predict"):
        check_finite(found, model)
    if hasattr(model, "predict_proba_interval"):
        known = signature(model.predict_proba_interval).parameters
        few = {"n_draws": 100} if "n_draws" in known else {}
        bounds = model.predict_proba_interval(rows[:2], **few)
        assert np.all((bounds >= 0) & (bounds <= 1))
        assert np.all(bounds[..., 0] <= bounds[..., 1])
    return True


def goes_on(path, run):
    """Whether chains go on from a mutated checkpoint; all that the model says is then finite."""
    model = or_refused(lambda: run.fit(path, 4))
    if model is None:
        return False
    for name, drawn in model.draws_.values.items():
        assert np.all(np.isfinite(drawn)), name
    check_finite(predictions(model, run.X), model)
    return True


def check_finite(found, model):
    assert np.all(np.isfinite(found))
    if hasattr(model, "predict_proba"):
        assert np.all((found >= 0) & (found <= 1))
        assert np.allclose(found.sum(axis=1), 1, atol=1e-12)


def main(what, name, first, last, folder):
    """Try mutations; print how many of them were read."""
    good, bad, mark, at = (folder / word for word in ("good", "bad", "executed", "at"))
    if what == "model":
        fitted(name).save(good)
        judged = partial(reads_model, bad, FITS[name].X)
    else:
        STOPPED[name].fit(good, 3)
        judged = partial(goes_on, bad, STOPPED[name])
    shutil.copy(good, bad)
    assert judged()
    warnings.simplefilter("error", RuntimeWarning)
    read = 0
    for seed in range(first, last):
        kind = mutated(good, bad, seed, mark)
        at.write_text(f"{what} {name}, seed {seed} ({kind})", encoding="utf-8")
        faulthandler.dump_traceback_later(TOO_LONG, exit=True)
        read += judged()
        faulthandler.cancel_dump_traceback_later()
    assert not mark.exists()
    sys.stdout.write(f"{read}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
