"""Facts in, decisions out: what every layer shares, and the one loop that runs it."""
