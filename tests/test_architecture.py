"""The architecture page tells the truth, and imports point one way."""

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import honestbayes

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(honestbayes.__file__).parent
PAGE = ROOT / "docs" / "architecture.rst"

# What each part of the package may import from the rest of it, the lowest parts first.
_GROUND = {"types", "compiled", "text", "tabular", "threads", "status_line"}
_DATA = _GROUND | {"files", "data", "sampling", "selection"}
_BASE = _DATA | {"likelihood", "correction", "base"}
_MODELS = _BASE | {"models", "average", "search", "catalogue"}
_JUDGES = _MODELS | {"metrics", "decisions", "evaluation", "plots"}
_TOP = _JUDGES | {"datasets", "report", "experiments", "honestbayes", "tables"}
ALLOWED: dict[str, set[str]] = {
    "types": set(),
    "compiled": set(),
    "text": set(),
    "tabular": set(),
    "threads": set(),
    "status_line": set(),
    "files": {"types"},
    "data": {"types", "compiled", "files"},
    "sampling": {"types", "compiled", "files", "threads", "status_line"},
    "selection": {"types", "compiled", "files", "data"},
    "likelihood": _DATA,
    "correction": _DATA | {"likelihood"},
    "base": _DATA | {"likelihood", "correction"},
    "models": _BASE,
    "average": _BASE | {"models"},
    "search": _BASE | {"models"},
    "catalogue": _BASE | {"models", "average"},
    "metrics": _MODELS,
    "decisions": _MODELS | {"metrics"},
    "evaluation": _MODELS | {"metrics"},
    "plots": _JUDGES,
    "report": _JUDGES | {"datasets", "tables"},
    "datasets": {"types"},
    "tables": _MODELS,
    "loading": _MODELS | {"tables"},
    "experiments": _TOP,
    "demo": _TOP,
    "cli": _TOP | {"demo", "loading"},
    "__main__": _TOP | {"demo", "cli"},
}


