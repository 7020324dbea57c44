"""Run the command line as a user does: in a process of its own, in a folder of its own.

Importing the package takes two seconds. Most tests therefore ask a process that has imported it to
fork: the child is a process with its own arguments, folder, output and exit code, and calls what
``python -m honestbayes`` calls. `run_alone` starts a new interpreter, where that matters.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

LIMIT = 300
"""Seconds after which a command is ended."""

THREADS = os.environ.get("HONESTBAYES_TEST_THREADS", "1")
_NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
BLAS_THREADS = dict.fromkeys(_NAMES, THREADS)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def refused(self):
        """The one line of a refusal: exit code 2, nothing printed, no traceback."""
        assert self.code == 2, self
        assert self.out == "", self
        assert self.err.count("\n") == 1, self
        assert self.err.startswith("honestbayes: "), self
        assert self.err.endswith((".\n", "?\n")), self
        return self.err.removeprefix("honestbayes: ").rstrip("\n")

    def done(self):
        """What was printed, of a command that worked and had nothing to remark."""
        assert self.code == 0, self
        assert self.err == "", self
        return self.out


def environment(**more):
    """The environment of a command: one thread of BLAS, and a terminal of the usual width."""
    plain = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    return plain | BLAS_THREADS | {"COLUMNS": "80"} | more


def run_alone(*arguments, cwd, start=("-m", "honestbayes"), **more):
    """Run one command in a new interpreter."""
    result = subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
        check=False,
    )
    return Ended(result.returncode, result.stdout, result.stderr)


class Commands:
    """A process that forks for each command."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __call__(self, *arguments, cwd, **more):
        """Run one command in a folder, with more variables in its environment."""
        with tempfile.TemporaryDirectory() as place:
            printed, told = Path(place, "out"), Path(place, "err")
            order = [[*map(str, arguments)], str(cwd), str(printed), str(told), more]
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return Ended(code, *(p.read_bytes().decode("utf-8") for p in (printed, told)))

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(LIMIT)


def _wait_for_orders():
    """Fork for each line; return in the child alone."""
    while line := sys.stdin.readline():
        arguments, folder, printed, told, more = json.loads(line)
        child = os.fork()
        if child:
            status = os.waitpid(child, 0)[1]
            sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
            sys.stdout.flush()
            continue
        signal.alarm(LIMIT)
        os.environ.update(more)
        os.chdir(folder)
        files = (os.devnull, os.O_RDONLY), (printed, os.O_WRONLY), (told, os.O_WRONLY)
        for number, (name, mode) in enumerate(files):
            opened = os.open(name, mode | os.O_CREAT, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        sys.argv = ["honestbayes", *arguments]
        return True
    return False


def call(main):
    """Call what a program calls, and return its exit code."""
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def warmed():
    """Return the program, after a report has imported and compiled all that it needs."""
    from cli_tables import patients, write

    from honestbayes.__main__ import main

    with tempfile.TemporaryDirectory() as place:
        table = write(patients(12, 4), Path(place, "t.csv"))
        words = ("--target", "status", "--folds", "2", "--repeats", "1", "--no-path", "--quiet")
        words += ("--model", "mixed")
        sys.argv = ["honestbayes", "report", str(table), *words, "--out", str(Path(place, "out"))]
        assert call(main) == 0
    # What is there already is not looked at again, which would copy its pages in every child.
    gc.collect()
    gc.freeze()
    return main


def leave(code):
    """End a forked process as an interpreter does, without taking its memory apart."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    program = warmed()
    if _wait_for_orders():
        leave(call(program))
