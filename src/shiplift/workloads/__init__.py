"""Workloads move to the nodes of the target version in the order of their dependencies."""
