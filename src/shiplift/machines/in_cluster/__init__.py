"""The cluster's side of the layer: pools whose machines the operator makes. The laptop's is `bootstrap`."""
