"""Kernels compile also where nothing can be written, and where what was written is of no use."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching

import honestbayes
from honestbayes.compiled import kernel


def test_without_any_folder_for_the_cache_kernels_are_compiled_all_the_same(monkeypatch):
    cache = getattr(caching, "CacheImpl", None) or caching._CacheImpl  # its name has changed
    monkeypatch.setattr(cache, "_locator_classes", [])

    @kernel(fastmath={"contract"})
    def twice(x):
        return 2 * x

    assert twice(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_every_kernel_of_the_package_is_compiled_this_way():
    folder = Path(honestbayes.__file__).parent
    others = [
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if "njit" in file.read_text(encoding="utf-8") and file.name != "compiled.py"
    ]
    assert others == []


KERNEL = """
from honestbayes.compiled import kernel

@kernel()
def twice(record):
    return 2 * record.x
"""
CALL = """
import sys, types
for name in {names}:
    # As new processes would, but numba is imported once.
    sys.modules.pop("kernels", None)
    sys.modules["records"] = records = types.ModuleType("records")
    text = f"from typing import NamedTuple\\nclass {{name}}(NamedTuple):\\n    x: float\\n"
    exec(text, records.__dict__)
    import kernels
    record = getattr(records, name)(1.5)
    print(kernels.twice(record), sum(kernels.twice.stats.cache_hits.values()))
"""


def call(folder, *names):
    """Call the kernel by records of these names, one after the other: results, and cache hits."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    ended = subprocess.run(
        [sys.executable, "-B", "-c", CALL.format(names=names)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def test_a_cache_that_cannot_be_read_is_compiled_again(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    # In a later version the class has another name, and the kernel's own file is as it was.
    expected = ["3.0", "0", "3.0", "0", "3.0", "1"]
    assert call(tmp_path, "Before", "After", "After") == expected
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    assert f"honestbayes {honestbayes.__version__}".encode() in index.read_bytes()


@pytest.mark.slow
def test_that_is_so_in_processes_of_their_own(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    assert call(tmp_path, "Before") == ["3.0", "0"]
    assert call(tmp_path, "After") == ["3.0", "0"]
    assert call(tmp_path, "After") == ["3.0", "1"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_cache_that_was_cut_off_or_is_of_another_version_is_compiled_again(tmp_path, ending):
    (tmp_path / "kernels.py").write_text(KERNEL)
    call(tmp_path, "Before")
    (file,) = (tmp_path / "cache").rglob(f"*.{ending}")
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert call(tmp_path, "Before") == ["3.0", "0"]
    if ending == "nbi":
        version = honestbayes.__version__.encode()
        file.write_bytes(file.read_bytes().replace(version, b"9" * len(version)))
        assert call(tmp_path, "Before") == ["3.0", "0"]
