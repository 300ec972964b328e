"""Who says which version the cluster should have, and how each of them is asked."""
