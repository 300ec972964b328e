"""The audit log of a rig: who is in it, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.rig import identities
from benchmarks.rig.audit import Audit


def test_only_requests_of_contenders_are_logged_once_each(tmp_path: Path) -> None:
    Audit(tmp_path, identities.ALL)
    logged, others = json.loads((tmp_path / "audit-policy.json").read_text())["rules"]
    users = ["system:serviceaccount:shiplift-system:shiplift", "system:serviceaccount:contenders:contender"]
    assert logged == {"level": "Metadata", "users": users}
    assert others == {"level": "None"}


def test_every_line_is_a_call_and_no_log_is_none(tmp_path: Path) -> None:
    audit = Audit(tmp_path, identities.ALL)
    assert audit.calls() == 0
    log = next(flag for flag in audit.flags if "log-path" in flag).partition("=")[2]
    Path(log).write_text("{}\n{}\n{}\n")
    assert audit.calls() == 3
