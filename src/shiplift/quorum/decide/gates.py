"""Why a swap is not begun: one ordered list of small gates, each of which says why, or nothing.

All of them are asked before anything is written; once a swap is begun only what the servers say counts.
"""

from __future__ import annotations

from collections.abc import Callable

from shiplift.api.quorum import OnUnsupported, QuorumStrategy
from shiplift.engine.probes import Truth
from shiplift.engine.step import Answer
from shiplift.quorum.decide.scene import Scene, names
from shiplift.quorum.model import Line, Member, Reason, Validity
from shiplift.quorum.names import SWAP

Gate = Callable[[Scene], Line | None]
_NAMED = (Reason.MANAGED_ELSEWHERE, Reason.SWITCH_FAILED)
"""What a spec was given up for, other than staging: its text begins with it."""
MOST_REHEARSALS = 5
"""That fail before all pods are made anew instead: a network that is away for a moment is no reason."""


def _named_twice(scene: Scene) -> Line | None:
    elder = scene.view.elder
    if not elder:
        return None
    message = f"quorumservice/{elder} is older and names one of its StatefulSets: one of the two has to go"
    return Line(Reason.NAMED_TWICE, message, stalled=True)


def _missing(scene: Scene) -> Line | None:
    if not scene.view.missing:
        return None
    named = ", ".join(f"statefulset/{name}" for name in scene.view.missing)
    where = f"spec.statefulSets of quorumservice/{scene.view.service}"
    message = f"{named} is not there: make it again, or take it out of {where}"
    return Line(Reason.NO_STATEFUL_SET, message, stalled=True)


def _no_container(scene: Scene) -> Line | None:
    """Nothing that is asked of its environment would mean anything."""
    pool = next((pool for pool in scene.view.pools if not pool.image), None)
    if pool is None:
        return None
    view = scene.view
    message = f"statefulset/{pool.name} has no container {view.wanted.container}"
    hint = f"spec.container of QuorumService {view.service} names it"
    return Line(Reason.NO_CONTAINER, f"{message}: {hint}", stalled=True)


def _managed_elsewhere(scene: Scene) -> Line | None:
    pool = next((pool for pool in scene.view.pools if pool.owner), None)
    if pool is None:
        return None
    message = f"statefulset/{pool.name} belongs to {pool.owner}, which would take every change back"
    return Line(Reason.MANAGED_ELSEWHERE, message, stalled=True)


def _another(scene: Scene) -> Line | None:
    swaps = ((pool.name, pool.swap) for pool in scene.view.pools)
    found = next(((name, swap) for name, swap in swaps if swap and swap.service != scene.view.service), None)
    if found is None:
        return None
    name, who = found[0], found[1].service
    others = scene.view.others
    if not who:
        message = (
            f"annotation {SWAP} of statefulset/{name} cannot be read: take it off, with the hold beside it"
        )
        return Line(Reason.SWAPPED_BY_ANOTHER, message, stalled=True)
    message = f"statefulset/{name} is being swapped by quorumservice/{who}"
    if others is None or who in others:
        return Line(Reason.SWAPPED_BY_ANOTHER, message)
    message = f"{message}, which is not there any more: make it again, and it ends or puts back what it began"
    return Line(Reason.SWAPPED_BY_ANOTHER, message, stalled=True)


def _given_up(scene: Scene) -> Line | None:
    """Whoever has made all of the image by another way has got what is wanted."""
    return None if scene.is_made_of_wanted else _given_up_for_good(scene)


def _given_up_for_good(scene: Scene) -> Line | None:
    said = scene.view.given_up
    if not said:
        return None
    reason, _, rest = said.partition(": ")
    named = next((one for one in _NAMED if one.value == reason), None)
    return Line(named or Reason.STAGING_FAILED, rest if named else said, stalled=True)


def _obstacle(scene: Scene) -> Line | None:
    return scene.view.obstacle


def _image(scene: Scene) -> Line | None:
    if scene.view.candidate.validity is not Validity.REFUSED:
        return None
    return Line(Reason.IMAGE_REFUSED, scene.view.candidate.message, stalled=True)


def _silent(scene: Scene) -> Line | None:
    if not scene.view.members:
        return Line(Reason.WAITS_FOR_SERVERS, "its StatefulSets have no pods: nobody says what runs")
    if not scene.silent:
        return None
    why = "; ".join(f"{member.name}: {member.why_silent}" for member in scene.silent[:4])
    return Line(Reason.WAITS_FOR_SERVERS, f"no version is known of {why}")


