"""Images: pulled over the registry API from hosts that are allowed, and taken apart without trust in them."""
