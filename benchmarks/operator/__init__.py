"""The benchmark `operator`: what the process takes of a computer, with all layers on, in a large cluster."""
