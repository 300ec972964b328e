"""The cluster as a whole, and the values that all layers tell of themselves with: rows in, values out."""
