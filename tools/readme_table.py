"""Write the table of real data sets into README, from the stored results of the benchmark.

    python tools/readme_table.py

A test holds that README has it.
"""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "honest.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- table: honest -->\n", "<!-- end of the table -->\n"

TABLES = {
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

METHODS = {
    "HonestClassifier": "HonestClassifier",
    "L2 logistic regression": "L2 logistic",
    "L1 logistic regression": "L1 logistic",
    "scikit-learn NB, calibrated": "naive Bayes, calibrated",
    "random forest": "random forest",
}


def table() -> str:
    """Return the table as Markdown; the best of each row is bold."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    head = ["table", "cases", "columns", *METHODS.values()]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    means = dict.fromkeys(METHODS, 0.0)
    used = [name for name in TABLES if name in found]
    for name in used:
        rows = found[name]["rows"]
        scores = {method: rows[method]["log_score"] for method in METHODS}
        for method, score in scores.items():
            means[method] += score / len(used)
        size = [TABLES[name], f"{found[name]['n']:,}", f"{found[name]['p']:,}"]
        lines.append(f"| {' | '.join([*size, *_cells(scores)])} |")
    lines.append(f"| {' | '.join(['mean', '', '', *_cells(means)])} |")
    return "\n".join(lines) + "\n"


def _cells(scores: dict[str, float]) -> list[str]:
    best = min(round(score, 3) for score in scores.values())
    texts = (f"{score:.3f}" for score in scores.values())
    return [f"**{text}**" if float(text) == best else text for text in texts]


def with_table(readme: str, text: str) -> str:
    """Return README with the table in its place."""
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}{text}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    README.write_text(with_table(page, table()), encoding="utf-8")
