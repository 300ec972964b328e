"""Whose an object is, and the writes by which it goes from one version of an operator to the next. Pure.

    owned by the old one  ─ adopt ─▶  owned by both, the new one controls  ─ let go ─▶  owned by the new one

Kept true, after every write and whatever comes between two of them: an object has an owner that exists, and
never two that control it. An ownerReference says so where owner and object are in one namespace. Elsewhere
(another namespace, no namespace) the garbage collector would take the owner for absent and delete the object:
there a label and an annotation say it, which change in one write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from shiplift.facts.kinds import OPERATOR_VERSION

Json = dict[str, Any]
OWNER = "operators.shiplift.dev/owner"
"""The label of everything that belongs to an OperatorVersion: by it, it is found."""
OWNER_UID = "operators.shiplift.dev/owner-uid"
"""The annotation beside it: another OperatorVersion of the same name owns nothing."""
_LONGEST = 63


class Owner(msgspec.Struct, frozen=True):
    """An OperatorVersion."""

    namespace: str
    name: str
    uid: str

    @property
    def label(self) -> str:
        """What its label says: namespace and name, where they fit; two that differ stay two."""
        full = f"{self.namespace}.{self.name}"
        if len(full) <= _LONGEST:
            return full
        digest = hashlib.sha256(full.encode()).hexdigest()[:16]
        return f"{full[: _LONGEST - 17].rstrip('-.')}-{digest}"


class Write(StrEnum):
    """What is written next."""

    ADOPT = "adopt"
    LET_GO = "let go"
    RELABEL = "relabel"


def next_write(meta: Json, old: Owner, new: Owner) -> Write | None:
    """The next write on the way from the old owner to the new; none where it is there, or neither owns it."""
    if not _can_refer(meta, new):
        return Write.RELABEL if is_marked(meta, old) else None
    references = _references(meta)
    has_old, has_new = (_find(references, owner) is not None for owner in (old, new))
    if has_old and (not has_new or _controls(references, old)):
        return Write.ADOPT
    if has_new and (has_old or is_marked(meta, old)):
        return Write.LET_GO
    return Write.ADOPT if is_marked(meta, old) else None


def patch(meta: Json, old: Owner, new: Owner) -> Json:
    """The merge patch of the next write; empty where there is none."""
    match next_write(meta, old, new):
        case Write.ADOPT:
            return {"metadata": {"ownerReferences": _adopted(_references(meta), old, new)}}
        case Write.LET_GO:
            return {"metadata": {"ownerReferences": _let_go(_references(meta), old, new), **marks(new)}}
        case Write.RELABEL:
            return {"metadata": marks(new)}
        case None:
            return {}


def marks(owner: Owner) -> Json:
    """The label and annotation of what belongs to it, as a part of metadata."""
    return {"labels": {OWNER: owner.label}, "annotations": {OWNER_UID: owner.uid}}


def reference(owner: Owner, *, controller: bool) -> Json:
    return {
        "apiVersion": OPERATOR_VERSION.api_version,
        "kind": OPERATOR_VERSION.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def owned_meta(meta: Json, owner: Owner) -> Json:
    """Metadata of an object that is about to be created, with what says whose it is."""
    marked = {key: {**_texts(meta, key), **value} for key, value in marks(owner).items()}
    refers = {"ownerReferences": [reference(owner, controller=True)]} if _can_refer(meta, owner) else {}
    return {**meta, **marked, **refers}


def marked_again(meta: Json, owner: Owner) -> Json:
    """The part of a merge patch by which an object says again whose it is; empty where it does."""
    missing: Json = {} if is_marked(meta, owner) else marks(owner)
    references = _references(meta)
    if _can_refer(meta, owner) and _find(references, owner) is None:
        controlled = any(one.get("controller") for one in references)
        missing["ownerReferences"] = [*references, reference(owner, controller=not controlled)]
    return missing


def taken_meta(live: Json, wanted: Json, before: Sequence[Owner], new: Owner) -> Json:
    """Metadata of an object that becomes what the new owner wants and its own in one write. Earlier owners
    stay beside it, without control, until they let go."""
    marked = {key: {**_texts(live, key), **_texts(wanted, key), **value} for key, value in marks(new).items()}
    kept = {
        key: live[key] for key in ("name", "namespace", "uid", "resourceVersion", "finalizers") if key in live
    }
    references = _references(live)
    if _can_refer(live, new):
        earlier = {one.uid for one in before}
        others = [one for one in references if one.get("uid") not in earlier | {new.uid}]
        controlled = any(one.get("controller") for one in others)
        olds = [{**one, "controller": False} for one in references if one.get("uid") in earlier]
        references = [*others, *olds, reference(new, controller=not controlled)]
    return {**kept, **marked, **({"ownerReferences": references} if references else {})}


def released(meta: Json, owner: Owner) -> Json:
    """The merge patch by which an object belongs to that owner no more, and to nobody instead."""
    patched: Json = {}
    if is_marked(meta, owner):
        patched = {"labels": {OWNER: None}, "annotations": {OWNER_UID: None}}
    kept = [one for one in _references(meta) if one.get("uid") != owner.uid]
    if len(kept) != len(_references(meta)):
        patched["ownerReferences"] = kept
    return {"metadata": patched} if patched else {}


def _texts(meta: Json, key: str) -> dict[str, str]:
    return meta.get(key) or {}


def _can_refer(meta: Json, owner: Owner) -> bool:
    return meta.get("namespace") == owner.namespace


def _references(meta: Json) -> list[Json]:
    return list(meta.get("ownerReferences") or ())


def _find(references: Sequence[Json], owner: Owner) -> Json | None:
    return next((one for one in references if one.get("uid") == owner.uid), None)


def _controls(references: Sequence[Json], owner: Owner) -> bool:
    found = _find(references, owner)
    return bool(found and found.get("controller"))


def is_marked(meta: Json, owner: Owner) -> bool:
    labels, annotations = _texts(meta, "labels"), _texts(meta, "annotations")
    return labels.get(OWNER) == owner.label and annotations.get(OWNER_UID) == owner.uid


def _let_go(references: list[Json], old: Owner, new: Owner) -> list[Json]:
    """Who is left controls it, unless somebody else does: of an owner that is deleted, the collector takes
    the reference away, flag and all."""
    others = [one for one in references if one.get("uid") not in (old.uid, new.uid)]
    controlled = any(one.get("controller") for one in others)
    return [*others, reference(new, controller=not controlled)]


def _adopted(references: list[Json], old: Owner, new: Owner) -> list[Json]:
    """The new owner comes in and the old one's flag goes, at once; whoever else controls the object does."""
    others = [one for one in references if one.get("uid") not in (old.uid, new.uid)]
    controlled = any(one.get("controller") for one in others)
    before = [{**one, "controller": False} for one in references if one.get("uid") == old.uid]
    return [*others, *before, reference(new, controller=not controlled)]
