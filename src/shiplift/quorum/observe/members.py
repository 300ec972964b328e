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
_LONGEST = 400
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
    begun: tuple[str, ...] = ()
    """The containers that a swap began with: whatever the spec names now."""

    @property
    def containers(self) -> tuple[str, ...]:
        """The first that a pod has is its server's."""
        return (*self.begun, self.container)


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
    container = _container(pod, place.containers)
    waits = _waits(pod, container.get("name", ""))
    found = heard.get(about["uid"], Heard(Silent(waits or "it was not asked yet")))
    told = found.answer if isinstance(found.answer, Told) else None
    environment = _environment(container)
    return Member(
        about["name"],
        about["uid"],
        pool,
        container.get("image", ""),
        ready=_is_ready(pod),
        leaving="deletionTimestamp" in about,
        told=told,
        why_silent=_both(found.answer.why, waits) if isinstance(found.answer, Silent) else "",
        sings=found.sings,
        may_stop=found.may_stop,
        minisign_key=environment.get(_KEY, ""),
        proxied=_is_proxied(environment, place.serving_host),
        trouble=found.trouble or waits,
        revision=_revision(about),
        digest=_digest(pod, container.get("name", "")),
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


def _container(pod: Json, names: Sequence[str]) -> Json:
    """The first of these that it has."""
    containers: dict[str, Json] = {one["name"]: one for one in pod["spec"]["containers"]}
    none: Json = {}
    return next((containers[name] for name in names if name in containers), none)


def _waits(pod: Json, container: str) -> str:
    """Why nobody runs it, in the words of its scheduler or its kubelet; empty where somebody does."""
    status: Json = pod.get("status") or {}
    states: dict[str, Json] = {
        one["name"]: one.get("state") or {} for one in _listed(status, "containerStatuses")
    }
    if waiting := states.get(container, {}).get("waiting"):
        return _worded("its container waits", waiting)
    conditions = _listed(status, "conditions")
    unplaced = (one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False")
    if found := next(unplaced, None):
        return _worded("it has no node", found)
    return "its pod is pending" if status.get("phase") == "Pending" else ""


def _listed(status: Json, field: str) -> list[Json]:
    return status.get(field) or []


def _worded(what: str, said: Json) -> str:
    words = [what, said.get("reason", ""), said.get("message", "")]
    return " ".join(": ".join(word for word in words if word).split())[:_LONGEST]


def _both(why: str, waits: str) -> str:
    """What its server would say, and why there is none."""
    return why if not waits or waits in why else f"{waits}; {why}"


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
