"""How commands end: exit codes, one line for bad input, progress, Ctrl-C, and no extras."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from cli_tables import MIXED, patients, write
from commands import LIMIT, environment, run_alone
from grids import slow

import honestbayes
from honestbayes.cli import COMMANDS

BLOCK = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; "
MAIN = "from honestbayes.__main__ import main; main()"


def test_usage_version_and_help(run, tmp_path):
    assert run("--version", cwd=tmp_path).done() == f"{honestbayes.__version__}\n"
    helped = run("--help", cwd=tmp_path).done()
    for command in ("report", "fit", "predict", "evaluate", "inspect", "demo", "select"):
        assert command in helped
        assert "Usage: honestbayes" in run(command, "--help", cwd=tmp_path).done()
    nothing = run(cwd=tmp_path)
    assert nothing.code in (0, 2)  # click changed its mind
    assert "Usage: honestbayes" in nothing.out + nothing.err
    for words in (
        ("nonsense",),
        ("report",),
        ("report", "a.csv", "--nonsense"),
        ("report", "a.csv", "--folds", "many"),
        ("report", "a.csv", "--folds", "1"),
        ("report", "a.csv", "--seed", "-1"),
        ("report", "a.csv", "--jobs", "0"),
        ("report", "a.csv", "--features", "some"),
        ("report", "a.csv", "--features", "-3"),
        ("report", "a.csv", "--features", "5", "--threshold", "0.2"),
        ("report", "a.csv", "--threshold", "1.5"),
        ("report", "a.csv", "--threshold", "nan"),
        ("report", "a.csv", "--prevalence", "1"),
        ("fit", "a.csv", "--prevalence", "nan"),
        ("fit", "a.csv", "--max-size", "-1"),
        ("predict", "model"),
        ("predict", "model", "a.csv", "--interval", "95"),
    ):
        ended = run(*words, cwd=tmp_path)
        assert ended.code == 2, words
        assert ended.out == ""
        assert "Error" in ended.err
        assert "Traceback" not in ended.err


def test_a_mistake_of_ours_ends_with_1_and_its_traceback(tmp_path):
    write(patients(8, 3), tmp_path / "t.csv")
    broken = (
        "import honestbayes.report.methods as fitting\n"
        "def broken(*_, **__): raise RuntimeError('ours')\n"
        "fitting.fit_model = broken\n"
    )
    words = ("fit", "t.csv", "--target", "status")
    ended = run_alone(*words, cwd=tmp_path, start=("-c", broken + MAIN))
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert ended.err.endswith("RuntimeError: ours\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def test_without_the_extras_one_line_says_what_to_install(tmp_path):
    ended = run_alone("report", "t.csv", cwd=tmp_path, start=("-c", BLOCK + MAIN))
    assert ended.code == 1
    assert ended.out == ""
    assert ended.err == (
        "honestbayes: the command line needs typer, rich; install it with: "
        'pip install "honestbayes[cli]"\n'
    )


def test_a_reader_that_stops_is_no_error_and_reads_utf_8_anywhere(run, tmp_path):
    frame = patients(12, 3).replace({"status": {"well": "gesünd", "ill": "kränk"}})
    write(frame, tmp_path / "small.csv")
    write(frame.loc[frame.index.repeat(2000)], tmp_path / "t.csv")
    run("fit", "small.csv", "--target", "status", *MIXED, "-q", "--out", "m", cwd=tmp_path).done()
    process = subprocess.Popen(
        [sys.executable, "-m", "honestbayes", "predict", "m", "t.csv"],
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING="ascii"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == "row,predicted,probability: kränk\n".encode()
    assert process.stdout.readline().decode("utf-8").split(",")[1] in ("gesünd", "kränk")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(LIMIT) == 1


@pytest.mark.parametrize(
    ("model", "words"), [slow("binary", "a one: gr??e above"), ("mixed", "\ngr??e  ")]
)
def test_a_terminal_without_the_letters_of_a_name_is_no_error(run, tmp_path, model, words):
    frame = patients(12, 3).rename(columns={"g0": "größe"}).replace({"status": {"ill": "kränk"}})
    write(frame, tmp_path / "t.csv")
    more = ("--model", model, "-q", "--out", "m")
    run("fit", "t.csv", "--target", "status", *more, cwd=tmp_path).done()
    ended = run_alone("inspect", "m", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert words in ended.done()
    assert ended.out.isascii()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_progress_is_shown_on_a_terminal_and_ctrl_c_leaves_nothing(tmp_path):
    write(patients(), tmp_path / "t.csv")
    master, slave = os.openpty()
    words = ("report", "t.csv", "--target", "status", "--repeats", "500", *MIXED)
    process = subprocess.Popen(
        [sys.executable, "-m", "honestbayes", *words],
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=slave,
    )
    os.close(slave)
    told = b""
    until = time.monotonic() + LIMIT
    while b"Cross-validating" not in told and time.monotonic() < until:
        told += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    try:
        while part := os.read(master, 4096):
            told += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    with process.stdout as stream:
        assert stream.read() == b""
    assert process.wait(LIMIT) == 1
    assert re.search(rb"\d+/\d{4,}", told)
    assert b"Traceback" not in told
    assert told.endswith(b"honestbayes: stopped.\r\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def test_no_option_looks_at_a_file_before_the_command_does():
    hints = [
        hint
        for name, (module, _) in COMMANDS.items()
        for hint in get_type_hints(
            getattr(import_module(f"honestbayes.cli.{module}"), name), include_extras=True
        ).values()
        if get_args(hint) and get_args(hint)[0] in (Path, Path | None)
    ]
    assert len(hints) >= 10
    assert not any(get_args(hint)[1].readable for hint in hints)


OTHER_USER = 65534
USED = [
    *{f"honestbayes.cli.{module}" for module, _ in COMMANDS.values()},
    "honestbayes.cli.inspect",
    "honestbayes.cli.predict",
    "honestbayes.cli.report",
    "honestbayes.loading",
    "honestbayes.tables.files",
]
"""What commands import while they run."""


def test_questions_about_commands_and_files_that_are_not_there_need_no_long_import(tmp_path):
    heavy = {"numba", "pandas", "pyarrow", "matplotlib", "sklearn", "scipy"}
    told = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    questions = [("--version",), ("--help",), ("reprot",), ("predict", "m", "t.csv")]
    questions += [(name, "--help") for name in COMMANDS]
    questions += [(name, "t.csv", "--target", "y") for name in ("report", "fit", "select")]
    for words in questions:
        ended = run_alone(*words, cwd=tmp_path, start=("-c", told + MAIN))
        assert not heavy & set(ended.err.split()), words


def test_the_list_of_commands_has_a_line_for_each(run, tmp_path):
    listed = run("--help", cwd=tmp_path).done()
    width = max(map(len, COMMANDS))
    for name, (_, line) in COMMANDS.items():
        assert f"  {name:<{width}}  {line}\n" in listed


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else"
)
def test_what_another_user_may_not_read_is_said_in_one_line(model):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        write(patients(), folder / "t.csv").chmod(0o600)
        Path(shutil.copy(model, folder / "m")).chmod(0o600)
        becoming = f"import os; os.setgid({OTHER_USER}); os.setuid({OTHER_USER}); "
        for words, named in (
            (("report", "t.csv", "--target", "status"), "t.csv"),
            (("predict", "m", "t.csv"), "m"),
            (("inspect", "m"), "m"),
        ):
            # Modules are imported first: they may be where the other user cannot read.
            start = f"import {', '.join(USED)}; {becoming}{MAIN}"
            ended = run_alone(*words, cwd=folder, start=("-c", start))
            said = ended.refused()
            assert named in said
            assert "permission" in said.lower()


QUICK = (
    "--target",
    "status",
    *MIXED,
    "--folds",
    "2",
    "--repeats",
    "1",
    "--no-path",
    "--no-compare",
)


def test_a_width_of_no_columns_hides_nothing(run, tmp_path):
    write(patients(12, 3), tmp_path / "t.csv")
    words = ("report", "t.csv", *QUICK)
    usual = run(*words, cwd=tmp_path, TERM="xterm", COLUMNS="80").done()
    assert run(*words, cwd=tmp_path, TERM="xterm", COLUMNS="40").done() != usual
    assert run(*words, cwd=tmp_path, TERM="xterm", COLUMNS="0").done() == usual
    assert "Report: t-report/report.html" in usual


@pytest.mark.slow_cases("words1")
@pytest.mark.skipif(os.name != "posix", reason="shells of other systems close no streams")
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("fit", "t.csv", *QUICK[:4]), marks=pytest.mark.slow),
        ("predict", "m", "t.csv"),  # which had the traceback
    ],
)
def test_a_closed_standard_output_is_no_error(run, tmp_path, words):
    write(patients(12, 3), tmp_path / "t.csv")
    run("fit", "t.csv", *QUICK[:4], "-q", "--out", "m", cwd=tmp_path).done()
    line = shlex.join([sys.executable, "-m", "honestbayes", *words])
    for closed, code in ((">&-", 0), (">&- 2>&-", 0), ("| true", None)):
        ended = subprocess.run(
            f"{line} {closed}",
            shell=True,
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=LIMIT,
            check=False,
        )
        assert ended.stderr == ""
        assert code is None or ended.returncode == code
    assert (tmp_path / "t.csv").read_text().startswith("status,")


def test_a_command_ends_in_order_while_pyarrow_reads_ahead_in_a_thread(run, tmp_path):
    write(patients(12, 3), tmp_path / "t.csv")
    run("fit", "t.csv", *QUICK[:4], "-q", "--out", "m", cwd=tmp_path).done()
    text = (tmp_path / "t.csv").read_text()
    header, first, *rows = text.splitlines(keepends=True)
    many = "".join(rows) * 48_000  # more blocks than are read before the refusal
    (tmp_path / "long.csv").write_text(header + first.rsplit(",", 1)[0] + ",low\n" + many)
    slow_reads = (
        "import runpy, threading, time\n"
        "from honestbayes.tables.csv_reader import ByteStream\n"
        "read = ByteStream.read\n"
        "def slowly(self, size=-1):\n"
        "    if threading.current_thread() is not threading.main_thread(): time.sleep(0.3)\n"
        "    return read(self, size)\n"
        "ByteStream.read = slowly\n"
        "runpy.run_module('honestbayes', run_name='__main__')\n"
    )
    ended = run_alone("predict", "m", "long.csv", cwd=tmp_path, start=("-c", slow_reads))
    assert ended.code == 2, ended
    assert ended.err.count("\n") == 1, ended
    assert "'low' in line 2 of the file, which is not a number" in ended.err


def test_a_forgotten_target_is_answered_with_the_columns_before_any_row_is_read(run, tmp_path):
    write(patients(12, 3), tmp_path / "t.csv")
    write(patients(12, 3000), tmp_path / "wide.csv")
    for more in ((), ("--quick",)):
        said = run("report", "t.csv", *more, cwd=tmp_path).refused()
        assert said == (
            "name the column of t.csv that holds the class, with --target; its columns are "
            "'status', 'g0', 'g1', 'g2'."
        )
    said = run("fit", "wide.csv", cwd=tmp_path).refused()
    assert "'g18' and 2,981 more." in said
    (tmp_path / "broken.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert "--target" in run("report", "broken.csv", "--quick", cwd=tmp_path).refused()


@pytest.mark.parametrize("command", ["report", "fit", "select"])
def test_a_name_that_is_too_long_is_refused_before_the_work(run, tmp_path, command):
    name = "x" * 250 + ".csv"
    (tmp_path / name).write_text("no table at all\n\0\0")
    said = run(command, name, "--target", "status", cwd=tmp_path).refused()
    assert "is too long to be written (2" in said
    assert said.endswith("give a shorter one with --out.")
    words = ("--target", "status", "--out", "y" * 256)
    said = run(command, name, *words, cwd=tmp_path).refused()
    assert "is too long to be written (256 bytes" in said


@pytest.mark.parametrize("command", ["report", "select"])
def test_the_folder_that_is_full_is_named_as_it_was_typed(run, tmp_path, command):
    (tmp_path / "inner").mkdir()
    write(patients(12, 3), tmp_path / "t.csv")
    (tmp_path / "inner" / "notes.txt").write_text("mine")
    words = (command, "../t.csv", "--target", "status", "-o", ".")
    said = run(*words, cwd=tmp_path / "inner").refused()
    assert said.startswith("the folder . holds 'notes.txt'")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.pkl", b"\x80\x04\x95abc", "t.pkl is a Python pickle, which is not read; write the"),
        ("t.pkl", b"\x80\x02abc", "t.pkl is a Python pickle, which is not read; write the"),
        ("t.json", b'[{"a": 1, "outcome": "no"}]', "t.json is JSON, which is not read; write one"),
        ("t.csv", b' {"a": [1, 2]}', "t.csv is JSON, which is not read; write one object"),
        ("t.csv", b"<!DOCTYPE html><p>", "t.csv is a web page, which is not read; open it in"),
        (None, b"", "data.csv is an address (https); download it, and give the file."),
    ],
)
def test_what_is_no_table_is_refused_in_one_clear_sentence(run, tmp_path, name, content, says):
    if name is not None:
        (tmp_path / name).write_bytes(content)
    table = name or "https://example.org/data.csv"
    said = run("report", table, "--target", "y", cwd=tmp_path).refused()
    assert said.startswith(says)
    assert said.count("which is") <= 1


def test_reports_and_the_demonstration_are_not_kept_by_git():
    ignored = Path(__file__).parents[2].joinpath(".gitignore").read_text("utf-8").split()
    assert {"*-report/", "honestbayes-demo/"} <= set(ignored)
