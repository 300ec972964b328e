"""The benchmark `quorum`: four real MinIO servers get a new binary while a client writes and reads."""
