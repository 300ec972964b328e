"""What the benchmark's cluster holds: a pure, repeatable description of a production cluster.

The same sizes always give the same objects, so a filled etcd can be kept and used again. Bodies are
what controllers and kubelets send; what admission adds in a real cluster (service-account token
volumes, default tolerations, priorities, defaults) is left to the real API server.
"""
