"""Runs experiments: what was found is kept by settings, so that a stopped run goes on."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.exceptions import ConvergenceWarning

from honestbayes.datasets.folder import DATA_VARIABLE
from honestbayes.experiments.experiment import Experiment, Run, Settings, Size

DIGITS = 6
"""Significant digits of what is kept: figures are printed with fewer."""


def missing_files(experiment: Experiment) -> tuple[str, ...]:
    """Return the files of real data that an experiment needs and that are not there."""
    folder = os.environ.get(DATA_VARIABLE)
    return tuple(
        name for name in experiment.needs if not folder or not (Path(folder) / name).exists()
    )


def perform(
    experiment: Experiment,
    size: Size,
    folder: Path,
    *,
    n_jobs: int | None = None,
    again: bool = False,
    done: Callable[[], Any] = lambda: None,
) -> list[Run]:
    """Run all that is not kept yet, and return all runs in their order.

    Parameters
    ----------
    experiment : Experiment
        Which.
    size : {"toy", "quick", "full"}
        How much.
    folder : Path
        Where runs are kept, a file each, by their settings.
    n_jobs : int, optional
        Processes, or as joblib's configuration says: a Dask backend spreads them.
    again : bool
        Whether runs that are kept are done again.
    done : callable
        Called after each run.
    """
    wanted = experiment.runs(size)
    places = [folder / f"{_key(experiment, settings)}.json" for settings in wanted]
    found: dict[Path, Run] = {}
    for place in places:
        kept = None if again else _read(place)
        if kept is not None:
            found[place] = kept
            done()
    rest = [(s, place) for s, place in zip(wanted, places, strict=True) if place not in found]
    # Results are taken as they come, where the backend can hand them over one by one.
    by_one = get_active_backend()[0].supports_return_generator
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if by_one else "list")
    folder.mkdir(parents=True, exist_ok=True)
    results: Iterable[tuple[int, Run]] = parallel(
        delayed(_one)(number, experiment.run, settings) for number, (settings, _) in enumerate(rest)
    )
    for number, run in results:
        _write(rest[number][1], run)
        found[rest[number][1]] = run
        done()
    return [found[place] for place in places]


def _one(
    number: int, function: Callable[..., dict[str, Any]], settings: Settings
) -> tuple[int, Run]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # accounts say how well chains mixed
        found = rounded(function(**settings))
    return number, Run(settings, found, round(time.perf_counter() - began, 3))


def _key(experiment: Experiment, settings: Settings) -> str:
    words = [experiment.name, experiment.version, settings]
    text = json.dumps(words, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(place: Path) -> Run | None:
    try:
        return Run(**json.loads(place.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):  # cut off in the middle by another program: run it again
        return None


def _write(place: Path, run: Run) -> None:
    words = {"settings": run.settings, "found": run.found, "seconds": run.seconds}
    beside = place.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(words), encoding="utf-8")
    beside.replace(place)


def rounded(value: Any) -> Any:
    """Return what JSON can hold, with numbers of a few digits, arrays as lists."""
    if isinstance(value, dict):
        return {str(key): rounded(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value


def stored(path: Path, experiment: Experiment) -> list[Run]:
    """Read the runs that :func:`store` wrote.

    Raises
    ------
    ValueError
        Where they are of another experiment, or of another version of it.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    if (data["experiment"], data["version"]) != (experiment.name, experiment.version):
        msg = f"{path.name} holds runs of {data['experiment']}, version {data['version']}."
        raise ValueError(msg)
    return [Run(**run) for run in data["runs"]]


def store(path: Path, experiment: Experiment, runs: Sequence[Run]) -> None:
    """Write runs into one file, a line each."""
    lines = ",\n".join(
        json.dumps(
            {"settings": run.settings, "found": run.found, "seconds": run.seconds},
            separators=(",", ":"),
        )
        for run in runs
    )
    head = json.dumps({"experiment": experiment.name, "version": experiment.version})[:-1]
    path.write_text(f'{head}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")
