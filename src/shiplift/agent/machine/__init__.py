"""The hands of an agent on a real machine: Debian's packages, systemd, kubeadm, etcd."""
