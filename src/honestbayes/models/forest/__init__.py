"""A forest of decision trees, which sees what is not linear in the columns."""
