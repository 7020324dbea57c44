"""Predicted and observed rates, published and ours."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import invgamma

from honestbayes.datasets import simulate_naive_bayes
from honestbayes.experiments import colon, mixture, naive_bayes, slides, slides_colon
from honestbayes.experiments.experiment import ExperimentRun, decimal_rows, errors_of, judged, of


def test_errors_of_a_table_are_those_of_its_cases() -> None:
    rng = np.random.default_rng(0)
    proba = rng.random(4000)
    y = (rng.random(4000) < proba).astype(int)
    found = judged(y, proba)
    table = list(zip(found["count"], found["predicted"], found["actual"], strict=True))
    errors = errors_of(table)
    assert errors["expected"] == pytest.approx(np.minimum(proba, 1 - proba).mean(), abs=1e-4)
    assert errors["actual"] == pytest.approx(np.mean((proba >= 0.5) != y), abs=1e-4)
    assert errors["actual"] == pytest.approx(found["actual_error"], abs=1e-4)
    rows = list(decimal_rows(found, method="ours"))
    assert [row["cases"] for row in rows] == found["count"].tolist()


def test_a_decimal_without_cases_has_no_row() -> None:
    rows = list(decimal_rows(judged([0, 1], np.array([0.25, 0.75]))))
    assert [row["probability from"] for row in rows] == [0.2, 0.7]


def test_figures_are_picked_by_settings() -> None:
    fits = [{"k": 1, "way": "a", "x": 3.0}, {"k": 2, "way": "a", "x": 5.0}]
    assert of(fits, "x", k=2, way="a").tolist() == [5.0]
    assert of(fits, "x", way="a").tolist() == [3.0, 5.0]


def test_published_tables_hold_all_test_cases() -> None:
    for table, n in ((mixture.TABLE_2_3, 2000), (slides.TABLE, 600)):
        for decimals in table.values():
            assert len(decimals) == 10
            assert sum(count for count, _, _ in decimals) == n
            for place, (count, predicted, _) in enumerate(decimals):
                assert not count or place / 10 <= predicted <= (place + 1) / 10


def test_the_printed_squared_errors_give_nearly_the_printed_test() -> None:
    printed = slides_colon.measured(
        slides_colon.PUBLISHED["uncorrected"], slides_colon.PUBLISHED["corrected"]
    )
    assert printed["groups better"] == 8
    assert printed["p-value"] == pytest.approx(slides_colon.P_VALUE, abs=0.001)


def test_groups_and_tests_of_the_colon_data_are_counted() -> None:
    one = {
        "uncorrected": {"log_score": [0.5, 0.7, 0.6], "expected_error": [0.1, 0.2, 0.3],
                        "actual_error": [0.2, 0.1, 0.4]},
        "corrected": {"log_score": [0.4, 0.8, 0.5]},
    }  # fmt: skip
    assert colon.better([one], "log_score").tolist() == [2]
    assert colon.optimistic([one], "uncorrected").tolist() == [2]
    assert colon.average([one], "corrected", "log_score")[0] == pytest.approx(17 / 30)
    assert 0.5 < colon.p_values([one], "log_score")[0] < 1


def test_the_dots_of_figure_6_are_what_its_caption_says() -> None:
    # "The probabilities of x at each of these values for alpha were computed, rescaled to sum to K,
    # and finally multiplied by the Jacobian, alpha P(alpha)."
    data = simulate_naive_bayes(40, 20, 30, alpha=50, random_state=2)
    found = naive_bayes.fit(data, 1, "uncorrected", "paper", shown=True)
    alpha = invgamma.ppf((np.arange(30) + 0.5) / 30, 0.5, scale=5.0)
    np.testing.assert_allclose(found["log_alpha"], np.log(alpha), atol=6e-5)
    scores = [abs(np.corrcoef(x, data.y_train)[0, 1]) for x in data.X_train.T]
    x = data.X_train[:, int(np.argmax(scores))]
    counts = [(int(x[data.y_train == c].sum()), int(np.sum(data.y_train == c))) for c in (0, 1)]

    def likelihood(a: float) -> float:
        def given_theta(theta: float) -> float:
            logs = [
                betaln(a * theta + ones, a * (1 - theta) + n - ones)
                - betaln(a * theta, a * (1 - theta))
                for ones, n in counts
            ]
            return float(np.exp(sum(logs)))

        return float(quad(given_theta, 0, 1, limit=200)[0])

    likelihoods = np.array([likelihood(a) for a in alpha])
    expected = likelihoods / likelihoods.sum() * 30 * alpha * invgamma.pdf(alpha, 0.5, scale=5.0)
    # Theta has 21 points in the paper's rule, which shows in the third digit.
    np.testing.assert_allclose(found["density"], expected, atol=0.01 * expected.max())
    figure = naive_bayes.draw_alpha(
        [
            naive_bayes.fit(data, k, method, rule, shown=True)
            for k, method in ((1, "corrected"), (1, "uncorrected"), (30, "uncorrected"))
            for rule in naive_bayes.RULES
        ],
        30,
    )
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    assert [line.get_xdata().size for line in dots] == [30, 30, 30]


def test_chains_on_complete_data_are_summarized_by_starts_and_length() -> None:
    sizes = {"n_train": 20, "n_test": 50, "n_features": 100, "alpha": 3.0}
    runs = []
    for starts in (mixture.EARLIER, mixture.NEAR_DATA, mixture.DEFAULT):
        for seed, share in ((0, 0.0), (1, 1.0)):
            one = {"sweeps": 30, "in_one_component": share, "seconds": 1.0, "alpha": 3.0}
            one |= {"rhat_alpha": 1.0 + share, "rhat_posterior": 1.0}
            one |= {"expected_error": 0.4 + 0.1 * share, "actual_error": 0.3, "log_score": 0.5}
            fits = [one, one | {"sweeps": 60}] if starts != mixture.DEFAULT else [one]
            settings = {"seed": seed, **sizes, "starts": starts, "lengths": [30, 60]}
            runs.append(ExperimentRun(settings, {"fits": fits}, 1.0))
    rows = mixture._complete(runs).rows
    assert [row["starts"] for row in rows] == [mixture.EARLIER] * 2 + [mixture.NEAR_DATA] * 2 + [
        mixture.DEFAULT
    ]
    for row in rows:
        assert row["data sets"] == 2
        assert row["of these, R-hat above 1.05"] == 1
        assert row["expected error"] == pytest.approx(0.45)
        assert row["± expected error"] == pytest.approx(0.05)
    assert "50% of the chains in one component" in mixture.conclusion_on_complete(runs)


@pytest.mark.parametrize("starts", [mixture.EARLIER, mixture.NEAR_DATA])
def test_a_longer_chain_on_complete_data_continues_a_shorter_one(starts: str) -> None:
    one = {"n_train": 20, "n_test": 50, "n_features": 60, "alpha": 3.0, "starts": starts}
    short = mixture.run(seed=0, lengths=[30], **one)["fits"]
    both = mixture.run(seed=0, lengths=[30, 60], **one)["fits"]
    for fit in (*short, *both):
        del fit["seconds"]
    assert both[0] == short[0]
    assert both[1] != both[0]
    assert 0 <= both[1]["in_one_component"] <= 1
