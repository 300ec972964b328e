"""The layer `machines`: each pool has its machines, and each machine is part of the cluster."""
