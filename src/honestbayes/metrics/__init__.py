"""Accuracy and calibration of predicted probabilities.

Every function takes the true classes and, for two classes, P(class 1), or for two and more a column
of probabilities for each class. "The paper" is Li, Zhang and Neal (2008),
A method for avoiding bias from feature selection, Bayesian Analysis 3, 171-196; its section 4
defines the scores.
"""

from honestbayes.metrics.calibration import CalibrationFit, calibration_slope
from honestbayes.metrics.estimate import Estimate
from honestbayes.metrics.reliability import (
    BrierDecomposition,
    CalibrationTable,
    ReliabilityCurve,
    SmoothCalibration,
    brier_decomposition,
    calibration_table,
    reliability,
    smooth_calibration,
)
from honestbayes.metrics.scores import (
    ConfidentPredictions,
    Summary,
    ThresholdTable,
    actual_error,
    auc,
    brier_score,
    confident_predictions,
    expected_error,
    log_score,
    optimism,
    summarise,
    threshold_table,
)

__all__ = [
    "BrierDecomposition",
    "CalibrationFit",
    "CalibrationTable",
    "ConfidentPredictions",
    "Estimate",
    "ReliabilityCurve",
    "SmoothCalibration",
    "Summary",
    "ThresholdTable",
    "actual_error",
    "auc",
    "brier_decomposition",
    "brier_score",
    "calibration_slope",
    "calibration_table",
    "confident_predictions",
    "expected_error",
    "log_score",
    "optimism",
    "reliability",
    "smooth_calibration",
    "summarise",
    "threshold_table",
]

squared_error = brier_score
"""The name before 0.1. Selectors have a squared error too, which is summed over the classes."""
