"""Selectors that fit models."""
