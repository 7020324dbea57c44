"""The pages of the documentation: all can be reached, and show what is printed."""

import contextlib
import inspect
import io
import itertools
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, replace
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
RUN = ["tutorial.rst", "howto/groups.rst", "howto/missing.rst", "howto/prevalence.rst"]
RUN += [
    "howto/packed.rst",
    "howto/genotypes.rst",
    "howto/screened.rst",
    "howto/validation.rst",
    "beside.rst",
]
RUN += ["scale.rst", "faq.rst", "howto/importance.rst", "howto/explain.rst"]
RUN += ["howto/expression.rst", "howto/publication.rst", "deployment.rst"]
"""Pages all of whose blocks can be run, one after the other, and whose outputs are compared."""

MODULES = ["", ".metrics", ".evaluation", ".plots", ".datasets"]
"""Whose names are public."""

NOT_RUN = ".. not run"
"""A comment before a block that is an example only: its files are not there."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code on a page, and the output that is shown below it, if any."""

    language: str
    code: str
    shown: str | None


def pages() -> list[Path]:
    """Return the pages that people write."""
    made = {"generated", "gallery", "_build", "_templates"}
    return [
        page
        for page in DOCS.rglob("*.rst")
        if made.isdisjoint(page.relative_to(DOCS).parts) and page.name != "sg_execution_times.rst"
    ]


def blocks(page: str) -> list[Block]:
    """Return the blocks of Python and of commands, each with the text block right below it."""
    found: list[Block] = []
    lines = page.splitlines()
    above = ""  # the last line that is not empty
    for number, line in enumerate(lines):
        if match := re.fullmatch(r"\.\. code-block:: (\w+)", line):
            below = itertools.takewhile(lambda each: each[:3].strip() == "", lines[number + 1 :])
            body = textwrap.dedent("\n".join(below)).strip("\n")
            language = match[1]
            if language == "text" and above.startswith("   ") and found:
                found[-1] = replace(found[-1], shown=body)
            elif language in {"python", "console"} and above != NOT_RUN:
                found.append(Block(language, body, None))
        above = line or above
    return found


def commands_print(code: str, folder: Path) -> str:
    """Return what commands print, standard output and errors together."""
    scripts = str(Path(sys.executable).parent)
    path = scripts + os.pathsep + os.environ["PATH"]
    where = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    lines = [line[2:] for line in code.splitlines() if line.startswith("$ ")]
    assert lines, f"no command in {code!r}"
    printed = ""
    for line in lines:
        result = subprocess.run(
            line, shell=True, cwd=folder, env=where, capture_output=True, text=True, check=False
        )
        printed += result.stdout + result.stderr
    return printed


def python_prints(code: str, names: dict[str, object]) -> str:
    """Return what lines of Python print; names stay from block to block."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "page", "exec"), names)
    return output.getvalue()


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {"index.rst"}
    for page in pages():
        for tree in re.findall(r"\.\. toctree::\n((?:   [^\n]*\n|\n)+)", page.read_text("utf-8")):
            for line in tree.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", line.strip())
                if name and not name.startswith(":"):
                    place = (page.parent / f"{name}.rst").resolve()
                    listed.add(place.relative_to(DOCS).as_posix())
    lost = {page.relative_to(DOCS).as_posix() for page in pages()} - listed
    assert lost == set()


def public_names(module: str) -> dict[str, object]:
    """Return what a module offers."""
    found = import_module(f"honestbayes{module}")
    return {name: getattr(found, name) for name in found.__all__ if not name.startswith("_")}


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "top")
def test_every_public_name_has_a_page(module: str) -> None:
    listed = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.rst"))
    named = set(re.findall(r"^   ~(honestbayes\S*)$", listed, re.MULTILINE))
    public = {f"honestbayes{module}.{name}" for name in public_names(module)}
    assert public - named == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "top")
def test_every_public_name_has_an_example(module: str) -> None:
    without = [
        name
        for name, thing in public_names(module).items()
        if "\nExamples\n--------\n" not in (inspect.getdoc(thing) or "")
    ]
    assert without == []


def test_the_parameters_of_every_estimator_are_on_a_page() -> None:
    named = [
        name
        for page in pages()
        for names in re.findall(r"^\.\. parameters:: (.+)$", page.read_text("utf-8"), re.MULTILINE)
        for name in names.split()
    ]
    estimators = [name for name, thing in public_names("").items() if inspect.isclass(thing)]
    assert sorted(named) == sorted(estimators)


@pytest.mark.parametrize("page", RUN)
def test_blocks_of_pages_are_found_and_are_python(page: str) -> None:
    found = blocks((DOCS / page).read_text("utf-8"))
    assert any(block.shown for block in found)
    for block in found:
        if block.language == "python":
            compile(block.code, page, "exec")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", RUN)
def test_pages_show_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if page != "tutorial.rst":
        commands_print("$ honestbayes demo", tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks((DOCS / page).read_text("utf-8")):
        is_python = block.language == "python"
        printed = (
            python_prints(block.code, names) if is_python else commands_print(block.code, tmp_path)
        )
        if block.shown is not None:
            same = OutputChecker().check_output(
                block.shown + "\n", printed, ELLIPSIS | NORMALIZE_WHITESPACE
            )
            assert same, f"{page} shows\n{block.shown}\nand this is printed:\n{printed}"
