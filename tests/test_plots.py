"""Displays: what is drawn is what was computed, labels are harmless, matplotlib is optional."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB

from honestbayes import (
    BoostedProbabilitySelector,
    ForwardProbabilitySelector,
    SelectiveCategoricalNB,
    SelectiveGaussianNB,
)
from honestbayes.datasets import simulate_naive_bayes
from honestbayes.decisions import mailing_benefits, profit_curve
from honestbayes.metrics import reliability
from honestbayes.plots import (
    AlphaPosteriorDisplay,
    ContributionDisplay,
    FeaturePathDisplay,
    ImportanceDisplay,
    InclusionDisplay,
    NetworkDisplay,
    ProbabilityScatterDisplay,
    ProfitDisplay,
    ReliabilityDisplay,
    SelectionPathDisplay,
    SignalDisplay,
    TraceDisplay,
)
from honestbayes.sampling.draws import Draws
from honestbayes.search.selector import SelectionPath


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def predictions():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    return (rng.random(200) < p).astype(int), p


@pytest.fixture(scope="module")
def fitted():
    data = simulate_naive_bayes(40, 60, 8, alpha=3.0, random_state=0)
    labels = np.array(["normal", "tumor"])
    model = BernoulliNB().fit(data.X_train, labels[data.y_train])
    return model, data.X_test, labels[data.y_test]


class NormalPosterior:
    """A posterior of log(alpha) that is normal, on nodes that cover it."""

    def __init__(self, mean, sd):
        self.mean, self.sd = mean, sd
        nodes = np.linspace(mean - 6 * sd, mean + 6 * sd, 61)
        self.alpha = np.exp(nodes)
        self.weights = self.density(nodes) / self.density(nodes).sum()

    def density(self, log_alpha):
        z = (log_alpha - self.mean) / self.sd
        return np.exp(-(z**2) / 2) / (self.sd * np.sqrt(2 * np.pi))


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def path(**more):
    k = np.array([1, 10, 100])
    return SimpleNamespace(n_features=k, expected_error=0.4 / k, expected_log_score=0.6 / k, **more)


def steps(n_steps=3, *, n_kept=2, names=None, held_out=True):
    """Return a path of features 0, 1, ... whose training loss falls and whose other loss turns."""
    at = np.arange(n_steps + 1)
    names = tuple(f"x{j}" for j in range(n_steps)) if names is None else names
    other = 0.5 + 0.01 * (at - 1.5) ** 2 if held_out else np.full(at.size, np.nan)
    return SelectionPath(
        feature=np.arange(n_steps),
        name=names,
        train_score=0.5 - 0.01 * at,
        held_out_score=other,
        n_kept=n_kept,
    )


@pytest.fixture
def mailing(predictions):
    """Return classes, probabilities, and what each of 200 people is expected to give, and gave."""
    y, p = predictions
    rng = np.random.default_rng(1)
    expected = rng.uniform(1, 3, 200)
    gift = np.where(y == 1, expected + rng.normal(0, 0.3, 200), 0.0)
    proba = np.column_stack([1 - p, p])
    return y, proba, mailing_benefits(expected, 1.0), mailing_benefits(gift, 1.0)


def test_reliability_draws_the_computed_curve_with_its_intervals(predictions):
    y, p = predictions
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=5, level=0.9, name="mine")
    curve = reliability(y, p, n_bins=5, level=0.9)
    line, _, (bars,) = display.ax_.containers[0]
    assert line.get_xdata() == pytest.approx(curve.predicted)
    assert line.get_ydata() == pytest.approx(curve.actual)
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert ends == pytest.approx(np.stack([curve.lower, curve.upper], axis=1))
    assert legend_texts(display.ax_) == ["mine"]
    assert "90%" in display.ax_.get_ylabel()


def test_reliability_overlays_a_mapping_in_different_colours_lines_and_markers(predictions):
    y, p = predictions
    display = ReliabilityDisplay.from_predictions(y, {"corrected": p, "uncorrected": p**2})
    one, two = (container[0] for container in display.ax_.containers)
    assert one.get_color() != two.get_color()
    assert one.get_marker() != two.get_marker()
    assert one.get_linestyle() != two.get_linestyle()
    assert legend_texts(display.ax_) == ["corrected", "uncorrected"]


def test_reliability_from_an_estimator_takes_its_second_class_as_class_1(fitted):
    model, X, y = fitted
    display = ReliabilityDisplay.from_estimator(model, X, y)
    expected = reliability(y == "tumor", model.predict_proba(X)[:, 1])
    assert display.curves["BernoulliNB"].actual == pytest.approx(expected.actual)
    several = ReliabilityDisplay.from_estimator({"a": model, "b": model}, X, y)
    assert list(several.curves) == ["a", "b"]


def test_displays_draw_on_the_axes_that_are_given(predictions):
    y, p = predictions
    figure, axes = plt.subplots(1, 2)
    display = ReliabilityDisplay.from_predictions(y, p, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    paths = FeaturePathDisplay.from_path(path(), ax=axes)
    assert list(paths.ax_) == list(axes)
    assert len(plt.get_fignums()) == 1


def test_posterior_draws_each_density_and_the_truth_at_its_logarithm():
    models = {
        name: SimpleNamespace(posterior_=NormalPosterior(mean, 0.3))
        for name, mean in (("corrected", 5.6), ("uncorrected", 3.8))
    }
    display = AlphaPosteriorDisplay.from_estimator(models, truth=300.0)
    one, two, truth = display.ax_.get_lines()
    for line, name in ((one, "corrected"), (two, "uncorrected")):
        expected = models[name].posterior_.density(line.get_xdata())
        assert line.get_ydata() == pytest.approx(expected)
    assert truth.get_xdata() == pytest.approx([np.log(300)] * 2)
    grid = display.log_alpha
    assert np.sum(one.get_ydata()) * (grid[1] - grid[0]) == pytest.approx(1, abs=2e-3)
    assert legend_texts(display.ax_) == ["corrected", "uncorrected", "truth"]


def test_posterior_of_a_model_without_one_is_refused(fitted):
    with pytest.raises(ValueError, match="'BernoulliNB' has no posterior_ of alpha"):
        AlphaPosteriorDisplay.from_estimator(fitted[0])


def test_scatter_fills_the_circles_of_class_1_and_leaves_those_of_class_0_hollow(predictions):
    y, p = predictions
    display = ProbabilityScatterDisplay.from_predictions(y, p**2, p)
    zeros, ones = display.ax_.collections
    assert zeros.get_facecolor().size == 0
    assert ones.get_facecolor().size == 4
    assert np.asarray(zeros.get_offsets()) == pytest.approx(np.stack([p**2, p], axis=1)[y == 0])
    assert np.asarray(ones.get_offsets()) == pytest.approx(np.stack([p**2, p], axis=1)[y == 1])


def test_scatter_from_estimators_names_the_classes(fitted):
    model, X, y = fitted
    display = ProbabilityScatterDisplay.from_estimator(model, model, X, y)
    assert legend_texts(display.ax_) == ["class normal", "class tumor"]
    assert display.ax_.get_xlabel() == "probability of class tumor, uncorrected"
    assert display.uncorrected == pytest.approx(model.predict_proba(X)[:, 1])


def test_path_draws_expected_values_alone_or_beside_actual_ones_on_a_log_axis():
    alone = FeaturePathDisplay.from_path(path(), name="mine")
    assert [len(ax.get_lines()) for ax in alone.ax_] == [1, 1]
    k = np.array([1, 10, 100])
    full = FeaturePathDisplay.from_path({"mine": path(actual_error=0.5 / k, log_score=0.7 / k)})
    for ax, values in zip(full.ax_, ((0.4, 0.5), (0.6, 0.7)), strict=True):
        assert ax.get_xscale() == "log"
        for line, value in zip(ax.get_lines(), values, strict=True):
            assert line.get_ydata() == pytest.approx(value / k)
    assert [line.get_label() for line in full.ax_[0].get_lines()] == [
        "mine, expected",
        "mine, actual",
    ]


@pytest.mark.slow_cases("$x$", "\\\\frac{$1}{$", "a\\nb", "cost in $ and $$")
@pytest.mark.parametrize("name", ["$x$", r"\frac{$1}{$", "_hidden", "a\nb", "cost in $ and $$"])
def test_names_from_data_are_printed_as_they_are(predictions, tmp_path, name):
    y, p = predictions
    models = {name: SimpleNamespace(posterior_=NormalPosterior(5, 1))}
    displays = [
        ReliabilityDisplay.from_predictions(y, {name: p}),
        AlphaPosteriorDisplay.from_estimator(models),
        ProbabilityScatterDisplay.from_predictions(
            np.where(y == 1, name, "!"), p, p, names=(name, name)
        ),
        FeaturePathDisplay.from_path({name: path()}),
        ProfitDisplay.from_predictions(y, {name: np.column_stack([1 - p, p])}, [[0, 0], [-1, 2]]),
        SelectionPathDisplay.from_path(steps(1, n_kept=1, names=(name,)), score=name),
        InclusionDisplay([name], np.array([0.5]), np.array([0.1])).plot(),
        NetworkDisplay([name, name], np.array([[0.0, 0.5], [0.0, 0.0]])).plot(),
    ]
    for number, display in enumerate(displays):
        display.figure_.savefig(tmp_path / f"{number}.png")
    texts = legend_texts(displays[0].ax_)
    assert texts[0].replace(r"\$", "$").strip() == name.replace("\n", " ")
    assert texts[0].count("$") == texts[0].count(r"\$")


def test_every_display_renders_to_a_picture_that_is_not_blank(predictions, tmp_path):
    y, p = predictions
    posterior = SimpleNamespace(posterior_=NormalPosterior(5, 1))
    for number, display in enumerate(
        [
            ReliabilityDisplay.from_predictions(y, p),
            AlphaPosteriorDisplay.from_estimator(posterior),
            ProbabilityScatterDisplay.from_predictions(y, p, p),
            FeaturePathDisplay.from_path(path()),
            ProfitDisplay.from_predictions(y, np.column_stack([1 - p, p]), [[0, 0], [-1, 2]]),
            SelectionPathDisplay.from_path(steps()),
            InclusionDisplay(list("abc"), np.array([0.9, 0.1, 1.0]), np.zeros(3)).plot(),
            NetworkDisplay(list("abc"), np.triu(np.full((3, 3), 0.8), 1)).plot(),
        ]
    ):
        file = tmp_path / f"{number}.png"
        display.figure_.savefig(file)
        assert plt.imread(file)[..., :3].std() > 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ReliabilityDisplay.from_predictions([0, 1], {}), "mapping is empty"),
        (lambda: ReliabilityDisplay.from_predictions([0, 1], {"a": [0, 1]}, name="b"), "name is"),
        (lambda: FeaturePathDisplay.from_path(path(), ax=[None]), "ax holds 1 axes"),
        (lambda: ProfitDisplay({}), "mapping is empty"),
        (
            lambda: SelectionPathDisplay.from_estimator(BernoulliNB()),
            "BernoulliNB has no selection path_",
        ),
        (lambda: InclusionDisplay.from_estimator(BernoulliNB()), "has no inclusion_probabilities_"),
        (lambda: NetworkDisplay.from_estimator(BernoulliNB()), "has no edge_probabilities_"),
        (
            lambda: SelectionPathDisplay.from_estimator(ForwardProbabilitySelector()),
            "give a fitted selector",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_importing_the_plots_does_not_import_matplotlib_and_drawing_without_it_says_how_to_get_it():
    code = """
