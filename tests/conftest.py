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


TOGETHER = ("cli", "files", "golden", "report")
"""Folders whose tests share what takes long to make: reports, fitted models, a browser."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """What lives in tests/slow is slow, whether its file says so or not.

    Tests that share much go to one worker, where workers take groups (``--dist loadgroup``).
    """
    folders = item.path.parent.relative_to(Path(__file__).parent.parent).parts
    if "slow" in folders:
        item.add_marker(pytest.mark.slow)
    elif folders[1:2] and folders[1] in TOGETHER and item.config.pluginmanager.hasplugin("xdist"):
        item.add_marker(pytest.mark.xdist_group(folders[1]))
