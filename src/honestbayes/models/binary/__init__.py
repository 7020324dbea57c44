"""Binary features, two classes: the model of Li, Zhang and Neal, and its learned prior."""
