"""Messages are one printable line, whatever the data hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestbayes.tables.errors import MAX_SHOWN, InputError, listed, shown, suggestion


@given(st.text())
def test_shown_text_is_one_short_printable_line(text: str) -> None:
    result = shown(text)
    assert result.isprintable()
    assert len(result) <= MAX_SHOWN + 5
    assert len(result.splitlines()) == 1


def test_short_text_is_shown_in_full() -> None:
    assert shown("low") == "'low'"
    assert shown("\x1b[31m") == r"'\x1b[31m'"


@given(st.text(max_size=200))
def test_an_error_is_printable_even_where_text_was_not_quoted(text: str) -> None:
    message = str(InputError(f"column {text} is odd"))
    assert message.isprintable()


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tumour", "; did you mean 'tumor'?"),
        ("AGE", "; did you mean 'age'?"),
        ("zzzzzz", "; its columns are 'tumor', 'age', 'x0', 'x1', 'x2' and 7 more."),
    ],
)
def test_close_names_are_suggested(name: str, expected: str) -> None:
    assert suggestion(name, ["tumor", "age", *(f"x{j}" for j in range(10))]) == expected


def test_a_list_says_how_many_more_there_are() -> None:
    assert listed(["a", "b", "c"], limit=2) == "'a', 'b' and 1 more"
