"""A view, asked in the words of a swap."""

from __future__ import annotations

import msgspec

from shiplift.quorum.model import Member, Pool, Swap, View


class Scene(msgspec.Struct, frozen=True):
    """What a view means for the swap that is under way, or that is wanted."""

    view: View

    @property
    def swap(self) -> Swap | None:
        """Of this service, as the first StatefulSet that is marked has it; all are marked the same."""
        marks = (pool.swap for pool in self.view.pools)
        return next((mark for mark in marks if mark and mark.service == self.view.service), None)

    @property
    def target(self) -> str:
        return self.swap.target if self.swap else self.view.candidate.version

    @property
    def image(self) -> str:
        return self.swap.image if self.swap else self.view.candidate.image

    @property
    def unmarked(self) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.view.pools if pool.swap is None)

    @property
    def held(self) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.view.pools if pool.swap and pool.swap.held)

    @property
    def not_held(self) -> tuple[Pool, ...]:
        """Marked, and their pods may be moved."""
        return tuple(pool for pool in self.view.pools if pool.swap and not pool.swap.held)

    @property
    def altered(self) -> tuple[Pool, ...]:
        """Marked, and not what the swap had made of them: somebody else wrote there."""
        return tuple(
            pool
            for pool in self.view.pools
            if pool.swap and (pool.image != pool.swap.image or not pool.on_delete)
        )

    @property
    def silent(self) -> tuple[Member, ...]:
        return tuple(member for member in self.view.members if member.told is None)

    @property
    def starting(self) -> tuple[Member, ...]:
        """They say who they are, and do not serve."""
        return tuple(member for member in self.view.members if member.told and not member.told.serving)

    def runs_target(self, member: Member) -> bool:
        return member.told is not None and self.view.order.same(member.told.version, self.target)

    @property
    def new(self) -> tuple[Member, ...]:
        return tuple(member for member in self.view.members if self.runs_target(member))

    @property
    def old(self) -> tuple[Member, ...]:
        """They say that they run something else."""
        members = self.view.members
        return tuple(member for member in members if member.told and not self.runs_target(member))

    @property
    def not_made_anew(self) -> tuple[Member, ...]:
        """Pods whose own image is another: a restart of the container would bring the old binary back."""
        return tuple(member for member in self.view.members if member.image != self.image)


def names(members: tuple[Member, ...]) -> str:
    return ", ".join(member.name for member in members[:8])
