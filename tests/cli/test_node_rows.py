"""Nodes are listed under a heading for people, with tabs for programs."""

from __future__ import annotations

import pytest

from shiplift.cli.node_rows import Node, NodeState, table

NODES = (
    Node("node-0", "v1.36.3", NodeState.READY, "node", "zone-a", "amd64", "8/32Gi/110", ""),
    Node(
        "node-10", "v1.35.4", NodeState.NOT_READY, "node", "", "arm64", "4/8Gi/9", "dedicated=arm:NoSchedule"
    ),
)


@pytest.mark.parametrize(
    ("wide", "shown"),
    [
        (
            False,
            """\
NAME     VERSION  STATE
node-0   v1.36.3  Ready
node-10  v1.35.4  NotReady
""",
        ),
        (
            True,
            """\
NAME     VERSION  STATE     POOL  ZONE    ARCHITECTURE  CPU/MEMORY/PODS  TAINTS
node-0   v1.36.3  Ready     node  zone-a  amd64         8/32Gi/110       -
node-10  v1.35.4  NotReady  node  -       arm64         4/8Gi/9          dedicated=arm:NoSchedule
""",
        ),
    ],
)
def test_people_read_columns_under_a_heading(wide: bool, shown: str) -> None:
    assert table(NODES, wide=wide, aligned=True) == shown


def test_programs_read_tabs() -> None:
    assert table(NODES, wide=False, aligned=False) == "node-0\tv1.36.3\tReady\nnode-10\tv1.35.4\tNotReady\n"
    assert table((), wide=True, aligned=False) == ""
