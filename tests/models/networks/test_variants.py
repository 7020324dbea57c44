"""Other scores, priors and proposals of networks: every step is that of enumeration."""

import numpy as np
import oracles_networks as oracle
import pytest
from planted.networks import CASES, expected_of, plain_python, wrong_steps
from sklearn.model_selection import LeaveOneOut

from honestbayes import AveragedNetworkClassifier, load
from honestbayes.models.networks.model import log_prior_of_arcs, n_graphs_of_blanket

SHORT = {"n_chains": 2, "n_draws": 100, "n_warmup": 50, "n_doublings": 0, "thin": 50}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def plain():
    return plain_python()


@pytest.mark.parametrize("name", CASES)
def test_proposals_and_acceptances_are_those_of_the_exact_matrix(plain, name):
    assert wrong_steps(plain, name) == 0


@pytest.mark.parametrize("name", CASES)
def test_the_exact_matrix_keeps_the_target_but_for_the_printed_moves(name):
    _, weight, q, matrix = expected_of(name)
    off = np.abs(weight @ matrix - weight).max()
    if CASES[name].proposal != "printed":
        assert off < 1e-15
        return
    assert off > 1e-3
    pi = oracle.stationary(matrix)
    flow = pi[:, None] * matrix
    assert np.abs(pi @ matrix - pi).max() < 1e-13
    assert np.abs(flow - flow.T).sum() > 0.05
    assert np.any((q > 0) & (q.T == 0))


def test_the_printed_moves_have_636_deletions_without_a_way_back():
    graphs = oracle.all_graphs(3, general=True)
    reached, todo, one_way = {frozenset()}, [frozenset()], 0
    for graph in graphs:
        for kind, found in oracle.printed_moves(graph, 3, 9).items():
            for new in found:
                back = [g for group in oracle.printed_moves(new, 3, 9).values() for g in group]
                assert graph in back or kind.startswith("delete")
                one_way += graph not in back
    while todo:
        for found in oracle.printed_moves(todo.pop(), 3, 9).values():
            todo += [new for new in found if new not in reached]
            reached |= set(found)
    assert one_way == 636
    assert len(reached) == len(graphs) == 543


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_graphs_of_a_set_of_features_are_counted(most):
    graphs = oracle.all_graphs(3, most)
    sets = [frozenset(oracle.blanket(g)) for g in graphs]
    expected = [sum(s == set(range(n)) for s in sets) for n in range(4)]
    assert list(n_graphs_of_blanket(3, most)) == expected


@pytest.mark.slow
def test_graphs_of_four_features_are_counted():
    sets = [frozenset(oracle.blanket(g)) for g in oracle.all_graphs(4, 3)]
    expected = [sum(s == set(range(n)) for s in sets) for n in range(5)]
    assert list(n_graphs_of_blanket(4, 3)) == expected


def test_the_two_ways_to_write_a_prior_of_arcs_agree():
    """2^-m and the function of it are the same prior."""
    whole = log_prior_of_arcs("arcs", 3, 5)
    own = log_prior_of_arcs(("arcs", lambda m: 0.5**m), 3, 5)
    assert own - own[0] == pytest.approx(whole - whole[0])


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.arange(n) % 3)
    a = np.where(rng.random(n) < 0.8, y, (y + 1) % 3)
    X = np.column_stack([a, np.where(rng.random(n) < 0.7, a, 0), rng.integers(0, 2, n)])
    return X, np.array(["u", "v", "w"])[y]


