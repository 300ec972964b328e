"""Takes steps: one write each."""
