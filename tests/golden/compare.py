"""Compare two checkouts bit for bit: python tests/golden/compare.py BASE HEAD.

Each is a folder with ``src`` and ``tests/golden``, and each computes its own record, by this
interpreter, so that parameters may be renamed between the two. Everything that differs is printed,
with the largest difference; `RENAMED` translates the names and words of the base. Models that the
base wrote are loaded by the head as well, and must predict the same bits, unless the format of
files has changed knowingly (``--no-files``). Compiled code is cached beside the sources, so the
first run of a checkout takes minutes longer.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

# Run as a program, this file finds its neighbours as the tests do.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from golden import figures

RENAMED: tuple[tuple[str, str], ...] = (
    (r"\braces\b", "rankings"),
    (r"\brace\b", "ranking"),
    (r"\blapse_\b", "outlier_rate_"),
    (r"\blapses?\b", "outlier_rate"),
    (r"\bidle\b", "prob_null"),
    (r"\bn_claimed\b", "n_confident"),
    (r"\bn_samples\b", "n_draws"),
    (r"\bclaims\b", "confident"),
    (r"\blayer\b", "bayes"),
)
"""Patterns in names and texts of the base, and what stands there in the head. Delete a line once
the base that is compared with has the new name too."""


def start(checkout: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start the program of the record of one checkout, on its own package."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    record = checkout / "tests" / "golden" / "record.py"
    command = [sys.executable, "-W", "ignore", str(record), *map(str, arguments)]
    return subprocess.Popen(command, env=environment)


def translated(text: str) -> str:
    """Return a name or text of the base with what has been renamed since."""
    for pattern, replacement in RENAMED:
        text = re.sub(pattern, replacement, text)
    return text


def translated_figures(base: figures.Figures) -> figures.Figures:
    """Return the figures of the base under their new names."""
    return {
        translated(name): np.array(translated(str(value)))
        if value.dtype.kind in "US" and value.ndim == 0
        else value
        for name, value in base.items()
    }


def finish(*processes: subprocess.Popen[bytes]) -> None:
    """Wait for programs, and end where one has failed."""
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit(f"the record could not be computed: exit codes {codes}")


def check_checkout(checkout: Path) -> None:
    """Refuse a folder whose package is not the one that would be imported."""
    source = checkout / "src"
    program = "import honestbayes; print(honestbayes.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not Path(found).resolve().is_relative_to(source):
        sys.exit(f"{source} holds no package honestbayes: {found} would be imported")


# -------------------------------------------------------------------------------- differences


def array_differences(base: figures.Figures, head: figures.Figures) -> Iterator[str]:
    """Say which arrays do not have the same bits, and by how much they differ."""
    for name in base.keys() | head.keys():
        if name not in head or name not in base:
            yield f"{name}: only in {'base' if name in base else 'head'}"
        elif not same_bits(base[name], head[name]):
            yield f"{name}: {how_far(base[name], head[name])}"


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same in type, shape and every bit."""
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and one.tobytes() == other.tobytes()


def how_far(one: np.ndarray, other: np.ndarray) -> str:
    """Say in a few words how two arrays differ."""
    if one.shape != other.shape:
        return f"shape {one.shape}, now {other.shape}"
    if one.dtype.kind in "fiu" and other.dtype.kind in "fiu":
        with np.errstate(invalid="ignore"):
            gap = np.abs(one.astype(float) - other.astype(float))
        strange = int(np.sum(np.isnan(one.astype(float)) != np.isnan(other.astype(float))))
        more = f", {strange} NaN where the other has a number" if strange else ""
        if one.dtype != other.dtype:
            more += f", {one.dtype} now {other.dtype}"
        largest = np.nanmax(gap) if not np.all(np.isnan(gap)) else 0.0
        return f"largest difference {largest:.3g}{more}"
    if one.ndim == 0:
        return text_difference(str(one), str(other))
    return f"{int(np.sum(one != other))} of {one.size} entries differ"


