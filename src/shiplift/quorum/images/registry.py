"""The registry API: an image's digest, what it is made of, and its parts, each compared with its digest.

What a tag names is asked once; from then on everything goes by digest. Sizes are capped before anything is
fetched, by what the manifest says, and while it is fetched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from shiplift.kube.secrets import Hidden
from shiplift.quorum.images import credentials
from shiplift.quorum.images.errors import BadImage, Denied, NotAllowed, NotFound, RegistryAway
from shiplift.quorum.images.fetching import Fetcher, Page
from shiplift.quorum.images.reference import Reference, is_digest

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
MOST_MANIFEST = 4 << 20
MOST_IMAGE = 2 << 30
"""Bytes of all layers, compressed."""
MOST_LAYERS = 128
T = TypeVar("T")
_PARAMETER = re.compile(r'([a-zA-Z]+)="([^"]*)"')


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A piece of an image, by digest."""

    digest: str
    size: int
    media_type: str = ""
    annotations: Mapping[str, str] | None = None


class Platform(msgspec.Struct, frozen=True):
    """What an image runs on."""

    os: str = "linux"
    architecture: str = "amd64"


class _Choice(msgspec.Struct, frozen=True, rename="camel"):
    digest: str
    size: int = 0
    media_type: str = ""
    platform: Platform | None = None


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    media_type: str = ""
    config: Part | None = None
    layers: tuple[Part, ...] = ()
    manifests: tuple[_Choice, ...] = ()


class Setting(msgspec.Struct, frozen=True, rename="pascal"):
    """What an image is started with, as far as we look at it."""

    env: tuple[str, ...] | None = None
    labels: Mapping[str, str] | None = None


class Config(msgspec.Struct, frozen=True):
    """An image's own description."""

    os: str = ""
    architecture: str = ""
    config: Setting | None = None

    @property
    def labels(self) -> Mapping[str, str]:
        return (self.config.labels if self.config else None) or {}

    @property
    def path(self) -> str:
        """Where its programs are looked for."""
        given = (self.config.env if self.config else None) or ()
        return next((one.partition("=")[2] for one in given if one.startswith("PATH=")), "")


class Image(msgspec.Struct, frozen=True):
    """One image, found: from here on nothing goes by tag."""

    digest: str
    """Of what the tag names: the image, or the list of the same image for several platforms."""
    manifest_digest: str
    layers: tuple[Part, ...]
    config: Config


