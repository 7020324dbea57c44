"""Keep the results of experiments for the documentation.

    honestbayes reproduce --all --full
    python tools/store_results.py honestbayes-results

The pages of the documentation are made from the runs in docs/results. Experiments whose runs are
not complete are left as they are, and named.
"""

import sys
from pathlib import Path

from honestbayes.experiments.experiment import experiments, perform, store

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"


def main() -> None:
    """Copy complete full runs of each experiment."""
    folder = Path(sys.argv[1])
    for one in experiments():
        wanted = len(one.runs("full"))
        kept = folder / one.name / "runs"
        # A page is written when all runs of an experiment are there.
        if not (folder / one.name / "page.md").exists() or len(list(kept.glob("*.json"))) < wanted:
            print(f"{one.name}: not complete")
            continue
        store(RESULTS / f"{one.name}.json", one, perform(one, "full", kept))
        print(f"{one.name}: {wanted} runs")


if __name__ == "__main__":
    main()
