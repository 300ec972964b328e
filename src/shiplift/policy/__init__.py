"""The layer that keeps the cluster's `UpgradeConfig` what the provider of policies says."""
