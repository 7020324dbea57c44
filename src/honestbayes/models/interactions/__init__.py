"""Categorical features or states of sequences, with interactions of any order."""
