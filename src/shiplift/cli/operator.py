"""`shiplift operator`: run it."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.layers import Layers, split
from shiplift.cli.output import CommandError, terminable

app = App(name="operator", help="Run the operator: it leads, watches, and acts through the layers.")

NAMESPACE = "shiplift-system"
User = Annotated[
    str,
    Parameter(show_default=False, help="Whom the fence is for, if not the operator's own ServiceAccount."),
]


@app.default
def operator(
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where its Lease and its fence are.")] = NAMESPACE,
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


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise CommandError(f"address {text!r} is not host:port", "for example 127.0.0.1:8080")
    return host.strip("[]"), int(port)
