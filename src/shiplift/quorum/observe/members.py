"""The pods of a service, as they were read, and what their servers said. Pure.

There is a member for each pod that there should be: one that is not there is silent, and nothing goes on
without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

import msgspec

from shiplift.engine.probes import Truth
from shiplift.quorum.engines.protocol import Server, Silent, Told
from shiplift.quorum.model import Member

Json = dict[str, Any]
_KEY = "MINIO_UPDATE_MINISIGN_PUBKEY"
_REVISION = "controller-revision-hash"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NO_PROXIES = ("NO_PROXY", "no_proxy")
_FROM_ELSEWHERE = "(not in the pod spec)"
"""A value that the pod takes from somewhere else: it is not known, and so it is no key."""


class Heard(msgspec.Struct, frozen=True):
    """What the server of one pod said, and what came of a canary through it."""

    answer: Told | Silent
    sings: Truth = Truth.UNKNOWN
    may_stop: Truth = Truth.UNKNOWN
    trouble: str = ""
    """What came of the canary, or why it may not stop; empty where all is well."""


class Place(msgspec.Struct, frozen=True):
    """How the pods of a service are reached."""

    namespace: str
    container: str
    port: int
    serving_host: str
    """Where they fetch the binary."""


def expected(live: Json) -> list[str]:
    """The names of the pods that a StatefulSet should have."""
    spec = live["spec"]
    ordinals: Json = spec.get("ordinals") or {}
    first = ordinals.get("start", 0)
    return [f"{live['metadata']['name']}-{first + at}" for at in range(spec.get("replicas", 1))]


def members(
    sets: Sequence[Json], pods: Mapping[str, Json], heard: Mapping[str, Heard], place: Place
) -> Iterator[Member]:
    """Of all StatefulSets, in their order; pods by name, what was heard by uid."""
    for live in sets:
        for name in expected(live):
            pod = pods.get(name)
            pool = live["metadata"]["name"]
            yield _absent(name, pool) if pod is None else _member(pod, pool, heard, place)


def servers(sets: Sequence[Json], pods: Mapping[str, Json], place: Place) -> Iterator[tuple[str, Server]]:
    """By uid: those that have an address."""
    for live in sets:
        for name in expected(live):
            pod = pods.get(name)
            address = (pod or {}).get("status", {}).get("podIP")
            if pod is not None and address:
                host = f"{name}.{live['spec'].get('serviceName', '')}.{place.namespace}.svc"
                yield pod["metadata"]["uid"], Server(name, address, place.port, host)


def _absent(name: str, pool: str) -> Member:
    return Member(name, "", pool, "", ready=False, leaving=False, why_silent="its pod is not there")


def _member(pod: Json, pool: str, heard: Mapping[str, Heard], place: Place) -> Member:
    about = pod["metadata"]
    found = heard.get(about["uid"], Heard(Silent("it was not asked yet")))
    told = found.answer if isinstance(found.answer, Told) else None
    container = _container(pod, place.container)
    environment = _environment(container)
    return Member(
        about["name"],
        about["uid"],
        pool,
        container.get("image", ""),
        ready=_is_ready(pod),
        leaving="deletionTimestamp" in about,
        told=told,
        why_silent=found.answer.why if isinstance(found.answer, Silent) else "",
        sings=found.sings,
        may_stop=found.may_stop,
        minisign_key=environment.get(_KEY, ""),
        proxied=_is_proxied(environment, place.serving_host),
        trouble=found.trouble,
        revision=_revision(about),
        digest=_digest(pod, place.container),
        misnamed=isinstance(found.answer, Silent) and found.answer.misnamed,
    )


def _digest(pod: Json, container: str) -> str:
    """Empty where its kubelet does not say yet."""
    found: list[Json] = pod.get("status", {}).get("containerStatuses") or []
    said = next((str(one.get("imageID", "")) for one in found if one["name"] == container), "")
    return said.partition("@")[2]


def _revision(about: Json) -> str:
    labels: dict[str, str] = about.get("labels") or {}
    return labels.get(_REVISION, "")


def _container(pod: Json, name: str) -> Json:
    containers: list[Json] = pod["spec"]["containers"]
    none: Json = {}
    return next((one for one in containers if one["name"] == name), none)


def _environment(container: Json) -> dict[str, str]:
    given: list[Json] = container.get("env") or []
    return {one["name"]: one.get("value", _FROM_ELSEWHERE if "valueFrom" in one else "") for one in given}


def _is_ready(pod: Json) -> bool:
    conditions: list[Json] = pod.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _is_proxied(environment: Mapping[str, str], host: str) -> bool:
    if not any(environment.get(name) for name in _PROXIES):
        return False
    spared = {
        word.strip().lstrip(".") for name in _NO_PROXIES for word in environment.get(name, "").split(",")
    }
    return not any(word and (word in ("*", host) or _covers(word, host)) for word in spared)


def _covers(word: str, host: str) -> bool:
    """Whether a word of NO_PROXY means the host: the end of its name, or a network that it is in."""
    if host.endswith(f".{word}"):
        return True
    with contextlib.suppress(ValueError):
        return "/" in word and ip_address(host) in ip_network(word, strict=False)
    return False
