"""`shiplift bootstrap -f pools.yaml`: a cluster out of bare hosts, from this computer over SSH.

Killed at any moment, it goes on where it was when it is run again: what has been done stands on the machines.
"""

from __future__ import annotations

import codecs
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
_NO_NETWORK = "no --pod-network: nodes are not Ready before somebody applies one"


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
            return _tell_plan(work, networked=pod_network is not None)
        try:
            decision = work.until_over(say)
        except KeyboardInterrupt:
            say("what runs on machines goes on there; run it again to go on")
            raise
        for note in decision.notes:
            say(f"note: {note}")
        if kubeconfig_to is not None and not kubeconfig_to.exists():
            _hand_over(kubeconfig_to, work.credentials(), wanted, complete=decision.complete)
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

    try:
        text = _text(_content(path))
        found = [one for one in yaml.safe_load_all(text) if one is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} is no YAML: {' '.join(str(error).split())}", "name a manifest as kubectl apply takes it"
        ) from error
    if not found or not all(isinstance(one, dict) and "kind" in one for one in found):
        raise CommandError(f"{path} has no objects", "name a manifest as kubectl apply takes it")
    return Manifest(path.name, text, hashlib.sha256(text.encode()).hexdigest())


def _text(content: bytes) -> str:
    """Some editors and shells write UTF-16, and say so at its beginning."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if wide else "utf-8-sig")


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
        say(f"{path} is there already, and left as it is: no credentials are written")
    elif not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent}", "make it first")


def _hand_over(path: Path, text: str, wanted: Wanted, *, complete: bool) -> None:
    """The credentials; where no control plane has given them that is told, and how they are got later."""
    if text:
        return _write(path, text)
    say(f"{path} was not written: no control plane gave the credentials of an administrator")
    if complete:
        say(f"hint: {_fetching(wanted)}")
    return None


def _fetching(wanted: Wanted) -> str:
    """What prints them, on the first control plane of the file."""
    from shiplift.machines.names import ADMIN

    machine = wanted.candidates[0]
    port = f"-p {machine.host.port} " if machine.host.port != 22 else ""
    become = "" if machine.user == "root" else "sudo "
    return f"ssh {port}{machine.user}@{machine.host.address} {become}cat {ADMIN}"


def _write(path: Path, text: str) -> None:
    """Only its owner reads it."""
    from shiplift.machines.names import ADMIN

    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", f"the control plane has them: {ADMIN}"
        ) from error
    say(f"credentials of an administrator are in {path}")


def _tell_plan(work: Bootstrap, *, networked: bool) -> None:
    from shiplift.engine import clock
    from shiplift.machines.foresee import plan

    view = work.look()
    begins = not any(facts.joined for name in view.hosts if (facts := view.known(name)))
    lines, end = plan(view, clock.now())
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for note in (*end.notes, *([_NO_NETWORK] if begins and not networked else [])):
        say(f"note: {note}")
    if not end.complete:
        if lines:
            say("nothing was changed")
        told = f"after that {end.message}" if lines else end.message
        raise GivenUpError(told, end.hint or "run it again when the machines answer")
    say("nothing was changed" if lines else "nothing to do: every machine is part of the cluster")


def _tell_end(decision: Bootstrapping) -> None:
    if not decision.complete:
        raise GivenUpError(decision.message, decision.hint or "mend that, then run it again")
    say(f"{decision.message}; this computer keeps the lead: run it again to add machines")
