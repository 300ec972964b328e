"""Benchmarks: what shiplift claims of itself, measured against the tools that people use today."""
