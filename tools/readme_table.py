"""Write the tables of real data sets into README, from the stored results of the benchmarks.

    python tools/readme_table.py

A test holds that README has them.
"""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"

WIDE = {
    "colon": "colon",
    "lymphoma": "lymphoma, 3 classes",
    "words_1": "messages 1",
    "dorothea_1": "drug compounds 1",
    "leukaemia": "leukaemia",
    "prostate": "prostate",
    "srbct": "Khan's tumours, 4 classes",
    "words_2": "messages 2",
    "words_3": "messages 3",
    "dorothea_2": "drug compounds 2",
}
"""Names of the results, and what README calls them; those that settled constants come first."""

ORDINARY = {
    "glass": "glass, 6 classes",
    "pima": "pima",
    "breast-cancer": "breast cancer, categories",
    "iris": "iris, 3 classes",
    "sonar": "sonar",
    "german": "German credit, mixed",
    "haberman": "haberman",
    "wine": "wine, 3 classes",
    "breast-cancer-30": "breast cancer, measured",
    "digits": "digits, 10 classes",
}

METHODS = {
    "honest": {
        "HonestClassifier": "HonestClassifier",
        "L2 logistic regression": "L2 logistic",
        "L1 logistic regression": "L1 logistic",
        "scikit-learn NB, calibrated": "naive Bayes, calibrated",
        "random forest": "random forest",
    },
    "ordinary": {
        "HonestClassifier": "HonestClassifier",
        "L2 logistic regression": "L2 logistic",
        "L1 logistic regression": "L1 logistic",
        "random forest": "random forest",
        "SVM, sigmoid": "SVM, Gaussian kernel",
        "histogram boosting": "histogram boosting",
    },
}
"""For each file of results the methods, and what README calls them."""


def table(results: str, names: dict[str, str]) -> str:
    """Return a table as Markdown; the best of each row is bold."""
    found = json.loads((RESULTS / f"{results}.json").read_text(encoding="utf-8"))
    methods = METHODS[results]
    head = ["table", "cases", "columns", *methods.values()]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]

    def scores(name: str) -> dict[str, float]:
        rows = found[name]["rows"]
        return {method: rows[method]["log_score"] for method in methods}

    def mean(some: list[str]) -> dict[str, float]:
        return {
            method: sum(scores(name)[method] for name in some) / len(some) for method in methods
        }

    for name, title in names.items():
        size = [title, f"{found[name]['n']:,}", f"{found[name]['p']:,}"]
        lines.append(f"| {' | '.join([*size, *_cells(scores(name))])} |")
    lines.append(f"| {' | '.join(['mean', '', '', *_cells(mean(list(names)))])} |")
    others = [name for name in found if name not in names]
    if others:
        title = f"mean of {len(others)} tables of categories"
        lines.append(f"| {' | '.join([title, '', '', *_cells(mean(others))])} |")
    return "\n".join(lines) + "\n"


def _cells(scores: dict[str, float]) -> list[str]:
    best = min(round(score, 3) for score in scores.values())
    texts = (f"{score:.3f}" for score in scores.values())
    return [f"**{text}**" if float(text) == best else text for text in texts]


def with_tables(readme: str) -> str:
    """Return README with the tables in their places."""
    end = "<!-- end of the table -->\n"
    for results, names in (("honest", WIDE), ("ordinary", ORDINARY)):
        begin = f"<!-- table: {results} -->\n"
        before, rest = readme.split(begin)
        after = rest.split(end, 1)[1]
        readme = f"{before}{begin}{table(results, names)}{end}{after}"
    return readme


if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    README.write_text(with_tables(page), encoding="utf-8")
