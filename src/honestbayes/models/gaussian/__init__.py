"""Real-valued features, two classes or more."""
