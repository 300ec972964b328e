"""Steps on objects of operators: made, changed, handed over, removed, released. As the account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shiplift.engine.denials import is_denial
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SERVICE_ACCOUNT
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    PreconditionFailed,
    ServerError,
    Throttled,
    Unauthorized,
)
from shiplift.kube.outcomes import SOON, done, gone, uid_of, version_of
from shiplift.kube.rights import allowed
from shiplift.operators import steps
from shiplift.operators.crds.definition import content_of, stored_content_of
from shiplift.operators.handing import acting
from shiplift.operators.handing.ownership import (
    OWNER_UID,
    marked_again,
    owned_meta,
    released,
    taken_meta,
)
from shiplift.operators.model import Refused, Tried
from shiplift.operators.names import BUNDLE, CONTENT, MANIFEST, REQUIRED, STORED, UNINSTALLED
from shiplift.operators.observe.pieces import and_uninstalled

Json = dict[str, Any]

_MOVED_ON = (NotFound, AlreadyExists, Conflict, PreconditionFailed)
_STOPPED: Json = {"spec": {"replicas": 0}, "metadata": {"annotations": {MANIFEST: None}}}
"""It is not what its version wants any more: whoever goes back to that version puts it back."""


def take(client: Client, step: steps.Account) -> Outcome:
    match step:
        case steps.PutPiece():
            return _changed(client, step) if step.uid else _made(client, step)
        case steps.Hand():
            return acting.act(client, step.write)
        case steps.StopDeployment():
            subject = Subject(DEPLOYMENT, step.name, step.namespace, step.uid, "Deployment")
            return change(client, step, subject, lambda live: Edit(_stopped(live, step)))
        case steps.RemovePiece():
            return _removed(client, step)
        case steps.ReleasePiece():
            subject = Subject(step.kind, step.name, step.where, step.uid, step.kind.kind)
            return change(client, step, subject, lambda live: Edit(_released(live, step)))
        case _:
            raise TypeError(f"{type(step).__name__} is no step of this layer")


def _stopped(live: Json, step: steps.StopDeployment) -> Json:
    """It stays what its version owns: it is removed, or taken back, by that."""
    marks = marked_again(live["metadata"], step.owner)
    notes: Json = {**_STOPPED["metadata"]["annotations"], **marks.pop("annotations", {})}
    noted = {BUNDLE: step.version} if BUNDLE not in (live["metadata"].get("annotations") or {}) else {}
    return {**_STOPPED, "metadata": {**marks, "annotations": {**notes, **noted}}}


def tried(client: Client, puts: Iterable[steps.PutPiece], rights: Iterable[steps.Right] = ()) -> Tried:
    """What the API server would say to each of them, one for itself: that something else is not there yet is
    no objection."""
    refused: list[Refused] = []
    for one in puts:
        try:
            _changed(client, one, dry_run=True) if one.uid else _made(client, one, dry_run=True)
        except ApiError as error:
            refused += _refused(one, error)
    lacking = [one for one in rights if not _may(client, one)]
    refused += [Refused(str(one), f"the account may not {one}") for one in lacking]
    return Tried(tuple(refused))


def _refused(one: steps.PutPiece, error: ApiError) -> Iterator[Refused]:
    """Nothing where the next look clears it up; raised is what says nothing about the object."""
    denied = is_denial(error.message)
    if isinstance(error, _MOVED_ON) and not denied:
        return
    if isinstance(error, (ServerError, Throttled, Unauthorized)) and not denied:
        raise error
    where = f"{one.where}/{one.name}" if one.where else one.name
    lacking = isinstance(error, Forbidden) and not denied
    yield Refused(f"{one.kind} {where}", error.message, lacking)


def _may(client: Client, one: steps.Right) -> bool:
    return allowed(client, one.verb, one.kind.group, one.kind.plural, one.namespace)


def _made(client: Client, step: steps.PutPiece, *, dry_run: bool = False) -> Outcome:
    body = {**step.manifest, "metadata": owned_meta(_marked(step), step.owner)}
    if step.kind == CUSTOM_RESOURCE_DEFINITION and not dry_run:
        body = noting_stored(body, client.create(step.kind, body, step.where, dry_run=True))
    return done(step, client.create(step.kind, body, step.where, dry_run=dry_run))


def noting_stored(body: Json, tried: Written) -> Json:
    """With a note of what the API server makes of it, as it has said to a dry run."""
    if "spec" not in tried.object:
        return body
    meta: Json = body["metadata"]
    notes: Json = {**(meta.get("annotations") or {}), STORED: stored_content_of(tried.object)}
    return {**body, "metadata": {**meta, "annotations": notes}}


def _marked(step: steps.PutPiece) -> Json:
    meta = step.manifest["metadata"]
    defines = step.kind == CUSTOM_RESOURCE_DEFINITION and not step.content_stays
    content = {CONTENT: content_of(step.manifest)} if defines else {}
    return {**meta, "annotations": {**(meta.get("annotations") or {}), **content, MANIFEST: step.digest}}


def _changed(client: Client, step: steps.PutPiece, *, dry_run: bool = False) -> Outcome:
    """The whole object in one write, so that what the new version does not say any more is gone from it."""
    live = client.get(step.kind, step.name, step.where)
    notes: Json = live["metadata"].get("annotations") or {}
    if uid_of(live) != step.uid:
        return Outcome.refused(step, f"another {step.kind} has its name now", SOON)
    if notes.get(OWNER_UID, "") not in (step.seen_owner, step.owner.uid):
        return Outcome.refused(step, "it belongs to another version now", SOON)
    if live["metadata"].get("generation", 0) != step.seen_generation:
        return Outcome.refused(step, "somebody has changed it meanwhile", SOON)
    meta = taken_meta(live["metadata"], _marked(step), step.before, step.owner)
    meta["annotations"].pop(UNINSTALLED, None)
    if step.kind == SERVICE_ACCOUNT or step.content_stays:
        # others add secrets to an account; only whose it is changes
        written = client.patch(
            step.kind,
            step.name,
            {"metadata": meta},
            step.where,
            uid=step.uid,
            resource_version=version_of(live),
            dry_run=dry_run,
        )
        return done(step, written)
    body = {**step.manifest, "metadata": meta}
    if step.kind == CUSTOM_RESOURCE_DEFINITION and not dry_run:
        body = noting_stored(body, client.update(step.kind, body, dry_run=True))
    return done(step, client.update(step.kind, body, dry_run=dry_run))


def _removed(client: Client, step: steps.RemovePiece) -> Outcome:
    try:
        written = client.delete(step.kind, step.name, step.where, uid=step.uid, resource_version=step.version)
    except (NotFound, PreconditionFailed) as error:
        return gone(step, error)
    return done(step, written)


def _released(live: Json, step: steps.ReleasePiece) -> Json:
    patch, about = released(live["metadata"], step.owner), live["metadata"]
    notes: Mapping[str, str] = about.get("annotations") or {}
    said: dict[str, str | None] = {MANIFEST: None} if MANIFEST in notes else {}
    if REQUIRED in (about.get("labels") or {}):
        said[UNINSTALLED] = and_uninstalled(notes, step.namespace, step.package)
    if patch and said:
        patch["metadata"].setdefault("annotations", {}).update(said)
    return patch
