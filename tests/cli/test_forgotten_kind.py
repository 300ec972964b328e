"""`shiplift explain node-0`: whoever forgot the kind and means a node is told how to name it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiplift.cli.explain import with_kind
from shiplift.cli.output import CommandError
from shiplift.facts.kinds import NODE, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError, NotFound


class Server:
    def __init__(self, refuses: KubeError | None = None) -> None:
        self._refuses = refuses

    def get(self, kind: Kind, name: str) -> dict[str, Any]:
        assert (kind, name) == (NODE, "node-0")
        if self._refuses:
            raise self._refuses
        return {"metadata": {"name": name}}


WAS = CommandError("there is no workload node-0", "some hint")


def told(server: Server, kind: str) -> Exception:
    return with_kind(cast("Client", server), kind, "node-0", WAS)


def test_a_node_is_offered() -> None:
    found = told(Server(), "")
    assert isinstance(found, CommandError)
    assert (found.message, found.hint) == ("'node-0' names no kind", "did you mean node/node-0?")


def test_whoever_named_a_kind_is_believed() -> None:
    assert told(Server(), "deploy") is WAS


@pytest.mark.parametrize("refuses", [NotFound("none", status=404), Forbidden("no", status=403)])
def test_where_there_is_no_such_node_the_first_error_counts(refuses: KubeError) -> None:
    assert told(Server(refuses), "") is WAS
