"""Correlated continuous features: latent factors, for classes or a response."""
