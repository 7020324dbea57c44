"""The pictures of the page, and the reliability display that two of them are made by."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from honestbayes.metrics import reliability
from honestbayes.plots import ReliabilityDisplay
from honestbayes.report.pictures import pictures

NARROW = 400
"""CSS pixels of a telephone; less than this the letters of a picture would be scaled down."""


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def curve():
    """Claims in the first, second and last of five bins."""
    p = np.array([0.05, 0.1, 0.1, 0.3, 0.35, 0.35, 0.9, 0.95, 0.95])
    return reliability(np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]), p, n_bins=5)


def test_no_line_crosses_a_bin_without_cases(curve):
    display = ReliabilityDisplay({"a": curve}).plot()
    line = display.ax_.containers[0][0]
    x, y = line.get_xdata(), line.get_ydata()
    assert x[:2] == pytest.approx(curve.predicted[:2])
    assert np.isnan([x[2], y[2]]).all()
    assert x[3:] == pytest.approx(curve.predicted[2:])


def test_a_bin_of_fewer_than_three_cases_has_no_point_and_no_line_crosses_it():
    p = [0.1] * 3 + [0.3] * 2 + [0.5] * 3 + [0.7] * 3 + [0.9]
    curve = reliability(np.arange(12) % 2, p, n_bins=5)
    display = ReliabilityDisplay({"a": curve}).plot(counts=True)
    x = display.ax_.containers[0][0].get_xdata()
    assert x[[0, 2, 3]] == pytest.approx([0.1, 0.5, 0.7])
    assert np.isnan(x[1])
    assert x.size == 4
    assert [text.get_text() for text in display.ax_.texts] == ["3", "2", "3", "3", "1"]
    few = reliability([0, 1], [0.2, 0.9], n_bins=5)
    assert ReliabilityDisplay({"a": few}).plot().ax_.containers[0][0].get_xdata().size == 0


def test_counts_stand_below_the_middle_of_their_bins(curve):
    bare = ReliabilityDisplay({"a": curve}).plot()
    assert [text.get_text() for text in bare.ax_.texts] == []
    display = ReliabilityDisplay({"a": curve, "b": curve}).plot(counts=True)
    found = [(*text.get_position(), text.get_text()) for text in display.ax_.texts]
    assert [text for *_, text in found] == ["3"] * 6
    assert [x for x, *_ in found] == pytest.approx([0.1, 0.3, 0.9] * 2)
    heights = [y for _, y, _ in found]
    assert max(heights) < 0
    assert len(set(heights)) == 2
    assert display.ax_.get_ylim()[0] < min(heights)


def test_pictures_are_drawn_for_a_narrow_screen_and_tell_their_counts(analysis, mixed):
    for report in (analysis.report, mixed.report):
        found = pictures(report)
        assert {"path", "path-scores"} <= found.keys()
        for picture in found.values():
            assert picture.width <= 1.1 * NARROW, picture.name
        alt = found["reliability-in-use"].alt
        numbers = [float(n) for n in re.findall(r"([\d.]+) cases?(?:[,.;]| in bins)", alt)]
        assert sum(numbers) == pytest.approx(report.data.n_cases, abs=0.5)
