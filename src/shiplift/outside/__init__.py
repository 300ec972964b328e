"""The way to what is neither the cluster nor this computer: a door for HTTP, and an outbox for what must get
out though nobody answers now.

Whatever comes from outside is judged here first: who it is (TLS), where it is (no private address that nobody
allowed), how much it says and how long it takes. Tokens go out and are never seen again.
"""
