"""Subsets of features, sampled from their posterior distribution."""
