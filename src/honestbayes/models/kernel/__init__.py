"""A Gaussian kernel, for smooth nonlinear effects."""
