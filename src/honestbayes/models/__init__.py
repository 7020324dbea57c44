"""Estimators: one folder for each family of models, and what they share."""
