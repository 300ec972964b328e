"""Which version of an operator takes over from which, among those that are there. Pure.

Kept true: a version has at most one heir, and nobody is the heir of its own heir, also where somebody went
back to a version that was there before: versions are counted as they are made. Of one that lost its number
the place among the others is known by its age, and by what it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.facts.custom import Custom
from shiplift.operators.model import About, Site
from shiplift.operators.rows import holds, is_untouched, order_of, version_of


def in_order(rows: Iterable[Custom]) -> tuple[Custom, ...]:
    """The versions of an AppType as they were made."""
    every = sorted(rows, key=lambda one: (order_of(one), one.created, one.name))
    found = [one for one in every if order_of(one)]
    for one in every:
        if not order_of(one):
            found.insert(sum(_is_before(other, one) for other in found), one)
    return tuple(found)


def _is_before(other: Custom, one: Custom) -> bool:
    """Seconds are all that ages tell."""
    if other.created != one.created:
        return other.created < one.created
    return version_of(other).spec.replaces != one.name


def number(site: Site, one: Custom) -> int:
    """What counts the versions up to this one; one more than the last, where its own was lost."""
    last = 0
    for other in site.versions:
        last = order_of(other) or last + 1
        if other.uid == one.uid:
            break
    return last


def heir(site: Site, one: Custom) -> Custom | None:
    """The version that takes over from this one; of one that is withdrawn, the version before it."""
    staying = [other for other in site.versions if not other.deleting and other.uid != one.uid]
    place = _place(site, one)
    later = [other for other in staying if _place(site, other) > place]
    for other in later:
        if version_of(other).spec.replaces == one.name:
            return other
    if one.deleting:
        earlier = [other for other in staying if _place(site, other) < place]
        return next((other for other in earlier if version_of(one).spec.replaces == other.name), None)
    return None


def _place(site: Site, one: Custom) -> int:
    every = [other.uid for other in site.versions]
    return every.index(one.uid) if one.uid in every else len(every)


def predecessors(site: Site, one: Custom) -> tuple[Custom, ...]:
    """The versions whose heir this one is, but for those that go and of which nothing ever came."""
    found: list[Custom] = []
    for other in site.versions:
        following = heir(site, other)
        nothing = bool(other.deleting) and is_untouched(other)
        if following is not None and following.uid == one.uid and not nothing:
            found.append(other)
    return tuple(found)


def is_done(site: Site, one: Custom) -> bool:
    """Whether it runs, and has taken over what there was to take over."""
    handed = holds(one, About.HANDED_OVER) or not predecessors(site, one)
    return holds(one, About.INSTALLED) and handed


def current(site: Site) -> Custom | None:
    """The version that runs: the latest that is done."""
    staying = [one for one in site.versions if not one.deleting]
    return next((one for one in reversed(staying) if is_done(site, one)), None)


def newest(site: Site) -> Custom | None:
    """The latest that stays, done or not."""
    return next((one for one in reversed(site.versions) if not one.deleting), None)
