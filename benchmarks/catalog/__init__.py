"""Catalogs of operators: how long a real one takes to be read and asked."""
