"""Texts that users read have the field's words, and none of the private ones that were replaced."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "wording.rst"
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
PRIVATE = {
    r"alphabets?": "encoding",
    r"by itself": "automatically, alone",
    r"in words": "leave it out",
    r"its like": "similar",
    r"know(s|n)? of|knows (no|nothing)": "say what it does",
    r"luck(y|ily)?": "chance",
    r"move[sd]? together": "correlated",
    r"n?_?rac(e|es|ed|ing)": "ranking, candidates",
    r"next to nothing": "little",
    r"so many|how sure": "this number of, uncertainty",
    r"speaks?|spoke|tells": "say what it shows",
    r"surer|of its own right": "more confident",
    r"the user calls": "the user's",
    r"whole_file|say_once|with_remarks|n_racing|one_race|largest_race|harmless": "see the style",
    r"yes-or-no": "binary",
}
"""Words that have other uses in pages: they are looked for in the sentences of the package."""
OTHERS = ("report/page/", "report/render.py", "report/pictures.py", "report/analysis.py")
TEXTS = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").glob("*.rst") if path != PAGE),
    *sorted((ROOT / "docs" / "howto").glob("*.rst")),
    *sorted((ROOT / "src").rglob("*.jinja")),
    *sorted((ROOT / "src" / "honestbayes" / "cli").glob("*.py")),
    *sorted((ROOT / "src" / "honestbayes" / "report").glob("*.py")),
    ROOT / "src" / "honestbayes" / "demo.py",
]


def tool():
    spec = importlib.util.spec_from_file_location("sentences", ROOT / "tools" / "sentences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def sentences():
    """Return the sentences of the package by file."""
    found = {}
    for path, line, text in tool().sentences():
        if path.startswith("src/"):
            found.setdefault(path, []).append((line, text))
    return found


def found_in(text, words=REPLACED):
    """Return the words of a text that were replaced, with what stands for them."""
    return {
        match[0]: instead
        for pattern, instead in words.items()
        for match in re.finditer(rf"\b({pattern})\b", text, re.IGNORECASE)
    }


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_replaced_word_is_used(path):
    assert found_in(path.read_text("utf-8")) == {}


def test_replaced_words_are_found():
    said = "The model claims 5% where 12% happened, and what remains speaks for lapses."
    assert len(found_in(said)) == 5


def test_no_sentence_of_the_package_has_a_replaced_word():
    # One test, so that sentences are read where it runs, and not wherever tests are collected.
    assert len(sentences()) > 100
    found = {}
    for path, lines in sentences().items():
        words = REPLACED | ({} if any(other in path for other in OTHERS) else PRIVATE)
        found |= {f"{path}:{line}": found_in(text, words) for line, text in lines}
    assert {place: words for place, words in found.items() if words} == {}


def test_sentences_are_collected_from_code_templates_and_pages():
    read = tool()
    code = """
def check(n):
    \'\'\'A private note of a function.\'\'\'
    if n < 1:
        msg = f"n={n} is too small; give a {'larger' if n else 'positive'} number."
        raise ValueError(msg + " Or leave it out.")
"""
    tree = read.ast.parse(code)
    assert [text for _, text in read.literals(tree)][:1] == [
        "n={…} is too small; give a {…} number."
    ]
    assert read.split("One two three. Four five six.") == ["One two three.", "Four five six."]
    blocks = read.of_template("<p>All of {{ n }} cases.</p>\n<p>And this too.</p>")
    assert [(line, text) for line, text in blocks if text.strip()] == [
        (1, "All of {…} cases."),
        (2, "And this too."),
    ]
    assert read.of_page("Title\n=====\n\nThe first paragraph.\n\nMore.\n") == [
        (4, "The first paragraph.")
    ]


def rewritten():
    """Return the rows of the page on wording: before, after, file."""
    cells = re.findall(r"^   (?:\*| ) - (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    rows = zip(cells[::3], cells[1::3], cells[2::3], strict=True)
    return [
        tuple(re.sub(r"\\(.)", r"\1", cell).strip() for cell in row)
        for row in rows
        if row[0] != "Before"
    ]


def test_rewritten_sentences_stand_where_the_page_says():
    assert len(rewritten()) == 59
    for before, after, where in rewritten():
        path = where.strip("`")
        if not path.startswith("src/"):
            continue  # pages are rewritten more often than messages
        text = re.sub(r"\s+", " ", (ROOT / path).read_text("utf-8"))
        said = [text, *(sentence for _, sentence in sentences().get(path, []))]
        expected = before if after == "unchanged" else after
        assert any(expected in sentence for sentence in said), f"{path}: {expected}"
