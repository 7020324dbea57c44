"""Texts that users read have the field's words, and none of the private ones that were replaced."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REPLACED = {
    r"claim(s|ed|ing)?": "predicted, expected",
    r"happened": "observed",
    r"too (sure|careful)": "overconfident, underconfident",
    r"honest (probabilit\w+|report)": "calibrated",
    r"methods of others|methods of other libraries|peers|contenders": "baselines",
    r"lapses?": "outlier rate",
    r"(passed|thrown) (over|away)": "not selected, discarded",
    r"idle": "null, uninformative",
    r"luck favours|favoured by (luck|chance)": "its lead is probably overstated",
    r"what (remains|is left of)": "say what it is",
    r"speaks? for|spoke for": "favours, supports",
    r"come from where these came from": "from the same population",
    r"as far as these cases tell|all is there": "as far as the cases can show",
}
TEXTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.rst")),
    *sorted((ROOT / "docs" / "howto").glob("*.rst")),
    *sorted((ROOT / "src").rglob("*.jinja")),
    *sorted((ROOT / "src" / "honestbayes" / "cli").glob("*.py")),
    *sorted((ROOT / "src" / "honestbayes" / "report").glob("*.py")),
    ROOT / "src" / "honestbayes" / "demo.py",
]


def found_in(text):
    """Return the words of a text that were replaced, with what stands for them."""
    return {
        match[0]: instead
        for pattern, instead in REPLACED.items()
        for match in re.finditer(rf"\b({pattern})\b", text, re.IGNORECASE)
    }


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_replaced_word_is_used(path):
    assert found_in(path.read_text("utf-8")) == {}


def test_replaced_words_are_found():
    said = "The model claims 5% where 12% happened, and what remains speaks for lapses."
    assert len(found_in(said)) == 5
