"""Networks by brute force: all graphs, their scores, targets and transition matrices.

A graph is a frozenset of arcs (source, target); features are 0, 1, ..., the class is "c". Shares no
code with the package.
"""

from itertools import combinations, permutations, product
from math import comb, factorial, log

import numpy as np

CLASS = "c"


def has_cycle(arcs, nodes):
    """Whether there is a directed cycle: no order of the nodes fits all arcs."""
    left, arcs = set(nodes), set(arcs)
    while left:
        free = {v for v in left if not any(t == v and s in left for s, t in arcs)}
        if not free:
            return True
        left -= free
    return False


def parents(graph, node):
    return {s for s, t in graph if t == node}


def children(graph, node):
    return {t for s, t in graph if s == node}


def is_valid(graph, k, most, general=False):
    """Whether every arc enters the class or a child of it, without cycles and with few parents.

    In the general space arcs may enter any node.
    """
    nodes = [*range(k), CLASS]
    good = general or all(t == CLASS or (CLASS, t) in graph for _, t in graph)
    good = good and all(len(parents(graph, v)) <= most for v in nodes)
    return good and not has_cycle(graph, nodes)


def all_graphs(k, most=99, general=False):
    """All graphs of the space, by going through every set of arcs."""
    nodes = [*range(k), CLASS]
    pairs = list(combinations(nodes, 2))
    found = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        arcs = frozenset(
            pair if c == 1 else pair[::-1] for pair, c in zip(pairs, choice, strict=True) if c
        )
        if is_valid(arcs, k, most, general):
            found.append(arcs)
    return found


def blanket(graph):
    """Parents and children of the class, and the children's other parents."""
    own = parents(graph, CLASS) | children(graph, CLASS)
    for child in children(graph, CLASS):
        own |= parents(graph, child)
    return own - {CLASS}


def neighbours(graph, k, most, general=False):
    """Graphs one move away, by kind, from the words of the rules."""
    nodes = [*range(k), CLASS]
    kinds = {"add feature": [], "delete feature": [], "add arc": [], "delete arc": []}
    kinds |= {"turn": [], "exchange": []}
    before = blanket(graph)
    for arc in permutations(nodes, 2):
        if arc in graph:
            new = graph - {arc}
            if is_valid(new, k, most, general):
                same = general or blanket(new) == before
                kind = "delete arc" if same else "delete feature"
                kinds[kind].append(new)
            others = [v for v in nodes if v != arc[1] and (v, arc[1]) not in graph]
            if not general:  # the class stays a parent, and does not become one
                others = [v for v in others if CLASS not in (v, arc[0])]
            for v in others:
                if is_valid(new | {(v, arc[1])}, k, most, general):
                    kinds["exchange"].append(new | {(v, arc[1])})
            if is_valid(new | {arc[::-1]}, k, most, general):
                kinds["turn"].append(new | {arc[::-1]})
        elif arc[::-1] not in graph:
            new = graph | {arc}
            if is_valid(new, k, most, general):
                same = general or blanket(new) == before
                kinds["add arc" if same else "add feature"].append(new)
    return kinds


def proposals(graphs, k, most, reversal, exchange, general=False):
    """The matrix of proposals; what cannot be proposed stays."""
    place = {g: i for i, g in enumerate(graphs)}
    q = np.zeros((len(graphs), len(graphs)))
    usual = (1 - reversal - exchange) / (2 if general else 4)
    for g, i in place.items():
        for kind, found in neighbours(g, k, most, general).items():
            share = {"turn": reversal, "exchange": exchange}.get(kind, usual)
            for new in found:
                q[i, place[new]] += share / len(found)
    return q


def transition_matrix(graphs, pi, k, most, reversal, exchange, general=False):
    """The matrix of Metropolis and Hastings."""
    q = proposals(graphs, k, most, reversal, exchange, general)
    ratio = np.divide(pi[None] * q.T, pi[:, None] * q, out=np.zeros_like(q), where=q > 0)
    matrix = q * np.minimum(1, ratio)
    matrix[np.diag_indices(len(pi))] += 1 - matrix.sum(axis=1)
    return matrix


