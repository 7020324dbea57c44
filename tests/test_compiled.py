"""Kernels compile also where nothing can be written."""

from pathlib import Path

import numpy as np
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
