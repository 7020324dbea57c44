"""Correlated continuous features: Gaussian classes with one shrunken covariance."""
