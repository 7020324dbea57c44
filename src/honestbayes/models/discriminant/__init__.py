"""Real-valued features that move together: Gaussian classes with one shrunken covariance."""