def _misnamed(scene: Scene) -> Line | None:
    misnamed = next((member for member in scene.view.members if member.misnamed), None)
    if misnamed is None:
        return None
    message = (
        f"{misnamed.name}: {misnamed.why_silent}; servers have to be started with the full names of pods"
    )
    return Line(Reason.HOSTS_DIFFER, message, stalled=True)


def _hosts(scene: Scene) -> Line | None:
    """All servers name the same, as many as there are pods, and each found itself there: just the pods."""
    pods = len(scene.view.members)
    named = {member.told.endpoints for member in scene.view.members if member.told is not None}
    if len(named) <= 1 and all(len(endpoints) == pods for endpoints in named):
        return None
    said = "; ".join(sorted(", ".join(endpoints[:8]) for endpoints in named)[:2])
    message = f"the service's StatefulSets have {pods} pods, and its servers name {said}"
    return Line(Reason.HOSTS_DIFFER, message, stalled=True)


def _minimum(scene: Scene) -> Line | None:
    minimum, version = scene.view.wanted.minimum, scene.view.candidate.version
    unknown = next((one for one in (minimum, version) if one not in scene.view.order.ranks), None)
    if minimum and unknown is not None:
        message = f"{unknown} is no version that can be compared: minimumVersion is one like {version}"
        return Line(Reason.BELOW_MINIMUM, message, stalled=True)
    if not minimum or not scene.view.order.newer(minimum, than=version):
        return None
    return Line(Reason.BELOW_MINIMUM, f"{version} is older than the minimum, {minimum}", stalled=True)


def downgrade(scene: Scene) -> Line | None:
    """Who runs something later, which nobody has allowed to be left."""
    newer = tuple(member for member in scene.old if _runs_newer(scene, member.told and member.told.version))
    if not newer or scene.view.wanted.allow_downgrade:
        return None
    message = f"{names(newer)} run what is newer than {scene.target}; allowDowngrade would let it"
    return Line(Reason.DOWNGRADE_REFUSED, message, stalled=True)


def _runs_newer(scene: Scene, version: str | None) -> bool:
    known = version in scene.view.order.ranks and scene.target in scene.view.order.ranks
    return known and scene.view.order.newer(version or "", than=scene.target)


def _not_ready(scene: Scene) -> Line | None:
    waiting = tuple(member for member in scene.view.members if not member.ready or member.leaving)
    if not waiting and not scene.starting:
        return None
    return not_ready(waiting or scene.starting)


def not_ready(waiting: tuple[Member, ...]) -> Line:
    why = next((f": {one.trouble}" for one in waiting if one.trouble), "")
    return Line(Reason.NOT_READY, f"{names(waiting)} are not ready{why}")


def _versions(scene: Scene) -> Line | None:
    running = {member.told.version for member in scene.view.members if member.told}
    if len(running) <= 1:
        return None
    hint = "make the pods of one of these anew, of a StatefulSet that has the image of the others"
    return Line(
        Reason.VERSIONS_DIFFER, f"servers run {', '.join(sorted(running))}, and no swap: {hint}", stalled=True
    )


def _upgrade(scene: Scene) -> Line | None:
    if not scene.view.upgrading:
        return None
    return Line(Reason.WAITS_FOR_UPGRADE, f"its turn comes later: {scene.view.upgrading}")


def _canary(scene: Scene) -> Line | None:
    return canary(scene)


BEFORE: tuple[Gate, ...] = (
    _named_twice,
    _missing,
    _no_container,
    _managed_elsewhere,
    _another,
    _obstacle,
    _given_up,
    _image,
)
"""Asked before the image is looked at, and after."""
BEGINNING: tuple[Gate, ...] = (
    *BEFORE,
    _given_up_for_good,
    _misnamed,
    _silent,
    _hosts,
    _minimum,
    downgrade,
    _not_ready,
    _versions,
    _upgrade,
    _canary,
)
"""Asked before the StatefulSets are written."""
BEGUN: tuple[Gate, ...] = (_missing, _no_container)
"""Asked half-way: without these nobody can go on, and nobody is switched or made anew."""


def canary(scene: Scene) -> Line | None:
    """Objects have to be written, read and deleted through every server."""
    quiet = tuple(member for member in scene.view.members if not member.sings.certain)
    if not quiet:
        return None
    why = f": {quiet[0].trouble}" if quiet[0].trouble else ""
    return Line(Reason.WAITS_FOR_CANARY, f"nothing can be written and read through {names(quiet)}{why}")


