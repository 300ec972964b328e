"""PodDisruptionBudgets: which of them cover a pod, what they allow, what they never will, in words."""
