"""The name of an image, in its parts, as container runtimes read it."""

from __future__ import annotations

import re

import msgspec

from shiplift.quorum.images.errors import NotAllowed

_HUB, _HUBS_REGISTRY = "docker.io", "registry-1.docker.io"
_QUAYS = ("cdn.quay.io", *(f"cdn{at:02}.quay.io" for at in range(1, 7)))
_COMPANIONS = {
    _HUB: (
        _HUBS_REGISTRY,
        "auth.docker.io",
        "production.cloudflare.docker.com",
        "docker-images-prod.r2.cloudflarestorage.com",
        "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com",
    ),
    "quay.io": _QUAYS,
    "registry.redhat.io": ("sso.redhat.com", *_QUAYS),
    "registry.access.redhat.com": _QUAYS,
    "ghcr.io": ("pkg-containers.githubusercontent.com",),
}
"""Where well-known registries give out tokens and keep layers: who trusts one has to reach these."""
_LONGEST = 255
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HOST = re.compile(r"(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")


class Reference(msgspec.Struct, frozen=True):
    """`host/repository:tag@digest`; with a digest, the tag is only a name."""

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def read(cls, text: str) -> Reference:
        """`NotAllowed` for what names no image, or not which one."""
        name, _, digest = text.partition("@")
        host, path = _split_host(name)
        repository, _, tag = path.partition(":")
        found = cls(host, repository, tag, digest)
        if why := found._wrong(text):
            raise NotAllowed(f"{text[:200]!r} is no image with a tag or a digest: {why}")
        return found

    @property
    def registry(self) -> str:
        """Who answers for the host."""
        return _HUBS_REGISTRY if self.host == _HUB else self.host

    @property
    def wanted(self) -> str:
        """What is asked for: the digest, where there is one."""
        return self.digest or self.tag

    def _wrong(self, text: str) -> str:
        """What is wrong with it, of several things the one that explains most; empty where nothing is."""
        faults = (
            ("://" in text, "no http:// or https:// goes before it"),
            (any(map(str.isspace, text)), "it has blanks"),
            (any(map(str.isupper, self.repository)), "its repository has capital letters"),
            (not self.tag and not self.digest, "it has none"),
            (self.tag and not _TAG.fullmatch(self.tag), f"{self.tag[:60]!r} is no tag"),
            (self.digest and not is_digest(self.digest), "a digest is sha256: and 64 hexadecimal digits"),
            (not _HOST.fullmatch(self.host), f"{self.host[:60]!r} is no registry"),
            (not _REPOSITORY.fullmatch(self.repository), f"{self.repository[:60]!r} is no repository"),
            (len(self.repository) > _LONGEST, f"its repository has more than {_LONGEST} characters"),
        )
        return next((words for wrong, words in faults if wrong), "")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.repository}{tag}{digest}"


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def allowed(reference: Reference, registries: tuple[str, ...]) -> frozenset[str]:
    """The hosts that may be spoken to for it, or `NotAllowed`; none named means its own alone."""
    named = registries or (reference.host,)
    if reference.host not in named:
        raise NotAllowed(
            f"image {reference} comes from {reference.host}, and trust.registries has {', '.join(named)}"
        )
    companions = (host for one in named for host in _COMPANIONS.get(one, ()))
    return frozenset((*named, *companions))


def _split_host(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return _HUB, name if slash else f"library/{name}"
