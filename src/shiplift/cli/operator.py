"""`shiplift operator`, `manifests` and `alerts`: run it, and what to apply for it in a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli.access import Context, Kubeconfig, client_of
from shiplift.cli.layers import Layers, split
from shiplift.cli.output import CommandError, say, terminable

if TYPE_CHECKING:
    from shiplift.kube.part import LayerPart
    from shiplift.kube.served import Server

app = App(name="operator", help="Run the operator: it leads, watches, and acts through the layers.")
manifests_app = App(
    name="manifests", help="Print what the operator needs in a cluster: account, RBAC, fence, policies."
)

alerts_app = App(name="alerts", help="Print alerts for Prometheus, as a PrometheusRule.")

_NAMESPACE = "shiplift-system"
User = Annotated[
    str,
    Parameter(show_default=False, help="Whom the fence is for, if not the operator's own ServiceAccount."),
]


@app.default
def operator(
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where its Lease and its fence are.")] = _NAMESPACE,
    listen: Annotated[
        str, Parameter(help="Address of /metrics, /healthz and /readyz; `:8080` is all addresses.")
    ] = "127.0.0.1:8080",
    user: User = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Annotated[bool, Parameter(help="Log more.", negative="")] = False,
) -> None:
    """Run until SIGTERM, then hand the Lease over at once."""
    from shiplift.kube.credentials import load
    from shiplift.operator import install, logs
    from shiplift.operator.account import credentials_for
    from shiplift.operator.layers import chosen
    from shiplift.operator.process import Operator, Settings

    parts = chosen(split(layers))
    address = _address(listen)
    logs.configure(verbose=verbose)
    settings = Settings(names=install.names(namespace, user), listen=address)
    with terminable():
        credentials = credentials_for(settings.names, load(kubeconfig, context))
    try:
        process = Operator(credentials, parts, settings)
    except OSError as error:
        raise CommandError(
            f"cannot listen on {listen}: {error.strerror}", "choose another --listen"
        ) from error
    process.run()


@manifests_app.default
def manifests(
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where the operator will run.")] = _NAMESPACE,
    user: User = "",
    template: Annotated[
        bool,
        Parameter(help="Also the right to change pod templates, which mode Template takes.", negative=""),
    ] = False,
    kubernetes: Annotated[
        str,
        Parameter(help="For a server of this version, such as 1.34. Default: ask it.", show_default=False),
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """As YAML on standard output: `shiplift manifests | kubectl apply -f -`.

    What the server does not know is left out and named on standard error.
    """
    from shiplift.kube.served import by_version, told_apart
    from shiplift.operator import install
    from shiplift.operator.layers import chosen

    parts = chosen(split(layers))
    wanted = install.manifests(namespace, parts, user, templates=template)
    server = by_version(kubernetes) if kubernetes else _asked(wanted, kubeconfig, context)
    known, unknown = told_apart(wanted, server.knows)
    for line in _left_out(unknown, server.version, parts):
        say(line)
    _print([dict(one) for one in known])


def _asked(manifests: Iterable[Mapping[str, Any]], kubeconfig: Path | None, context: str | None) -> Server:
    from shiplift.kube.errors import CredentialsError, Unreachable
    from shiplift.kube.manifests import kind_of
    from shiplift.kube.served import as_asked

    try:
        with client_of(kubeconfig, context) as client:
            return as_asked(client, map(kind_of, manifests))
    except (CredentialsError, Unreachable) as error:
        raise CommandError(
            f"no server can be asked what it knows: {error.message}",
            "say its version, as in --kubernetes 1.36, or name it by --kubeconfig",
        ) from error


def _left_out(unknown: Sequence[Mapping[str, Any]], version: str, parts: Iterable[LayerPart]) -> list[str]:
    """What is not printed, and what that means for the layers that it is for."""
    if not unknown:
        return []
    named = ", ".join(f"{one['kind']} {one['metadata']['name']}" for one in unknown)
    lacking = (part for part in parts if any(one in part.manifests for one in unknown))
    return [
        f"left out, because Kubernetes {version} does not serve it: {named}",
        *(f"hint: {part.without_manifests}" for part in lacking if part.without_manifests),
    ]


@alerts_app.default
def alerts(
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where Prometheus looks for rules.")] = _NAMESPACE,
) -> None:
    """As YAML on standard output: `shiplift alerts | kubectl apply -f -`."""
    from shiplift.operator import alerts as rules
    from shiplift.operator.layers import faces

    _print([rules.manifest(namespace, faces(split(layers)).values())])


def _print(manifests: list[dict[str, Any]]) -> None:
    import yaml

    class Plain(yaml.SafeDumper):
        """No anchors: people read this, and edit it."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    yaml.dump_all(manifests, sys.stdout, Dumper=Plain, sort_keys=False)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise CommandError(f"address {text!r} is not host:port", "for example 127.0.0.1:8080")
    return host.strip("[]"), int(port)
