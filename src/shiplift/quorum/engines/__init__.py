"""The kinds of service whose binary can be swapped: one module each, behind `protocol`."""
