"""The probability that features are discarded, given hyperparameters."""
