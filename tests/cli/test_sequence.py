"""``honestbayes sequence``: what is next, in characters, lines and cells; and bad input."""

import numpy as np
import pandas as pd
import pytest
from cli_tables import strict_json, write

import honestbayes
from honestbayes import SequenceClassifier
from honestbayes.report.sequences import FREQUENCIES, PREVIOUS, SequenceOptions, fit_sequence
from honestbayes.tables.sequences import vowels_and_consonants

SHORT = ("--order", 3, "--chains", 1, "--draws", 20, "--jobs", 1)
CHAINS = {"n_chains": 1, "n_draws": 20, "n_warmup": 5, "n_doublings": 0, "random_state": 0}
TEXT = 20 * "the cat sat. "
TOO_SHORT = "is too short for --order 10, which needs 20;"
TOO_MANY = (
    "and at most 100 are allowed; merge some of them (--collapse vowels does so with letters)."
)
BAD = {
    "empty.txt": "",
    "blank.txt": "\n\n",
    "same.txt": 50 * "a",
    "short.txt": "abcabcabcabc",
    "tiny.txt": "ab",
    "many.txt": "\n".join(map(str, range(150))),
    "holes.csv": "day,move\n1,up\n2,down\n3,\n4,up\n",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequences")
    (folder / "text.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    states = 30 * ["up", "up", "down"]
    (folder / "lines.txt").write_text("\r\n".join([*states, "", ""]), encoding="utf-8")
    write(pd.DataFrame({"day": np.arange(90), "move": states}), folder / "moves.csv")
    for name, text in BAD.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_next_symbol_contexts_and_a_check_are_printed(run, here):
    ended = run("sequence", "text.txt", *SHORT, "--collapse", "vowels", "--contexts", 4, cwd=here)
    printed = ended.done()
    words = " ".join(printed.split())
    encoded = vowels_and_consonants(TEXT)
    assert f"text.txt: {len(encoded)} symbols, 3 of them different Note:" in words
    assert "raise --draws" in words
    assert "After VC_ the next symbol is, with 90% intervals:" in words
    assert "contexts of up to 3 symbols" in words
    assert printed.count(" -> ") == 4
    assert "Check: a model of the first" in words
    for name in ("this model, order 3", PREVIOUS, "frequencies of symbols"):
        assert f"{name} " in printed
    assert "a symbol; the interval of the difference is" in words or "no clear difference" in words


def test_cells_of_a_column_and_lines_are_the_same_symbols(run, here):
    words = (*SHORT, "--no-check", "--history", "up,up", "--train", 60, "--json")
    lines = strict_json(run("sequence", "lines.txt", "--lines", *words, cwd=here).done())
    cells = strict_json(run("sequence", "moves.csv", "--column", "move", *words, cwd=here).done())
    assert lines == cells
    assert (lines["n_symbols"], lines["n_windows"], lines["check"]) == (90, 60, None)
    assert lines["symbols"] == ["down", "up"]
    assert lines["history"] == ["up", "up"]
    assert sum(lines["probability"]) == pytest.approx(1)
    bounds = zip(lines["low"], lines["high"], strict=True)
    assert all(0 <= low <= high <= 1 for low, high in bounds)


def test_symbols_that_cannot_be_seen_are_shown_and_those_of_history_may_be_new(run, here):
    words = ("--no-check", "--history", "q t", "--train", 50)
    printed = run("sequence", "text.txt", "--order", 4, *SHORT[2:], *words, cwd=here).done()
    found = " ".join(printed.split())
    assert "After q␣t the next symbol is" in found
    assert "q in --history does not occur in these windows" in found
    assert "--history is shorter than the 4 symbols" in found
    assert "the model is fitted to the last 50 windows" in found
    assert "was not checked" in found


@pytest.mark.parametrize("option", ["--out", "--save"])
def test_the_model_is_saved_and_loaded(run, here, option):
    words = ("--no-check", option, "model", "--json")
    found = strict_json(run("sequence", "text.txt", *SHORT, *words, cwd=here).done())
    model = honestbayes.load(here / "model")
    assert isinstance(model, SequenceClassifier)
    expected = model.predict_proba([found["history"]])[0]
    np.testing.assert_allclose(found["probability"], expected)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("empty.txt",), "empty.txt is empty; give a file that holds symbols."),
        (("blank.txt",), "blank.txt is empty; give a file that holds symbols."),
        (("none.txt",), "there is no file none.txt; check its name and folder."),
        (("same.txt",), "all symbols are 'a', so nothing can be learned; give another sequence."),
        (
            ("short.txt",),
            f"a sequence of 12 symbols {TOO_SHORT} give --order 2 or lower.",
        ),
        (
            ("tiny.txt",),
            f"a sequence of 2 symbols {TOO_SHORT} give a longer sequence.",
        ),
        (("moves.csv",), "moves.csv is a table; name the column of its symbols with --column."),
        (("moves.csv", "--column", "mov"), "moves.csv has no column 'mov'; did you mean 'move'?"),
        (
            ("holes.csv", "--column", "move"),
            "column 'move' has no symbol in line 4 of the file; fill it in, or leave the row out.",
        ),
        (
            ("many.txt", "--lines"),
            f"there are 150 different symbols, {TOO_MANY}",
        ),
        (
            ("text.txt", "--lines", "--collapse", "vowels"),
            "--collapse is for the characters of a text; leave out --lines and --column.",
        ),
        (
            ("moves.csv", "--column", "move", "--lines"),
            "--lines is for a text and --column for a table; give only one of them.",
        ),
        (
            ("text.txt", "--history", ""),
            (
                "--history holds no symbols; give some, or leave it out to predict the end of the "
                "sequence."
            ),
        ),
        (
            ("text.txt", "--out", "text.txt"),
            "text.txt exists and is not a model file; choose another --out.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(run, here, words, complaint):
    assert run("sequence", *words, cwd=here).refused() == complaint


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_symbols_that_are_new_at_the_end_take_no_part_in_the_check():
    symbols = [*(25 * "ab"), *"abzabababab"]
    found, _ = fit_sequence(symbols, SequenceOptions(order=1, chains=CHAINS))
    assert found.symbols == ("a", "b", "z")
    assert (found.check.n_trained, found.check.n_checked, found.check.n_new) == (48, 11, 1)
    assert [one.name for one in found.check.methods] == ["this model, order 1", FREQUENCIES]
    few, _ = fit_sequence(symbols[:25], SequenceOptions(order=1, chains=CHAINS))
    assert few.check is None
