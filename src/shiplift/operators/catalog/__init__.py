"""What a catalog of operators says: packages, their channels, and which version takes over from which."""
