"""The rows: what shiplift knows of each object. Pure types, shared by all layers."""
