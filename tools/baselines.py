"""Write the baselines of reports on their page, from the one list in the code.

Run `python tools/baselines.py` after a baseline was added or changed; a test compares.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from honestbayes.evaluation.baselines import BASELINES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "report.rst"
BEGIN = ".. The baselines: made by tools/baselines.py from honestbayes.evaluation.baselines.\n"
END = ".. End of the baselines.\n"


def items() -> str:
    """Return the baselines as a list of reStructuredText."""
    return "\n".join(
        textwrap.fill(
            f"- *{baseline.name}*: {baseline.phrase}{'.' if baseline is BASELINES[-1] else ';'}",
            width=108,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for baseline in BASELINES
    )


def with_baselines(page: str) -> str:
    """Return the page with the current baselines."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{items()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_baselines(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
