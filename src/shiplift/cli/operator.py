"""`shiplift operator`, `manifests` and `alerts`: run it, and what to apply for it in a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli.layers import Layers, split
from shiplift.cli.output import CommandError, terminable

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
    kubeconfig: Annotated[Path | None, Parameter(help="Default: as kubectl, then in-cluster.")] = None,
    context: Annotated[str | None, Parameter(help="Which context of the kubeconfig.")] = None,
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
) -> None:
    """As YAML on standard output: `shiplift manifests | kubectl apply -f -`."""
    from shiplift.operator import install
    from shiplift.operator.layers import chosen

    _print(install.manifests(namespace, chosen(split(layers)), user))


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
