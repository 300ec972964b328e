"""From the JSON of one of our own objects to its row."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from sys import intern

from shiplift import api
from shiplift.api.base import ObjectMeta
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels, Owner
from shiplift.kube.rows.meta import keeps_annotation


def decoder(kind: Kind) -> partial[Custom]:
    """What makes rows of that kind; its types are learnt here, before threads use them."""
    api.decoder(kind)
    return partial(_custom, kind)


def _custom(kind: Kind, raw: bytes) -> Custom:
    decoded = api.decode(kind, raw)
    about: ObjectMeta = decoded.metadata
    return Custom(
        namespace=intern(about.namespace),
        name=about.name,
        uid=about.uid,
        resource_version=int(about.resource_version or 0),
        generation=about.generation,
        created=_seconds(about.creation_timestamp),
        deleting=_seconds(about.deletion_timestamp),
        labels=Labels(about.labels),
        annotations=Labels((key, value) for key, value in about.annotations.items() if keeps_annotation(key)),
        owners=tuple(
            Owner(one.kind, one.name, one.uid, one.controller, one.api_version)
            for one in about.owner_references
        ),
        finalizers=about.finalizers,
        object=decoded,
    )


def _seconds(moment: datetime | None) -> int:
    return int(moment.timestamp()) if moment else 0
