"""What is said of a migration in more than one place, word for word the same."""

from __future__ import annotations

SHORT_KINDS = {"Deployment": "deploy", "StatefulSet": "sts", "Pod": "pod"}
"""How kinds are named on the command line."""
NO_MIGRATION = "there is no WorkloadMigration in this cluster"
NO_MIGRATION_HERE = "there is no migration"
NOTHING_MOVES = "nothing is being moved"
OPTED_OUT = "left alone: it has opted out"
EXCLUDED = "left alone: its namespace is excluded"
MOVED = "moved"
NO_PART = frozenset({NO_MIGRATION_HERE, NOTHING_MOVES, OPTED_OUT, EXCLUDED, MOVED})
"""Where a workload is that has nothing to pass."""
HOW_TO_BEGIN = "shiplift migrate --to VERSION makes one"
HOW_TO_GO_ON = (
    "`shiplift migrate --to VERSION` starts again with another version;"
    " for the same one, `kubectl delete workloadmigration cluster` comes first"
)
