"""Every test may ask for a real cluster; property tests try the same examples in each run."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["shiplift.local.testing"]

settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
