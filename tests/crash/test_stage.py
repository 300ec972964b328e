"""Going back to the start of a scenario."""

from __future__ import annotations

from base64 import b64encode

from tests.crash.stage import with_heartbeats


def _key(path: str) -> str:
    return b64encode(f"/registry/{path}".encode()).decode()


def test_nodes_that_are_there_do_not_look_dead_because_their_leases_were_put_back() -> None:
    here, gone = _key("leases/kube-node-lease/here"), _key("leases/kube-node-lease/gone")
    pod = _key("pods/shop/database-0")
    ours, made = _key("leases/shiplift-system/shiplift"), _key("leases/kube-node-lease/made")
    content = {here: "old", gone: "old", ours: "old", pod: "old"}
    now = {here: "new", ours: "new", made: "new", pod: "new"}
    assert with_heartbeats(content, now) == {here: "new", gone: "old", ours: "old", pod: "old"}
