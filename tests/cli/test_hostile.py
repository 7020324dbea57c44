"""Names and labels that try to run, in files and on the terminal."""

import unicodedata

import pytest
from cli_tables import SHORT, report_json, rows_of, strict_json, write
from hostile_table import HOSTILE, hostile_frame

RED = "\x1b[31mred\x07\nReport: elsewhere"
CLASSES = ("-1+1\x1b[2J", "=1+1</script>")


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


def assert_harmless(text):
    """Nothing in a text moves the cursor, rings, or changes colours."""
    assert {c for c in text if unicodedata.category(c) == "Cc"} <= {"\n"}


def test_the_terminal_gets_no_control_characters(hostile, run):
    folder, printed = hostile
    assert_harmless(printed)
    assert printed.count("\nReport: ") == 1
    inspected = run("inspect", "out/model.honestbayes", cwd=folder).done()
    assert_harmless(inspected)
    assert "\nReport:" not in inspected
    assert HOSTILE[0] in inspected
    ended = run("predict", "out/model.honestbayes", "=t.csv", "--id", "name", cwd=folder)
    assert_harmless(ended.out)
    evaluated = run("evaluate", "out/model.honestbayes", "=t.csv", cwd=folder)
    assert_harmless(evaluated.done())
    for command in (
        ("report", "=t.csv", "--target", RED + "x"),
        ("predict", "out/model.honestbayes", "=t.csv", "--id", "\x1b[31m"),
    ):
        assert_harmless(run(*command, cwd=folder).refused() + "\n")


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
            assert label in ("'-1+1?[2J", "'=1+1</script>")


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