def cell(row, y, node):
    return y if node == CLASS else row[node]


def cell_weight(node, given, n_levels, score, size):
    """The Dirichlet parameter of each cell."""
    if score == "k2":
        return 1.0
    number = n_levels[node]
    for parent in given:
        number *= n_levels[parent]
    return size / number


def predictive(rows, labels, row, y, node, given, n_levels, score, size):
    """P(cell of the node | its parents' cells, earlier cases)."""
    a = cell_weight(node, given, n_levels, score, size)
    same = [
        i
        for i in range(len(rows))
        if all(cell(rows[i], labels[i], p) == cell(row, y, p) for p in given)
    ]
    own = sum(cell(rows[i], labels[i], node) == cell(row, y, node) for i in same)
    return (own + a) / (len(same) + a * n_levels[node])


def log_score(graph, rows, labels, n_levels, score, size=1.0):
    """Log marginal likelihood: the product of predictions of one case after the other."""
    total = 0.0
    for node in n_levels:
        given = sorted(parents(graph, node), key=str)
        for i in range(len(rows)):
            total += log(
                predictive(
                    rows[:i], labels[:i], rows[i], labels[i], node, given, n_levels, score, size
                )
            )
    return total


def prior_weight(graph, prior, n_columns):
    arcs = len(graph)
    if prior == "uniform":
        return 1.0
    if prior == "arcs":
        return 0.5**arcs / comb(n_columns * (n_columns + 1), arcs)
    return prior[1] ** arcs


def target(graphs, rows, labels, n_levels, score, size, prior, n_columns):
    """Posterior probability of each graph."""
    logs = np.array([log_score(g, rows, labels, n_levels, score, size) for g in graphs])
    weight = np.exp(logs - logs.max())
    weight *= [prior_weight(g, prior, n_columns) for g in graphs]
    return weight / weight.sum()


def class_probabilities(graph, rows, labels, n_levels, score, size, row):
    """P(class | row) of one graph from its joint table; None is a missing cell."""
    k = len(n_levels) - 1
    total = np.zeros(n_levels[CLASS])
    choices = [range(n_levels[j]) if row[j] is None else [row[j]] for j in range(k)]
    for cells in product(*choices):
        for y in range(n_levels[CLASS]):
            p = 1.0
            for node in n_levels:
                given = sorted(parents(graph, node), key=str)
                p *= predictive(rows, labels, cells, y, node, given, n_levels, score, size)
            total[y] += p
    return total / total.sum()


def masks(graph, k):
    """Parents of each node as bits, the class last."""
    number = {**{j: j for j in range(k)}, CLASS: k}
    result = [0] * (k + 1)
    for s, t in graph:
        result[number[t]] |= 1 << number[s]
    return result


def from_masks(values, k):
    """The graph of `masks`."""
    name = {**{j: j for j in range(k)}, k: CLASS}
    return frozenset(
        (name[i], name[j]) for j in range(k + 1) for i in range(k + 1) if int(values[j]) >> i & 1
    )


# ------------------------------------------------------------ other scores, priors and proposals


def graph_class_probabilities(graph, rows, labels, counted, n_levels, score, size):
    """P(class | row) of all rows, by the joint tables of the rows that are counted for each."""
    return np.array(
        [
            class_probabilities(
                graph,
                [rows[j] for j in counted[i]],
                [labels[j] for j in counted[i]],
                n_levels,
                score,
                size,
                rows[i],
            )
            for i in range(len(rows))
        ]
    )


def row_score(graph, rows, labels, counted, n_levels, score, size, objective):
    """J of a graph: how well it predicts the class of each row; cases ``counted[i]`` for row i."""
    p = graph_class_probabilities(graph, rows, labels, counted, n_levels, score, size)
    own = p[np.arange(len(labels)), labels]
    if objective == "conditional_likelihood":
        return np.log(own).sum()
    if objective == "brier":
        wrong = p.copy()
        wrong[np.arange(len(labels)), labels] -= 1.0
        return np.mean(1.0 - 0.5 * (wrong**2).sum(axis=1))
    other = np.array([np.delete(p[i], labels[i]).max() for i in range(len(labels))])
    even = np.abs(own - other) < 1e-10
    return np.mean(np.where(even, 0.5, own > other))


