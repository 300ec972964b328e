"""A record that somebody has stripped is known in memory alone: it is forgotten once the end was written, or
may have been; never because that was refused."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.facts.kinds import STATEFUL_SET, Kind
from shiplift.kube.errors import Conflict, Forbidden, KubeError, ServerError, Throttled, Unknown, Unreachable
from shiplift.quorum.act.sets import Sets
from shiplift.quorum.names import Before, Record
from shiplift.quorum.steps import Finish, PutBack
from tests.quorum.objects import Json, Objects

OLD, NEW, UID = "store/minio:1", "store/minio:2", "u-1"
ROLLING: Json = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
REFUSED = (
    Conflict("it has changed", status=409),
    Forbidden("a webhook says no", status=403),
    Throttled("too much", status=429),
    Unreachable("nobody answers"),
)
IN_DOUBT = (Unknown("no answer"), ServerError("etcd took too long", status=500))


def sets(raised: KubeError | None) -> tuple[Sets, Objects, dict[str, Record]]:
    objects, known = Objects(), {UID: Record("store", "2", NEW, "minio", Before(OLD, ROLLING))}
    container = {"name": "minio", "image": NEW}
    spec = {"updateStrategy": {"type": "OnDelete"}, "template": {"spec": {"containers": [container]}}}
    objects.put(STATEFUL_SET, {"metadata": {"name": "minio", "uid": UID}, "spec": spec})

    def admit(kind: Kind, live: Json) -> None:
        del kind, live
        if raised is not None:
            raise raised

    objects.admission.append(admit)
    client: Any = objects
    return Sets(client, "space", "store", "minio", known), objects, known


@pytest.mark.parametrize("end", [PutBack, Finish])
@pytest.mark.parametrize("error", REFUSED, ids=lambda one: type(one).__name__)
def test_an_end_that_was_refused_is_taken_again_with_what_was_before(
    error: KubeError, end: type[PutBack | Finish]
) -> None:
    found, objects, known = sets(error)
    assert not found.take(end("minio", UID)).ok
    assert known
    objects.admission.clear()
    assert found.take(end("minio", UID)).ok
    assert objects.get(STATEFUL_SET, "minio")["spec"]["updateStrategy"] == ROLLING
    assert known == {}


@pytest.mark.parametrize("error", IN_DOUBT, ids=lambda one: type(one).__name__)
def test_an_end_that_may_have_been_written_is_forgotten(error: KubeError) -> None:
    found, _, known = sets(error)
    assert not found.take(Finish("minio", UID)).ok
    assert known == {}
