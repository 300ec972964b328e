"""What the layer sees."""
