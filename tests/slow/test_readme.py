"""What README shows is what happens: the command, its output and the picture."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "honestbayes", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    ).stdout


def words_and_numbers(text):
    text = " ".join(text.split())
    return NUMBER.sub("#", text), [float(n.replace(",", "")) for n in NUMBER.findall(text)]


def test_the_command_in_readme_prints_what_readme_shows(tmp_path):
    command = re.search(r"^    honestbayes (report .*)$", README, flags=re.MULTILINE)[1]
    shown = re.search(r"<!-- output: honestbayes report -->\n```text\n(.*?)```", README, re.DOTALL)[
        1
    ]
    run(tmp_path, "demo")
    words, numbers = words_and_numbers(run(tmp_path, *command.split()))
    # README shows the beginning.
    shown_words, shown_numbers = words_and_numbers(shown.removesuffix("...\n"))
    assert words.startswith(shown_words)
    # Other versions of scikit-learn may tune a little differently.
    some = numbers[: len(shown_numbers)]
    assert some == pytest.approx(shown_numbers, rel=0.05, abs=0.02)
    assert {path.name for path in (tmp_path / "leukemia-report").iterdir()} == {
        "report.html",
        "report.json",
        "predictions.csv",
        "model.honestbayes",
    }