def parts(package: Path) -> set[str]:
    """Names of the parts: folders and files right below the package."""
    files = {path.stem for path in package.glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    return files | folders


def imported_modules(path: Path, package: Path) -> set[str]:
    """Full names that a file imports from the package, relative and absolute alike."""
    name = package.name
    folder = [name, *path.relative_to(package).parent.parts]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else []
            origin = ".".join([*base, *(node.module.split(".") if node.module else [])])
            found.update(f"{origin}.{alias.name}" for alias in node.names)
    return {module for module in found if module.split(".")[0] == name}


def imported_parts(path: Path, package: Path) -> set[str]:
    """Parts of the package that a file imports; the package's own name stands for its root."""
    known = parts(package)
    second = {f"{module}.".split(".")[1] for module in imported_modules(path, package)}
    return {part if part in known else package.name for part in second}


def wrong_imports(package: Path) -> list[str]:
    """Every import that the table does not allow, as a sentence."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place == Path("__init__.py"):
            continue
        part = place.with_suffix("").parts[0]
        if part not in ALLOWED:
            wrong.append(f"{place}: {part} has no place in the table of this test")
            continue
        forbidden = imported_parts(path, package) - ALLOWED[part] - {part}
        wrong.extend(f"{place} imports {target}" for target in sorted(forbidden))
    return wrong


def test_the_map_on_the_architecture_page_is_made_from_the_modules() -> None:
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "tools/architecture.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = PAGE.read_text(encoding="utf-8")
    assert tool.with_table(page, tool.table(PACKAGE)) == page, "run python tools/architecture.py"
    assert page.count("   * - ``") > 200


def test_files_that_pages_name_exist() -> None:
    places = [PACKAGE, PACKAGE.parent, ROOT]
    for page in [*ROOT.glob("docs/*.rst"), *ROOT.glob("*.md")]:
        named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text(encoding="utf-8"))
        lost = [name for name in named if not any((place / name).exists() for place in places)]
        assert lost == [], f"{page.name} names files that are not there"


def test_imports_point_one_way() -> None:
    assert wrong_imports(PACKAGE) == []


def test_the_table_of_allowed_imports_has_no_cycle() -> None:
    def reachable(part: str) -> set[str]:
        seen: set[str] = set()
        waiting = [part]
        while waiting:
            for target in ALLOWED.get(waiting.pop(), set()) - seen:
                seen.add(target)
                waiting.append(target)
        return seen

    # A part may import from itself; plots and models list themselves for brevity.
    cycles = {
        (part, other)
        for part in ALLOWED
        for other in ALLOWED
        if part < other and other in reachable(part) and part in reachable(other)
    }
    assert cycles == set()


@pytest.mark.parametrize(
    ("place", "line", "complaint"),
    [
        ("models/nb.py", "from honestbayes.metrics import log_score", "imports metrics"),
        ("models/nb.py", "from honestbayes import evaluation", "imports evaluation"),
        ("models/nb.py", "import honestbayes.plots", "imports plots"),
        ("models/nb.py", "from .. import metrics", "imports metrics"),
        ("models/nb.py", "from ..datasets import load_leukemia", "imports datasets"),
        ("models/nb.py", "from ..datasets.golub import load_leukemia", "imports datasets"),
        ("models/nb.py", "def f():\n    from .. import plots", "imports plots"),
        ("models/nb.py", "from honestbayes import SelectiveBernoulliNB", "imports honestbayes"),
        ("data/counts.py", "from ..selection import Selection", "imports selection"),
        ("correction/binary.py", "from ..models import nb", "imports models"),
        ("metrics.py", "from .demo import main", "imports demo"),
        ("datasets/golub.py", "from ..models import nb", "imports models"),
        ("utils.py", "", "has no place"),
    ],
)
def test_a_planted_wrong_import_is_found(
    tmp_path: Path, place: str, line: str, complaint: str
) -> None:
    package = package_with(tmp_path, place, line)
    found = wrong_imports(package)
    assert len(found) == 1
    assert complaint in found[0]
    assert place in found[0]


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("models/nb.py", "from ..correction import binary\nfrom . import other\nimport numpy"),
        ("models/nb.py", "from honestbayes.selection.counts import screen"),
        ("selection/rule.py", "from ..data import Source"),
        ("demo.py", "from honestbayes import SelectiveBernoulliNB\nfrom .datasets import golub"),
        ("evaluation.py", "from .metrics import log_score"),
    ],
)
def test_a_right_import_is_accepted(tmp_path: Path, place: str, line: str) -> None:
    assert wrong_imports(package_with(tmp_path, place, line)) == []


# A family shows its estimators, its model and its spec; kernels, samplers and the like are its own.
# Experiments look inside: they check single steps of the papers.
SHOWN = {"estimator", "model", "spec"}
_ESTIMATOR = re.compile(r"Selective\w+|Discrete\w*NB|\w+(Part|Training|FeatureTable)$")


def families(package: Path) -> set[str]:
    """Names of the folders of models."""
    return {path.parent.name for path in package.glob("models/*/__init__.py")}


def imports_below_a_family(package: Path) -> list[str]:
    """Every import of a family's own modules by something outside models."""
    own = {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        for path in package.glob("models/*/*.py")
        if path.stem not in {*SHOWN, "__init__"}
    }
    return [
        f"{path.relative_to(package)} imports {name}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in ("models", "experiments")
        for name in sorted(imported_modules(path, package))
        if any(name == module or name.startswith(f"{module}.") for module in own)
    ]


def asks_which_estimator(package: Path) -> list[str]:
    """Every ``isinstance`` on an estimator, a part or a table of features outside models."""
    return [
        f"{path.relative_to(package)}, line {node.lineno}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in ("base", "models", "average")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and any(
            isinstance(name, ast.Name | ast.Attribute)
            and _ESTIMATOR.match(name.id if isinstance(name, ast.Name) else name.attr)
            for name in ast.walk(node.args[1])
        )
    ]


def test_outside_models_kernels_are_unknown_and_an_estimator_is_known_by_its_spec() -> None:
    assert families(PACKAGE) >= {"binary", "categorical", "factors", "mixed", "mixture", "gaussian"}
    assert imports_below_a_family(PACKAGE) == []
    assert asks_which_estimator(PACKAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "from honestbayes.models.binary.kernels import count",
        "from honestbayes.models.binary import kernels",
        "import honestbayes.models.binary.kernels",
        "def f():\n    from .models.binary.kernels import count",
    ],
)
def test_a_planted_import_from_inside_a_family_is_found(tmp_path: Path, line: str) -> None:
    package = package_with(tmp_path, "demo.py", line)
    for name in ("__init__", "estimator", "kernels"):
        (package / "models" / "binary").mkdir(exist_ok=True)
        (package / "models" / "binary" / f"{name}.py").touch()
    (found,) = imports_below_a_family(package)
    assert found.startswith("demo.py imports honestbayes.models.binary.kernels")
    shown = "from honestbayes.models.binary.estimator import SelectiveBernoulliNB"
    (package / "demo.py").write_text(shown)
    assert imports_below_a_family(package) == []


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(model, SelectiveMixedNB)",
        "isinstance(model, SelectiveMixture | int)",
        "isinstance(part, (str, binary.BernoulliPart))",
        "not isinstance(table, CategoricalFeatureTable)",
        "issubclass(type(model), DiscreteNB)",
    ],
)
def test_a_planted_question_which_estimator_it_is_is_found(tmp_path: Path, test: str) -> None:
    package = package_with(tmp_path, "demo.py", f"if {test}:\n    pass")
    assert asks_which_estimator(package) == ["demo.py, line 1"]
    assert asks_which_estimator(package_with(tmp_path, "demo.py", "isinstance(2, int)")) == []


