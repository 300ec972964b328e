"""The benchmark `rollout`: the software of all nodes is changed, a few nodes at a time."""
