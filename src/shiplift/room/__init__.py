"""Does a pod fit on a node now: what is free, what other pods forbid, and what is promised already."""
