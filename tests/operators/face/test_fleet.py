"""What people see of operators."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from shiplift import api
from shiplift.api.operators import AppType, OperatorCatalog, OperatorVersion
from shiplift.face.parts import FaceError, Question
from shiplift.facts.kinds import APP_TYPE, OPERATOR_CATALOG, OPERATOR_VERSION, Kind
from shiplift.operators.face import layout
from shiplift.operators.face.explain import EXPLAIN
from shiplift.operators.face.fleet import FleetView, changes, fleet_data, fleet_view
from shiplift.operators.face.standing import HELP, standing
from shiplift.operators.model import NEED_SOMEBODY
from shiplift.view.section import Arrival
from shiplift.view.values import Heard

Json = dict[str, Any]
NOW = 1_795_000_000


def condition(about: str, status: str, reason: str, message: str = "") -> Json:
    at = "2026-11-17T10:00:00Z"
    return {"type": about, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def made(kind: Kind, name: str, spec: Json, namespace: str = "ops", **status: Any) -> Any:
    body = {
        "metadata": {"name": name, "namespace": namespace, "generation": 1},
        "spec": spec,
        "status": {"observedGeneration": 1, **status},
    }
    return api.decode(kind, msgspec.json.encode(body))


def app(name: str, *said: Json, namespace: str = "ops", **status: Any) -> AppType:
    spec = {"package": name, "serviceAccountName": "installer"}
    return made(APP_TYPE, name, spec, namespace, conditions=list(said), **status)


def catalog(*said: Json) -> OperatorCatalog:
    spec = {"source": {"folder": {"path": "/catalog"}}}
    return made(OPERATOR_CATALOG, "main", spec, conditions=list(said), packages=3)


def version(name: str, app_type: str, **status: Any) -> OperatorVersion:
    spec = {
        "appType": app_type,
        "package": app_type,
        "version": "1.1.0",
        "installStrategy": {"deployments": [{"name": "x", "spec": {}}]},
    }
    return made(OPERATOR_VERSION, name, spec, **status)


READY = condition("Ready", "True", "Installed")
STUCK = (
    condition("Ready", "False", "CRDUnsafe", "boats loses a field"),
    condition("Stalled", "True", "CRDUnsafe", "boats loses a field"),
)
BEHIND = condition("UpToDate", "False", "NeedsApproval", "version 1.1.0 is not approved")


def seen(*apps: AppType, heard: Heard | None = None) -> FleetView:
    found = fleet_view(apps, [catalog(READY)], NOW, heard)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "state", "arrival"),
    [
        ((READY,), "running", Arrival.MOVED),
        ((READY, BEHIND), "behind", Arrival.MOVED),
        (STUCK, "stalled", Arrival.NOT_YET),
        ((condition("Ready", "False", "Installing"),), "installing", Arrival.NOT_YET),
        ((), "not seen", Arrival.NOT_YET),
    ],
)
def test_one_word_says_where_an_operator_is(said: tuple[Json, ...], state: str, arrival: Arrival) -> None:
    view = seen(app("boats", *said))
    assert view.apps[0].state == state
    assert view.arrival is arrival


def test_without_an_apptype_there_is_nothing_to_tell() -> None:
    assert fleet_view([], [catalog()], NOW, None) is None


def test_who_is_stuck_is_named_and_texts_of_others_do_nothing_to_a_terminal() -> None:
    view = seen(app("boats", *STUCK, message="boats\x1b[2J loses a field"), app("nets", READY))
    assert view.stalled == "ops/boats: boats [2J loses a field"
    assert "\x1b" not in drawn(layout.fleet(view, None))


def test_a_change_is_told_once() -> None:
    before, after = seen(app("boats")), seen(app("boats", READY, installed="1.0.0"))
    assert changes(before, after) == ["ops/boats: running, 1.0.0"]
    assert changes(after, after) == []


def test_programs_read_the_same() -> None:
    data = fleet_data(seen(app("boats", READY, installed="1.0.0", latest="1.1.0")))
    assert data["appTypes"] == [
        {
            "namespace": "ops",
            "name": "boats",
            "package": "boats",
            "installed": "1.0.0",
            "latest": "1.1.0",
            "state": "running",
            "message": "",
            "stalled": False,
        }
    ]


def test_a_silent_operator_is_told_of() -> None:
    view = seen(app("boats", READY), heard=Heard(NOW - 100))
    assert "operator" in view.hints[0]


# --- one of them ---


def test_an_explanation_says_what_is_missing_and_what_would_help() -> None:
    missing = {
        "kind": "CustomResourceDefinition",
        "name": "boats.x",
        "state": "Missing",
        "message": "not there",
    }
    finding = {
        "crd": "boats.x",
        "rule": "FieldRemoval",
        "action": "Deny",
        "path": ".size",
        "message": "it goes",
    }
    of = version(
        "boats.v1.1.0",
        "boats",
        phase="Failed",
        requirements=[missing],
        crdFindings=[finding],
        conditions=list(STUCK),
    )
    told = standing(app("boats", *STUCK, BEHIND, path=[{"name": "boats.v1.1.0", "version": "1.1.0"}]), [of])
    text = drawn(layout.standing(told))
    for words in ("boats.x: not there", "FieldRemoval: it goes", "spec.crdSafety", "spec.approved", "1.1.0"):
        assert words in text


class Cluster:
    """What a command is told of a cluster."""

    namespace = "ops"

    def __init__(self, *found: Any) -> None:
        self.found = found

    def objects(self, kind: Kind) -> list[Any]:
        return [one for one in self.found if kind == one.KIND]

    def collected(self, watches: Any) -> Any:
        raise NotImplementedError


def asked(cluster: Cluster, kind: str, name: str, namespace: str = "") -> str:
    return EXPLAIN.explained(cluster, Question(kind, name, namespace), NOW).line.name


def test_an_apptype_is_found_by_its_name_or_by_its_version() -> None:
    cluster = Cluster(app("boats", READY), version("boats.v1.1.0", "boats"))
    assert asked(cluster, "apptype", "boats") == "boats"
    assert asked(cluster, "opv", "boats.v1.1.0") == "boats"


def test_what_is_not_there_is_said_with_what_may_be_meant() -> None:
    with pytest.raises(FaceError) as error:
        asked(Cluster(app("boats")), "apptype", "boast")
    assert error.value.hint == "did you mean apptype/boats?"


def test_of_two_the_namespace_decides() -> None:
    cluster = Cluster(app("boats", namespace="a"), app("boats", namespace="b"))
    with pytest.raises(FaceError, match="2 AppTypes"):
        asked(cluster, "apptype", "boats")
    assert asked(cluster, "apptype", "boats", "b") == "boats"


def drawn(picture: Any) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(picture)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_whatever_needs_somebody_says_what_helps() -> None:
    assert HELP.keys() >= NEED_SOMEBODY
