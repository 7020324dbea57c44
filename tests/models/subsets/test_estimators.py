"""Scores of subsets, what is found among noise, predictions, files and refusals."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from oracles_subsets import log_marginal, posterior, target

import honestbayes as hb
from honestbayes.data.categories import learn_coding
from honestbayes.models.discrete.estimator import count_levels
from honestbayes.models.subsets.model import bhattacharyya, log_bayes_factors, subset_settings
from honestbayes.sampling import checkpoint

SHORT = {"n_chains": 2, "n_doublings": 0, "n_draws": 400, "n_warmup": 50, "random_state": 0}


@contextmanager
def quiet():
    """Short chains may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def cells(n=40, levels=(2, 3, 2, 4), n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = np.stack([rng.integers(0, m, n) for m in levels], axis=1)
    X[:, 0] = np.where(rng.random(n) < 0.7, y % 2, X[:, 0])
    return X, y


def counted(X, y, kinds="categorical"):
    coding = learn_coding(X.astype(float), np.ones(len(y)), kinds=[kinds] * X.shape[1])
    coded = coding.encode(X.astype(float))
    return coded, count_levels(coded, y, np.ones(len(y)), len(set(y)))


def planted(n, n_noise, seed):
    """Three features that tell something of the class, and others that do not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, 3 + n_noise))
    for j, share in enumerate((0.8, 0.75, 0.7)):
        X[:, j] = np.where(rng.random(n) < share, y, 1 - y)
    return X, y


# ------------------------------------------------------------------------------------ scores


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bayes_factors_are_those_of_one_cell_after_the_other(smoothing, n_classes):
    X, y = cells(n_classes=n_classes)
    _, counts = counted(X, y)
    expected = [
        log_marginal(X[:, j], y, m, smoothing) - log_marginal(X[:, j], y * 0, m, smoothing)
        for j, m in enumerate((2, 3, 2, 4))
    ]
    assert log_bayes_factors(counts, smoothing) == pytest.approx(np.array(expected), abs=1e-10)


def test_missing_cells_are_left_out_of_bayes_factors():
    X, y = cells()
    X = X.astype(float)
    X[::5, 1] = np.nan
    coding = learn_coding(X, np.ones(40), kinds=["categorical"] * 4)
    counts = count_levels(coding.encode(X), y, np.ones(40), 2)
    there = ~np.isnan(X[:, 1])
    rest, own = X[there, 1].astype(int), y[there]
    expected = log_marginal(rest, own, 3, 1.0) - log_marginal(rest, own * 0, 3, 1.0)
    assert log_bayes_factors(counts, 1.0)[1] == pytest.approx(expected, abs=1e-10)


def test_the_distance_between_classes_is_that_of_all_their_cells_together():
    X, y = cells(levels=(2, 3))
    _, counts = counted(X, y)
    p = [
        np.array(
            [[(np.sum((X[:, j] == x) & (y == c)) + 1) / (20 + m) for x in range(m)] for c in (0, 1)]
        )
        for j, m in enumerate((2, 3))
    ]
    joint = [np.outer(p[0][c], p[1][c]) for c in (0, 1)]
    whole = -np.log(np.sqrt(joint[0] * joint[1]).sum())
    assert bhattacharyya(counts, 1.0).sum() == pytest.approx(whole, abs=1e-12)


def scores_of(y, proba):
    own = proba[np.arange(len(y)), y]
    wrong = np.where(np.eye(proba.shape[1])[y] > 0, 1 - proba, proba)
    best = np.isclose(own, proba.max(axis=1))
    tied = np.isclose(proba, proba.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return {
        "conditional_likelihood": np.log(own).sum(),
        "accuracy": np.mean(np.where(best & ~tied, 1.0, np.where(best, 0.5, 0.0))),
        "brier": np.mean(1 - 0.5 * (wrong**2).sum(axis=1)),
    }


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("score", ["conditional_likelihood", "accuracy", "brier"])
def test_scores_of_rows_are_those_of_naive_bayes_written_out(score, n_classes):
    X, y = cells(n_classes=n_classes)
    coded, counts = counted(X, y)
    params = hb.SubsetSampler(objective=score).get_params()
    found = subset_settings(params, 4)._score(coded, y, np.zeros(40, dtype=np.int64), [counts])
    for columns in ((), (0,), (1, 3), (0, 1, 2, 3)):
        proba = posterior(X, y, range(40), 1.0, columns, (2, 3, 2, 4))
        expected = scores_of(y, proba)[score]
        assert found.of(np.array(columns, dtype=np.int64)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_along_a_walk_are_those_of_its_subsets(n_classes):
    X, y = cells(levels=(2, 3, 2, 4, 2, 2), n_classes=n_classes)
    for score in ("conditional_likelihood", "accuracy", "brier"):
        model = hb.SubsetSampler(
            objective=score, held_out=4, thin=1, subset_prior="subsets", **SHORT
        )
        with quiet():
            model.fit(X, y)
        drawn = model.draws_.draws
        masks, first = np.unique(model.draws_.masks(), axis=0, return_index=True)
        seen = {m.tobytes(): drawn.pooled("score")[i] for m, i in zip(masks, first, strict=True)}
        again = [seen[m.tobytes()] for m in model.draws_.masks()]
        assert drawn.pooled("score") == pytest.approx(np.array(again), abs=1e-9)


def test_rows_held_out_are_scored_by_the_others():
    X, y = cells()
    with quiet():
        model = hb.SubsetSampler(
            objective="conditional_likelihood",
            held_out=[(np.r_[0:20], np.r_[20:40]), (np.r_[20:40], np.r_[0:20])],
            thin=1,
            kinds=["categorical"] * 4,
            subset_prior="subsets",
            **SHORT,
        ).fit(X, y)
    halves = [np.arange(20), np.arange(20, 40)]
    for mask, value in list(
        zip(model.draws_.masks(), model.draws_.draws.pooled("score"), strict=True)
    )[::97]:
        columns = np.flatnonzero(mask)
        expected = 0.0
        for mine, others in (halves, halves[::-1]):
            proba = posterior(X, y, others.tolist(), 1.0, columns, (2, 3, 2, 4))
            expected += np.log(proba[mine, y[mine]]).sum()
        assert value == pytest.approx(expected, abs=1e-9)


def test_a_function_gives_the_target_of_its_numbers():
    X, y = cells(levels=(2, 2, 2))
    weights = np.array([0.5, 0.2, 0.1])

    def share(columns):
        return 0.2 + weights[columns].sum()

    words = {**SHORT, "n_draws": 4000, "thin": 3}
    model = hb.SubsetSampler(objective=share, **words).fit(X, y)
    subsets, pi = target(3, 3, "sizes", lambda s: 0.2 + weights[list(s)].sum())
    inside = [sum(w for s, w in zip(subsets, pi, strict=True) if j in s) for j in range(3)]
    gap = model.inclusion_probabilities_ - inside
    assert np.all(np.abs(gap) < 5 * model.inclusion_errors_)
    logs = hb.SubsetSampler(objective=lambda c: np.log(share(c)), log_score=True, **words).fit(X, y)
    assert np.array_equal(logs.draws_.masks(), model.draws_.masks())


# ------------------------------------------------------------------------- what is found


def exact_inclusion(log_factors):
    """Inclusion probabilities with all sizes equally likely, by symmetric polynomials, in logs."""
    p = log_factors.size
    log_choose = np.array([0.0, *np.cumsum(np.log((p - np.arange(p)) / (1 + np.arange(p))))])

    def polynomials(values):
        result = np.full(values.size + 1, -np.inf)
        result[0] = 0.0
        for value in values:
            result[1:] = np.logaddexp(result[1:], result[:-1] + value)
        return result

    whole = np.logaddexp.reduce(polynomials(log_factors) - log_choose)
    without = [polynomials(np.delete(log_factors, j)) for j in range(p)]
    return np.array(
        [
            np.exp(np.logaddexp.reduce(log_factors[j] + e - log_choose[1:]) - whole)
            for j, e in enumerate(without)
        ]
    )


def test_inclusion_probabilities_of_a_hundred_features_are_exact():
    X, y = planted(300, 97, 1)
    model = hb.SubsetSampler(random_state=0).fit(X, y)
    _, counts = counted(X, y, "binary")
    exact = exact_inclusion(log_bayes_factors(counts, 1.0))
    gap = (model.inclusion_probabilities_ - exact) / np.maximum(model.inclusion_errors_, 1e-3)
    assert np.max(np.abs(gap)) < 5
    assert 0.5 < np.std(gap) < 1.5


def test_planted_features_are_found_among_two_hundred_that_are_noise():
    X, y = planted(1000, 200, 0)
    words = {"random_state": 0, "n_draws": 1000}
    model = hb.SubsetSampler(**words).fit(X, y)
    assert model.inclusion_probabilities_[:3].min() > 0.9
    assert model.inclusion_probabilities_[3:].sum() < 2
    assert model.get_support(indices=True).tolist() == [0, 1, 2]
    # Chains from the empty, the full and random subsets.
    by_chain = model.draws_.draws["size"].mean(axis=1)
    assert np.ptp(by_chain) < 0.5
    assert model.diagnostics_.problems() == []
    subset, share = model.draws_.most_visited(1)[0]
    assert set(subset) == {0, 1, 2}
    assert share > 0.2


def test_a_class_that_nothing_predicts_is_not_claimed_to_be_known():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (300, 100)), rng.integers(0, 2, 300)
    model = hb.AveragedNB(**{**SHORT, "n_draws": 1000}).fit(X, y)
    new, actual = rng.integers(0, 2, (2000, 100)), rng.integers(0, 2, 2000)
    proba = model.predict_proba(new)
    assert proba.min(axis=1).mean() >= 0.45
    assert -np.log(proba[np.arange(2000), actual]).mean() <= 0.71


# ----------------------------------------------------------------- predictions, files, input


def test_predictions_are_averages_over_the_subsets():
    X, y = cells(n=60, n_classes=3)
    model = hb.AveragedNB(kinds=["categorical"] * 4, subset_prior="subsets", **SHORT).fit(X, y)
    assert model._subsets.shape == (800, 1)
    masks = np.unpackbits(model._subsets, axis=1, count=4)
    found, count = np.unique(masks, axis=0, return_counts=True)
    expected = sum(
        n * posterior(X, y, range(60), 1.0, np.flatnonzero(mask), (2, 3, 2, 4))
        for mask, n in zip(found, count, strict=True)
    ) / len(masks)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-10)
    assert np.allclose(model.predict_proba(X[:1]), model.predict_proba(X)[:1], atol=0, rtol=0)


def test_intervals_hold_what_is_predicted_and_shrink_with_more_cases():
    widths = []
    for n in (50, 1000):
        X, y = planted(n, 2, 0)
        model = hb.AveragedNB(**SHORT).fit(X, y)
        bounds, proba = model.predict_proba_interval(X), model.predict_proba(X)[:, 1]
        assert np.mean((bounds[:, 0] <= proba) & (proba <= bounds[:, 1])) > 0.95
        widths.append(np.ptp(bounds, axis=1).mean())
        assert np.array_equal(model.predict_proba_interval(X[3:5]), bounds[3:5])
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.parametrize("kind", ["AveragedNB", "SubsetSampler"])
def test_files_give_the_same_back(kind, tmp_path):
    X, y = cells(n=60)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.random.default_rng(0).normal(size=60))
    model = getattr(hb, kind)(subset_prior=("poisson", 2.0), **SHORT).fit(frame, y)
    model.save(tmp_path / "m")
    again = hb.load(tmp_path / "m")
    assert np.array_equal(again.inclusion_probabilities_, model.inclusion_probabilities_)
    assert again.get_params() == model.get_params()
    if kind == "AveragedNB":
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert np.array_equal(
            again.predict_proba_interval(frame), model.predict_proba_interval(frame)
        )
    else:
        assert np.array_equal(again.transform(frame), model.transform(frame))
    with pytest.raises(ValueError, match="prior is a function"):
        model.set_params(subset_prior=lambda _: 1.0).save(tmp_path / "f")


@pytest.mark.parametrize("chunk", [1, 50_000, 1 << 24])
def test_a_run_that_was_stopped_goes_on_to_the_same_draws(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "CHUNK_BYTES", chunk)
    X, y = planted(100, 20, 0)
    words = {**SHORT, "n_draws": 3000, "thin": 5}
    whole = hb.SubsetSampler(**words).fit(X, y)
    place = tmp_path / "chains"
    with quiet():
        hb.SubsetSampler(**{**words, "n_draws": 2000}, checkpoint=place).fit(X, y)
        # The same blocks: a longer run goes on from the shorter one.
        longer = hb.SubsetSampler(**words, checkpoint=place).fit(X, y)
    assert np.array_equal(longer.draws_.masks(), whole.draws_.masks())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"objective": "likelihood"}, "objective='likelihood' is not"),
        ({"subset_prior": "flat"}, "subset_prior='flat' is not"),
        ({"subset_prior": ("poisson", -1.0)}, "with a mean above 0"),
        ({"subset_prior": lambda _: -1.0}, "finite numbers of 0 or more"),
        ({"subset_prior": lambda k: float(k != 1)}, "cannot cross"),
        ({"proposal": "all"}, "is not one of 'two_step', 'uniform'"),
        ({"swap": 1.0}, "is not a share of at least 0 and below 1"),
        ({"temperature": 0.0}, "temperature=0.0 is not a positive number"),
        ({"max_features": 0}, "max_features"),
        ({"n_draws": 0}, "n_draws"),
        ({"min_probability": 0.0}, "is not a probability above 0"),
        ({"held_out": 0.2}, "give a number of folds"),
        ({"objective": lambda _: -1.0}, "is -1.0, and not a finite number of 0 or more"),
        ({"checkpoint": "c", "random_state": None}, "a checkpoint needs an integer random_state"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(words, complaint):
    X, y = cells()
    with pytest.raises(ValueError, match=complaint):
        hb.SubsetSampler(**{**SHORT, **words}).fit(X, y)