def without_folds(fold):
    """The rows that are counted for each row: all but those of its fold; -1 is no fold."""
    n = len(fold)
    return [[j for j in range(n) if fold[i] < 0 or fold[j] != fold[i]] for i in range(n)]


def law_weight(law, number):
    """How likely a number is, up to a constant."""
    if law == "uniform":
        return 1.0
    if isinstance(law, tuple):
        return law[1] ** number / factorial(number)
    return law(number)


def prior_of_size(graphs, prior, n_columns):
    """Prior of each graph, by its number of arcs or of features in the blanket, by counting."""
    what, law = prior
    if what == "arcs":
        weight = [law_weight(law, len(g)) / comb(n_columns * (n_columns + 1), len(g))
                  for g in graphs]  # fmt: skip
    else:
        sets = [frozenset(blanket(g)) for g in graphs]
        weight = [
            law_weight(law, len(s)) / comb(n_columns, len(s)) / sum(s == other for other in sets)
            for s in sets
        ]
    return np.array(weight) / sum(weight)


def one_arc_away(graph, k, most, general=False):
    """Equation 4: all graphs of the space with one arc more or less."""
    kinds = neighbours(graph, k, most, general)
    return [g for kind in ("add feature", "delete feature", "add arc", "delete arc")
            for g in kinds[kind]]  # fmt: skip


def uniform_proposals(graphs, k, most, general=False):
    """The matrix that proposes each graph one arc away alike."""
    place = {g: i for i, g in enumerate(graphs)}
    q = np.zeros((len(graphs), len(graphs)))
    for g, i in place.items():
        found = one_arc_away(g, k, most, general)
        q[i, [place[new] for new in found]] = 1 / len(found)
    return q


def printed_moves(graph, k, most):
    """The moves of equation 9 by the four sets of equation 10, from their words."""
    nodes = [*range(k), CLASS]
    added = []
    for i in range(k):
        if i not in parents(graph, CLASS) and i not in children(graph, CLASS):
            added += [(i, CLASS), (CLASS, i)]
    for j in children(graph, CLASS):
        added += [(i, j) for i in range(k) if i != j and i not in parents(graph, j)]
    kinds = {"add feature": [], "delete feature": [], "add arc": [], "delete arc": []}
    before = blanket(graph)
    for arc in added:
        new = graph | {arc}
        if not has_cycle(new, nodes) and len(parents(new, arc[1])) <= most:
            kinds["add feature" if blanket(new) != before else "add arc"].append(new)
    for arc in graph:
        new = graph - {arc}
        kinds["delete feature" if blanket(new) != before else "delete arc"].append(new)
    return kinds


def printed_proposals(graphs, k, most):
    """The matrix of equation 11 with these moves; what cannot be proposed stays."""
    place = {g: i for i, g in enumerate(graphs)}
    q = np.zeros((len(graphs), len(graphs)))
    for g, i in place.items():
        for found in printed_moves(g, k, most).values():
            for new in found:
                q[i, place[new]] += 0.25 / len(found)
    return q


def metropolis(q, weight, *, hastings):
    """The chain that accepts by the ratio of weights, with the ratio of proposals or without."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = weight[None] / weight[:, None] * (q.T / q if hastings else 1.0)
    # Between two graphs of weight 0, which no chain visits, the ratio is no number.
    matrix = q * np.minimum(1, np.where((q > 0) & ~np.isnan(ratio), ratio, 0.0))
    matrix[np.diag_indices(len(weight))] += 1 - matrix.sum(axis=1)
    return matrix


def stationary(matrix):
    """The distribution that a chain without transient parts keeps."""
    a = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    b = np.zeros(len(matrix) + 1)
    b[-1] = 1.0
    return np.linalg.lstsq(a, b, rcond=None)[0]
