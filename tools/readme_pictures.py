"""Make the pictures that README shows.

    python tools/readme_pictures.py errors docs/images/errors.png
    python tools/readme_pictures.py report leukemia-report/report.html docs/images/report.png

The first draws expected and observed error rates, on the demonstration's simulated data and on
data in which nothing predicts the class. The second, which needs
Chromium and the package playwright, keeps the first screen of a report.
"""

import shutil
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from honestbayes.datasets import simulate_naive_bayes
from honestbayes.demo import OURS, SEED, compared_methods
from honestbayes.metrics import summarise

TITLES = {"uncorrected": "naive Bayes\nafter selection", OURS: OURS}
EXPECTED, OBSERVED = "#9db4c8", "#274c6b"


def noise():
    """Return 200 training and 2,000 new cases whose class no feature predicts."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 2, (2200, 10_000), dtype=np.int8)
    y = np.arange(2200) % 2
    return X[:200], y[:200], X[200:], y[200:]


def simulated():
    """Return the data of the demonstration."""
    data = simulate_naive_bayes(200, 2000, n_features=10_000, alpha=300.0, random_state=SEED)
    return data.X_train, data.y_train, data.X_test, data.y_test


def errors(picture: str) -> None:
    """Draw expected and observed error rates."""
    problems = {
        "No feature predicts the class": noise(),
        "Weak signal (as in the paper of 2008)": simulated(),
    }
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 2.9), sharex=True, layout="constrained")
    for axis, (title, (X, y, X_new, y_new)) in zip(axes, problems.items(), strict=True):
        for place, (name, model) in enumerate(compared_methods().items()):
            found = summarise(y_new, model.fit(X, y).predict_proba(X_new)[:, 1])
            pair = (found.expected_error, found.actual_error.value)
            sys.stdout.write(f"{title}: {name}: expected {pair[0]:.1%}, observed {pair[1]:.1%}\n")
            for below, value, colour, word in (
                (0, pair[0], EXPECTED, "expected"),
                (1, pair[1], OBSERVED, "observed"),
            ):
                height = -(place + 0.38 * below)
                axis.barh(height, value, 0.34, color=colour)
                axis.text(value + 0.008, height, f"{value:.1%} {word}", va="center", fontsize=9)
        axis.set_yticks([-0.19, -1.19], [TITLES[name] for name in compared_methods()])
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlim(0, 0.68)
        axis.set_xticks([])
        axis.tick_params(left=False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    figure.suptitle("Error rates on 2,000 new cases; 10 of 10,000 features kept", fontsize=10)
    figure.savefig(picture, dpi=160)


def report(page_file: str, picture_file: str) -> None:
    """Open the page and keep its first screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1060, "height": 1170}, color_scheme="light")
        page.goto(Path(page_file).resolve().as_uri())
        page.screenshot(path=picture_file)
        browser.close()


if __name__ == "__main__":
    {"errors": errors, "report": report}[sys.argv[1]](*sys.argv[2:])
