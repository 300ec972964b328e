"""Why a swap is not begun: one ordered list of small gates, each of which says why, or nothing.

All of them are asked before anything is written; once a swap is begun only what the servers say counts.
"""

from __future__ import annotations

from collections.abc import Callable

from shiplift.api.quorum import OnUnsupported, QuorumStrategy
from shiplift.engine.step import Answer
from shiplift.quorum.decide.scene import Scene, names
from shiplift.quorum.model import Line, Reason, Validity

Gate = Callable[[Scene], Line | None]


def _missing(scene: Scene) -> Line | None:
    if not scene.view.missing:
        return None
    named = ", ".join(f"statefulset/{name}" for name in scene.view.missing)
    return Line(Reason.NO_STATEFUL_SET, f"{named} is not there", stalled=True)


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
    message = f"statefulset/{found[0]} is being swapped by quorumservice/{found[1].service}"
    return Line(Reason.SWAPPED_BY_ANOTHER, message)


def _given_up(scene: Scene) -> Line | None:
    if not scene.view.given_up:
        return None
    return Line(Reason.STAGING_FAILED, scene.view.given_up, stalled=True)


def _obstacle(scene: Scene) -> Line | None:
    return scene.view.obstacle


def _image(scene: Scene) -> Line | None:
    if scene.view.candidate.validity is not Validity.REFUSED:
        return None
    return Line(Reason.IMAGE_REFUSED, scene.view.candidate.message, stalled=True)


def _silent(scene: Scene) -> Line | None:
    if not scene.silent:
        return None
    why = "; ".join(f"{member.name}: {member.why_silent}" for member in scene.silent[:4])
    return Line(Reason.WAITS_FOR_SERVERS, f"no version is known of {why}")


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
    if not minimum or not scene.view.order.newer(minimum, than=version):
        return None
    return Line(Reason.BELOW_MINIMUM, f"{version} is older than the minimum, {minimum}", stalled=True)


def _downgrade(scene: Scene) -> Line | None:
    newer = tuple(member for member in scene.old if _runs_newer(scene, member.told and member.told.version))
    if not newer or scene.view.wanted.allow_downgrade:
        return None
    message = f"{names(newer)} run what is newer than {scene.target}; allowDowngrade would let it"
    return Line(Reason.DOWNGRADE_REFUSED, message, stalled=True)


def _runs_newer(scene: Scene, version: str | None) -> bool:
    known = version is not None and version in scene.view.order.ranks
    return known and scene.view.order.newer(version or "", than=scene.target)


def _not_ready(scene: Scene) -> Line | None:
    waiting = tuple(member for member in scene.view.members if not member.ready or member.leaving)
    if not waiting and not scene.starting:
        return None
    return Line(Reason.NOT_READY, f"{names(waiting or scene.starting)} are not ready")


def _versions(scene: Scene) -> Line | None:
    running = {member.told.version for member in scene.view.members if member.told}
    if len(running) <= 1:
        return None
    return Line(Reason.VERSIONS_DIFFER, f"servers run {', '.join(sorted(running))}", stalled=True)


def _upgrade(scene: Scene) -> Line | None:
    if not scene.view.upgrading:
        return None
    message = f"the cluster is being upgraded to {scene.view.upgrading}: its turn comes after"
    return Line(Reason.WAITS_FOR_UPGRADE, message)


def _canary(scene: Scene) -> Line | None:
    return canary(scene)


BEFORE: tuple[Gate, ...] = (_missing, _managed_elsewhere, _another, _obstacle, _given_up, _image)
"""Asked before the image is looked at, and after."""
BEGINNING: tuple[Gate, ...] = (
    *BEFORE,
    _silent,
    _hosts,
    _minimum,
    _downgrade,
    _not_ready,
    _versions,
    _upgrade,
    _canary,
)
"""Asked before the StatefulSets are written."""


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
    wanted = scene.view.wanted.minisign_key
    others = tuple(member for member in scene.view.members if member.minisign_key != wanted)
    if not others:
        return None
    message = f"{names(others)} trust another key (MINIO_UPDATE_MINISIGN_PUBKEY) than trust.minisignKey"
    return Line(Reason.KEY_DIFFERS, message, stalled=True)


def _proxy(scene: Scene) -> Line | None:
    proxied = tuple(member for member in scene.view.members if member.proxied)
    if not proxied:
        return None
    message = (
        f"{names(proxied)} have a proxy in their environment; NO_PROXY has to name the operator's Service"
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
    if last is None or last.answer is not Answer.FAILED:
        return None
    return Line(Reason.REHEARSAL_FAILED, last.message, stalled=True)


IN_PLACE: tuple[Gate, ...] = (_downgrades, _cannot_stage, _updates_off, _one_processor, _key, _proxy)
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
