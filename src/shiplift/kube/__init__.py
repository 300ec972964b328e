"""The only door to the API server: credentials, client, store, lease, events."""
