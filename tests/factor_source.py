"""The factor model's kernels as plain Python, with mistakes planted in their source.

They are compiled, so a mistake is planted in the source, which then runs as plain Python.
"""

from __future__ import annotations

import importlib
import sys
import types
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from honestbayes.likelihood.normal import ratio_grid

RATIO = ratio_grid(10)[::4]
SOURCE = Path(importlib.import_module("honestbayes").__file__).parent
FILES = ("sampling.slicing", "correction.factor_event", "models.factors.sampler")
NOT_COMPILED = "def kernel(**options):\n    return lambda function: function\n"


@contextmanager
def plain_modules(changes=()):
    """Yield the modules as plain Python, with some texts replaced; each must be there."""
    names = [f"honestbayes.{name}" for name in FILES]
    before = {name: sys.modules.get(name) for name in names}
    changes, found = dict(changes), set()
    try:
        loaded = []
        for name in names:
            path = SOURCE / (name.removeprefix("honestbayes.").replace(".", "/") + ".py")
            text = path.read_text(encoding="utf-8")
            text = text.replace("from honestbayes.compiled import kernel\n", NOT_COMPILED)
            for old, new in changes.items():
                found.update([old] if old in text else [])
                text = text.replace(old, new)
            module = types.ModuleType(name)
            sys.modules[name] = module
            exec(compile(text, str(path), "exec"), module.__dict__)
            loaded.append(module)
        assert found == set(changes), "the text to change is not in the source"
        slicing, event, sampler = loaded
        yield types.SimpleNamespace(slicing=slicing, event=event, sampler=sampler)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def event_of(modules, codes, n_discarded):
    """The event that so many features of complete cases were discarded; their ratios: `RATIO`."""
    contrasts = modules.event.class_contrasts(codes)
    return modules.sampler.FactorEvent(
        contrasts.basis,
        contrasts.signal,
        0.35,
        np.array([float(codes.size)]),
        np.array([float(n_discarded)]),
        np.ones((1, RATIO.size), dtype=bool),
        np.array([0.0, 0.6]),
        True,
    )
