"""The address of the API server: however it is written, init, join and the cluster's own answer agree."""

from __future__ import annotations

import ipaddress
from datetime import timedelta

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shiplift.engine.step import Started
from shiplift.machines.act import Actor
from shiplift.machines.decide.refusals import endpoint
from shiplift.machines.endpoints import normal, place
from shiplift.machines.kubeadm import init_text
from shiplift.machines.model import Purpose, View
from shiplift.machines.pools import Wanted, read
from shiplift.machines.steps import Run
from tests.machines.world import AGENT, CLUSTER, ENDPOINT, NETWORK, START, Laptop, World, bare, names, text

BIND = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {bindPort: 7443}
"""


def asked(written: str, more: str = "") -> Wanted:
    file = text(3, 1).replace(f"controlPlaneEndpoint: {ENDPOINT}", f"controlPlaneEndpoint: '{written}'")
    return replace(read((file + more).encode()), network=NETWORK, agent=AGENT)


WRITTEN = [
    ("api.example.test:6443", "", "api.example.test:6443", "https://api.example.test:6443"),
    ("api.example.test", "", "api.example.test:6443", "https://api.example.test:6443"),
    ("api.example.test", BIND, "api.example.test:7443", "https://api.example.test:7443"),
    ("api.example.test:443", BIND, "api.example.test:443", "https://api.example.test:443"),
    ("10.0.0.1", "", "10.0.0.1:6443", "https://10.0.0.1:6443"),
    ("fd00::1", "", "[fd00::1]:6443", "https://[fd00::1]:6443"),
    ("[fd00::1]", BIND, "[fd00::1]:7443", "https://[fd00::1]:7443"),
    ("[FD00:0::1]:443", "", "[fd00::1]:443", "https://[FD00:0::1]:443"),
]
IDS = [f"{written}{' and a bindPort' if more else ''}" for written, more, *_ in WRITTEN]


@pytest.mark.parametrize(("written", "more", "wanted", "server"), WRITTEN, ids=IDS)
def test_init_and_the_cluster_that_it_makes_agree_on_the_endpoint(
    written: str, more: str, wanted: str, server: str
) -> None:
    found = asked(written, more)
    documents = yaml.safe_load_all(init_text(found, found.candidates[0]))
    cluster = next(one for one in documents if one["kind"] == "ClusterConfiguration")
    assert (found.endpoint, cluster["controlPlaneEndpoint"]) == (wanted, wanted)
    world = World(*names(found))
    laptop = Laptop(world, found)
    while not ((init := world.machines["cp-1"].last("init")) and init.well):
        laptop.round()
    world.machines["cp-1"] = replace(world.machines["cp-1"], server=server)
    assert endpoint(laptop.view(), None, None) is None  # type: ignore[arg-type]
    assert laptop.finish().complete


class Asked:
    """A control plane that lets everybody join."""

    def ask(self, *_: object) -> dict[str, object]:
        return {"said": ["abcdef.0123456789abcdef", "a" * 64]}


@pytest.mark.parametrize(("written", "more", "wanted"), [one[:3] for one in WRITTEN], ids=IDS)
def test_who_joins_is_given_the_endpoint_with_a_port(
    written: str, more: str, wanted: str, authority: str
) -> None:
    found = asked(written, more)
    facts = replace(bare("cp-1"), ca=authority, server=f"https://{wanted}", joined=True)
    view = View(wanted=found, hosts={"cp-1": facts}, run="r", fresh="f")
    started = Started.begin("join", START, timedelta(minutes=5))
    step = Run(started=started, machine="w-1", purpose=Purpose.JOIN, what="", via="cp-1")
    actor = Actor(Asked(), found, "r")  # type: ignore[arg-type]
    assert actor._admitted(found.candidates[-1], step, view).endpoint == wanted


@given(st.ip_addresses(), st.one_of(st.none(), st.integers(1, 65535)))
def test_the_normal_form_of_an_address_stays_what_it_is(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int | None
) -> None:
    host = f"[{address}]" if address.version == 6 and port else str(address)
    found = normal(host + (f":{port}" if port else ""), 7443)
    assert normal(found, 1) == found == place(f"https://{found}/")
    assert found.endswith(f":{port or 7443}")


def test_a_cluster_without_an_endpoint_is_joined_where_its_first_machine_is() -> None:
    alone = read(text(1, 1).replace(CLUSTER, "").encode())
    assert alone.endpoint == ""
    assert place("https://10.0.0.10:6443") == "10.0.0.10:6443"
    assert place("https://10.0.0.10") == "10.0.0.10:6443"
