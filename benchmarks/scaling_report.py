"""The table and the picture of `benchmarks/scaling.py`."""

from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 3
"""Sizes, from the largest down, to which slopes are fitted: small ones are mostly overhead."""

HEADING = """# How time grows, ours beside peers

`python benchmarks/scaling.py`; BLAS on one thread. The load is the number of processes that wanted
a core, this one included, in the minute before a panel ended: where it is above the number of cores
times are longer than on an idle machine, and ratios are what can be relied on.

Medians of at least five rounds, in which all sizes and contenders of a table take turns. A slope of
1 is time in proportion to what grows; it is fitted to the logarithms of the three largest sizes and
of their shortest times, which other work disturbed least. Ratios are of the two times of one round:
the median, and the middle half of the rounds in brackets. Below 1 ours is faster.
"""


def markdown(found: list[dict[str, Any]]) -> str:
    """Return all tables."""
    return "\n".join([HEADING, *("\n".join([*_table(panel), ""]) for panel in found)])


def _table(panel: dict[str, Any]) -> list[str]:
    """Return the lines of a table: times with slopes, then ratios."""
    sizes = " | ".join(f"{size:,}" for size in panel["sizes"])
    lines = [
        f"## {panel['title']}",
        "",
        f"{panel['rounds']} rounds; {panel['cores']} cores, load {panel['load']:.1f}.",
        "",
        f"| {panel['axis']} | {sizes} | slope |",
        f"| --- |{' ---: |' * len(panel['sizes'])} ---: |",
    ]
    for name, seconds in panel["seconds"].items():
        cells = " | ".join(_duration(float(np.median(rounds))) for rounds in seconds)
        lines.append(f"| {name} | {cells} | {slope(panel, name):.2f} |")
    for ours, baseline in panel["pairs"]:
        pairs = zip(panel["seconds"][ours], panel["seconds"][baseline], strict=True)
        cells = " | ".join(_ratio(np.divide(*pair)) for pair in pairs)
        lines.append(f"| *{ours} / {baseline}* | {cells} | |")
    return lines


def slope(panel: dict[str, Any], name: str) -> float:
    """Return the exponent of growth of the shortest times, at the largest sizes."""
    shortest = [min(rounds) for rounds in panel["seconds"][name]]
    sizes, times = np.log(panel["sizes"][-LARGEST:]), np.log(shortest[-LARGEST:])
    return float(np.polyfit(sizes, times, 1)[0])


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _ratio(ratios: np.ndarray) -> str:
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return f"{_two_digits(middle)} ({_two_digits(low)} to {_two_digits(high)})"


def _two_digits(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def draw(found: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel for each size that grows."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    rows = (len(found) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(9.5, 4.1 * rows), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.1)
    for panel, ax in zip(found, axes.flat, strict=False):
        _draw_panel(panel, ax)
    for ax in axes.flat[len(found) :]:
        ax.axis("off")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _draw_panel(panel: dict[str, Any], ax: Any) -> None:
    """Draw medians and the middle half of the rounds: ours in full lines, peers in broken ones."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    from honestbayes.plots.drawing import look

    for number, (name, seconds) in enumerate(panel["seconds"].items()):
        color, _, marker = look(number)
        low, middle, high = 1e3 * np.quantile(np.array(seconds), [0.25, 0.5, 0.75], axis=1)
        ours = name.startswith("ours")
        style = {"color": color, "marker": marker, "linestyle": "-" if ours else "--"}
        style |= {"markerfacecolor": color if ours else "white", "linewidth": 2 if ours else 1.2}
        label = f"{name}: {slope(panel, name):.2f}".replace("-", "\N{MINUS SIGN}")
        ax.plot(panel["sizes"], middle, markersize=5, label=label, **style)
        ax.fill_between(panel["sizes"], low, high, color=color, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", title=panel["title"], xlabel=panel["axis"])
    ax.set_ylabel("milliseconds")
    ax.set_xticks(panel["sizes"])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _short(size)))
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:,g}"))
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        title="slope after each name; full lines: ours",
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        handlelength=3,
    )


def _short(size: float) -> str:
    """Return 10.2M for 10,240,000, and 128k for 128,000."""
    if size >= 1e6:
        return f"{size / 1e6:.3g}M"
    return f"{size / 1e3:g}k" if size >= 1e3 and size % 1e3 == 0 else f"{size:,g}"
