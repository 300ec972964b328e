"""The judge of bootstrap: a run that is as it should be passes, and what must not happen is told."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.crash import oracle
from tests.crash.director import Book
from tests.crash.machines import events, facts, invariants, normal
from tests.crash.machines.events import Event, What
from tests.crash.machines.scenarios import INIT, JOIN, Scenario
from tests.crash.machines.suite import SUITE
from tests.crash.oracle import Evidence
from tests.crash.recorder import Key, State

Json = dict[str, Any]


class Story:
    """Events one after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now = 0

    def note(self, what: What, machine: str, **more: Any) -> Event:
        self._now += 1
        found = Event(at=self._now, machine=machine, what=what, **{"id": self._now, **more})
        self.events.append(found)
        return found

    def boot(self, machine: str) -> Story:
        self.note(What.BOOTED, machine)
        return self

    def begin(self, machine: str, entry: str, *words: str, **more: Any) -> Event:
        given = {"recorded": True, "cluster": "c", "first": "cp-1", **more}
        return self.note(What.BEGAN, machine, entry=entry, words=words, **given)

    def end(self, began: Event, code: int = 0) -> Story:
        self.note(What.ENDED, began.machine, id=began.id, entry=began.entry, words=began.words, code=code)
        return self

    def run(self, machine: str, entry: str, *words: str, **more: Any) -> Story:
        return self.end(self.begin(machine, entry, *words, **more))

    def initialise(self, *machines: str) -> Story:
        for one in machines:
            self.boot(one)
            self.run(one, "agent-1", "apt-get", "--yes", "install", "./agent.deb")
            self.run(one, "software-1", "apt-get", "--yes", "install", "kubelet=1")
            self.run(one, "restart-1", "systemctl", "reboot")
            self.boot(one)
        return self


def clean() -> Story:
    story = Story().initialise("cp-1", "w-1")
    story.run("cp-1", "init-1", "kubeadm", "init", "--config=init.yaml")
    return story.run("w-1", "join-1", "kubeadm", "join", "--config=join.yaml")


def told(story: Story, scenario: Scenario = INIT) -> list[str]:
    return invariants.broken(scenario, story.events)


def test_a_run_as_it_should_be_breaks_nothing() -> None:
    assert told(clean()) == []


def test_a_second_init_is_told_wherever_it_is() -> None:
    assert told(clean().run("cp-1", "init-2", "kubeadm", "init")) == ["a second init, on cp-1 after ['cp-1']"]
    story = clean().run("w-1", "init-1", "kubeadm", "init", first="w-1")
    assert told(story) == ["a second init, on w-1 after ['cp-1']"]
    story = Story().initialise("cp-2", "cp-3", "w-1").run("cp-2", "init-1", "kubeadm", "init", first="cp-2")
    assert told(story, JOIN) == ["a second init, on cp-2 after ['cp-1']"]


def test_after_a_person_has_looked_the_cluster_begins_on_the_same_machine() -> None:
    story = Story().initialise("cp-1", "w-1")
    story.begin("cp-1", "init-1", "kubeadm", "init")
    story.boot("cp-1").note(What.RESET, "cp-1")
    assert told(story.run("cp-1", "init-2", "kubeadm", "init")) == []
    assert told(story.run("cp-1", "init-3", "kubeadm", "init")) != []


def test_the_cluster_begins_where_the_mark_says_and_when_all_are_initialised() -> None:
    story = Story().initialise("cp-1", "w-1").run("cp-1", "init-1", "kubeadm", "init", first="w-1")
    assert told(story) == ["init on cp-1, and its mark says that the cluster begins on 'w-1'"]
    story = Story().initialise("cp-1").run("cp-1", "init-1", "kubeadm", "init")
    assert told(story) == ["kubeadm init on cp-1 began before machine w-1 was initialised"]
    assert told(story.initialise("w-1")) == told(story)


def test_a_machine_that_has_not_restarted_is_not_initialised() -> None:
    story = Story().initialise("cp-1").boot("w-1")
    story.run("w-1", "agent-1", "apt-get", "install", "a").run("w-1", "software-1", "apt-get", "install", "b")
    story.run("cp-1", "init-1", "kubeadm", "init")
    assert told(story) == ["kubeadm init on cp-1 began before machine w-1 was initialised"]


