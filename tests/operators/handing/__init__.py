"""Hand-overs between versions of operators."""
