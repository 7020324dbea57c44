"""Bayesian network classifiers, drawn from their posterior distribution."""
