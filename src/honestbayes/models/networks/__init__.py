"""Bayesian network classifiers, averaged over sampled graphs."""
