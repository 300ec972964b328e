"""Draining a node: which pods go, what keeps them, in which order they are evicted, when it is over.

All of it is decided from plain values, whoever asks; only `draining` talks to the API server.
"""
