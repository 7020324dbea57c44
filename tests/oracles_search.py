"""Tables 1 and 2 of Gidofalvi and Zadrozny, written down row by row.

Cells are codes from 0 on, -1 is missing. Nothing of the package is used.
"""

import math


def fit(rows, y, w, n_levels, n_classes, smoothing):
    """Weighted naive Bayes: class shares, and P(level | class) of each column.

    Levels that no training row has say nothing and do not count as levels; there are two at least.
    """
    total = sum(w)
    prior = [
        sum(wi for wi, yi in zip(w, y, strict=True) if yi == c) / total for c in range(n_classes)
    ]
    tables = []
    for j, size in enumerate(n_levels):
        seen = {row[j] for row, wi in zip(rows, w, strict=True) if row[j] >= 0 and wi > 0}
        table = []
        for c in range(n_classes):
            weight = [0.0] * size
            for row, yi, wi in zip(rows, y, w, strict=True):
                if yi == c and row[j] >= 0:
                    weight[row[j]] += wi
            whole = sum(weight) + smoothing * max(len(seen), 2)
            table.append(
                [(one + smoothing) / whole if v in seen else 1.0 for v, one in enumerate(weight)]
            )
        tables.append(table)
    return prior, tables


def proba(model, row, features):
    """Class probabilities of one row, by some of the columns."""
    prior, tables = model
    logs = []
    for c, share in enumerate(prior):
        log = math.log(share)
        for j in features:
            if row[j] >= 0:
                log += math.log(tables[j][c][row[j]])
        logs.append(log)
    top = max(logs)
    values = [math.exp(log - top) for log in logs]
    return [value / sum(values) for value in values]


def loss(model, rows, y, w, features, name):
    """Weighted average of the squared error over all classes, or of the log loss."""
    total = 0.0
    for row, yi, wi in zip(rows, y, w, strict=True):
        p = proba(model, row, features)
        if name == "log_loss":
            total -= wi * math.log(p[yi])
        else:
            total += wi * sum(((c == yi) - one) ** 2 for c, one in enumerate(p))
    return total / sum(w)


def forward(train, judged, n_levels, n_classes, smoothing, n_steps, name="squared_error"):
    """Table 1; candidates are compared on the judged rows. Each part is (rows, y, w)."""
    model = fit(*train, n_levels, n_classes, smoothing)
    chosen, scores = [], [loss(model, *judged, [], name)]
    for _ in range(n_steps):
        best = None
        for j in range(len(n_levels)):
            if j not in chosen:
                value = loss(model, *judged, [*chosen, j], name)
                if best is None or value < best[0]:
                    best = (value, j)
        chosen.append(best[1])
        scores.append(best[0])
    return chosen, scores


def boosted(rows, y, w, n_levels, smoothing, n_rounds, n_classes=2, distinct=False):
    """Table 2: features, r, alpha, and the weights after each round.

    With two classes y h(x) of the table is 2 P(actual class) - 1, which is how it is written here.
    """
    n = sum(w)
    w = [one / n for one in w]
    found = []
    for _ in range(n_rounds):
        best = None
        left = set(range(len(n_levels))) - ({one[0] for one in found} if distinct else set())
        for j, size in [(j, n_levels[j]) for j in sorted(left)]:
            cells = [[row[j]] for row in rows]
            model = fit(cells, y, [n * one for one in w], [size], n_classes, smoothing)
            own = [proba(model, cell, [0])[yi] for cell, yi in zip(cells, y, strict=True)]
            h = [(n_classes * p - 1) / (n_classes - 1) for p in own]
            r = sum(wi * hi for wi, hi in zip(w, h, strict=True))
            if best is None or r > best[0]:
                best = (r, j, h)
        r, j, h = best
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        w = [wi * math.exp(-alpha * hi) for wi, hi in zip(w, h, strict=True)]
        w = [one / sum(w) for one in w]
        found.append((j, r, alpha, w))
    return found


def viola_jones(rows, y, w, n_levels, smoothing, n_rounds, distinct=False):
    """Table 1 of Viola and Jones with naive Bayes on one column: features, errors and weights.

    beta = e / (1 - e); weights of rows that are classified correctly are multiplied by it.
    """
    n = sum(w)
    w = [one / n for one in w]
    found = []
    for _ in range(n_rounds):
        best = None
        for j, size in enumerate(n_levels):
            if distinct and j in [one[0] for one in found]:
                continue
            cells = [[row[j]] for row in rows]
            model = fit(cells, y, [n * one for one in w], [size], 2, smoothing)
            p = [proba(model, cell, [0])[1] for cell in cells]
            wrong = [(one > 0.5 + 1e-9) != bool(yi) for one, yi in zip(p, y, strict=True)]
            error = sum(wi for wi, bad in zip(w, wrong, strict=True) if bad)
            if best is None or error < best[0] - 1e-12:
                best = (error, j, wrong)
        error, j, wrong = best
        beta = error / (1 - error)
        w = [wi * (1 if bad else beta) for wi, bad in zip(w, wrong, strict=True)]
        w = [one / sum(w) for one in w]
        found.append((j, error, w))
    return found