import sys
from honestbayes.plots import ReliabilityDisplay
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
try:
    ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])
except ImportError as error:
    assert 'pip install "honestbayes[plots]"' in str(error), error
else:
    raise SystemExit("no ImportError")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_signal_is_the_share_of_features_at_least_so_far_apart():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 300))
    X[:, :30] += 2.0 * y[:, None]
    models = {
        "much": SelectiveGaussianNB(recalibrate=None).fit(X, y),
        "none": SelectiveGaussianNB(recalibrate=None).fit(X[:, 30:], y),
    }
    display = SignalDisplay.from_estimator(models)
    much, none = display.ax_.get_lines()
    assert legend_texts(display.ax_) == ["much", "none"]
    posterior = models["much"].posterior_
    at = 10
    expected = posterior.weights[0, posterior.ratio >= posterior.ratio[at]].sum()
    assert much.get_xdata()[at - 1] == pytest.approx(np.sqrt(posterior.ratio[at]))
    assert much.get_ydata()[at - 1] == pytest.approx(expected)
    assert np.interp(0.7, much.get_xdata(), much.get_ydata()) > 0.03
    assert np.interp(0.7, none.get_xdata(), none.get_ydata()) < 0.01


def test_signal_of_another_model_is_refused(fitted):
    with pytest.raises(ValueError, match="has no posterior_ of signal ratios"):
        SignalDisplay.from_estimator(fitted[0])


