"""What an agent does next, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shiplift.agent import protocol
from shiplift.agent.decide import decide
from shiplift.agent.model import Begin, Keep, Machine, Progress, Record, Restart, Seen, Work, Write
from shiplift.agent.protocol import (
    AGENT,
    CHANGES_ALLOWED,
    OUTCOME,
    READY,
    Agent,
    Operation,
    Order,
    Outcome,
    Readiness,
    Reboot,
    Result,
)
from shiplift.agent.telling import current_versions
from tests.agent.world import AGENT_VERSION, ID, NEW, OLD, UID, order

ORDER = order()
TOKEN = str(ORDER.token)
QUIET = {protocol.current_key(name): text for name, text in OLD.items()} | {
    AGENT: Agent(AGENT_VERSION, 7).written()
}
WANTED = {protocol.desired_key("kubelet"): NEW["kubelet"]}
ORDERED = QUIET | WANTED | {CHANGES_ALLOWED: ORDER.written()}
CLAIMED = ORDERED | {READY: Readiness(False, TOKEN).written()}
MACHINE = Machine(ID, "boot-1", OLD, "v1.35.4")
RECORD = Record(ORDER, NEW)
BEGUN = replace(RECORD, begun=True)


def node(annotations: dict[str, str], *, cordoned: bool = True) -> Seen:
    return Seen(UID, "5", ID, cordoned, annotations)


def actions(seen: Seen, machine: Machine = MACHINE, *, due: bool = False) -> tuple[object, ...]:
    return decide(seen, machine, AGENT_VERSION, due=due).actions


def only_says(text: str, heartbeat: int = 8) -> Write:
    """A write that says nothing but that the agent lives, and what it waits for."""
    return Write({AGENT: Agent(AGENT_VERSION, heartbeat, says=text).written()}, "5")


def answer(seen: Seen, machine: Machine = MACHINE) -> Outcome | None:
    """What one write of the actions says of an order that it is through with."""
    written = [action.annotations for action in actions(seen, machine) if isinstance(action, Write)]
    if not written or OUTCOME not in written[0]:
        return None
    told = {key: value for key, value in written[0].items() if value is not None}
    outcome = protocol.outcome_of(told)
    assert outcome is not None
    assert protocol.readiness_of(told) == Readiness(True, outcome.token)
    return outcome


def test_at_rest_nothing_is_written_until_the_heartbeat_is_due() -> None:
    assert actions(node(QUIET)) == ()
    assert actions(node(QUIET), due=True) == (Write({AGENT: Agent(AGENT_VERSION, 8).written()}, "5"),)


def test_the_first_loop_says_which_versions_there_are_and_who_answers() -> None:
    expected = {**QUIET, AGENT: Agent(AGENT_VERSION, 1).written()}
    assert actions(node({})) == (Write(expected, "5"),)


def test_an_agent_of_another_version_says_so() -> None:
    other = QUIET | {AGENT: Agent("0.1.0", 7).written()}
    assert actions(node(other)) == (Write({AGENT: Agent(AGENT_VERSION, 8).written()}, "5"),)


def test_versions_are_what_is_seen_now_and_of_what_is_gone_there_is_none() -> None:
    machine = replace(MACHINE, software={"kubelet": "1.35.4-1.1", "runc": "1.2"})
    assert actions(node(QUIET), machine) == (
        Write(
            {
                protocol.current_key("containerd"): None,
                protocol.current_key("runc"): "1.2",
                AGENT: Agent(AGENT_VERSION, 8).written(),
            },
            "5",
        ),
    )


@pytest.mark.parametrize(
    ("package", "running", "says"),
    [
        ("1.36.3-1.1", "v1.36.3", "1.36.3-1.1"),
        ("1.36.3-1.1", "v1.35.4", "1.35.4"),
        ("1.36.3-1.1", "", "1.36.3-1.1"),
        ("", "v1.35.4", "1.35.4"),
    ],
)
def test_the_kubelet_is_of_its_package_once_that_runs(package: str, running: str, says: str) -> None:
    software = {"kubelet": package} if package else {}
    assert current_versions(replace(MACHINE, software=software, kubelet=running))["kubelet"] == says


def test_an_order_is_kept_and_claimed_and_nothing_more() -> None:
    kept, written = actions(node(ORDERED))
    assert kept == Keep(RECORD)
    assert isinstance(written, Write)
    assert written.annotations == {
        READY: f"false {TOKEN}",
        AGENT: Agent(AGENT_VERSION, 8).written(),
    }
    assert written.resource_version == "5"


def test_once_the_claim_is_seen_the_work_is_begun() -> None:
    assert actions(node(CLAIMED), replace(MACHINE, record=RECORD)) == (Keep(BEGUN), Begin(BEGUN))


def test_while_the_work_runs_only_the_heart_beats() -> None:
    machine = replace(MACHINE, record=BEGUN, work=Work(Progress.RUNNING))
    assert actions(node(CLAIMED), machine) == ()
    assert actions(node(CLAIMED), machine, due=True) == (
        Write({AGENT: Agent(AGENT_VERSION, 8).written()}, "5"),
    )
    assert decide(node(CLAIMED), machine, AGENT_VERSION).busy


def test_the_answer_comes_with_the_versions_that_are_there_then() -> None:
    machine = replace(
        MACHINE, software={**OLD, **NEW}, kubelet="v1.36.3", record=BEGUN, work=Work(Progress.DONE)
    )
    assert actions(node(CLAIMED), machine) == (
        Write(
            {
                protocol.current_key("kubelet"): NEW["kubelet"],
                READY: f"true {TOKEN}",
                OUTCOME: Outcome(TOKEN, Result.DONE).written(),
                AGENT: Agent(AGENT_VERSION, 8).written(),
            },
            "5",
        ),
    )


def test_what_failed_is_answered_with_its_message() -> None:
    machine = replace(MACHINE, record=BEGUN, work=Work(Progress.FAILED, "no space left", "/a"))
    assert answer(node(CLAIMED), machine) == Outcome(TOKEN, Result.FAILED, "no space left", "/a")


@pytest.mark.parametrize("record", [None, RECORD, BEGUN])
def test_what_was_answered_is_never_done_again(record: Record | None) -> None:
    answered = ORDERED | {READY: Readiness(True, TOKEN).written()}
    assert actions(node(answered), replace(MACHINE, record=record)) == ()


def test_what_was_kept_of_an_order_that_was_not_claimed_is_read_anew() -> None:
    before = replace(RECORD, desired={"kubelet": "1.35.9"})
    assert actions(node(ORDERED), replace(MACHINE, record=before))[0] == Keep(RECORD)


def test_what_was_begun_is_claimed_again_where_somebody_took_the_claim_off() -> None:
    assert actions(node(ORDERED), replace(MACHINE, record=BEGUN))[0] == Keep(BEGUN)


def test_the_work_of_another_order_is_no_answer_to_this_one() -> None:
    other = Record(order(attempt=9), NEW, begun=True)
    for work in (Work(Progress.DONE), Work(Progress.FAILED, "no space left")):
        assert actions(node(CLAIMED), replace(MACHINE, record=other, work=work)) == (
            Keep(BEGUN),
            Begin(BEGUN),
        )


def test_a_record_that_was_lost_is_made_anew_from_the_order() -> None:
    assert actions(node(CLAIMED)) == (Keep(BEGUN), Begin(BEGUN))


def test_work_that_died_is_begun_again() -> None:
    assert actions(node(CLAIMED), replace(MACHINE, record=BEGUN)) == (Keep(BEGUN), Begin(BEGUN))


def test_a_claimed_order_is_done_though_its_annotation_is_gone() -> None:
    erased = {key: value for key, value in CLAIMED.items() if key not in {CHANGES_ALLOWED, *WANTED}}
    assert actions(node(erased), replace(MACHINE, record=RECORD)) == (Keep(BEGUN), Begin(BEGUN))


def test_a_claimed_order_of_which_nothing_is_left_has_failed() -> None:
    erased = {key: value for key, value in CLAIMED.items() if key != CHANGES_ALLOWED}
    said = answer(node(erased))
    assert said is not None
    assert (said.token, said.result) == (TOKEN, Result.FAILED)
    assert "neither its annotation nor this machine's record" in said.message


@pytest.mark.parametrize("work", [Work(), Work(Progress.RUNNING)])
def test_an_order_that_was_begun_and_that_the_node_says_nothing_of_is_told_there(
    work: Work,
) -> None:
    decision = decide(node(QUIET), replace(MACHINE, record=BEGUN, work=work), AGENT_VERSION)
    assert decision.actions == (only_says(decision.says),)
    assert decision.says == (
        f"order {TOKEN} was begun, and the Node says nothing of it any more: the machine may be half-way"
    )


@pytest.mark.parametrize(
    "machine",
    [
        replace(MACHINE, record=RECORD),
        replace(MACHINE, record=BEGUN, work=Work(Progress.DONE)),
        replace(MACHINE, record=BEGUN, work=Work(Progress.FAILED, "no space left")),
        replace(MACHINE, record=Record(order(uid="another"), NEW, begun=True)),
    ],
)
def test_of_an_order_that_was_not_begun_or_came_to_its_end_nothing_is_told(machine: Machine) -> None:
    assert actions(node(QUIET), machine) == ()


def test_the_claimed_order_comes_before_another() -> None:
    other = CLAIMED | {CHANGES_ALLOWED: order(attempt=2).written()}
    assert actions(node(other), replace(MACHINE, record=RECORD)) == (Keep(BEGUN), Begin(BEGUN))


def test_no_order_is_claimed_while_the_work_of_another_runs() -> None:
    machine = replace(MACHINE, record=Record(order(attempt=9), NEW, begun=True), work=Work(Progress.RUNNING))
    decision = decide(node(ORDERED), machine, AGENT_VERSION)
    assert decision.actions == (only_says(decision.says),)
    assert "is not over" in decision.says


# --- cordons ---


def test_on_a_node_that_takes_pods_an_order_waits() -> None:
    decision = decide(node(ORDERED, cordoned=False), MACHINE, AGENT_VERSION)
    assert decision.actions == (only_says(decision.says),)
    assert "not cordoned" in decision.says


@pytest.mark.parametrize(
    "operation", [one for one in Operation if not one.wants_cordon], ids=lambda one: one.value
)
def test_what_disturbs_no_pod_needs_no_cordon(operation: Operation) -> None:
    given = order(operation)
    seen = node(QUIET | {CHANGES_ALLOWED: given.written()}, cordoned=False)
    assert actions(seen)[0] == Keep(Record(given, {}))
    claimed = replace(seen, annotations={**seen.annotations, READY: f"false {given.token}"})
    record = Record(given, {}, begun=True)
    assert actions(claimed, replace(MACHINE, record=Record(given, {}))) == (Keep(record), Begin(record))


@pytest.mark.parametrize(
    ("record", "result"), [(RECORD, Result.REFUSED), (BEGUN, Result.FAILED), (None, Result.FAILED)]
)
def test_a_node_that_was_uncordoned_after_the_claim_is_left_alone(
    record: Record | None, result: Result
) -> None:
    said = answer(node(CLAIMED, cordoned=False), replace(MACHINE, record=record))
    assert said is not None
    assert said.result is result
    assert "uncordoned" in said.message


# --- what cannot be written to the disk ---

RUNNING = Work(Progress.RUNNING)
RESTARTED = Record(order(reboot=Reboot.ALWAYS), NEW, begun=True)


@pytest.mark.parametrize(
    ("annotations", "record", "work", "result", "says"),
    [
        (ORDERED, None, Work(), Result.REFUSED, "nothing was begun"),
        (ORDERED, Record(order(attempt=9), NEW, begun=True), Work(), Result.REFUSED, "nothing was begun"),
        (CLAIMED, RECORD, Work(), Result.REFUSED, "nothing was begun"),
        (CLAIMED, None, Work(), Result.FAILED, "half-way"),
        (CLAIMED, BEGUN, Work(), Result.FAILED, "half-way"),
        (ORDERED, BEGUN, Work(), Result.FAILED, "half-way"),
        (CLAIMED, RESTARTED, Work(Progress.DONE), Result.FAILED, "half-way"),
    ],
)
def test_an_order_that_cannot_be_written_down_is_answered_with_why_and_nothing_is_done(
    annotations: dict[str, str], record: Record | None, work: Work, result: Result, says: str
) -> None:
    machine = replace(MACHINE, record=record, work=work)
    assert isinstance(actions(node(annotations), machine)[0], Keep)
    decision = decide(node(annotations), machine, AGENT_VERSION, unkept="No space left on device")
    (written,) = decision.actions
    assert isinstance(written, Write)
    told = {key: value for key, value in written.annotations.items() if value is not None}
    outcome = protocol.outcome_of(told)
    assert outcome is not None
    assert (outcome.token, outcome.result) == (TOKEN, result)
    assert "cannot be written to the machine's disk: No space left on device" in outcome.message
    assert says in outcome.message
    assert protocol.readiness_of(told) == Readiness(True, TOKEN)
    assert outcome.message in decision.says


def test_work_that_runs_while_its_order_cannot_be_written_down_is_waited_for() -> None:
    machine = replace(MACHINE, record=BEGUN, work=RUNNING)
    decision = decide(node(ORDERED), machine, AGENT_VERSION, unkept="No space left on device")
    assert decision.actions == (only_says(decision.says),)
    assert decision.busy
    assert "No space left on device" in decision.says


def test_a_machine_that_goes_down_may_have_shut_its_disk_already() -> None:
    told = replace(RESTARTED, restarted_from="boot-1")
    machine = replace(MACHINE, record=told, work=Work(Progress.DONE))
    found = decide(node(CLAIMED), machine, AGENT_VERSION, unkept="Read-only file system")
    assert (found.actions, found.busy) == ((Restart(),), True)


def test_where_nothing_has_to_be_written_down_a_full_disk_changes_nothing() -> None:
    machine = replace(MACHINE, record=BEGUN, work=RUNNING)
    found = decide(node(CLAIMED), machine, AGENT_VERSION, due=True, unkept="No space left on device")
    assert found == decide(node(CLAIMED), machine, AGENT_VERSION, due=True)


# --- what is refused ---

REFUSED = [
    ('{"protocol":2,"token":"Dance.1.a.b"}', "Dance.1.a.b", "protocol '2' is not 1"),
    ('{"token":"Packages.1.a.b"}', "Packages.1.a.b", "names no protocol"),
    ('{"protocol":1,"token":"Dance.1.a.b"}', "Dance.1.a.b", "'Dance' is no operation"),
    ("{", "unreadable", "is no JSON"),
    (order(uid="other").written(), str(order(uid="other").token), "is for a node with uid other"),
    (
        order(Operation.UPGRADE_APPLY, version="").written(),
        str(order(Operation.UPGRADE_APPLY).token),
        "names none",
    ),
]


@pytest.mark.parametrize(("text", "token", "says"), REFUSED)
def test_what_cannot_be_done_is_refused_once(text: str, token: str, says: str) -> None:
    seen = node(QUIET | WANTED | {CHANGES_ALLOWED: text})
    said = answer(seen)
    assert said is not None
    assert (said.token, said.result) == (token, Result.REFUSED)
    assert says in said.message
    told = {READY: Readiness(True, token).written(), OUTCOME: said.written()}
    assert actions(replace(seen, annotations={**seen.annotations, **told})) == ()


def test_an_order_that_names_no_version_is_refused_not_taken_for_done() -> None:
    said = answer(node(QUIET | {CHANGES_ALLOWED: ORDER.written()}))
    assert said is not None
    assert "no annotation names one" in said.message


@pytest.mark.parametrize(
    ("version", "wanted", "refused"),
    [("v1.36.3", {}, False), ("", WANTED, False), ("", {}, True), ("v1.36.3", WANTED, False)],
)
def test_what_is_prepared_is_a_version_or_packages(
    version: str, wanted: dict[str, str], refused: bool
) -> None:
    given = order(Operation.PREPARE, version=version).written()
    assert (answer(node(QUIET | wanted | {CHANGES_ALLOWED: given})) is not None) is refused


def test_a_machine_without_etcd_refuses_to_copy_its_data() -> None:
    machine = replace(MACHINE, can=frozenset({Operation.PACKAGES}))
    said = answer(node(QUIET | {CHANGES_ALLOWED: order(Operation.SNAPSHOT).written()}), machine)
    assert said is not None
    assert said.message == "this machine cannot do Snapshot"


def test_what_is_unreadable_of_our_own_is_as_if_it_were_not_there() -> None:
    seen = node(ORDERED | {READY: "perhaps", AGENT: "{"})
    kept, written = actions(seen)
    assert kept == Keep(RECORD)
    assert isinstance(written, Write)
    assert written.annotations[AGENT] == Agent(AGENT_VERSION, 1).written()


def test_a_claim_of_another_node_of_the_same_name_is_not_ours() -> None:
    left = order(uid="another")
    seen = node(ORDERED | {READY: f"false {left.token}"})
    assert actions(seen)[0] == Keep(RECORD)


@pytest.mark.parametrize("annotations", [QUIET, ORDERED, CLAIMED])
@pytest.mark.parametrize("due", [True, False])
def test_on_the_node_of_another_machine_nothing_is_done(annotations: dict[str, str], due: bool) -> None:
    seen = replace(node(annotations), machine_id="machine-2")
    decision = decide(seen, replace(MACHINE, record=RECORD), AGENT_VERSION, due=due)
    assert decision.actions == ()
    assert "machine-2" in decision.says


# --- restarts ---

DONE = Work(Progress.DONE)


@pytest.mark.parametrize("since", [None, "boot-1"])
def test_on_a_node_that_takes_pods_a_restart_waits_and_that_is_told_on_the_node(since: str | None) -> None:
    given = order(reboot=Reboot.ALWAYS)
    record = Record(given, NEW, begun=True, restarted_from=since)
    machine = replace(MACHINE, record=record, work=DONE)
    seen = node(ORDERED | {READY: f"false {given.token}"}, cordoned=False)
    decision = decide(seen, machine, AGENT_VERSION)
    assert decision.actions == (only_says(decision.says),)
    assert decision.busy
    assert "the restart waits until the node is cordoned again" in decision.says


def test_after_its_restart_an_order_is_answered_on_a_node_that_takes_pods_too() -> None:
    given = order(reboot=Reboot.ALWAYS)
    record = Record(given, NEW, begun=True, restarted_from="boot-0")
    seen = node(ORDERED | {READY: f"false {given.token}"}, cordoned=False)
    found = answer(seen, replace(MACHINE, record=record, work=DONE))
    assert found is not None
    assert found.result is Result.DONE


def test_what_it_waits_for_is_written_once_and_taken_off_when_that_is_over() -> None:
    first = decide(node(ORDERED, cordoned=False), MACHINE, AGENT_VERSION)
    told = {AGENT: Agent(AGENT_VERSION, 8, says=first.says).written()}
    assert actions(node(ORDERED | told, cordoned=False)) == ()
    assert actions(node(QUIET | told)) == (only_says("", 9),)


def restarts(given: Order, *, required: bool = False, since: str | None = None, boot: str = "boot-1") -> bool:
    record = Record(given, NEW, begun=True, restarted_from=since)
    machine = replace(MACHINE, boot_id=boot, restart_required=required, record=record, work=DONE)
    seen = node(ORDERED | {READY: f"false {given.token}"})
    found = actions(seen, machine)
    if not any(isinstance(action, Restart) for action in found):
        assert answer(seen, machine) is not None
        return False
    assert found[0] == Keep(replace(record, restarted_from=boot))
    return True


@pytest.mark.parametrize(
    ("reboot", "required", "since", "boot", "expected"),
    [
        (Reboot.IF_REQUIRED, False, None, "boot-1", False),
        (Reboot.IF_REQUIRED, True, None, "boot-1", True),
        (Reboot.IF_REQUIRED, True, "boot-1", "boot-2", False),
        (Reboot.ALWAYS, False, None, "boot-1", True),
        (Reboot.ALWAYS, False, None, "", True),
        (Reboot.ALWAYS, False, "", "boot-1", False),
        (Reboot.ALWAYS, False, "boot-1", "boot-1", True),
        (Reboot.ALWAYS, False, "boot-1", "boot-2", False),
        (Reboot.ALWAYS, True, "boot-1", "boot-2", False),
    ],
)
def test_a_machine_is_restarted_once_where_the_order_or_its_packages_want_it(
    reboot: Reboot, required: bool, since: str | None, boot: str, expected: bool
) -> None:
    assert restarts(order(reboot=reboot), required=required, since=since, boot=boot) is expected


def test_only_packages_restart_a_machine() -> None:
    assert not restarts(order(Operation.UPGRADE_APPLY, reboot=Reboot.ALWAYS), required=True)