class Registry:
    """Asks one registry about one repository."""

    def __init__(
        self,
        fetcher: Fetcher,
        reference: Reference,
        secrets: Mapping[str, Hidden],
        kept: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:
        """`kept` is what was read before, by digest or tag."""
        self._fetcher, self._reference, self._secrets, self._kept = fetcher, reference, secrets, kept
        self.seen: dict[str, bytes] = {}
        """What was read, to be kept: by digest, a signature by tag."""
        self._authorization: str | None = None

    def image(self, platform: Platform) -> Image:
        digest, manifest = self._manifest(self._reference.wanted)
        own = digest
        if manifest.manifests:
            own, manifest = self._manifest(_chosen(manifest.manifests, platform, self._reference))
        if manifest.config is None or not manifest.layers:
            raise BadImage(f"{self._reference} is no image: its manifest has no config or no layers")
        _sizes_in_bounds(manifest.layers, self._reference)
        return Image(digest, own, manifest.layers, self._config(manifest.config))

    def parts(self, tag: str) -> tuple[Part, ...]:
        """The layers of what a tag names; none where there is no such tag. Of a registry that is away counts
        what it said before."""
        try:
            body = self._asked(tag)
        except NotFound:
            return ()
        except RegistryAway:
            if (body := self._kept(tag)) is None:
                raise
        self.seen[tag] = body
        return self._read(body).layers

    def blob(self, part: Part, target: Path) -> None:
        """Into the file."""
        url = self._url("blobs", part.digest)
        status = self._fetcher.file(url, self._headers(), part.digest, part.size, target)
        if status == 401:
            self._authorization = self._answered_challenge(self._fetcher.page(url, {}, MOST_MANIFEST))
            status = self._fetcher.file(url, self._headers(), part.digest, part.size, target)
        if status != 200:
            raise _refused(status, f"{part.digest} of {self._reference}")

    def text(self, part: Part, most: int = MOST_MANIFEST) -> bytes:
        """A small piece, compared with its digest."""
        if not is_digest(part.digest):
            raise BadImage(f"{self._reference} has a part without a sha256 digest")
        if part.size > most:
            raise NotAllowed(f"{part.digest} of {self._reference} has more than {most} bytes")
        body = self._kept(part.digest)
        if body is None:
            body = _compared(self._page(self._url("blobs", part.digest), {}).body, part.digest)
        self.seen[part.digest] = body
        return body

    def _config(self, part: Part) -> Config:
        return _decoded(self.text(part), Config, f"the config of {self._reference}")

    def _manifest(self, wanted: str) -> tuple[str, _Manifest]:
        body = self._kept(wanted) if is_digest(wanted) else None
        if body is None:
            body = self._asked(wanted)
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        if is_digest(wanted) and digest != wanted:
            raise BadImage(f"the registry sent another manifest of {self._reference} than {wanted}")
        self.seen[digest] = body
        return digest, self._read(body)

    def _asked(self, wanted: str) -> bytes:
        accepted = {"Accept": ", ".join((*INDEXES, *MANIFESTS))}
        return self._page(self._url("manifests", wanted), accepted).body

    def _read(self, body: bytes) -> _Manifest:
        return _decoded(body, _Manifest, f"the manifest of {self._reference}")

    def _page(self, url: str, headers: Mapping[str, str]) -> Page:
        page = self._fetcher.page(url, {**headers, **self._headers()}, MOST_MANIFEST)
        if page.status == 401:
            self._authorization = self._answered_challenge(page)
            page = self._fetcher.page(url, {**headers, **self._headers()}, MOST_MANIFEST)
        if page.status != 200:
            raise _refused(page.status, str(self._reference))
        return page

    def _headers(self) -> dict[str, str]:
        return {} if self._authorization is None else {"Authorization": self._authorization}

    def _url(self, what: str, which: str) -> str:
        return f"https://{self._reference.registry}/v2/{self._reference.repository}/{what}/{which}"

    def _answered_challenge(self, page: Page) -> str:
        """What to show from now on: the credentials themselves, or the token that they are changed for."""
        challenge = page.headers.get("www-authenticate", "")
        own = credentials.header(self._secrets, self._reference.host)
        if challenge.lower().startswith("bearer "):
            return f"Bearer {self._token(dict(_PARAMETER.findall(challenge)), own)}"
        if own is None or not challenge.lower().startswith("basic"):
            raise Denied(f"{self._reference.host} wants credentials for {self._reference}")
        return own

    def _token(self, challenge: Mapping[str, str], own: str | None) -> str:
        realm = challenge.get("realm", "")
        scope = {"scope": f"repository:{self._reference.repository}:pull"}
        service = {"service": challenge["service"]} if "service" in challenge else {}
        joint = "&" if urlsplit(realm).query else "?"
        shown = {} if own is None else {"Authorization": own}
        page = self._fetcher.page(f"{realm}{joint}{urlencode(service | scope)}", shown, MOST_MANIFEST)
        if page.status != 200:
            raise _refused(page.status, str(self._reference))
        said = _decoded(page.body, dict[str, Any], f"the token of {self._reference.host}")
        token = said.get("token") or said.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise BadImage(f"{self._reference.host} gave no token for {self._reference}")
        return token


def _chosen(choices: tuple[_Choice, ...], platform: Platform, reference: Reference) -> str:
    fitting = (one for one in choices if one.platform == platform and is_digest(one.digest))
    found = next(fitting, None)
    if found is None:
        raise BadImage(f"{reference} is there for no {platform.os}/{platform.architecture}")
    return found.digest


def _sizes_in_bounds(layers: tuple[Part, ...], reference: Reference) -> None:
    if len(layers) > MOST_LAYERS:
        raise NotAllowed(f"{reference} has {len(layers)} layers, more than {MOST_LAYERS}")
    if any(not is_digest(layer.digest) or layer.size < 0 for layer in layers):
        raise BadImage(f"{reference} has a layer without a sha256 digest or a size")
    total = sum(layer.size for layer in layers)
    if total > MOST_IMAGE:
        raise NotAllowed(f"{reference} has {total >> 20} MiB, more than {MOST_IMAGE >> 20}")


def _refused(status: int, what: str) -> Exception:
    if status in (401, 403):
        return Denied(f"the registry does not give out {what}: HTTP {status}")
    if status == 404:
        return NotFound(f"the registry does not have {what}")
    return RegistryAway(f"the registry answers HTTP {status} about {what}")


def _compared(body: bytes, digest: str) -> bytes:
    if f"sha256:{hashlib.sha256(body).hexdigest()}" != digest:
        raise BadImage(f"what the registry sent is not {digest}")
    return body


def _decoded(body: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise BadImage(f"{what} cannot be read: {str(error)[:200]}") from None
