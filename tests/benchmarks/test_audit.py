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


def test_requests_of_an_account_are_told_with_what_they_were_about(tmp_path: Path) -> None:
    audit = Audit(tmp_path, identities.ALL)
    log = next(flag for flag in audit.flags if "log-path" in flag).partition("=")[2]
    lines = [
        {
            "user": {"username": f"system:serviceaccount:{account.namespace}:{account.name}"},
            "verb": "create",
            "requestReceivedTimestamp": "1970-01-01T00:01:00.500000Z",
            "objectRef": {
                "resource": "pods",
                "subresource": "eviction",
                "namespace": "shop",
                "name": "web",
            },
            "responseStatus": {"code": 429},
        }
        for account in identities.ALL
    ]
    Path(log).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (found,) = audit.requests(identities.OPERATOR)
    assert (found.verb, found.resource, found.namespace, found.name) == (
        "create",
        "pods/eviction",
        "shop",
        "web",
    )
    assert (found.code, found.at) == (429, 60.5)


def test_without_a_log_nothing_was_asked_for(tmp_path: Path) -> None:
    assert list(Audit(tmp_path, identities.ALL).requests(identities.OPERATOR)) == []
