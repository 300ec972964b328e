"""The layer of quorum services: all members swap their binary together, signed and resumable."""
