"""P(a feature is discarded | hyperparameters), and what else is known of the discarded."""
