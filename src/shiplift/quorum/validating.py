"""Step 1 of a swap: the image is pulled and its binary checked; what is wrong with it is told, not raised.

What cannot be had now (a registry that is away) is no verdict on the image: it is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from shiplift.api.quorum import QuorumServiceSpec
from shiplift.kube.secrets import SecretUnusable
from shiplift.quorum import binary
from shiplift.quorum.engines.protocol import Engine
from shiplift.quorum.images import cosign, documents, pulling
from shiplift.quorum.images.credentials import PullSecrets
from shiplift.quorum.images.errors import Denied, ImageError, RegistryAway
from shiplift.quorum.images.fetching import Fetcher
from shiplift.quorum.images.reference import Reference, allowed
from shiplift.quorum.images.registry import Image, Platform, Registry
from shiplift.quorum.model import Candidate, Validity
from shiplift.quorum.serving import Artifact

Opening = Callable[[frozenset[str], float], Fetcher]
"""A way to these hosts and no others, until a moment of `time.monotonic`."""
MOST_SECONDS = 600.0
"""Of all that one image takes: asking, fetching, unpacking."""


class Trust(msgspec.Struct, frozen=True):
    """Whose signatures are believed, and who may be asked."""

    minisign_key: str = ""
    """Empty means the publisher's."""
    cosign_key: str = ""
    registries: tuple[str, ...] = ()


def trust_of(spec: QuorumServiceSpec) -> Trust:
    trust = spec.trust
    return Trust(trust.minisign_key or "", trust.cosign_key or "", trust.registries)


class Validated(msgspec.Struct, frozen=True):
    """What was found out; without an artifact where the image is refused."""

    candidate: Candidate
    artifact: Artifact | None = None
    notes: tuple[str, ...] = ()
    """What was not checked, in words."""


class Validator:
    """Pulls into one cache and checks with one engine; its time begins when it is made."""

    def __init__(self, engine: Engine, opening: Opening, cache: Path, platform: Platform) -> None:
        self._engine, self._opening, self._cache, self._platform = engine, opening, cache, platform
        self._deadline = time.monotonic() + MOST_SECONDS

    def validate(self, name: str, trust: Trust, secrets: PullSecrets) -> Validated:
        """`RegistryAway` where it cannot be said yet, `SecretUnusable` where a secret is wanted that we have
        not got."""
        try:
            return self._validated(name, trust, secrets)
        except RegistryAway:
            raise
        except Denied as error:
            if secrets.troubles:
                raise SecretUnusable(f"{error}; {'; '.join(secrets.troubles)}") from None
            return Validated(Candidate(Validity.REFUSED, message=str(error)))
        except (ImageError, binary.Refused) as error:
            return Validated(Candidate(Validity.REFUSED, message=str(error)))

    def _validated(self, name: str, trust: Trust, secrets: PullSecrets) -> Validated:
        reference = Reference.read(name)
        fetcher = self._opening(allowed(reference, trust.registries), self._deadline)
        kept = partial(documents.find, self._cache)
        registry = Registry(fetcher, reference, secrets.by_host, kept)
        image = registry.image(self._platform)
        if trust.cosign_key:
            cosign.verify(registry, image.digest, trust.cosign_key)
        checked = self._checked(image, registry, reference, trust)
        notes = tuple(_unchecked(trust, checked))
        candidate = Candidate(
            Validity.GOOD,
            checked.version,
            _by_digest(reference, image),
            digest=image.digest,
            sha256=checked.sha256,
            notes=notes,
        )
        artifact = Artifact(
            f"{self._engine.program}.{checked.version}", checked.path, checked.sha256, checked.signature
        )
        return Validated(candidate, artifact, notes)

    def _checked(
        self, image: Image, registry: Registry, reference: Reference, trust: Trust
    ) -> binary.Checked:
        """What was kept is checked like what was just pulled; what does not pass is not kept."""
        pulled = pulling.program_of(image, registry, self._engine.program, self._cache, self._deadline)
        key = trust.minisign_key or self._engine.publisher
        try:
            return binary.check(pulled, self._engine, key, reference.tag, image.config.labels)
        except binary.Refused:
            pulling.discard(image, self._cache)
            raise


def _by_digest(reference: Reference, image: Image) -> str:
    return str(msgspec.structs.replace(reference, digest=image.digest))


def _unchecked(trust: Trust, checked: binary.Checked) -> list[str]:
    notes = (
        [] if trust.cosign_key else ["the image's own signature is not checked: trust.cosignKey is not set"]
    )
    return notes if checked.ran else [*notes, "the binary's --version is not checked: it cannot run here"]
