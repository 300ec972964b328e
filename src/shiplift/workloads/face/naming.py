"""Which workload or pod is meant by the name that was typed; a slip is answered with what may be meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection

import msgspec

from shiplift.face.parts import FaceError, Question
from shiplift.workloads.face.explanation import Key
from shiplift.workloads.face.words import SHORT_KINDS

POD = "Pod"
KINDS = {
    "": "",
    **dict.fromkeys(
        ("deploy", "deployment", "deployments", "deployment.apps", "deployments.apps"), "Deployment"
    ),
    **dict.fromkeys(
        ("sts", "statefulset", "statefulsets", "statefulset.apps", "statefulsets.apps"), "StatefulSet"
    ),
    **dict.fromkeys(("po", "pod", "pods"), POD),
}
"""What each word means, as for kubectl; a name alone is any workload."""
_MOST_CHOICES = 5


class Wanted(msgspec.Struct, frozen=True):
    """What was asked for; where kind or namespace is empty, any will do."""

    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.kind or 'workload'} {self.name}{where}"


def wanted(question: Question) -> Wanted:
    return Wanted(KINDS[question.kind], question.name, question.namespace)


def resolve(wanted: Wanted, here: str, there: Collection[Key]) -> Key:
    """The one of those there that is meant; without a namespace, one that is `here` comes first."""
    named = [key for key in there if key[2] == wanted.name]
    fitting = [key for key in named if key[0] == (wanted.kind or key[0])]
    if wanted.namespace:
        fitting = [key for key in fitting if key[1] == wanted.namespace]
    fitting = [key for key in fitting if key[1] == here and not wanted.namespace] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise FaceError(f"there are {len(fitting)} of {wanted}", f"one of {_choices(fitting)}")
    raise FaceError(f"there is no {wanted}", _near(wanted, named, there))


def _near(wanted: Wanted, named: list[Key], there: Collection[Key]) -> str:
    """The same name elsewhere, or one that is nearly the same."""
    close = difflib.get_close_matches(wanted.name, {key[2] for key in there}, n=_MOST_CHOICES)
    similar = [key for name in close for key in there if key[2] == name]
    at_home = [key for key in similar if key[1] == wanted.namespace]
    if found := named or at_home or similar:
        return f"did you mean {_choices(found)}?"
    return f"kubectl get {'pods' if wanted.kind == POD else 'deployments,statefulsets'} -A lists them"


def _choices(keys: list[Key]) -> str:
    shown = [f"{SHORT_KINDS[kind]}/{name} -n {space}" for kind, space, name in keys[:_MOST_CHOICES]]
    more = len(keys) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)