def _cannot_stage(scene: Scene) -> Line | None:
    unable = tuple(
        member for member in scene.old if member.told and not scene.view.order.stages(member.told.version)
    )
    if not unable:
        return None
    return Line(Reason.CANNOT_STAGE, f"{names(unable)} would take a dry run for a switch", stalled=True)


def _updates_off(scene: Scene) -> Line | None:
    off = tuple(
        member
        for member in scene.view.members
        if member.told and ("MINIO_UPDATE", "off") in member.told.settings
    )
    if not off:
        return None
    return Line(Reason.UPDATES_OFF, f"{names(off)} have MINIO_UPDATE=off", stalled=True)


def _one_processor(scene: Scene) -> Line | None:
    slow = tuple(member for member in scene.view.members if member.told and member.told.processors == 1)
    if not slow:
        return None
    message = f"{names(slow)} use one processor (GOMAXPROCS) and would fall over; two will do"
    return Line(Reason.ONE_PROCESSOR, message, stalled=True)


def _key(scene: Scene) -> Line | None:
    publisher = scene.view.order.publisher
    wanted = scene.view.wanted.minisign_key or publisher
    others = tuple(one for one in scene.view.members if (one.minisign_key or publisher) != wanted)
    if not others:
        return None
    message = f"{names(others)} trust another key (MINIO_UPDATE_MINISIGN_PUBKEY) than trust.minisignKey"
    return Line(Reason.KEY_DIFFERS, message, stalled=True)


def _proxy(scene: Scene) -> Line | None:
    proxied = tuple(member for member in scene.view.members if member.proxied)
    if not proxied:
        return None
    message = (
        f"{names(proxied)} have a proxy in their environment; NO_PROXY has to cover where they reach the"
        " operator: the host of servingURL, else the address of its pod that leads"
    )
    return Line(Reason.PROXY_IN_THE_WAY, message, stalled=True)


def _downgrades(scene: Scene) -> Line | None:
    """Servers refuse it."""
    if any(_runs_newer(scene, member.told and member.told.version) for member in scene.old):
        return Line(Reason.DOWNGRADE_REFUSED, f"servers refuse {scene.target} in place: it is older")
    return None


def _rehearsal(scene: Scene) -> Line | None:
    """What is known of it is of this term alone; how it was decided stands with the swap."""
    last = scene.view.outcomes.last.get(f"rehearse {scene.target}")
    if last is None or last.answer is not Answer.FAILED or last.attempt < MOST_REHEARSALS:
        return None
    return Line(Reason.REHEARSAL_FAILED, last.message, stalled=True)


def _same_version(scene: Scene) -> Line | None:
    """Servers refuse to switch to what is not newer, and one that starts with another build than its peers'
    waits for them for ever."""
    digest = scene.view.candidate.image.partition("@")[2]
    others = tuple(member for member in scene.new if not digest or _digest(member) != digest)
    if scene.swap is not None or not others:
        return None
    message = (
        f"{names(others)} run {scene.target} already, perhaps another build of it; RecreateAll can swap it"
    )
    return Line(Reason.SAME_VERSION, message, stalled=True)


def _digest(member: Member) -> str:
    return member.image.partition("@")[2] or member.digest


def may_stop(scene: Scene) -> Line | None:
    """Asked of an image that is swapped in place: pods are made anew one by one then, which has to end."""
    needed = tuple(member for member in scene.view.members if member.may_stop is Truth.FALSE)
    if not needed:
        return None
    why = f": {needed[0].trouble}" if needed[0].trouble else ""
    message = f"the service would not be well without {names(needed)}{why}; RecreateAll can swap it"
    return Line(Reason.MAY_NOT_STOP, message, stalled=len(needed) == len(scene.view.members))


IN_PLACE: tuple[Gate, ...] = (
    _same_version,
    _downgrades,
    _cannot_stage,
    _updates_off,
    _one_processor,
    _key,
    _proxy,
)
"""Why the binary cannot be swapped in place; whether pods are then made anew the service's spec says."""


def first(gates: tuple[Gate, ...], scene: Scene) -> Line | None:
    return next((line for gate in gates if (line := gate(scene)) is not None), None)


def recreates(scene: Scene) -> bool:
    """Whether all pods are made anew at once: as asked, by a downgrade, or where it cannot be in place."""
    wanted = scene.view.wanted
    if wanted.strategy is QuorumStrategy.RECREATE_ALL:
        return True
    line = first(IN_PLACE, scene) or _rehearsal(scene)
    if line is None:
        return False
    return line.reason is Reason.DOWNGRADE_REFUSED or wanted.on_unsupported is OnUnsupported.RECREATE_ALL
