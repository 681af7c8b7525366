"""Hypothesis profiles: `default` for every run, `thorough` for a long one (pytest --hypothesis-profile=thorough)."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=3000, deadline=None, print_blob=True, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile("default")
