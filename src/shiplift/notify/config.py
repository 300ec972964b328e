"""Section `notify` of the operator's ConfigMap: how far notices may go."""

from __future__ import annotations

import msgspec

from shiplift.outside.reaching import Reaching


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The whole section; without one only public addresses are reached."""

    reach: Reaching = Reaching()
