"""Two-component mixture of binary features."""
