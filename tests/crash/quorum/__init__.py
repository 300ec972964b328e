"""The layer `quorum`: real servers, a real operator, and what goes wrong at each step of a swap."""
