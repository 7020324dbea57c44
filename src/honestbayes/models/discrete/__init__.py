"""Plain naive Bayes for discrete features, and bins of real-valued ones."""
