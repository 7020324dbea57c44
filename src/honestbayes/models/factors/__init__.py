"""Real-valued features that move together: latent factors, for classes or a response."""
