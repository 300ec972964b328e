"""`shiplift operator`: run it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.layers import Layers, split
from shiplift.cli.output import CommandError, terminable

if TYPE_CHECKING:
    from shiplift.kube.credentials import Credentials
    from shiplift.operator.serving import Secured

app = App(name="operator", help="Run the operator: it leads, watches, and acts through the layers.")

NAMESPACE = "shiplift-system"
User = Annotated[
    str,
    Parameter(show_default=False, help="Whom the fence is for, if not the operator's own ServiceAccount."),
]


@app.default
def operator(  # noqa: PLR0913 - what can be chosen
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where its Lease and its fence are.")] = NAMESPACE,
    listen: Annotated[
        str, Parameter(help="Address of /metrics, /healthz, /readyz and /actingz; `:8080` is all addresses.")
    ] = "127.0.0.1:8080",
    tls: Annotated[
        bool,
        Parameter(
            help="Answer over TLS, with a certificate of its own; metrics only to whom the API server lets"
            " read them.",
            negative="",
            show_default=False,
        ),
    ] = False,
    tls_folder: Annotated[
        Path | None,
        Parameter(help="The same with the certificate there: tls.crt and tls.key.", show_default=False),
    ] = None,
    user: User = "",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Annotated[bool, Parameter(help="Log more.", negative="", show_default=False)] = False,
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
    names = install.names(namespace, user)
    with terminable():
        credentials = credentials_for(names, load(kubeconfig, context))
    secured = _secured(credentials, tls_folder, namespace) if tls or tls_folder else None
    settings = Settings(names=names, listen=address, secured=secured)
    try:
        process = Operator(credentials, parts, settings)
    except OSError as error:
        raise CommandError(
            f"cannot listen on {listen}: {error.strerror}", "choose another --listen"
        ) from error
    process.run()


def _secured(credentials: Credentials, folder: Path | None, namespace: str) -> Secured:
    from shiplift.operator.inside import NAME
    from shiplift.operator.securing import secured

    return secured(credentials, folder, f"{NAME}.{namespace}.svc")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise CommandError(f"address {text!r} is not host:port", "for example 127.0.0.1:8080")
    return host.strip("[]"), int(port)
