"""A second layer, as small as one can be: it has something to tell of NodeRollouts and does nothing."""
