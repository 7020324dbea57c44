"""Binary, categorical and real-valued features in one table."""

from __future__ import annotations

from honestbayes.models.mixed.estimator import SelectiveMixedNB

__all__ = ["SelectiveMixedNB"]
