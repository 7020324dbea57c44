"""The average of all models that suit a table, weighted and calibrated on held-out cases."""
