"""The demo: one layer at work on a small shop, on a cluster of its own."""
