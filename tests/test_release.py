"""One version, wherever it is written, and a package that tells others its types."""

import re
import tomllib
from importlib import resources
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def found(file: str, pattern: str) -> str:
    """Return what a file says of the version."""
    match = re.search(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert match, f"{file} names no version"
    return match[1]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert found("CITATION.cff", r"^version: (\S+)$") == project
    assert found("CHANGELOG.md", r"^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$") == project
    recipe = ROOT / "conda-recipe"
    if recipe.is_dir():  # not in the source distribution
        assert found("conda-recipe/meta.yaml", r'^{% set version = "(\S+)" %}$') == project
    assert version("honestbayes") == project


def test_the_date_of_the_release_is_the_same_everywhere() -> None:
    date = found("CITATION.cff", r"^date-released: (\S+)$")
    assert found("CHANGELOG.md", r"^## \[\d\S*\] - (\S+)$") == date


def test_types_come_with_the_package() -> None:
    package = resources.files("honestbayes")
    assert package.joinpath("py.typed").is_file()
    assert package.joinpath("__init__.pyi").is_file()


def test_the_script_that_type_checkers_read_uses_every_public_name() -> None:
    script = (ROOT / "tests" / "typed_use.py").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "api").glob("*.rst"))
    names = {
        name.rpartition(".")[2] for name in re.findall(r"^   ~?(honestbayes\.\S+)$", pages, re.M)
    }
    assert len(names) > 90
    assert {name for name in names if not re.search(rf"\b{name}\b", script)} == set()
