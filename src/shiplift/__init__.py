"""shiplift: upgrade Kubernetes clusters end to end, without dropping what runs on them."""

__version__ = "0.2.0"
