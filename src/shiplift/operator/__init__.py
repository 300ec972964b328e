"""The operator process: one binary, any of the layers."""
