"""Categorical features, two classes or more."""
