"""Plain naive Bayes for discrete features and binned continuous ones."""
