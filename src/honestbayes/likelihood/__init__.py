"""Likelihoods of features: closed forms, quadrature, learned distributions."""
