"""The average of all models that suit a table, weighed and calibrated on held-out cases."""
