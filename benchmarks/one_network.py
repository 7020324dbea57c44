"""One Bayesian network found by hill climbing in pyAgrum, for benchmarks/networks.py.

    python benchmarks/one_network.py IN.npz OUT.npy

To be run by an interpreter that has pyAgrum, which the package does not need. IN holds codes of
training rows and classes, of test rows, and the number of levels of each column; OUT gets the class
probabilities of the test rows. The score is K2, without arcs that may not be there, and tables are
smoothed by 1.
"""

import sys

import numpy as np
import pandas as pd
import pyagrum as gum


def main(source, target):
    """Learn, predict, write."""
    given = np.load(source)
    X, y, new, sizes = (given[name] for name in ("X", "y", "new", "sizes"))
    k = X.shape[1]
    names = [f"x{j}" for j in range(k)] + ["y"]
    template = gum.BayesNet()
    for name, size in zip(names, sizes.tolist(), strict=True):
        template.add(gum.RangeVariable(name, name, 0, size - 1))
    table = pd.DataFrame(np.column_stack([X, y]), columns=names)
    learner = gum.BNLearner(table, template)
    learner.useScoreK2()
    learner.useSmoothingPrior(1)
    learner.useGreedyHillClimbing()
    learner.setMaxIndegree(4)
    net = learner.learnBN()
    n_classes = int(sizes[-1])
    logs = np.zeros((len(new), n_classes))
    for name in ["y", *(net.variable(i).name() for i in net.children("y"))]:
        potential = net.cpt(name)
        order = list(reversed(potential.names))  # as the axes of the array are
        values = potential.toarray()
        for c in range(n_classes):
            place = tuple(c if n == "y" else new[:, int(n[1:])] for n in order)
            logs[:, c] += np.log(np.maximum(values[place], 1e-12))
    logs -= logs.max(axis=1, keepdims=True)
    proba = np.exp(logs)
    np.save(target, proba / proba.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
