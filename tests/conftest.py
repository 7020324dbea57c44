"""Settings and fixtures that every test shares."""

import os

# Before NumPy is imported: one BLAS thread, so that workers do not compete and sums have one order.
for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[_variable] = "1"

# Displays are drawn into memory, also where there is a screen.
os.environ["MPLBACKEND"] = "Agg"

from pathlib import Path

import pytest


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


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes are named by their length: their content may hold the time, as gzip's header does,
    and the workers must agree on every test's name.
    """
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


TOGETHER = ("golden", "report", "cli", "files")
"""Folders whose tests share what takes long to make: reports, fitted models, a browser."""

LAST = ("factors", "mixture", "categorical", "mixed", "slow")
"""Folders that take the kernels that compile longest, and find them compiled if they come late."""


def _folders(item: pytest.Item) -> tuple[str, ...]:
    return item.path.parent.relative_to(Path(__file__).parent.parent).parts[1:]


def _turn(item: pytest.Item) -> int:
    """Return when a test has its turn.

    The golden record comes first: it compiles nearly every kernel, in one worker, while the other
    runs tests that need few. Large groups follow, then what fills the workers evenly.
    """
    folders = _folders(item)
    if "golden" in folders:
        return 0
    if folders[:1] and folders[0] in TOGETHER:
        return 2
    return 3 if set(folders) & set(LAST) else 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests by their turn."""
    items.sort(key=_turn)


def pytest_itemcollected(item: pytest.Item) -> None:
    """What lives in tests/slow is slow, whether its file says so or not.

    Tests of one file go to one worker, and those of some folders, because they share fixtures.
    """
    folders = _folders(item)
    if "slow" in folders:
        item.add_marker(pytest.mark.slow)
    elif item.config.pluginmanager.hasplugin("xdist"):
        together = folders[:1] and folders[0] in TOGETHER
        item.add_marker(pytest.mark.xdist_group(folders[0] if together else str(item.path)))