def test_the_posterior_of_a_categorical_model_can_be_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 50)), np.arange(40) % 2
    model = SelectiveCategoricalNB(recalibrate=None).fit(X, y)
    assert AlphaPosteriorDisplay.from_estimator(model).ax_.get_lines()


def test_a_trace_has_a_line_for_each_chain():
    draws = np.random.default_rng(0).normal(size=(3, 40))
    display = TraceDisplay(draws, "log $alpha$").plot()
    assert [line.get_ydata().tolist() for line in display.ax_.lines] == draws.tolist()
    assert display.ax_.get_ylabel() == r"log \$alpha\$"
    assert len(display.ax_.get_legend().get_texts()) == 3


def test_a_trace_of_what_was_not_drawn_is_refused():
    with pytest.raises(ValueError, match="has no draws; fit a model"):
        TraceDisplay.from_estimator(object(), "beta")
    draws = Draws({"log_alpha": np.zeros((2, 5))}, 2)
    fitted = SimpleNamespace(draws_=draws, diagnostics_=SimpleNamespace(name=("log_alpha",)))
    with pytest.raises(ValueError, match="has no draws of 'beta'; it has"):
        TraceDisplay.from_estimator(fitted, "beta")
    assert TraceDisplay.from_estimator(fitted).name == "log_alpha"
    with pytest.raises(ValueError, match="give \\(n_chains, n_draws\\)"):
        TraceDisplay(np.zeros(3))


