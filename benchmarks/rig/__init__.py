"""What a benchmark of any layer stands on: one cluster, put back for each contender, and eyes on its pods."""
