"""A Gaussian kernel, which sees what is smooth but not linear in the columns."""
