"""How long a whole migration takes, against what bounds it, and against others."""
