"""
A report of a table, in Python
==============================

What ``honestbayes report`` does for a file, :func:`~honestbayes.make_report` does
for a frame. It compares nine methods on the same folds, with everything learned anew in each, and
says in plain words how honest the probabilities are.
"""

# %%
# The leukaemia data as a frame with the class in a column.

import numpy as np
import pandas as pd

from honestbayes import make_report
from honestbayes.datasets import load_leukemia
from honestbayes.plots import ReliabilityDisplay

data = load_leukemia()
frame = pd.DataFrame(data.X, columns=data.feature_names)
frame["leukemia"] = np.array(data.classes)[data.y]

report = make_report(frame, target="leukemia", n_repeats=1, effort="quick")
print(report.verdict)

# %%
# The record holds everything that the page shows: the methods, with paired differences from the
# model in use,

for method in report.methods:
    print(f"{method.name:30} log score {method.summary.log_score}")

# %%
# the models that the average in use is made of,

for model in report.section("average").record.models:
    print(f"{model.name:20} weight {model.weight:.2f}  log score {model.log_score:.3f}")

# %%
# and the reliability of naive Bayes without a correction and of the average. With 38 patients the
# intervals are wide.

ReliabilityDisplay(report.reliability).plot()
