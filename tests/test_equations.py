"""The table of equations names functions that exist and cite these equations."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mathematics.rst"
ROW = re.compile(r"^   \* - (.+\(.+\).*)\n     - .+\n     - ``([\w.:]+)``$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def texts_of(place):
    """The docstrings of a function, of its parts, and of its module, and the module's comments."""
    module_name, _, name = place.partition(":")
    module = importlib.import_module(f"honestbayes.{module_name}")
    yield module.__doc__
    source = Path(module.__file__).read_text(encoding="utf-8")
    yield "\n".join(re.findall(r"^ *# (.*)$", source, re.MULTILINE))
    found = module
    for part in filter(None, name.split(".")):
        found = getattr(found, part)
        yield getattr(found, "py_func", found).__doc__
    if isinstance(found, type):
        yield from (getattr(method, "__doc__", None) for method in vars(found).values())


def cites(text, number):
    """Whether a text cites an equation, by itself or within a range."""
    pairs = re.findall(r"(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?", text or "")
    return any(
        float(low) <= float(number) <= float(high or low)
        for low, high in pairs
        if ("." in low) == ("." in number)
    )


def test_the_table_is_there():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("equations", "place"), ROWS, ids=[" in ".join(row) for row in ROWS])
def test_each_place_exists_and_cites_its_equations(equations, place):
    texts = list(texts_of(place))
    for number in re.findall(r"\(([\d.]+)\)", equations):
        assert any(cites(text, number) for text in texts), f"{place} does not cite ({number})"


def test_a_number_that_is_not_cited_is_found():
    assert cites("equations 42 and 43", "43")
    assert cites("equations 2.76 to 2.78", "2.77")
    assert not cites("equation 2.7", "2")
    assert not cites("equation 11", "12")
    assert not cites(None, "1")
