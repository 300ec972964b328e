"""One version at one moment, as the gates of its installation see it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec

from shiplift.api.operators import RequirementStatus
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import DEPLOYMENT
from shiplift.operators.model import InstallView, Line, Piece
from shiplift.operators.rows import app_of

LOOK_AGAIN = timedelta(seconds=15)
"""While something is waited for that no event may announce."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One version at one moment."""

    view: InstallView
    required: tuple[RequirementStatus, ...]
    before: tuple[Custom, ...]
    """The versions that it takes over from."""

    @property
    def version(self) -> Custom:
        return self.view.version

    @property
    def account(self) -> str:
        app = self.view.site.app
        return app_of(app).spec.service_account_name if app is not None else ""

    @property
    def deployments(self) -> list[Piece]:
        return [one for one in self.view.pieces if one.kind == DEPLOYMENT]


Gate = Callable[[Case], Line | None]
"""Why it is not installed yet, and what is done about it; None where this is not why."""


def more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
