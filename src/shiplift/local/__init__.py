"""A real Kubernetes on this computer: etcd, API server, controllers, scheduler, and nodes by kwok."""