def test_nobody_joins_before_the_cluster_has_begun() -> None:
    story = Story().initialise("cp-1", "w-1")
    init = story.begin("cp-1", "init-1", "kubeadm", "init")
    story.run("w-1", "join-1", "kubeadm", "join").end(init)
    assert told(story) == ["machine w-1 joins before the cluster has begun"]


def plane(story: Story, name: str, entry: str = "join-1") -> Event:
    return story.begin(name, entry, "kubeadm", "join", control_plane=True)


def test_control_planes_join_one_after_the_other() -> None:
    story = Story().initialise("cp-2", "cp-3")
    one, other = plane(story, "cp-2"), plane(story, "cp-3")
    assert told(story.end(one).end(other), JOIN) == ["control planes cp-2 and cp-3 join at once"]
    story = Story().initialise("cp-2", "cp-3")
    story.end(plane(story, "cp-2"))
    assert told(story.end(plane(story, "cp-3")), JOIN) == []


def test_a_join_that_was_cut_off_ends_with_the_power_of_its_machine_and_a_person_looks() -> None:
    story = Story().initialise("cp-2", "cp-3")
    plane(story, "cp-2")
    story.boot("cp-2").end(plane(story, "cp-3"))
    assert told(story, JOIN) == []
    again = "control plane cp-2 joins again, and nobody has looked"
    assert told(story.end(plane(story, "cp-2", "join-2")), JOIN) == [again]
    story.note(What.RESET, "cp-2")
    assert told(story.end(plane(story, "cp-2", "join-3")), JOIN) == [again]


def test_what_was_not_on_record_or_ran_twice_is_told() -> None:
    story = clean().run("w-1", "join-1", "kubeadm", "join", "--config=join.yaml", recorded=False)
    assert told(story) == [
        "kubeadm join on w-1 was not on record when it began",
        "join-1 on w-1 ran kubeadm 2 times",
    ]


def test_machines_of_two_clusters_or_of_none_are_told() -> None:
    assert told(clean().run("w-1", "agent-2", "dpkg", cluster="d")) == ["machines are marked for 2 clusters"]
    found = told(clean().run("w-1", "agent-2", "dpkg", cluster=""))
    assert found == ["a command ran on a machine that had no mark"]


# --- how often ---


def test_programs_count_by_machine_and_purpose_and_what_was_cut_off_apart() -> None:
    story = Story().boot("w-1")
    story.begin("w-1", "software-1", "apt-get", "--yes", "install", "kubelet=1")
    story.boot("w-1").run("w-1", "software-2", "apt-get", "--yes", "install", "kubelet=1")
    run = oracle.clean_run(SUITE, INIT, evidence(story))
    counts = {name: number for name, number in run.created.items() if name}
    assert counts == {events.CUT_OFF: 1, "w-1: software: apt-get install": 1}


def evidence(story: Story) -> Evidence:
    return Evidence(events.trace(story.events), Book(), beyond=state())


def test_what_is_done_twice_is_a_divergence_and_asking_twice_is_none() -> None:
    reference = oracle.reference([oracle.clean_run(SUITE, INIT, evidence(clean()))])
    assert oracle.judge(SUITE, INIT, evidence(clean()), reference) == []
    twice = clean().run("w-1", "restart-2", "systemctl", "reboot")
    assert oracle.judge(SUITE, INIT, evidence(twice), reference) == [
        "w-1: restart: systemctl reboot: created 2 times, 1 in a clean run"
    ]
    asked = clean()
    for number in (1, 2):
        asked.run("cp-1", f"admit-w-1-{number}", "kubeadm", "token", "create")
    assert oracle.judge(SUITE, INIT, evidence(asked), reference) == []


def test_events_survive_the_way_through_the_trace() -> None:
    assert events.of(events.trace(clean().events)) == clean().events


def test_a_line_that_was_cut_off_is_no_event(tmp_path: Path) -> None:
    whole = msgspec.json.encode(Event(at=2, machine="m", what=What.BOOTED))
    (tmp_path / "a").write_bytes(whole + b"\n" + whole[:20])
    (tmp_path / "b").write_bytes(msgspec.json.encode(Event(at=1, machine="n", what=What.BOOTED)))
    assert [one.machine for one in events.read([tmp_path / "a", tmp_path / "b", tmp_path / "c"])] == [
        "n",
        "m",
    ]


# --- the end ---