def test_profit_draws_what_happened_the_promise_the_stop_and_acting_on_all(mailing):
    y, proba, expected, actual = mailing
    display = ProfitDisplay.from_predictions(y, proba, expected, actual, name="mine")
    curve = profit_curve(y, proba, expected, actual)
    everyone, expected_line, observed = display.ax_.get_lines()
    assert observed.get_xdata() == pytest.approx(np.arange(201))
    assert observed.get_ydata() == pytest.approx(curve.profit)
    assert expected_line.get_ydata() == pytest.approx(curve.expected)
    assert expected_line.get_color() == observed.get_color()
    assert observed.get_linestyle() == "-"
    assert expected_line.get_linestyle() == "--"
    assert observed.get_markevery() == [curve.chosen]
    assert everyone.get_ydata() == pytest.approx([curve.profit[-1]] * 2)
    label = f"mine: {curve.profit[curve.chosen]:.3g} of {curve.expected[curve.chosen]:.3g} expected"
    assert label in legend_texts(display.ax_)
    assert {"expected", "acting on all"} < set(legend_texts(display.ax_))


def test_profit_without_the_promise_and_with_several_models(mailing):
    y, proba, expected, actual = mailing
    several = {"good": proba, "same for all": np.full((200, 2), 0.5)}
    weight = np.arange(200) % 3
    display = ProfitDisplay.from_predictions(
        y, several, expected, actual, sample_weight=weight, show_expected=False
    )
    # Acting on all is worth the same whoever orders them.
    _, one, two = display.ax_.get_lines()
    assert one.get_color() != two.get_color()
    assert one.get_marker() != two.get_marker()
    curve = profit_curve(y, several["same for all"], expected, actual, sample_weight=weight)
    assert two.get_xdata() == pytest.approx(curve.acted_on)
    assert two.get_ydata() == pytest.approx(curve.profit)
    assert "expected" not in legend_texts(display.ax_)


