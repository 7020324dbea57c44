"""What ``--help`` shows: options under headings, and -o for what is written."""

import re

import pytest
from cli_tables import MIXED

from honestbayes.cli import COMMANDS, FEW, HEADINGS, REST, Commands

MANY = ("report", "fit", "predict", "evaluate", "select", "pack", "sequence")
WRITING = ("report", "fit", "predict", "select", "sequence", "reproduce", "demo")


def options_of(command):
    """The options of a command, by the names of their parameters, without --help."""
    found = Commands(name="all").get_command(None, command)
    return {item.name: item for item in found.params if item.param_type_name == "option"}


@pytest.mark.parametrize("command", MANY)
def test_many_options_stand_under_headings_in_their_order(run, tmp_path, command):
    printed = run(command, "--help", cwd=tmp_path).done()
    shown = re.findall(r"^(\S.*):$", printed, flags=re.MULTILINE)
    assert shown[0] == "Arguments"
    assert len(shown) > 3
    assert shown[1:] == [heading for heading in (*HEADINGS, REST) if heading in shown]
    for option in options_of(command).values():
        assert len(re.findall(rf"^  (-\w, )?{option.opts[0]}[ ,\n]", printed, re.M)) == 1


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - set(MANY)))
def test_few_options_stand_under_one_heading(run, tmp_path, command):
    assert len(options_of(command)) <= FEW
    assert "\nOptions:\n" in run(command, "--help", cwd=tmp_path).done()


def test_each_option_has_one_heading():
    placed = [name for names in HEADINGS.values() for name in names]
    assert len(placed) == len(set(placed))
    there = {name for command in MANY for name in options_of(command)}
    assert there - set(placed) == {"seed", "jobs"}
    assert set(placed) <= there


@pytest.mark.parametrize("command", COMMANDS)
def test_o_is_where_to_write_in_each_command_that_writes(command):
    short = [item for item in options_of(command).values() if "-o" in item.opts]
    assert [item.opts[:2] for item in short] == [["--out", "-o"]] * (command in WRITING)


def test_o_writes(run, place, tmp_path):
    table = place / "patients.csv"
    run("fit", table, "--target", "status", *MIXED, "-o", "model", cwd=tmp_path).done()
    ended = run("predict", "model", table, "-o", "found.csv", cwd=tmp_path)
    assert ended.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.csv", "model"]
