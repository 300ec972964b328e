"""Real MinIO for tests: built from module source, signed with our own key, four servers on loopback."""
