"""The doors of an agent: to its Node in the API server, and to files until there is a cluster."""
