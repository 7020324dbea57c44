"""Bayesian network classifiers, sampled from their posterior distribution."""
