"""Write the map of modules on the architecture page from the modules' own first lines.

Run `python tools/architecture.py` after a module was added, moved or renamed; a test compares.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "honestbayes"
PAGE = ROOT / "docs" / "architecture.rst"
BEGIN = ".. The map: made by tools/architecture.py from the first line of each module.\n"
END = ".. End of the map.\n"


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, f"{path} has no docstring"
    return text.splitlines()[0].rstrip(".")


def modules(package: Path) -> list[Path]:
    """Return all modules: each folder's own before what is in it."""

    def place(path: Path) -> tuple[str, ...]:
        parts = path.relative_to(package).parts
        return parts[:-1] if path.name == "__init__.py" else parts

    return sorted(package.rglob("*.py"), key=place)


def table(package: Path = PACKAGE) -> str:
    """Return the map as a table of reStructuredText."""
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for path in modules(package):
        place = path.relative_to(package)
        folder = path.name == "__init__.py" and place.parent != Path()
        name = f"{place.parent.as_posix()}/" if folder else place.as_posix()
        lines += [f"   * - ``{name}``", f"     - {first_line(path)}"]
    return "\n".join(lines) + "\n"


def with_table(page: str, new: str) -> str:
    """Return the page with another map."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