def test_profit_follows_a_wild_promise_only_so_far(mailing):
    y, proba, _, actual = mailing
    display = ProfitDisplay.from_predictions(y, proba, mailing_benefits([1e6] * 200, 1.0), actual)
    observed = display.curves["model"].profit
    low, high = display.ax_.get_ylim()
    assert low < observed.min() < observed.max() < high < 5 * np.ptp(observed)


def test_profit_from_estimators_takes_their_classes(fitted):
    model, X, y = fitted
    benefits = [[0.0, 0.0], [-1.0, 1.5]]
    display = ProfitDisplay.from_estimator(model, X, y, benefits)
    curve = profit_curve(y, model.predict_proba(X), benefits, classes=["normal", "tumor"])
    assert display.curves["BernoulliNB"].profit.tolist() == curve.profit.tolist()
    several = ProfitDisplay.from_estimator(
        {"a": model, "b": model}, X, y, benefits, show_expected=False
    )
    assert list(several.curves) == ["a", "b"]
    figure, ax = plt.subplots()
    assert ProfitDisplay(curve, name="mine").plot(ax).figure_ is figure


def test_a_selection_path_has_both_losses_names_and_the_step_kept():
    display = SelectionPathDisplay.from_path(steps())
    train, held_out, kept = display.ax_.get_lines()
    assert train.get_xdata().tolist() == [0, 1, 2, 3]
    assert train.get_ydata().tolist() == steps().train_score.tolist()
    assert held_out.get_ydata().tolist() == steps().held_out_score.tolist()
    assert kept.get_xdata() == [2, 2]
    names = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert names == ["(none)", "x0", "x1", "x2"]
    expected = ["training rows", "held-out rows", "kept: 2 features"]
    assert legend_texts(display.ax_) == expected
    assert display.ax_.get_ylabel() == "squared error (summed over classes)"


def test_a_long_selection_path_counts_steps_and_long_names_are_cut():
    display = SelectionPathDisplay.from_path(steps(100, n_kept=1))
    assert display.ax_.get_xlabel() == "steps"
    assert "x0" not in [text.get_text() for text in display.ax_.get_xticklabels()]
    assert legend_texts(display.ax_)[-1] == "kept: 1 feature"
    short = SelectionPathDisplay.from_path(steps(1, names=("a" * 100,)))
    assert 10 < len(short.ax_.get_xticklabels()[1].get_text()) < 30


def test_a_selection_path_from_a_selector_says_what_was_scored_and_on_what():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.integers(0, 2, (80, 6))
    alone = ForwardProbabilitySelector(n_features_to_select=2).fit(X, y)
    display = SelectionPathDisplay.from_estimator(alone)
    assert legend_texts(display.ax_) == ["training rows", "kept: 2 features"]
    chosen = ForwardProbabilitySelector(
        n_features_to_select=2, held_out=4, score_on="held_out", scoring="log_loss"
    ).fit(X, y)
    display = SelectionPathDisplay.from_estimator(chosen)
    assert display.ax_.get_ylabel() == "log score"
    assert legend_texts(display.ax_)[1] == "held-out rows, used to choose columns"

    def my_loss(y, proba):
        return np.mean((y - proba[:, 1]) ** 2)

    own = ForwardProbabilitySelector(n_features_to_select=2, scoring=my_loss).fit(X, y)
    assert SelectionPathDisplay.from_estimator(own).ax_.get_ylabel() == "my loss"
    boosted = BoostedProbabilitySelector(n_rounds=4, held_out=4).fit(X, y)
    display = SelectionPathDisplay.from_estimator(boosted)
    assert len(display.ax_.get_xticklabels()) == 5
    assert legend_texts(display.ax_)[-1].startswith(f"kept: {boosted.path_.kept.size} feature")