# Between families only where one truly contains another; all of them may import what is shared.
CONTAINS: dict[str, set[str]] = {
    "binary": set(),
    "categorical": {"binary"},  # a feature of two categories in two classes is a binary one
    "gaussian": set(),
    "mixed": {"binary", "categorical", "gaussian"},
    "mixture": {"binary"},
    "factors": {"gaussian"},
    "discriminant": {"gaussian"},  # whose shrunken class means it takes over
    "logistic": set(),
    "forest": set(),
    "kernel": {"logistic"},  # whose standardised columns it takes over
    "discrete": set(),
    "interactions": {"categorical"},  # whose table of categories it shows
    "networks": {"categorical", "subsets"},  # the same; whose scores and priors of sizes it takes
    "subsets": {"discrete"},  # which it averages
}


def wrong_imports_between_families(package: Path) -> list[str]:
    """Every import of one family by another that does not contain it, as a sentence."""
    wrong = []
    for path in sorted((package / "models").glob("*/*.py")):
        family = path.parent.name
        allowed = CONTAINS.get(family, set()) | {family}
        found = {
            module.split(".")[2]
            for module in imported_modules(path, package)
            if module.startswith(f"{package.name}.models.") and module.count(".") >= 3
        }
        wrong += [f"{path.relative_to(package)} imports {name}" for name in sorted(found - allowed)]
    return wrong


def test_families_import_only_what_they_contain() -> None:
    assert wrong_imports_between_families(PACKAGE) == []
    assert families(PACKAGE) == set(CONTAINS)


def test_a_planted_import_between_families_is_found(tmp_path: Path) -> None:
    line = "from honestbayes.models.mixture.model import log_joint"
    package = package_with(tmp_path, "models/gaussian/model.py", line)
    assert wrong_imports_between_families(package) == ["models/gaussian/model.py imports mixture"]
    line = "from ..models.binary.model import BernoulliFit"
    package = package_with(tmp_path, "base/part.py", line)
    assert "base/part.py imports models" in wrong_imports(package)


def package_with(folder: Path, place: str, text: str) -> Path:
    """Make an empty package with all parts, and one file with a given text."""
    package = folder / "honestbayes"
    names = ["data", "selection", "correction", "base", "models", "datasets"]
    empty = [package / name / "__init__.py" for name in names]
    empty += [package / f"{name}.py" for name in ("metrics", "evaluation", "plots", "demo")]
    for path in [*empty, package / "__init__.py", package / place]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (package / place).write_text(text, encoding="utf-8")
    return package


# scikit-learn imports pandas where it is installed; what counts is what this package adds.
_LIGHT = """
import sys
import sklearn.naive_bayes
before = set(sys.modules)
import {module}
heavy = {{"numba", "matplotlib", "pandas", "polars"}}
print(sorted(heavy & (set(sys.modules) - before)))
"""


def heavy_imports(module: str) -> str:
    program = _LIGHT.format(module=module)
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_importing_the_package_adds_no_heavy_import() -> None:
    assert heavy_imports("honestbayes") == "[]"


def test_a_heavy_import_is_found() -> None:
    assert heavy_imports("numba") == "['numba']"


# The private vocabulary of earlier versions, and where its words went.
OLD_WORDS = {
    "race": "ranking",
    "races": "rankings",
    "racing": "candidates",
    "idle": "null",
    "lapse": "outlier rate",
    "lapses": "outlier rates",
    "peer": "baseline",
    "peers": "baselines",
    "contenders": "methods",
}


def old_names(text: str) -> set[str]:
    """Return the identifiers of a source text that hold an old word, with what it is now."""
    names = {
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME
    }
    return {
        f"{name}: {OLD_WORDS[word]}"
        for name in names
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower())
        if word in OLD_WORDS
    }


def test_identifiers_use_the_words_of_the_field() -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in old_names(path.read_text(encoding="utf-8"))
    }
    assert wrong == set()


@pytest.mark.parametrize("name", ["n_racing", "Race", "idle", "largest_race", "LevelPeers"])
def test_a_planted_old_name_is_found(name: str) -> None:
    assert len(old_names(f"{name} = trace = embrace = 1")) == 1