def text_difference(one: str, other: str) -> str:
    """How far numbers in two texts differ, or the first lines in which words do."""
    words = (figures.NUMBER.sub("#", text).split() for text in (one, other))
    if next(words) == next(words):
        numbers = [np.array(figures.NUMBER.findall(text), dtype=float) for text in (one, other)]
        if not np.array_equal(*numbers):
            return how_far(*numbers)
    changed = [
        line
        for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    lines = [f"{line[:100]}…" if len(line) > 100 else line for line in changed[:4]]
    return " / ".join(lines) + (f" and {len(changed) - 4} more" if len(changed) > 4 else "")


def file_differences(base: Path, head: Path, *, texts: bool) -> Iterator[str]:
    """Say which files of two folders do not have the same bytes."""
    names = {path.name for folder in (base, head) for path in folder.iterdir()}
    for name in sorted(names):
        one, other = base / name, head / name
        if not one.exists() or not other.exists():
            yield f"{name}: only in {'base' if one.exists() else 'head'}"
        elif one.read_bytes() != other.read_bytes():
            before, after = (
                (translated(one.read_text("utf-8")), other.read_text("utf-8"))
                if texts
                else ("", "")
            )
            if texts and before == after:
                continue
            how = text_difference(before, after) if texts else ""
            yield f"{name}: {how or f'{one.stat().st_size} bytes, now {other.stat().st_size}'}"


def loaded_differences(base: figures.Figures, loaded: figures.Figures) -> Iterator[str]:
    """Say where the head predicts otherwise with a model that the base wrote."""
    yield from array_differences({name: base[name] for name in loaded if name in base}, loaded)


def compared(base: Path, head: Path, loaded: Path | None) -> dict[str, list[str]]:
    """All differences of two folders, by what they are about."""
    of_base = translated_figures(figures.load(base / "figures.npz"))
    of_head = figures.load(head / "figures.npz")
    differences = {"figures": sorted(array_differences(of_base, of_head))}
    if loaded is not None:
        of_loaded = translated_figures(figures.load(loaded / "loaded.npz"))
        differences["models of the base, loaded by the head"] = sorted(
            loaded_differences(of_base, of_loaded)
        )
        differences["bytes of model files"] = list(
            file_differences(base / "models", head / "models", texts=False)
        )
    differences["reports"] = list(file_differences(base / "reports", head / "reports", texts=True))
    differences["help"] = list(file_differences(base / "help", head / "help", texts=True))
    return differences


def main() -> None:
    """Compare two trees, print what differs, and say by the exit code whether anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path, help="checkout of the revision before")
    parser.add_argument("head", type=Path)
    parser.add_argument("--cases", nargs="+", default=[], help="only these; by default all")
    parser.add_argument("--keep", type=Path, help="leave what was computed in this folder")
    parser.add_argument("--no-files", action="store_true", help="the format of files has changed")
    given = parser.parse_args()
    checkouts = given.base.resolve(), given.head.resolve()
    for checkout in checkouts:
        check_checkout(checkout)
    with TemporaryDirectory() as folder:
        differences = _run(checkouts, given.keep or Path(folder), given.cases, not given.no_files)
    for title, lines in differences.items():
        sys.stdout.write(f"{title}: {len(lines) or 'no'} difference{'s'[: len(lines) != 1]}\n")
        sys.stdout.writelines(f"  {line}\n" for line in lines)
    sys.exit(1 if any(differences.values()) else 0)


def _run(
    checkouts: Sequence[Path], folder: Path, cases: Sequence[str], files: bool
) -> dict[str, list[str]]:
    base, head, loaded = folder / "base", folder / "head", folder / "loaded"
    options = ["--cases", *cases] if cases else []
    pairs = zip(checkouts, (base, head), strict=True)
    # What is there already, with --keep, is not computed again.
    finish(*[start(one, to, *options) for one, to in pairs if not (to / "figures.npz").exists()])
    if not files:
        return compared(base, head, None)
    finish(start(checkouts[1], loaded, "--load", base / "models", *options))
    return compared(base, head, loaded)


if __name__ == "__main__":
    main()
