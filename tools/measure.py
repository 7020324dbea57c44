"""Measure how the package is cut: python tools/measure.py [--paths].

Prints the number of files and of lines of code (without docstrings, comments and blank lines),
comments per 100 lines of code, modules with exactly one importer, small functions, and, with
``--paths``, the files and functions that one fit of `HonestClassifier`, its ``predict_proba`` and
one quick report visit.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "honestbayes"


def modules() -> dict[str, Path]:
    """Return the file of each module by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def code_and_comments(text: str) -> tuple[int, int]:
    """Count the lines that hold code, and those that hold a comment."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    comments = 0
    ignored = {
        tokenize.NEWLINE,
        tokenize.NL,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += 1
        elif token.type not in ignored:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings), comments


def importers(files: dict[str, Path]) -> dict[str, set[str]]:
    """Return the modules that import each module, at any level of their code."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                below = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in files else node.module for each in below]
            else:
                continue
            for target in targets:
                if target in files and target != name:
                    found[target].add(name)
    return found


def functions(files: dict[str, Path]) -> Iterator[ast.FunctionDef]:
    """Yield all functions and methods."""
    for path in files.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield node


def body_length(function: ast.FunctionDef) -> int:
    """Count the lines of a function's body without its docstring."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def visited(work: Callable[[], object]) -> tuple[int, int]:
    """Run something twice, and count the files and functions that the second run visits.

    The first run imports modules, whose own calls are no part of the path.
    """
    work()
    seen: set[tuple[str, str]] = set()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        # Comprehensions are no functions of their own to a reader.
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and code.co_name[0] != "<":
            seen.add((code.co_filename, code.co_qualname))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return len({file for file, _ in seen}), len(seen)


def print_sizes() -> None:
    """Print what the files themselves show."""
    files = modules()
    counted = [code_and_comments(path.read_text(encoding="utf-8")) for path in files.values()]
    code, comments = (sum(column) for column in zip(*counted, strict=True))
    print(f"files                                {len(files):7,}")
    print(f"lines of code                        {code:7,}")
    print(f"comment lines per 100 lines of code  {100 * comments / code:7.1f}")
    found = importers(files)
    one = {name: next(iter(found[name])) for name in files if len(found[name]) == 1}
    beside = [
        name
        for name, importer in one.items()
        if name.rpartition(".")[0] in (importer, importer.rpartition(".")[0])
    ]
    print(f"modules with exactly one importer    {len(one):7,}")
    print(f"  which is in the same folder        {len(beside):7,}")
    for name in beside:
        print(
            f"    {name.removeprefix('honestbayes.')} <- {one[name].removeprefix('honestbayes.')}"
        )
    lengths = [body_length(function) for function in functions(files)]
    print(f"functions                            {len(lengths):7,}")
    print(f"  with a body of at most two lines   {sum(length <= 2 for length in lengths):7,}")
    classes = Counter(
        node.name
        for path in files.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    twice = sorted(name for name, times in classes.items() if times > 1)
    print(f"class names defined more than once   {len(twice):7,}  {', '.join(twice)}")


def print_paths() -> None:
    """Print what one fit, one prediction and one report visit."""
    import numpy as np

    from honestbayes import HonestClassifier
    from honestbayes.__main__ import program

    generator = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    X = generator.normal(size=(60, 40)) + 0.8 * y[:, None] * (np.arange(40) < 5)
    model = HonestClassifier(random_state=1)
    for title, work in (
        ("HonestClassifier().fit", lambda: model.fit(X, y)),
        ("predict_proba", lambda: model.predict_proba(X)),
    ):
        files, called = visited(work)
        print(f"{title:37}{files:7,} files, {called:,} functions")
    with TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        names = ",".join([*(f"g{j}" for j in range(40)), "status"])
        rows = [
            ",".join([*(f"{x:.4f}" for x in row), f"c{label}"])
            for row, label in zip(X, y, strict=True)
        ]
        table.write_text("\n".join([names, *rows]), encoding="utf-8")
        out = str(Path(folder) / "report")
        words = ["honestbayes", "report", str(table), "--target", "status", "--quick", "-o", out]

        def report() -> None:
            sys.argv = words
            try:
                program()
            except SystemExit as ending:
                if ending.code:
                    raise

        files, called = visited(report)
    print(f"{'report --quick':37}{files:7,} files, {called:,} functions")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", action="store_true", help="also run a fit and a report")
    given = parser.parse_args()
    print_sizes()
    if given.paths:
        print_paths()
