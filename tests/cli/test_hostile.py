"""Names and labels that try to run, in files and on the terminal."""

import json
import re
import unicodedata

import pytest
from cli_tables import SHORT, report_json, rows_of, strict_json, write
from hostile_table import HOSTILE, hostile_frame

from honestbayes.text import sanitize_text

RED = "\x1b[31mred\x07\nReport: elsewhere\u202eoga\u2028\u2066"
CLASSES = ("-1+1\x1b[2J\u202e", "=1+1</script>")


@pytest.fixture(scope="module")
def hostile(run, tmp_path_factory):
    """A folder with a hostile table and its report, and what was printed."""
    folder = tmp_path_factory.mktemp("hostile")
    frame = hostile_frame(p=10)
    target = "<svg onload=alert(3)>"
    labels = dict(zip(sorted(set(frame[target])), CLASSES, strict=True))
    frame = frame.replace({target: labels}).rename(columns={"=cmd()": RED, "noise 0": "=cmd()"})
    frame["name"] = [f"{sign}{i}x\x1b[31m\x00"[:-1] for i, sign in enumerate("=+-@" * 15)]
    write(frame, folder / "=t.csv")
    words = ("--target", target, "--id", "name", *SHORT, "-k", "all", "--out", "out")
    ended = run("report", "=t.csv", *words, cwd=folder)
    return folder, ended.done()


def assert_sanitized(text):
    """Nothing in a text moves the cursor, rings, changes colours or turns lines around."""
    acting = ("Cc", "Cf", "Zl", "Zp")
    assert {c for c in text if unicodedata.category(c) in acting} <= {"\n"}


def test_the_terminal_gets_no_control_characters(hostile, run):
    folder, printed = hostile
    assert_sanitized(printed)
    assert printed.count("\nReport: ") == 1
    inspected = run("inspect", "out/model.honestbayes", cwd=folder).done()
    assert_sanitized(inspected)
    assert "\nReport:" not in inspected
    assert HOSTILE[0] in inspected
    ended = run("predict", "out/model.honestbayes", "=t.csv", "--id", "name", cwd=folder)
    assert_sanitized(ended.out)
    evaluated = run("evaluate", "out/model.honestbayes", "=t.csv", cwd=folder)
    assert_sanitized(evaluated.done())
    for command in (
        ("report", "=t.csv", "--target", RED + "x"),
        ("predict", "out/model.honestbayes", "=t.csv", "--id", "\x1b[31m"),
    ):
        assert_sanitized(run(*command, cwd=folder).refused() + "\n")


def test_no_cell_of_a_csv_file_is_a_formula_or_an_order(hostile, run):
    folder, _ = hostile
    run("predict", "out/model.honestbayes", "=t.csv", "--id", "name", "--out", "p.csv", cwd=folder)
    for path in (folder / "out" / "predictions.csv", folder / "p.csv"):
        rows = rows_of(path)
        assert len(rows) == 60
        for position, row in enumerate(rows):
            sign = "=+-@"[position % 4]
            assert row["identifier"] == f"'{sign}{position}x?[31m"
            label = row.get("class") or row["predicted"]
            assert label in ("'-1+1?[2J?", "'=1+1</script>")


def test_json_is_strict_ascii_and_keeps_the_names(hostile, run):
    folder, _ = hostile
    report = report_json(folder / "out")
    names = {feature["column"] for feature in report["features"]}
    assert {*HOSTILE, RED} <= names
    assert set(report["data"]["labels"]) == set(CLASSES)
    printed = run("inspect", "out/model.honestbayes", "--json", cwd=folder).done()
    assert printed.isascii()
    assert RED in strict_json(printed)["columns"]


def test_the_page_holds_no_markup_from_names(hostile):
    page = (hostile[0] / "out" / "report.html").read_text(encoding="utf-8")
    for attack in ("<script>alert", "</script><img", "<svg onload", "<img src=x"):
        assert attack not in page


def test_the_page_shows_a_sign_for_characters_that_act(hostile):
    page = (hostile[0] / "out" / "report.html").read_text(encoding="utf-8")
    assert_sanitized(page)
    cells = re.search(r'id="case-data">(.*?)</script>', page, re.S)[1]
    texts = [row[i] for row in json.loads(cells)["rows"] for i in (1, 2)]
    texts += [column["title"] for column in json.loads(cells)["columns"]]
    assert_sanitized("".join(texts))
    assert "-1+1\ufffd[2J\ufffd" in texts
    assert "\ufffd[31mred\ufffd\nReport: elsewhere\ufffdoga\ufffd\ufffd" in page


@pytest.mark.parametrize(
    "name", ["größe µm", "naïve\u00a0x", "نمی\u200cخواهم", "日本", "👩\u200d🔬", "a\tb\n"]
)
def test_names_in_any_script_stay_as_they_are(name):
    assert sanitize_text(name) == name


@pytest.mark.parametrize(
    "sign",
    [
        "\x00",
        "\x1b",
        "\x7f",
        "\x9b",
        "\u200f",
        "\u202e",
        "\u2069",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\ufdd0",
        "\ud800",
    ],
)
def test_characters_that_act_are_replaced(sign):
    assert sanitize_text(f"a{sign}b") == "a?b"