VARIANTS = {
    "accuracy": {"objective": "accuracy", "held_out": 5, "temperature": 0.05},
    "brier": {"objective": "brier", "held_out": LeaveOneOut(), "table_prior": "bdeu"},
    "likelihood": {
        "objective": "conditional_likelihood",
        "temperature": 2.0,
        "proposal": "uniform",
    },
    "features": {"space": "classifiers", "graph_prior": ("features", ("poisson", 2.0))},
    "arcs": {"graph_prior": ("arcs", "uniform"), "proposal": "uniform"},
    "printed": {"objective": "accuracy", "graph_prior": "uniform", "proposal": "printed"},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_file_holds_the_parameters_and_the_graphs(name, tmp_path):
    X, y = table()
    model = AveragedNetworkClassifier(random_state=0, **VARIANTS[name], **SHORT).fit(X, y)
    model.save(tmp_path / "model.hb")
    again = load(tmp_path / "model.hb")
    for word, value in VARIANTS[name].items():
        # A splitter is not stored: nothing depends on it after `fit`.
        assert getattr(again, word) == (None if isinstance(value, LeaveOneOut) else value)
    assert again.graphs().to_dict() == model.graphs().to_dict()
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_function_as_prior_is_used_and_not_stored(tmp_path):
    X, y = table()
    model = AveragedNetworkClassifier(
        space="classifiers",
        graph_prior=("features", lambda n: float(n < 2)),
        random_state=0,
        **SHORT,
    ).fit(X, y)
    assert model.draws_["size"].max() == 1
    with pytest.raises(ValueError, match="prior holds a function"):
        model.save(tmp_path / "model.hb")


@pytest.mark.parametrize("objective", ["marginal_likelihood", "accuracy"])
def test_graphs_are_the_joint_distribution_of_score_features_and_graph(objective):
    X, y = table()
    model = AveragedNetworkClassifier(objective=objective, random_state=0, **SHORT).fit(X, y)
    record = model.graphs()
    codes = np.unique(y, return_inverse=True)[1].tolist()
    levels = {0: 3, 1: 3, 2: 2, oracle.CLASS: 3}
    assert record.share.sum() == pytest.approx(1.0)
    assert np.all(np.diff(record.share) <= 0)
    assert len({str(one) for one in record.parents}) == len(record.parents)
    name = {"x0": 0, "x1": 1, "x2": 2, "(class)": oracle.CLASS}
    inside = np.zeros(3)
    for share, score, features, parents in zip(
        record.share[:8], record.score, record.features, record.parents, strict=False
    ):
        graph = frozenset((name[s], name[t]) for t, sources in parents.items() for s in sources)
        assert {name[one] for one in features} == oracle.blanket(graph)
        if objective == "accuracy":
            counted = oracle.without_folds([-1] * len(codes))
            expected = oracle.row_score(
                graph, X.tolist(), codes, counted, levels, "k2", 1.0, "accuracy"
            )
        else:
            expected = oracle.log_score(graph, X.tolist(), codes, levels, "k2")
        assert score == pytest.approx(expected, abs=1e-8)
        assert share > 0
    for share, features in zip(record.share, record.features, strict=True):
        inside[[name[one] for one in features]] += share
    assert inside == pytest.approx(model.inclusion_probabilities_)
    assert model.graphs(2).to_dict()["share"] == record.share[:2].tolist()
    assert "->" in str(record)
    assert list(record.to_pandas().columns) == ["share", "score", "features", "parents"]


def test_scores_that_an_older_file_lacks_are_computed():
    X, y = table()
    for table_prior in ("k2", "bdeu"):
        model = AveragedNetworkClassifier(table_prior=table_prior, random_state=0, **SHORT).fit(
            X, y
        )
        content, arrays = model._to_plain()
        del arrays["part0.fit.scores"]
        for name in ("objective", "held_out", "temperature", "proposal"):
            del content["parameters"][name]
        older = type(model)._from_plain(content, arrays)
        assert older.graphs().to_dict() == model.graphs().to_dict()
        assert older.get_params() == model.get_params()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"objective": "bhattacharyya"}, "objective='bhattacharyya' is not one of 'marginal_"),
        ({"objective": len}, "objective=<built-in function len> is not one of"),
        ({"proposal": "two_step"}, "proposal='two_step' is not one of 'typed'"),
        ({"temperature": 0.0}, "temperature"),
        ({"held_out": 5}, "held_out is for scores that look at rows"),
        ({"held_out": 0.5, "objective": "accuracy"}, "held_out is a share"),
        ({"proposal": "printed", "space": "classifiers"}, "'printed' needs space='networks'"),
        ({"graph_prior": ("features", "uniform")}, "needs space='classifiers'"),
        ({"graph_prior": ("features", 0.5), "space": "classifiers"}, "graph_prior="),
        ({"graph_prior": ("arcs", ("poisson", 0.0))}, "graph_prior="),
        ({"graph_prior": ("arcs", ("normal", 1.0))}, "graph_prior="),
        ({"graph_prior": ("arcs", lambda n: float(n > 0))}, "prior is 0 for the empty graph"),
        ({"graph_prior": ("arcs", lambda n: float(n != 2))}, "prior is 0 for sizes between"),
    ],
)
def test_what_does_not_go_together_is_refused(words, message):
    X, y = table()
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        AveragedNetworkClassifier(**words, **SHORT).fit(X, y)


def test_groups_stay_together_in_folds():
    X, y = table()
    groups = np.repeat(np.arange(30), 3)
    words = {"objective": "accuracy", "held_out": 3, "random_state": 0, **SHORT}
    model = AveragedNetworkClassifier(**words).fit(X, y, groups=groups)
    apart = AveragedNetworkClassifier(**words).fit(X, y)
    assert not np.array_equal(model.draws_["score"], apart.draws_["score"])
