"""The agent of a node: it changes the software of its machine when the controller allows it.

It runs on machines that have Python and nothing else, so this package knows the standard library alone.
"""
