"""How steps are taken."""
