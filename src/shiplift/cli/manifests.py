"""`shiplift manifests` and `alerts`: what to apply for the operator in a cluster."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import App, Parameter

from shiplift.cli.access import Context, Kubeconfig, client_of
from shiplift.cli.layers import Layers, split
from shiplift.cli.operator import NAMESPACE, User
from shiplift.cli.output import CommandError, say

if TYPE_CHECKING:
    from shiplift.kube.client import Client
    from shiplift.kube.part import LayerPart
    from shiplift.kube.served import Server
    from shiplift.operator.inside import Inside

manifests_app = App(
    name="manifests", help="Print what the operator needs in a cluster: account, RBAC, fence, policies."
)
alerts_app = App(name="alerts", help="Print alerts for Prometheus, as a PrometheusRule.")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


_ONE = (
    "with one replica nothing is done while its pod moves to another node, as when its own node is upgraded;"
    " with two, another pod leads meanwhile"
)


@manifests_app.default
def manifests(  # noqa: PLR0913 - what an administrator can choose
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where the operator will run.")] = NAMESPACE,
    user: User = "",
    template: Annotated[
        bool,
        Parameter(
            help="Also the right to change pod templates, which mode Template takes.",
            negative="",
            show_default=False,
        ),
    ] = False,
    grant: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only the right to read one Secret: NAMESPACE/SECRET. May be given again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    hooks: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only the right to run hooks, which are Jobs, in one namespace. May be given again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    account: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only the right to install operators as one ServiceAccount: NAMESPACE/ACCOUNT. May be given"
            " again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    catalogs: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only the right to read catalogs of operators from the ConfigMaps of one namespace. May be"
            " given again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    quorum: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only the right to swap the binary of quorum services in one namespace. May be given again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    in_cluster: Annotated[
        bool,
        Parameter(
            help="Also what runs the operator inside the cluster: Deployment, Service, roles of users.",
            negative="",
            show_default=False,
        ),
    ] = False,
    image: Annotated[
        str,
        Parameter(
            help="The operator's image, with a tag or a digest; with --in-cluster.", show_default=False
        ),
    ] = "",
    replicas: Annotated[
        int | None,
        Parameter(
            help="How many pods, of which one leads; with --in-cluster. Default: 2.", show_default=False
        ),
    ] = None,
    api_port: Annotated[
        tuple[int, ...],
        Parameter(
            help="Where pods reach the API server, for the NetworkPolicy; with --in-cluster. May be given"
            " again. Default: 443 and 6443.",
            negative="",
            show_default=False,
        ),
    ] = (),
    egress_port: Annotated[
        tuple[int, ...],
        Parameter(
            help="What else its pods reach, such as a proxy, for the NetworkPolicy; with --in-cluster. May be"
            " given again.",
            negative="",
            show_default=False,
        ),
    ] = (),
    kubernetes: Annotated[
        str | None,
        Parameter(help="For a server of this version, such as 1.34. Default: ask it.", show_default=False),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """As YAML on standard output: `shiplift manifests | kubectl apply -f -`.

    What the server does not know is left out and named on standard error.
    """
    from shiplift.kube.served import by_version, told_apart
    from shiplift.operator import inside as running
    from shiplift.operator import install
    from shiplift.operator.layers import chosen

    _space(namespace)
    if grant or hooks or quorum or account or catalogs:
        more = {"--layers": layers, "--user": user, "--template": template, "--in-cluster": in_cluster}
        _alone(more | _of_cluster(image, replicas, api_port, egress_port))
        _print([*_grants(grant, hooks, quorum, namespace), *_for_operators(account, catalogs, namespace)])
        return
    parts = chosen(split(layers))
    if in_cluster:
        inside = _inside(image, replicas, api_port, egress_port, user)
        wanted = running.manifests(namespace, parts, inside, templates=template)
        if inside.replicas == 1:
            say(f"note: {_ONE}")
    else:
        _only_in_cluster(image, replicas, api_port, egress_port)
        wanted = install.manifests(namespace, parts, user, templates=template)
    server = _asked(wanted, namespace, kubeconfig, context) if kubernetes is None else by_version(kubernetes)
    known, unknown = told_apart(wanted, server.knows)
    for line in _left_out(unknown, server.version, parts, template=template):
        say(line)
    _print([dict(one) for one in known])


def _inside(
    image: str, replicas: int | None, api_port: tuple[int, ...], egress_port: tuple[int, ...], user: str
) -> Inside:
    from shiplift.operator.inside import Inside

    if user:
        raise CommandError(
            "--user and --in-cluster exclude each other",
            "inside a cluster the operator is its ServiceAccount",
        )
    if not image:
        raise CommandError("--in-cluster needs an image", "--image REGISTRY/shiplift:TAG")
    asked = Inside(image=image, egress_ports=egress_port)
    if replicas is not None:
        asked = msgspec.structs.replace(asked, replicas=replicas)
    if api_port:
        asked = msgspec.structs.replace(asked, api_ports=api_port)
    return asked.checked()


def _alone(given: Mapping[str, object]) -> None:
    """Whoever asks for one right and for more gets to know that it is printed alone."""
    for option, said in given.items():
        if said:
            raise CommandError(
                f"a single right is printed alone, and {option} says what else is to be printed",
                f"leave {option} out, and print the rest by a command of its own",
            )


def _of_cluster(
    image: str, replicas: int | None, api_port: tuple[int, ...], egress_port: tuple[int, ...]
) -> dict[str, object]:
    """What is about the operator inside the cluster, and whether it was said."""
    return {
        "--image": image,
        "--replicas": replicas is not None,
        "--api-port": api_port,
        "--egress-port": egress_port,
    }


def _only_in_cluster(
    image: str, replicas: int | None, api_port: tuple[int, ...], egress_port: tuple[int, ...]
) -> None:
    for option, said in _of_cluster(image, replicas, api_port, egress_port).items():
        if said:
            raise CommandError(f"{option} is about the operator inside the cluster", "add --in-cluster")


def _grants(
    secrets: Iterable[str], hooks: Iterable[str], quorum: Iterable[str], operator: str
) -> list[dict[str, Any]]:
    """Rights in one namespace each, for the operator's account; nothing else is printed with them."""
    from shiplift.kube import grants
    from shiplift.operator.install import ACCOUNT

    found = [_secret(text) for text in secrets]
    return [
        *(one for space, name in found for one in grants.secret(space, name, ACCOUNT, operator)),
        *(one for space in hooks for one in grants.hooks(_space(space), ACCOUNT, operator)),
        *(one for space in quorum for one in grants.quorum(_space(space), ACCOUNT, operator)),
    ]


