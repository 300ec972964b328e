"""`shiplift bootstrap -f pools.yaml`: a cluster out of bare hosts, from this computer over SSH.

Killed at any moment, it goes on where it was when it is run again: what has been done stands on the machines.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli.output import CommandError, GivenUpError, say, terminable

if TYPE_CHECKING:
    from shiplift.machines.bootstrap import Bootstrap
    from shiplift.machines.model import Bootstrapping
    from shiplift.machines.pools import AgentPackage, Manifest, Wanted

app = App(
    name="bootstrap",
    help="Make a cluster out of bare hosts over SSH, or add machines to it.",
    help_epilogue="Exit codes: 0 every machine is part of the cluster; 1 you must act: what is missing is"
    " named; 130 interrupted. Run it again to go on: it begins nothing twice.",
)
_MOST_BYTES = 4_000_000


@app.default
def bootstrap(
    *,
    file: Annotated[Path, Parameter(name=["--file", "-f"], help="The pools, and kubeadm's own documents.")],
    ssh_key: Annotated[Path, Parameter(help="The private key that logs in on every host.")],
    pod_network: Annotated[
        Path | None,
        Parameter(
            show_default=False, help="The manifest of the pod network, applied when the cluster begins."
        ),
    ] = None,
    kubeconfig_to: Annotated[
        Path | None,
        Parameter(
            show_default=False, help="Where the credentials of an administrator are written at the end."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Look at the hosts, change nothing, say the plan."),
    ] = False,
) -> None:
    """Make a cluster out of bare hosts over SSH, or add machines to it."""
    from shiplift.engine import clock
    from shiplift.machines.bootstrap import Bootstrap
    from shiplift.machines.ssh import key
    from shiplift.machines.ssh.door import Door

    wanted = _wanted(file, pod_network)
    if kubeconfig_to is not None:
        _check_free(kubeconfig_to)
    with terminable(), Door(key.load(ssh_key.expanduser())) as door:
        work = Bootstrap(door, wanted, clock.now)
        if dry_run:
            return _tell_plan(work)
        decision = work.until_over(say)
        for note in decision.notes:
            say(f"note: {note}")
        if kubeconfig_to is not None and (text := work.credentials()):
            _write(kubeconfig_to, text)
        return _tell_end(decision)


def _wanted(file: Path, pod_network: Path | None) -> Wanted:
    import msgspec

    from shiplift.machines.pools import read

    wanted = read(_content(file), file.name)
    network = _manifest(pod_network) if pod_network is not None else None
    return msgspec.structs.replace(wanted, network=network, agent=_agent())


def _agent() -> AgentPackage:
    """As this computer has it."""
    from shiplift.agent_package import debian
    from shiplift.machines.pools import AgentPackage

    made = debian()
    return AgentPackage(made.version, made.content, hashlib.sha256(made.content).hexdigest())


def _manifest(path: Path) -> Manifest:
    import yaml

    from shiplift.machines.pools import Manifest

    content = _content(path)
    try:
        found = [one for one in yaml.safe_load_all(content) if one is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} is no YAML: {error}", "name a manifest as kubectl apply takes it"
        ) from error
    if not found or not all(isinstance(one, dict) and "kind" in one for one in found):
        raise CommandError(f"{path} has no objects", "name a manifest as kubectl apply takes it")
    return Manifest(path.name, content.decode(), hashlib.sha256(content).hexdigest())


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as source:
            content = source.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}", "is that its name?") from error
    if len(content) > _MOST_BYTES:
        raise CommandError(f"{path} is larger than {_MOST_BYTES:,} bytes", "is that the right file?")
    return content


def _check_free(path: Path) -> None:
    if path.exists():
        raise CommandError(f"{path} is there already", "credentials are written into a new file")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent}", "make it first")


def _write(path: Path, text: str) -> None:
    """Only its owner reads it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    say(f"credentials of an administrator are in {path}")


def _tell_plan(work: Bootstrap) -> None:
    from shiplift.engine import clock
    from shiplift.machines.foresee import plan

    lines, end = plan(work.look(), clock.now())
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for note in end.notes:
        say(f"note: {note}")
    if not end.complete:
        raise GivenUpError(end.message, end.hint or "run it again when the machines answer")
    say("nothing was changed" if lines else "nothing to do: every machine is part of the cluster")


def _tell_end(decision: Bootstrapping) -> None:
    if not decision.complete:
        raise GivenUpError(decision.message, decision.hint or "mend that, then run it again")
    say(f"{decision.message}; this computer keeps the lead: run it again to add machines")
