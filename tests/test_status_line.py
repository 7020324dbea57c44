"""A status line replaces itself on terminals and in notebooks, and spares logs."""

import io
import sys
import types

import numpy as np
import pandas as pd
import pytest

from honestbayes import make_report, status_line
from honestbayes.status_line import StatusLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that is moved by hand."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(status_line.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Output:
    """What a notebook keeps of one output: the last that it was given."""

    def __init__(self, data):
        self.history = [data["text/plain"]]

    def update(self, data, *, raw):
        assert raw
        self.history.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    """The outputs of a notebook, by what of IPython is used."""
    outputs = []

    def display(data, *, raw, display_id):
        assert raw
        assert display_id
        outputs.append(Output(data))
        return outputs[-1]

    shell = types.SimpleNamespace(kernel=object())
    module, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    module.get_ipython, shown.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return outputs


def show_all(clock, seconds, n=100):
    """Show a text each so many seconds, and the last."""
    line = StatusLine()
    for step in range(1, n):
        line.show(f"step {step}")
        clock.now += seconds
    line.show("all done", last=True)
    return line


def test_a_terminal_has_one_line_of_which_nothing_is_left_over(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = StatusLine()
    for text, last in (("a long text", False), ("short", False), ("end", True)):
        line.show(text, last=last)
        clock.now += 1
    assert sys.stderr.getvalue() == "\ra long text\rshort      \rend  \n"


def test_a_terminal_is_not_written_to_all_the_time(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    show_all(clock, 0.01)  # a second in all
    assert 4 <= sys.stderr.getvalue().count("\r") <= 8
    assert sys.stderr.getvalue().endswith("\n")


def test_a_notebook_has_one_output_that_ends_with_the_last_text(clock, notebook, capsys):
    line = show_all(clock, 1.0)
    clock.now += 1
    line.show("more work")
    (output,) = notebook
    assert output.history == [f"step {n}" for n in range(1, 100)] + ["all done", "more work"]
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_few_whole_lines_however_long_it_takes(clock, capsys):
    show_all(clock, 1.0, n=3600)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == ["step 1", "step 2", "step 3", "step 5"]
    assert lines[-1] == "all done"
    assert len(lines) < 16


def frame():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return pd.DataFrame(rng.normal(size=(60, 4)) + y[:, None], columns=list("abcd")).assign(y=y)


OPTIONS = {"model": "mixed", "n_folds": 2, "n_repeats": 1, "path": False, "compare": False}


def test_a_report_is_silent_where_nobody_looks_unless_it_is_asked(capsys):
    make_report(frame(), "y", **OPTIONS)
    assert capsys.readouterr() == ("", "")
    make_report(frame(), "y", verbose=True, **OPTIONS)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Cross-validating\nCross-validating: 1 of ")
    assert err.splitlines()[-1].startswith("Report of table made in ")


def test_a_report_shows_its_steps_in_a_notebook(notebook, monkeypatch):
    monkeypatch.setattr(status_line, "SHORTEST", 0.0)
    make_report(frame(), "y", **OPTIONS)
    (output,) = notebook
    numbers = [text for text in output.history if text.startswith("Cross-validating: ")]
    total = len(numbers)
    assert numbers == [f"Cross-validating: {n} of {total}" for n in range(1, total + 1)]
    assert "Fitting all rows" in output.history
    assert output.history[-1].startswith("Report of table made in ")
    make_report(frame(), "y", verbose=False, **OPTIONS)
    assert len(notebook) == 1
