"""What the models share: estimator, parts, slope, number of features, intervals, files."""
