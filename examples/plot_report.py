"""
A report of a table, in Python
==============================

What ``honestbayes report`` does for a file, :func:`~honestbayes.report.notebook.make_report` does
for a frame. It compares seven methods on the same folds, with everything learned anew in each, and
says in plain words how honest the probabilities are.
"""

# %%
# The leukaemia data as a frame with the class in a column.

import numpy as np
import pandas as pd

from honestbayes.datasets import load_leukemia
from honestbayes.plots import ReliabilityDisplay
from honestbayes.report.notebook import make_report

data = load_leukemia()
frame = pd.DataFrame(data.X, columns=data.feature_names)
frame["leukemia"] = np.array(data.classes)[data.y]

report = make_report(frame, target="leukemia", n_features=10, n_repeats=2, path=False)
print(report.verdict)

# %%
# The record holds everything that the page shows: the methods, with paired differences from the
# model in use,

for method in report.methods:
    print(f"{method.name:30} log score {method.summary.log_score}")

# %%
# and the reliability of the uncorrected model and of the one in use. With 38 patients the intervals
# are wide.

curves = {name: report.reliability[name] for name in ("uncorrected", report.in_use)}
ReliabilityDisplay(curves).plot()