def machine(name: str, **changes: Any) -> Json:
    mark = {"cluster": "c1", "first": "cp-1", "name": name}
    entry = {"id": "agent-1", "begun": True, "code": 0, "files": ["begun", "exit.json", "record.json"]}
    found: Json = {
        "metadata": {"name": name, "uid": f"id-{name}"},
        "mark": mark,
        "journal": [entry],
        "packages": {"kubelet": "1"},
        "kubeadm": ["kubernetes/kubelet.conf"],
        "etcd": name.startswith("cp"),
        "unfinished": [],
        "secrets": [],
    }
    return found | changes


def node(name: str, machine_id: str = "", ready: str = "True") -> Json:
    status = {
        "nodeInfo": {"machineID": machine_id or f"id-{name}"},
        "conditions": [{"type": "Ready", "status": ready}],
    }
    return {"metadata": {"name": name, "labels": {}}, "status": status}


def state(*changed: Json) -> State:
    machines = {name: machine(name) for name in INIT.names}
    machines |= {one["metadata"]["name"]: one for one in changed if "mark" in one}
    nodes = {name: node(name) for name in INIT.names}
    nodes |= {one["metadata"]["name"]: one for one in changed if "status" in one}
    found = {Key(facts.MACHINE, "", name): one for name, one in machines.items()}
    return found | {Key(facts.NODE, "", name): one for name, one in nodes.items()}


FREE = [
    machine("w-1", metadata={"name": "w-1", "uid": "id-w-1"}),
    machine("w-1", journal=[*machine("w-1")["journal"], {"id": "admit-w-2-7", "begun": True, "code": 0}]),
    machine(
        "cp-1",
        journal=[
            {"id": "agent-1", "begun": True, "code": None, "files": ["begun"]},
            {**machine("cp-1")["journal"][0], "id": "agent-2"},
        ],
    ),
]
OTHER = [
    machine("w-1", mark={}),
    machine("w-1", mark={"cluster": "c2", "first": "cp-1", "name": "w-1"}),
    machine("w-1", packages={}),
    machine("w-1", kubeadm=[]),
    machine("w-1", journal=[]),
    machine("w-1", journal=[{**machine("w-1")["journal"][0], "code": 1}]),
    machine("w-1", journal=[{**machine("w-1")["journal"][0], "files": ["join.yaml"]}]),
    node("w-1", ready="False"),
    node("w-1", machine_id="another"),
    node("w-9"),
]


@pytest.mark.parametrize("change", FREE)
def test_what_is_free_to_differ_is_the_same_end(change: Json) -> None:
    assert normal.end(INIT, state(change)) == normal.end(INIT, state())


@pytest.mark.parametrize("change", OTHER)
def test_another_end_is_another(change: Json) -> None:
    assert normal.end(INIT, state(change)) != normal.end(INIT, state())


def token(minutes: float) -> Json:
    ends = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"name": "t"}, "data": {"expiration": base64.b64encode(ends.encode()).decode()}}


def test_residue_is_named() -> None:
    assert normal.residue(state()) == []
    left = state(machine("w-1", secrets=["lib/x/join.yaml"], unfinished=[".mark.abc"]))
    left |= {Key(facts.SAID, "", "0"): {}, Key(facts.SECRET, "", "t"): token(1440)}
    assert normal.residue(left) == [
        "a token or a key is left on machine w-1: lib/x/join.yaml",
        "half written on machine w-1: .mark.abc",
        "a token or a key was said",
        "token t lasts",
    ]
    assert normal.residue({Key(facts.SECRET, "", "t"): token(15)}) == []


def test_a_machine_is_read_from_its_disks(tmp_path: Path) -> None:
    own = tmp_path / "lib/shiplift/bootstrap"
    (own / "journal/join-1").mkdir(parents=True)
    (own / "journal/join-1/begun").touch()
    (own / "journal/join-1/join.yaml").write_text("token: abcdef.0123456789abcdef")
    (own / ".new-x").mkdir()
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / "etc/machine-id").write_text("m\n")
    (tmp_path / "etc/kubernetes/kubelet.conf").touch()
    found = facts.machine(tmp_path, "w-1", ["abcdef.0123456789abcdef"])
    assert found["journal"] == [
        {"id": "join-1", "begun": True, "code": None, "files": ["begun", "join.yaml"]}
    ]
    assert (found["kubeadm"], found["unfinished"]) == (["kubernetes/kubelet.conf"], [".new-x"])
    assert found["secrets"] == ["lib/shiplift/bootstrap/journal/join-1/join.yaml"]