def test_inclusion_probabilities_are_bars_in_order_with_errors_and_the_threshold():
    probability, error = np.array([0.2, 0.9, 0.5]), np.array([0.01, 0.02, 0.03])
    display = InclusionDisplay(["a", "b", "c"], probability, error, threshold=0.5).plot()
    assert [bar.get_width() for bar in display.ax_.patches] == [0.9, 0.5, 0.2]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    assert display.ax_.get_title("left") == "kept from 0.5 on"
    many = InclusionDisplay([str(j) for j in range(50)], np.full(50, 0.1), np.zeros(50)).plot()
    assert len(many.ax_.patches) == 30
    assert "20 lower ones are not shown" in many.ax_.get_xlabel()


def test_a_network_has_the_class_its_arcs_and_their_probabilities():
    probability = np.zeros((4, 4))
    probability[3, 0], probability[0, 1], probability[3, 2] = 0.9, 0.5, 0.1
    display = NetworkDisplay(["a", "b", "c", "class"], probability).plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert {"a", "b", "class", "0.90", "0.50"} <= set(texts)
    assert "c" not in texts
    assert "0.10" not in texts
    assert display.ax_.get_title("left").endswith("1 other feature has none")


# --------------------------------------------------------------------------------------------------
# Which features matter
# --------------------------------------------------------------------------------------------------


def test_importance_has_one_bar_for_columns_that_repeat_each_other():
    nan = np.nan
    display = ImportanceDisplay(
        ["gene $a$", "copy 1", "copy 2", "weak", "not measured"],
        np.array([0.2, 0.1, 0.1, 0.01, nan]),
        np.array([0.1, 0.05, 0.05, -0.01, nan]),
        np.array([0.3, 0.15, 0.15, 0.03, nan]),
        np.array([0, 1, 1, 2, -1]),
    ).plot()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [r"gene \$a\$", "copy 1 and 1 alike", "weak"]
    assert [bar.get_width() for bar in display.ax_.patches] == [0.2, 0.1, 0.01]
    (intervals,) = display.ax_.collections
    ends = [segment[:, 0].tolist() for segment in intervals.get_segments()]
    assert ends == [[0.1, 0.3], [0.05, 0.15], [-0.01, 0.03]]
    assert len(ImportanceDisplay(list("ab"), *np.ones((3, 2)), most=1).rows()) == 1


def test_importance_needs_an_estimator_that_measures_it(fitted_two):
    with pytest.raises(ValueError, match="SelectiveGaussianNB has no feature importance"):
        ImportanceDisplay.from_estimator(fitted_two[0])


@pytest.fixture(scope="module")
def fitted_two():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4))
    X[:, 2] += 3 * y
    return SelectiveGaussianNB(recalibrate=None).fit(X, np.array(["well", "ill"])[y]), X


def test_contributions_of_a_row_are_drawn_largest_first(fitted_two):
    model, X = fitted_two
    added = model.contributions(X[:3])
    display = ContributionDisplay.from_contributions(added, 1)
    order = np.argsort(-np.abs(added.values[1]))
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [added.name[j] for j in order]
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == added.values[1][order].tolist()
    assert display.ax_.get_xlabel() == "added to the log-odds of well"
    other = ContributionDisplay.from_contributions(added, 1, target="ill")
    assert [bar.get_width() for bar in other.ax_.patches] == (-added.values[1][order]).tolist()
    assert other.ax_.get_xlabel() == "added to the log-odds of ill"


def test_contributions_with_more_classes_ask_for_one():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 3)) + y[:, None]
    added = SelectiveGaussianNB(recalibrate=None).fit(X, y).contributions(X[:2])
    with pytest.raises(ValueError, match="there are 3 classes; name one of"):
        ContributionDisplay.from_contributions(added)
    with pytest.raises(ValueError, match="target=7 is not one of the classes"):
        ContributionDisplay.from_contributions(added, target=7)
    display = ContributionDisplay.from_contributions(added, target=2)
    widths = sorted(bar.get_width() for bar in display.ax_.patches)
    assert widths == sorted(added.values[0, :, 2].tolist())
    assert added.to_pandas().shape == (2, 9)