def _for_operators(accounts: Iterable[str], catalogs: Iterable[str], operator: str) -> list[dict[str, Any]]:
    """Rights that installing operators takes, for the operator's account."""
    from shiplift.kube import grants
    from shiplift.operator.install import ACCOUNT

    found = [_both(text, "NAMESPACE/ACCOUNT", "ops/installer") for text in accounts]
    return [
        *(one for space, name in found for one in grants.acting_as(space, name, ACCOUNT, operator)),
        *(one for space in catalogs for one in grants.catalogs(_space(space), ACCOUNT, operator)),
    ]


def _secret(text: str) -> tuple[str, str]:
    return _both(text, "NAMESPACE/SECRET", "ops/chat-token")


def _both(text: str, shape: str, example: str) -> tuple[str, str]:
    space, slash, name = text.partition("/")
    if not (space and slash and name):
        raise CommandError(f"{text!r} is not {shape}", f"for example {example}")
    return _space(space), _named(name)


def _space(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise CommandError(
            f"{text!r} is not the name of a namespace", "up to 63 lower-case letters, digits and -"
        )
    return text


def _named(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise CommandError(f"{text!r} is not the name of an object", "lower-case letters, digits, - and .")
    return text


def _asked(
    manifests: Iterable[Mapping[str, Any]], namespace: str, kubeconfig: Path | None, context: str | None
) -> Server:
    from shiplift.kube.errors import CredentialsError, Unreachable
    from shiplift.kube.manifests import kind_of
    from shiplift.kube.served import as_asked

    try:
        with client_of(kubeconfig, context) as client:
            server = as_asked(client, map(kind_of, manifests))
            _tell_of_another(client, namespace)
            return server
    except (CredentialsError, Unreachable) as error:
        raise CommandError(
            f"no server can be asked what it knows: {error.message}",
            "say its version, as in --kubernetes 1.36, or name it by --kubeconfig",
        ) from error


def _tell_of_another(client: Client, namespace: str) -> None:
    """There is one shiplift a cluster: what is printed for another namespace takes its rights over."""
    from shiplift.operator.account import installed_in

    there = installed_in(client)
    if there not in ("", namespace):
        say(
            f"note: shiplift is installed in namespace {there}; what is printed takes the rights from it and"
            f" gives them to namespace {namespace}. If that is not meant: --namespace {there}"
        )


def _left_out(
    unknown: Sequence[Mapping[str, Any]], version: str, parts: Iterable[LayerPart], *, template: bool
) -> list[str]:
    """What is not printed, and what that means for the layers that it is for."""
    if not unknown:
        return []
    named = ", ".join(f"{one['kind']} {one['metadata']['name']}" for one in unknown)
    lacking = (part for part in parts if any(one in part.manifests for one in unknown))
    return [
        f"left out, because Kubernetes {version} does not serve it: {named}",
        *(f"hint: {_instead(part, template)}" for part in lacking if part.without_manifests),
    ]


def _instead(part: LayerPart, template: bool) -> str:
    """What cannot work, what to do instead, and what that takes, unless it was said already."""
    takes = (
        ", and takes `--template` beside the options of this command"
        if part.template_rules and not template
        else ""
    )
    return f"{part.without_manifests}{takes}"


@alerts_app.default
def alerts(
    *,
    layers: Layers = (),
    namespace: Annotated[str, Parameter(help="Where Prometheus looks for rules.")] = NAMESPACE,
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
