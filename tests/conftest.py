"""Settings and fixtures that every test shares."""

import gc
import os
import signal

# In the background of a script SIGINT is ignored, also by children; tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before NumPy is imported: one BLAS thread, so that workers do not compete and sums have one order.
# HONESTBAYES_TEST_THREADS=8 shows that nothing depends on it.
for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[_variable] = os.environ.get("HONESTBAYES_TEST_THREADS", "1")

# Displays are drawn into memory, also where there is a screen.
os.environ["MPLBACKEND"] = "Agg"

from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest
from commands import Commands, run_alone
from hypothesis.database import InMemoryExampleDatabase

# Where the tests may only be read, hypothesis would warn that it cannot remember its examples.
if not os.access(Path(__file__).parents[1], os.W_OK):
    hypothesis.settings.register_profile("read-only", database=InMemoryExampleDatabase())
    hypothesis.settings.load_profile("read-only")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with the real data sets, named by HONESTBAYES_DATA."""
    name = os.environ.get("HONESTBAYES_DATA")
    if not name:
        pytest.skip("HONESTBAYES_DATA is not set: it names the folder with the real data")
    folder = Path(name)
    if not folder.is_dir():
        pytest.skip(f"HONESTBAYES_DATA names {name}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def run():
    """Run a command: its arguments, and the folder it runs in."""
    if not hasattr(os, "fork"):
        yield run_alone
        return
    commands = Commands()
    yield commands
    commands.close()


@pytest.fixture
def arviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    """ArviZ, which writes to a cache folder when it is imported, also where there is no home."""
    if not os.access(Path.home(), os.W_OK):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return pytest.importorskip("arviz")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes are named by their length: their content may hold the time, as gzip's header does,
    and the workers must agree on every test's name.
    """
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


TOGETHER = ("golden", "report", "cli", "files")
"""Folders whose tests share what takes long to make: reports, fitted models, a browser."""

LAST = ("models", "sampling", "correction", "likelihood", "statistical", "datasets", "slow")
"""Folders that take the kernels that compile longest, and find them compiled if they come late."""

SAMPLED = ("factor", "mixture", "interaction", "network", "covariates", "sampled")
"""What the names of other files hold that take these kernels."""


def _turn(item: pytest.Item) -> int:
    """Return when a test has its turn.

    The golden record comes first: it compiles nearly every kernel, in one worker, while the other
    runs tests that need few. Large groups follow, then what fills the workers evenly.
    """
    folders = Path(item.nodeid.partition("::")[0]).parts
    if "golden" in folders:
        return 0
    if set(folders) & set(TOGETHER):
        return 2
    late = set(folders) & set(LAST) or any(word in folders[-1] for word in SAMPLED)
    return 3 if late else 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which took a third of the time.

    Half a million objects come and stay; it would look through them again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests by their turn."""
    # Where single tests are asked for, not all cases of their grids may be there.
    if not any("::" in argument for argument in config.args):
        _refuse_unknown_slow_cases(items)
    items.sort(key=_turn)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is slow: all that lives in tests/slow, and the cases that ``slow_cases`` names.

    ``@pytest.mark.slow_cases("id", ...)`` stands at the test itself; the ordinary run keeps the
    other cases of its grid.
    """
    named = {case for mark in item.iter_markers("slow_cases") for case in mark.args}
    callspec = getattr(item, "callspec", None)
    if "slow" in item.path.parent.parts or (callspec is not None and callspec.id in named):
        item.add_marker(pytest.mark.slow)


def _refuse_unknown_slow_cases(items: list[pytest.Item]) -> None:
    """Refuse a case that no test has: it was renamed, and would run as an ordinary one."""
    named: dict[str, set[str]] = {}
    known: dict[str, set[str]] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        for mark in item.iter_markers("slow_cases"):
            named.setdefault(test, set()).update(mark.args)
            known.setdefault(test, set()).add(item.callspec.id)  # type: ignore[attr-defined]
    unknown = {f"{test}[{case}]" for test in named for case in named[test] - known[test]}
    if unknown:
        msg = f"slow_cases names what is no case of its test: {', '.join(sorted(unknown))}"
        raise pytest.UsageError(msg)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Tests of one file go to one worker, and those of some folders, because they share fixtures.

    Slow tests share little and go wherever there is time.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folders = Path(file).parts
            if "slow" in folders:
                return nodeid
            together = set(folders[:2]) & set(TOGETHER)
            return together.pop() if folders[0] == "tests" and together else file

    config.option.loadscopereorder = False
    return ByFile(config, log)
