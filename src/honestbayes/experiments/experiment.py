"""Experiments: their records, the catalogue of them, and how they are run and stored."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning

from honestbayes.datasets.real import DATA_VARIABLE
from honestbayes.metrics import calibration_table, summarise
from honestbayes.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = Literal["toy", "quick", "full"]
"""Seconds, for tests; a minute or two; the size of the published results."""

Settings = dict[str, Any]
"""Keyword arguments of one run, as JSON can hold them."""

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One run of an experiment: a seed, a fold, a chain.

    Attributes
    ----------
    settings : dict
        Keyword arguments of the run.
    results : dict
        What it returned, as JSON can hold it.
    seconds : float
        Processor time it took, which other programs on the machine do not change much.
    """

    settings: Settings
    results: dict[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A published figure, and ours.

    Attributes
    ----------
    what : str
        Which figure.
    published : float
        As printed.
    ours : sequence of float
        The same figure of each repetition.
    digits : int
        Decimals that are shown; the published figure may be off by half of the last one.
    why : str
        Why they differ, where they do.
    """

    what: str
    published: float
    ours: Sequence[float] | FloatArray
    digits: int = 3
    why: str = ""

    @property
    def mean(self) -> float:
        """Average over the repetitions."""
        return float(np.mean(self.ours))

    @property
    def interval(self) -> tuple[float, float]:
        """Where one more repetition falls with 95%: it, like the published one, has its own luck.

        Of a single repetition no more is known than how the figure was rounded.
        """
        m, width = len(self.ours), 0.5 * 10.0**-self.digits
        if m > 1:
            spread = float(np.std(self.ours, ddof=1)) * float(np.sqrt(1 + 1 / m))
            width += float(student.ppf(0.975, m - 1)) * spread
        return self.mean - width, self.mean + width

    @property
    def holds(self) -> bool:
        """Whether the published figure is within the interval."""
        low, high = self.interval
        return low <= self.published <= high

    @property
    def verdict(self) -> Literal["yes", "no", "too wide to tell"]:
        """Whether the published figure agrees with ours.

        An interval is too wide to tell where half of it is as much as the published figure itself:
        with the figure in its middle it would hold both 0 and twice the figure.
        """
        low, high = self.interval
        if not self.holds:
            return "no"
        return "too wide to tell" if high - low >= 2 * abs(self.published) else "yes"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows that are written as CSV with all digits, and as Markdown with a few.

    Attributes
    ----------
    name : str
        Of its file.
    caption : str
        What it shows.
    rows : sequence of mapping
        Cells by column; all rows have the same columns.
    digits : int
        Decimals of numbers that are not whole.
    """

    name: str
    caption: str
    rows: Sequence[Mapping[str, Cell]]
    digits: int = 3


@dataclass(frozen=True, slots=True)
class ResultFigure:
    """A figure that is drawn when it is asked for.

    Attributes
    ----------
    name : str
        Of its files.
    caption : str
        What it shows.
    draw : callable
        Returns the figure.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Conclusion, tables and figures of an experiment.

    Attributes
    ----------
    conclusion : str
        Paragraphs: the results, how they differ from the papers, and why.
    checks : tuple of PublishedFigure
        Published figures beside ours.
    tables : tuple of ResultTable
        Results.
    figures : tuple of ResultFigure
        Results.
    """

    conclusion: str
    checks: tuple[PublishedFigure, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    figures: tuple[ResultFigure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A published result, or a comparison of ours.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        What it is.
    source : str
        Document, figures and tables.
    question : str
        What is asked and how, in a few sentences.
    runs : callable
        Takes a size, returns the settings of each run; runs do not depend on each other.
    run : callable
        Takes the settings as keyword arguments, returns a dictionary that JSON can hold.
    summarize : callable
        Takes the runs of one size in their order, returns the findings.
    needs : tuple of str
        Files of the folder of real data, without which it is skipped.
    version : int
        Raised when the same settings give other results; kept results of an earlier one are not
        used.
    """

    name: str
    title: str
    source: str
    question: str
    runs: Callable[[Size], list[Settings]]
    run: Callable[..., dict[str, Any]]
    summarize: Callable[[Sequence[ExperimentRun]], Findings]
    needs: tuple[str, ...] = ()
    version: int = 1


def agreement(checks: Sequence[PublishedFigure]) -> str:
    """Return how many published figures agree with ours.

    >>> one = PublishedFigure(what="a", published=0.5, ours=[0.4, 0.6], digits=2)
    >>> agreement([one])
    '0 of 1, 1 too wide to tell'
    """
    verdicts = [check.verdict for check in checks]
    wide = verdicts.count("too wide to tell")
    more = f", {wide} too wide to tell" if wide else ""
    return f"{verdicts.count('yes')} of {len(verdicts)}{more}"


# --------------------------------------------------------------------------------------------------
# Shared by experiments: predicted and observed rates
# --------------------------------------------------------------------------------------------------


Decimals = Sequence[tuple[int, float, float]]
"""Cases, mean probability and share of class 1 by the first decimal of the probability."""

NOBODY = (0, 0.0, 0.0)
"""Entry of a decimal without cases."""


def judged(y: ArrayLike, proba: FloatArray) -> dict[str, Any]:
    """Return errors, scores and the table by the first decimal, of P(class 1)."""
    scores, table = summarise(y, proba), calibration_table(y, proba)
    return {
        "expected_error": float(scores.expected_error),
        "actual_error": float(scores.actual_error),
        "log_score": float(scores.log_score),
        "squared_error": float(scores.squared_error),
        "count": table.n,
        "predicted": np.round(np.nan_to_num(table.predicted), 4),
        "actual": np.round(np.nan_to_num(table.actual), 4),
    }


def errors_of(decimals: Decimals) -> dict[str, float]:
    """Return the expected and the actual error rate of a printed table by the first decimal."""
    count, predicted, actual = np.array(decimals).T
    upper = np.arange(10) >= 5
    return {
        name: float(count @ np.where(upper, 1 - share, share) / count.sum())
        for name, share in (("expected", predicted), ("actual", actual))
    }


def decimal_rows(fit: dict[str, Any], **columns: Cell) -> Iterator[dict[str, Cell]]:
    """Yield the rows of a table by the first decimal, from :func:`judged`."""
    for decimal in range(10):
        if fit["count"][decimal]:
            yield columns | {
                "probability from": decimal / 10,
                "cases": fit["count"][decimal],
                "mean probability": fit["predicted"][decimal],
                "share of class 1": fit["actual"][decimal],
            }


def of(fits: Sequence[dict[str, Any]], name: str, **settings: Any) -> FloatArray:
    """Return one figure of each fit with these settings."""
    chosen = [f for f in fits if all(f[key] == value for key, value in settings.items())]
    return np.array([f[name] for f in chosen])


# --------------------------------------------------------------------------------------------------
# Catalogue; each experiment is imported on demand
# --------------------------------------------------------------------------------------------------


EXPERIMENTS = {
    "correlations": "correlations.EXPERIMENT",
    "naive-bayes": "naive_bayes.EXPERIMENT",
    "colon": "colon.EXPERIMENT",
    "slides": "slides.EXPERIMENT",
    "slides-colon": "slides_colon.EXPERIMENT",
    "mixture": "mixture.EXPERIMENT",
    "compressed-hmm": "compressed_hmm.EXPERIMENT",
    "compressed-text": "compressed_text.EXPERIMENT",
    "compressed-sizes": "compressed_sizes.EXPERIMENT",
    "compressed-cauchy": "compressed_cauchy.EXPERIMENT",
    "kdd98": "kdd98.EXPERIMENT",
    "subsets": "subsets.EXPERIMENT",
    "networks": "networks.EXPERIMENT",
    "real-tables": "comparison.REAL_TABLES",
    "simulated-tables": "comparison.SIMULATED_TABLES",
}
"""Module and name of each experiment's record, in the order of the papers."""


def experiment(name: str) -> Experiment:
    """Import the module of an experiment, and return its record."""
    module, attribute = EXPERIMENTS[name].split(".")
    record: Experiment = getattr(import_module(f"honestbayes.experiments.{module}"), attribute)
    return record


def experiments() -> Iterator[Experiment]:
    """Yield all records."""
    for name in EXPERIMENTS:
        yield experiment(name)


# --------------------------------------------------------------------------------------------------
# Running: results are stored by settings, so that an interrupted experiment resumes
# --------------------------------------------------------------------------------------------------


DIGITS = 6
"""Significant digits of stored results: figures are printed with fewer."""


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
) -> list[ExperimentRun]:
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
    paths = [folder / f"{_key(experiment, settings)}.json" for settings in wanted]
    done_runs: dict[Path, ExperimentRun] = {}
    for path in paths:
        kept = None if again else _read(path)
        if kept is not None:
            done_runs[path] = kept
            done()
    rest = [(s, path) for s, path in zip(wanted, paths, strict=True) if path not in done_runs]
    # Results are taken as they come, where the backend can hand them over one by one.
    by_one = get_active_backend()[0].supports_return_generator
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if by_one else "list")
    folder.mkdir(parents=True, exist_ok=True)
    results: Iterable[tuple[int, ExperimentRun]] = parallel(
        delayed(_one)(number, experiment.run, settings) for number, (settings, _) in enumerate(rest)
    )
    for number, run in results:
        _write(rest[number][1], run)
        done_runs[rest[number][1]] = run
        done()
    return [done_runs[path] for path in paths]


def _one(
    number: int, function: Callable[..., dict[str, Any]], settings: Settings
) -> tuple[int, ExperimentRun]:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # findings report how well chains mixed
        results = rounded(function(**settings))
    return number, ExperimentRun(settings, results, round(time.process_time() - began, 3))


def _key(experiment: Experiment, settings: Settings) -> str:
    text = json.dumps([experiment.name, experiment.version, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(path: Path) -> ExperimentRun | None:
    try:
        return _from_plain(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (
        ValueError,
        TypeError,
        KeyError,
    ):  # cut off in the middle by another program: run it again
        return None


def _write(path: Path, run: ExperimentRun) -> None:
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(_plain(run)), encoding="utf-8")
    beside.replace(path)


def _plain(run: ExperimentRun) -> dict[str, Any]:
    # Stored runs have called their results "found" from the first, and still do.
    return {"settings": run.settings, "found": run.results, "seconds": run.seconds}


def _from_plain(data: Any) -> ExperimentRun:
    return ExperimentRun(data["settings"], data["found"], data["seconds"])


def rounded(value: Any) -> Any:
    """Return plain data for JSON: numbers of a few digits, arrays as lists."""
    if isinstance(value, dict):
        return {str(key): rounded(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value


def stored(path: Path, experiment: Experiment) -> list[ExperimentRun]:
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
    return [_from_plain(run) for run in data["runs"]]


def store(path: Path, experiment: Experiment, runs: Sequence[ExperimentRun]) -> None:
    """Write runs into one file, a line each."""
    lines = ",\n".join(json.dumps(_plain(run), separators=(",", ":")) for run in runs)
    head = json.dumps({"experiment": experiment.name, "version": experiment.version})[:-1]
    path.write_text(f'{head}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")
