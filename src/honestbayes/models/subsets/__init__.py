"""Subsets of features, drawn from their posterior distribution."""
