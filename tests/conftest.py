"""Every test may ask for a real cluster."""

pytest_plugins = ["shiplift.local.testing"]
