"""Shared by all models: estimators, parts, recalibration, intervals, files."""
