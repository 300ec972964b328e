"""What to do about the UpgradeConfig: an ordered list of gates, and the first that closes says it.

Whatever is not certain changes nothing: settings that cannot be read, rows that are old, a provider that does
not answer. What a user made by hand is theirs. An upgrade that has begun is never taken away, nor sent
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shiplift.api.marks import POLICY_APPLIED, POLICY_ID, PROVIDER_LABEL
from shiplift.api.upgrade import Queued, UpgradeConfigSpec
from shiplift.engine import versions
from shiplift.engine.probes import Unknown
from shiplift.facts.custom import Custom
from shiplift.policy.config import Provider, Section
from shiplift.policy.decide import schedule
from shiplift.policy.document import Wanted
from shiplift.policy.model import Answer, Judgement, View, config_of, has_started, is_running
from shiplift.policy.steps import Confirm, Create, Delete, Replace

_SLACK = timedelta(minutes=5)
_NOTHING = Judgement()


class Case:
    """A view at one moment, with what several gates ask of it."""

    def __init__(self, view: View, config: Section, now: datetime) -> None:
        self.view, self.config, self.now = view, config, now
        self.provider = config.provider.value

    @property
    def current(self) -> Custom | None:
        return self.view.current

    @property
    def answer(self) -> Answer | None:
        """What the provider says, if that is certain: asked by these settings, the last time with success,
        and not too long ago."""
        probe = self.view.asking.probe
        found = probe.at(self.now)
        if isinstance(found, Unknown) or probe.failures or found.age > 2 * self.config.period + _SLACK:
            return None
        return found.value if found.value.purpose.source == self.config.source else None

    @property
    def policy(self) -> Wanted | None:
        return self.answer.policy if self.answer is not None else None


Gate = Callable[[Case], Judgement | None]


def nothing_is_certain(case: Case) -> Judgement | None:
    """Old rows, or an UpgradeConfig that cannot be read: nobody knows what a change would change."""
    return Judgement(trouble=case.view.unsure) if case.view.unsure else None


def local(case: Case) -> Judgement | None:
    """The UpgradeConfig is the policy: it is what its provider says, whoever asks."""
    if case.config.provider is not Provider.LOCAL:
        return None
    return _confirmed(case, schedule.wish(case.view))


def not_answered(case: Case) -> Judgement | None:
    """Without an answer all stays as it is, what is told included."""
    if case.answer is not None:
        return None
    error = case.view.asking.probe.error if case.view.asking.probe.failures else ""
    return as_told(case.view, f"provider {case.provider} cannot be asked: {error}" if error else "")


def as_told(view: View, trouble: str) -> Judgement:
    """What is told of the policy stays, beside what is wrong now."""
    told = config_of(view.current).status.policy if view.current is not None else None
    queued = told.queued if told is not None else None
    return Judgement(trouble=trouble, queued=queued, lost=told is not None and told.lost)


def made_by_hand(case: Case) -> Judgement | None:
    """What somebody made by hand is neither changed nor deleted: its upgrade is its user's own wish, and is
    carried out."""
    if case.current is None or PROVIDER_LABEL in case.current.labels:
        return None
    return Judgement(
        trouble=f"UpgradeConfig {case.current.name} was made by hand, but policies come from {case.provider};"
        " it is left alone and carried out, and no policy is followed"
        " (hint: delete it, or set provider: Local)"
    )


def going(case: Case) -> Judgement | None:
    """What is being deleted is waited for."""
    return _NOTHING if case.current is not None and case.current.deleting else None


def no_policy(case: Case) -> Judgement | None:
    """Before its start the UpgradeConfig goes with its policy; after that it stays, and who tries it again
    is told that the provider was asked: it has nothing that says otherwise."""
    if case.policy is not None:
        return None
    if case.current is None:
        return _NOTHING
    config = config_of(case.current)
    if has_started(config):
        kept = as_it_should_be(case)
        return Judgement(kept.steps, lost=is_running(config))
    gone = case.current.annotations.get(POLICY_ID, "?")
    return Judgement((Delete(case.current.uid, case.current.resource_version, gone),))


def absent(case: Case) -> Judgement | None:
    """There is a policy, and no UpgradeConfig."""
    if case.current is not None or case.policy is None:
        return None
    return Judgement((Create(case.provider, case.policy),))


def frozen(case: Case) -> Judgement | None:
    """While an upgrade runs, a policy that leads elsewhere waits for its end."""
    if case.current is None or case.policy is None:
        return None
    config, wanted = config_of(case.current), case.policy.spec
    target = versions.goal(config.status.target_version or config.spec.desired.version or "")
    if not is_running(config) or versions.goal(wanted.desired.version or "") == target:
        return None
    return Judgement(queued=Queued(desired=wanted.desired, upgrade_at=wanted.upgrade_at))


def differs(case: Case) -> Judgement | None:
    """The UpgradeConfig is not what the policy says."""
    row, policy = case.current, case.policy
    if row is None or policy is None:
        return None
    notes = row.annotations
    marked = (row.labels.get(PROVIDER_LABEL), notes.get(POLICY_ID), notes.get(POLICY_APPLIED))
    wanted = (case.provider, policy.id, policy.digest)
    if policy.same_as(config_of(row).spec) and marked == wanted:
        return None
    anew = not is_running(config_of(row)) and _begins_anew(config_of(row).spec, policy.spec)
    names = zip((PROVIDER_LABEL, POLICY_ID, POLICY_APPLIED), marked, wanted, strict=True)
    others = (
        *(f"spec.{name}" for name in policy.differing(config_of(row).spec)),
        *(name for name, have, want in names if have != want),
    )
    return Judgement((Replace(row.uid, row.resource_version, case.provider, policy, anew, others),))


def _begins_anew(spec: UpgradeConfigSpec, wanted: UpgradeConfigSpec) -> bool:
    """Whether an abort goes with what was aborted: another channel, or the same version in other words, is no
    other upgrade."""
    before, after = (versions.goal(one.desired.version or "") for one in (spec, wanted))
    return spec.abort and after != before


def as_it_should_be(case: Case) -> Judgement:
    """Nothing is to be changed; whoever waits for that is told."""
    return _confirmed(case, case.answer.purpose.refresh if case.answer is not None else "")


def _confirmed(case: Case, refreshed: str) -> Judgement:
    row = case.current
    if row is None or not refreshed or refreshed != schedule.wish(case.view):
        return _NOTHING
    taken = case.now if case.config.provider is Provider.LOCAL else case.view.asking.probe.taken
    answered = f"{(taken or case.now).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return Judgement((Confirm(row.uid, row.resource_version, refreshed, answered),))


GATES: tuple[Gate, ...] = (
    nothing_is_certain,
    local,
    not_answered,
    made_by_hand,
    going,
    no_policy,
    absent,
    frozen,
    differs,
    as_it_should_be,
)


def judged(case: Case) -> Judgement:
    """What the first gate that closes says."""
    return next(found for gate in GATES if (found := gate(case)) is not None)
