"""The operator's own settings: ConfigMap `shiplift-config` in its namespace, a section for each layer.

It is read live by name, again and again, so that a change counts without a restart. A section that is bad is
named, field by field, and the last good one stays in force; before there was a good one nothing is. One that
is deleted counts as empty a little later: many tools delete an object to make it anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import msgspec

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube.client import Client
from shiplift.kube.documents import DocumentError, read
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.rbac import rule

NAME = "shiplift-config"
KEY = "config.yaml"
SECTIONS = ("configManager", "notify", "quorum")
"""All that there are: another is a slip of the pen, and named."""
RULE = rule("", [CONFIG_MAP.plural], ["get"], [NAME])

T = TypeVar("T")
_COMES_BACK = 150.0
"""So many seconds after it was deleted: it is looked at every minute."""


class Looked(msgspec.Struct, Generic[T], frozen=True):
    """What is in force, None where nothing good was ever read; and what is wrong with what stands there."""

    value: T | None
    trouble: str = ""


class ConfigReader(Generic[T]):
    """Reads one section; `shape` is a Struct that has a default for every field and forbids unknown ones."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        section: str,
        shape: type[T],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._namespace = client, namespace
        self._section, self._shape, self._monotonic = section, shape, monotonic
        self._good: T | None = None
        self._gone_since: float | None = None

    def look(self) -> Looked[T]:
        """As it is now: one read."""
        about = f"ConfigMap {self._namespace}/{NAME}"
        try:
            text = self._text()
            if text is None and self._is_replaced():
                return Looked(self._good, f"{about} is gone; for a while what it said stays in force")
            self._good = parsed(text or "", self._section, self._shape)
        except KubeError as error:
            return Looked(self._good, f"{about} cannot be read: {error}")
        except DocumentError as error:
            stays = "; the last good one stays in force" if self._good is not None else ""
            return Looked(self._good, f"{about}: {error}{stays}")
        return Looked(self._good)

    def _is_replaced(self) -> bool:
        """Whether what is gone may come back in a moment, as where somebody deletes it and makes it anew."""
        now = self._monotonic()
        self._gone_since = self._gone_since if self._gone_since is not None else now
        return self._good not in (None, self._shape()) and now - self._gone_since < _COMES_BACK

    def _text(self) -> str | None:
        """None where there is no such ConfigMap."""
        try:
            found = self._client.get(CONFIG_MAP, NAME, self._namespace)
        except NotFound:
            return None
        self._gone_since = None
        data: dict[str, str] = found.get("data") or {}
        if data and KEY not in data:
            raise DocumentError(f"there is no key {KEY}; it has {', '.join(sorted(data)[:5])}")
        return data.get(KEY, "")


def parsed(text: str, section: str, shape: type[T]) -> T:
    """One section of the text; its defaults where it is not there."""
    whole: Any = read(text)
    if whole is None:
        whole = {}
    if not isinstance(whole, dict):
        raise DocumentError(f"{KEY} is no map of sections")
    sections = cast("dict[Any, Any]", whole)
    unknown = [str(one)[:64] for one in sections if one not in SECTIONS]
    if unknown:
        raise DocumentError(f"there is no section {unknown[0]!r}; there is {', '.join(SECTIONS)}")
    try:
        return msgspec.convert(sections.get(section) or {}, shape)
    except msgspec.ValidationError as error:
        raise DocumentError(f"section {section}: {error}") from None
