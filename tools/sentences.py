"""Print every sentence that users of the package read, each with its file and line.

Run `python tools/sentences.py` to read the wording from start to end, without the code around it.
`--draw 35 --seed 33` prints a random sample; `--revision REV` reads the files of a git revision.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import tarfile
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = "src", "docs"
SUFFIXES = ".py", ".pyi", ".jinja", ".rst"
FIELD = "{…}"
FEWEST_WORDS = 3
WORD = re.compile(r"(?<!\S)[^\s{}]*[A-Za-z]{2}")
# A full stop ends a sentence where a capital, a quotation or a field follows.
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"{])")
# The blocks of HTML: no sentence runs from one into the next.
BLOCK = re.compile(
    r"</?(?:p|h\d|li|ul|ol|td|th|tr|table|caption|div|section|summary|details|figcaption|title)\b"
    r"[^>]*>|\n\s*\n"
)
DROPPED = re.compile(r"<(script|style)\b.*?</\1>|\{#.*?#\}|\{%.*?%\}|<[^>]*>", re.DOTALL)
Sentence = tuple[str, int, str]


def is_read(path: Path) -> bool:
    """Return whether a file has sentences of the package or of its documentation."""
    if path.parts[0] == "src":
        return path.suffix in SUFFIXES
    return path.suffix == ".rst" and not any(part.startswith("_") for part in path.parts)


def files(revision: str | None = None) -> dict[str, str]:
    """Return the texts of the working tree, or of a git revision, by path."""
    if revision is None:
        paths = [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*"))]
        return {
            path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
            for path in paths
            if is_read(path.relative_to(ROOT))
        }
    command = ["git", "-C", str(ROOT), "archive", revision, *FOLDERS]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {
            member.name: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in sorted(archive.getmembers(), key=lambda member: member.name)
            if member.isfile() and is_read(Path(member.name))
        }


def split(text: str) -> list[str]:
    """Return the sentences of a text that are long enough to be read as such."""
    pieces = [
        re.sub(r"\s+", " ", piece).strip()
        for paragraph in re.split(r"\n\s*\n", text)
        for piece in SENTENCE_END.split(paragraph)
    ]
    # A backslash: the pattern of a regular expression.
    return [
        piece for piece in pieces if len(WORD.findall(piece)) >= FEWEST_WORDS and "\\" not in piece
    ]


def text_of(node: ast.AST) -> str | None:
    """Return a string literal as users read it, with its fields left open."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else FIELD for part in node.values
        )
    return None


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the string literals below a node, except docstrings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        text = text_of(child)
        if text is not None:
            yield child.lineno, text  # type: ignore[attr-defined]
        if isinstance(child, ast.JoinedStr):
            # The words inside a field, such as those of a conditional, are read as well.
            for part in child.values:
                if isinstance(part, ast.FormattedValue):
                    yield from literals(part)
        else:
            yield from literals(child)


def public_names(trees: Iterable[tuple[str, ast.Module]]) -> set[str]:
    """Return the names that packages export, with the base classes that methods come from."""
    exported: set[str] = set()
    bases: dict[str, set[str]] = {}
    for path, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and Path(path).stem == "__init__":
                exported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                names = {base.id for base in node.bases if isinstance(base, ast.Name)}
                bases.setdefault(node.name, set()).update(names)
    found: set[str] = set()
    while exported - found:
        found |= exported
        exported = {base for name in found for base in bases.get(name, ())}
    return found


def docstrings(node: ast.AST, public: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the first paragraphs of the docstrings of a module and of what is public in it."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        return
    text = ast.get_docstring(node)
    if text:
        yield node.body[0].lineno, text.split("\n\n")[0]
    if not isinstance(node, ast.FunctionDef):
        for child in node.body:
            name = getattr(child, "name", "_")
            if name in public if isinstance(node, ast.Module) else not name.startswith("_"):
                yield from docstrings(child, public)


def of_template(text: str) -> list[tuple[int, str]]:
    """Return the text of a template, block by block."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n") or " "

    found: list[tuple[int, str]] = []
    line = 1
    for block in re.split(f"({BLOCK.pattern})", text):
        if not BLOCK.fullmatch(block):
            words = re.sub(r"\{\{.*?\}\}", FIELD, DROPPED.sub(blank, block), flags=re.DOTALL)
            found.append((line + block[: len(block) - len(block.lstrip())].count("\n"), words))
        line += block.count("\n")
    return found


def of_page(text: str) -> list[tuple[int, str]]:
    """Return the first paragraph of a documentation page."""
    paragraphs = re.split(r"(\n\s*\n)", text)
    line = 1
    for paragraph in paragraphs:
        title = re.search(r"^[=\-~^\"]{3,}\s*$", paragraph, re.MULTILINE)
        if paragraph.strip() and not title and not paragraph.lstrip().startswith((".. ", ":")):
            return [(line, paragraph)]
        line += paragraph.count("\n")
    return []


def sentences(revision: str | None = None) -> list[Sentence]:
    """Return all sentences: file, line and text."""
    texts = files(revision)
    modules = {
        path: ast.parse(text) for path, text in texts.items() if path.endswith((".py", ".pyi"))
    }
    public = public_names(modules.items())
    found: list[Sentence] = []
    for path, text in texts.items():
        if path in modules:
            pieces = [*literals(modules[path]), *docstrings(modules[path], public)]
            pieces.sort(key=lambda piece: piece[0])
        else:
            pieces = of_template(text) if path.endswith(".jinja") else of_page(text)
        found += [(path, line, sentence) for line, piece in pieces for sentence in split(piece)]
    return found


def main() -> None:
    """Print the sentences, or a random sample of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revision", help="a git revision to read instead of the working tree")
    parser.add_argument("--draw", type=int, metavar="N", help="print only N sentences, at random")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the draw (default 0)")
    options = parser.parse_args()
    found = sentences(options.revision)
    if options.draw is not None:
        found = random.Random(options.seed).sample(found, options.draw)
    for path, line, sentence in found:
        print(f"{path}:{line}: {sentence}")


if __name__ == "__main__":
    main()
