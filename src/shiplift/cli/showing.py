"""What somebody saw and agreed to is what is changed, and nothing that came in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shiplift.cli.output import CommandError

if TYPE_CHECKING:
    from shiplift.kube.client import Client

_TRIES = 10


def write_over(
    client: Client, shown: Any, changed: Mapping[str, Any], read_again: Callable[[Client], Any]
) -> None:
    """Changes the spec of an object of ours that was shown, and is the only one of its kind: the operator
    writes to it all the time, its spec is what counts."""
    from shiplift.kube.errors import Conflict

    found = shown
    for _ in range(_TRIES):
        if found is None or found.metadata.uid != shown.metadata.uid or found.spec != shown.spec:
            break
        about, patch = found.metadata, {"spec": dict(changed)}
        try:
            client.patch(
                shown.KIND, about.name, patch, uid=about.uid, resource_version=about.resource_version
            )
        except Conflict:
            found = read_again(client)
        else:
            return
    raise CommandError(
        f"somebody else changed {shown.KIND.kind} {shown.metadata.name} meanwhile", "say it again"
    )
