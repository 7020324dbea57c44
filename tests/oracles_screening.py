"""Statistics of a table by loops over its cells, in exact arithmetic; no code of the package."""

from fractions import Fraction


def column(rows, j, wanted=None):
    """Cells of a column that are not missing, as fractions, and the rows in which they are."""
    cells = [(i, row[j]) for i, row in enumerate(rows) if wanted is None or wanted[i]]
    return [(i, Fraction(value)) for i, value in cells if value == value]


def mean_and_squares(cells):
    """Exact mean and sum of squares around it."""
    if not cells:
        return Fraction(0), Fraction(0)
    mean = sum(cells) / len(cells)
    return mean, sum((cell - mean) ** 2 for cell in cells)


def class_moments(rows, labels, n_classes):
    """Observed cases and means, [class][column], and sums of squares within classes, [column]."""
    p = len(rows[0])
    observed = [[0] * p for _ in range(n_classes)]
    mean = [[0.0] * p for _ in range(n_classes)]
    within = [Fraction(0)] * p
    for j in range(p):
        for c in range(n_classes):
            cells = [value for _, value in column(rows, j, [label == c for label in labels])]
            centre, squares = mean_and_squares(cells)
            observed[c][j], mean[c][j] = len(cells), float(centre)
            within[j] += squares
    return observed, mean, [float(value) for value in within]


def response_moments(rows, y):
    """Observed cells, sums of squares and squared correlations with y of each column."""
    number, squares, r_squared = [], [], []
    for j in range(len(rows[0])):
        cells = column(rows, j)
        mean, of_x = mean_and_squares([value for _, value in cells])
        of_observed = [Fraction(y[i]) for i, _ in cells]
        mean_y, of_y = mean_and_squares(of_observed)
        shared = sum((x - mean) * (Fraction(y[i]) - mean_y) for i, x in cells)
        number.append(len(cells))
        squares.append(float(of_x))
        can_be_judged = len(cells) > 2 and of_x > 0 and of_y > 0
        r_squared.append(float(shared**2 / (of_x * of_y)) if can_be_judged else 0.0)
    return number, squares, r_squared


def level_counts(codes, labels, n_classes, n_levels):
    """Cases of each class and level, [column][class][level]; -1 is missing."""
    found = [[[0] * v for _ in range(n_classes)] for v in n_levels]
    for row, label in zip(codes, labels, strict=True):
        for j, code in enumerate(row):
            if code >= 0:
                found[j][label][code] += 1
    return found
