"""Notices: whoever an UpgradeConfig names is told how its upgrade goes, and its alerts are silenced
meanwhile."""
