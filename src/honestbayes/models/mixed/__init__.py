"""Binary, categorical and real-valued features in one table."""
