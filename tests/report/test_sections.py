"""Reports and commands show the sections of a model without naming any model."""

import ast
import re
from pathlib import Path

import pytest

import honestbayes
from honestbayes.catalogue import all_specs

PACKAGE = Path(honestbayes.__file__).parent
SLOTS = {"factors", "interactions", "edges"}


def named_in(path: Path) -> set[str]:
    """Attributes, variables and parameters of a file, or all words of a template's tags."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jinja":
        return set(re.findall(r"\w+", " ".join(re.findall(r"{[{%].*?[%}]}", text, re.DOTALL))))
    nodes = list(ast.walk(ast.parse(text)))
    return (
        {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        | {node.id for node in nodes if isinstance(node, ast.Name)}
        | {node.arg for node in nodes if isinstance(node, ast.arg)}
    )


@pytest.mark.parametrize("folder", ["report", "cli"])
def test_no_section_of_a_model_is_named_outside_its_folder(folder):
    # The command for sequences is about one estimator, and shows its contexts.
    files = [path for path in (PACKAGE / folder).rglob("*") if path.suffix in (".py", ".jinja")]
    files = [path for path in files if path.stem not in ("sequence", "sequences")]
    assert len(files) > 8
    wrong = {path.name: named_in(path) & SLOTS for path in files}
    assert {name: words for name, words in wrong.items() if words} == {}


def test_every_template_of_a_section_lies_in_the_folder_of_its_model():
    templates = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.jinja")}
    own = {path for path in templates if not path.startswith("report/")}
    folders = {spec.load.__module__.removesuffix(".spec") for spec in all_specs()}
    for path in own:
        package = "honestbayes." + path.rpartition("/")[0].replace("/", ".")
        assert package in folders, path
