"""Property tests that try the same examples each time, however slow the machine."""

from hypothesis import settings

settings.register_profile("facts", derandomize=True, deadline=None)
settings.load_profile("facts")
