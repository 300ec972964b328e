"""A view, asked in the words of a swap."""

from __future__ import annotations

import msgspec

from shiplift.engine.contested import Changes
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
        """Nothing is written on them of the swap, or nothing any more."""
        return tuple(pool for pool in self.view.pools if pool.swap is None or not pool.swap.marked)

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
    def is_at_target(self) -> bool:
        """Whoever runs the version, under a name that means the image, is not made anew for its name."""
        members = self.view.members
        as_wanted = all(names_same(pool.image, self.image) for pool in self.view.pools)
        made_of_it = all(names_same(one.image, self.image) or self.is_of_template(one) for one in members)
        return as_wanted and made_of_it and 0 < len(members) == len(self.new)

    @property
    def is_made_of_wanted(self) -> bool:
        """Whether all templates and pods are of the image that is wanted, whatever servers say."""
        wanted = self.view.wanted.image
        of_it = {(one.name, one.revision) for one in self.view.pools if names_same(wanted, one.image)}
        names = {name for name, _ in of_it}
        made = (
            names_same(wanted, one.image) or (bool(one.revision) and (one.pool, one.revision) in of_it)
            for one in self.view.members
        )
        return bool(self.view.members) and all(made) and all(one.name in names for one in self.view.pools)

    @property
    def stray_holds(self) -> tuple[Pool, ...]:
        """Nothing is swapped there, and the hold names this service all the same."""
        return tuple(one for one in self.view.pools if one.swap is None and one.hold == self.view.service)

    @property
    def fought(self) -> Changes:
        """What somebody undoes. Once may be somebody who did not know; twice is a controller."""
        return {change: made for change, made in self.view.changes.items() if made.times > 1}

    @property
    def recorded(self) -> bool:
        """Whether the status still says that something is swapped."""
        return any(pool.swap is not None and pool.swap.recorded for pool in self.view.pools)

    @property
    def is_switching(self) -> bool:
        """Whether servers are being told to switch at this moment."""
        return any(key.startswith("switch ") for key in self.view.outcomes.running)

    @property
    def not_made_anew(self) -> tuple[Member, ...]:
        """Pods whose own image is another: a restart of the container would bring the old binary back. Of one
        that was made from the template somebody may have changed the image's name, for a mirror say."""
        members = self.view.members
        return tuple(one for one in members if one.image != self.image and not self.is_of_template(one))

    def is_of_template(self, member: Member) -> bool:
        """Whether it was made from a template that has the image, whatever its own is called."""
        if not member.revision:
            return False
        made = {(pool.name, pool.revision) for pool in self.view.pools if pool.image == self.image}
        return (member.pool, member.revision) in made


def names_same(wanted: str, image: str) -> bool:
    """Whether a name, with its digest or without, means the image."""
    return image == wanted or image.startswith(f"{wanted}@")


def names(members: tuple[Member, ...]) -> str:
    return ", ".join(member.name for member in members[:8])
