"""Decision trees: a forest and boosted trees."""
