"""Section `configManager` of the operator's ConfigMap: where policies come from, and how often to ask."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from shiplift.api.upgrade import UpgradeType
from shiplift.api.values import Duration, Name, SecretKey, duration
from shiplift.outside.reaching import Reaching

SHORTEST, LONGEST = timedelta(seconds=10), timedelta(days=7)
_HTTPS = r"^https://[^\s/?#@]+([/?#][^\s]*)?$"

Https = Annotated[str, Meta(max_length=2048, pattern=_HTTPS)]


class Provider(StrEnum):
    """Who says which version the cluster should have."""

    LOCAL = "Local"
    """Whoever writes the UpgradeConfig."""
    HTTP = "HTTP"
    """A document at an address."""
    OCM = "OCM"
    """OpenShift Cluster Manager."""


class Policies(StrEnum):
    """Which of OCM's collections is asked."""

    CLUSTER = "upgrade_policies"
    CONTROL_PLANE = "control_plane_upgrade_policies"


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    pass


class Http(_Part, frozen=True, kw_only=True):
    """A document over https."""

    url: Https
    token: SecretKey | None = None
    """A bearer token, in a Secret of the operator's namespace."""


class Ocm(_Part, frozen=True, kw_only=True):
    """OpenShift Cluster Manager."""

    base_url: Https = "https://api.openshift.com"
    cluster_id: Annotated[str, Meta(max_length=64, pattern=r"^[0-9a-zA-Z-]*$")] = ""
    """The external id; what ClusterVersion says where empty."""
    policies: Policies = Policies.CLUSTER
    pull_secret: Name | None = None
    """The name of a Secret in the operator's namespace; OpenShift's own where none is given."""
    upgrade_type: UpgradeType = UpgradeType.OPENSHIFT


class Section(_Part, frozen=True, kw_only=True):
    """The whole section; without one the UpgradeConfig is whoever's who writes it."""

    provider: Provider = Provider.LOCAL
    watch_interval: Annotated[int, Meta(ge=1)] | Duration = 60
    """How long to wait after one sync before the next: minutes, or a duration."""
    http: Http | None = None
    ocm: Ocm = Ocm()
    reach: Reaching = Reaching()

    def __post_init__(self) -> None:
        if self.provider is Provider.HTTP and self.http is None:
            raise ValueError("provider HTTP needs http.url")
        if not SHORTEST <= self.period <= LONGEST:
            raise ValueError("watchInterval must be from 10s to 7 days (10080)")

    @property
    def period(self) -> timedelta:
        said = self.watch_interval
        return timedelta(minutes=said) if isinstance(said, int) else duration(said)

    @property
    def source(self) -> str:
        """A digest of where policies come from: an answer counts for its own source only."""
        asked = msgspec.structs.replace(self, watch_interval=60)
        return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:16]
