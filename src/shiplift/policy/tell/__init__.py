"""What is told of the sync: on the UpgradeConfig, in a record of its own, by Events and metrics."""
