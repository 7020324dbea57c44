"""Bayesian logistic regression on the kept features."""
