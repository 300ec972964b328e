"""What this layer does, one change at a time."""

from __future__ import annotations

from typing import ClassVar

from shiplift.api.marks import PROVIDER_LABEL, REFRESH_DONE
from shiplift.engine.step import Step
from shiplift.outside.letters import Letter
from shiplift.policy.document import Wanted
from shiplift.policy.model import Purpose

_MADE, _DELETED = "make UpgradeConfig", "delete UpgradeConfig"


class Ask(Step, frozen=True):
    """Ask the provider; the answer comes later, by itself."""

    provider: str
    purpose: Purpose
    attempt: int

    @property
    def key(self) -> str:
        return f"ask {self.attempt}"

    def describe(self) -> str:
        return f"ask provider {self.provider} for policies"


class Create(Step, frozen=True):
    """Make the UpgradeConfig that a policy asks for."""

    provider: str
    policy: Wanted

    @property
    def key(self) -> str:
        return f"create {self.policy.digest}"

    @property
    def change(self) -> str:
        return f"{_MADE} {self.policy.digest}"

    @property
    def takes_back(self) -> str:
        return _DELETED

    def undone_by_others(self) -> str:
        return (
            f"somebody else deletes the UpgradeConfig of policy {self.policy.id}; withdraw the policy at its"
            " provider, or keep them from it"
        )

    def describe(self) -> str:
        return f"make the UpgradeConfig of policy {self.policy.id} from {self.provider}"


class Replace(Step, frozen=True):
    """Make the UpgradeConfig what a policy says, in place."""

    uid: str
    version: int
    provider: str
    policy: Wanted
    anew: bool = False
    """Whether the upgrade before it was aborted: the wish to abort was about that one."""
    differs: tuple[str, ...] = ()
    """The fields, labels and annotations that are not what the policy says."""

    @property
    def key(self) -> str:
        return f"replace {self.uid} {self.policy.digest}"

    @property
    def change(self) -> str:
        return self.key

    @property
    def takes_back(self) -> str:
        """What an earlier policy said."""
        return f"replace {self.uid}"

    def undone_by_others(self) -> str:
        return (
            f"somebody else changes {', '.join(self.differs)} of the UpgradeConfig, which come with policy"
            f" {self.policy.id}; change that at its provider, or keep them from it"
        )

    def describe(self) -> str:
        return f"change the UpgradeConfig to policy {self.policy.id} from {self.provider}"


class Delete(Step, frozen=True):
    """Take the UpgradeConfig away whose policy is gone."""

    uid: str
    version: int
    policy: str

    @property
    def key(self) -> str:
        return f"delete {self.uid}"

    @property
    def change(self) -> str:
        return _DELETED

    @property
    def takes_back(self) -> str:
        return _MADE

    def undone_by_others(self) -> str:
        return (
            f"somebody else makes the UpgradeConfig of policy {self.policy} again, which is gone at its"
            f" provider; keep them from it, or take the label {PROVIDER_LABEL} out where it is managed"
        )

    def describe(self) -> str:
        return f"delete the UpgradeConfig: policy {self.policy} is gone"


class Confirm(Step, frozen=True):
    """Say that the provider was asked once more, and that the UpgradeConfig is what it said."""

    uid: str
    version: int
    refresh: str
    answered: str
    """When the provider answered."""

    @property
    def key(self) -> str:
        return f"confirm {self.uid} {self.refresh}"

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"somebody else takes the annotation {REFRESH_DONE} off the UpgradeConfig, by which an upgrade"
            " waits for the provider; keep them from it"
        )

    def describe(self) -> str:
        return f"confirm that the UpgradeConfig is what the provider says ({self.refresh})"


class Put(Step, frozen=True):
    """Put what is to be reported into the outbox."""

    letters: tuple[Letter, ...]

    @property
    def key(self) -> str:
        return f"put {' '.join(one.id for one in self.letters)}"

    def describe(self) -> str:
        return f"note to report {', '.join(one.id for one in self.letters)}"


class Deliver(Step, frozen=True):
    """Report what the outbox holds first."""

    aside: ClassVar[bool] = True
    letter: Letter

    @property
    def key(self) -> str:
        return f"deliver {self.letter.id}"

    @property
    def lane(self) -> str:
        return self.letter.receiver

    def describe(self) -> str:
        return f"report {self.letter.id} to {self.letter.receiver}"


class Forget(Step, frozen=True):
    """Take out of the outbox what nobody is there for any more."""

    letter: Letter

    @property
    def key(self) -> str:
        return f"forget {self.letter.id}"

    def describe(self) -> str:
        return f"leave {self.letter.id} unreported: {self.letter.receiver} is not the provider any more"
