"""Catalogs of operators."""
