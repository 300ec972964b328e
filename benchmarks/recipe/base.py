"""What pods and nodes of the recipe are made from: seeded randomness, names, times, images."""

from __future__ import annotations

import hashlib
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]

NAMESPACES = 120
_BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_FIRST = ("account", "basket", "billing", "catalog", "checkout", "customer", "delivery", "fraud", "ledger")
_SECOND = ("api", "export", "gateway", "import", "mailer", "report", "search", "session", "webhook", "worker")


def seeded(*parts: object) -> random.Random:
    """Randomness that depends on the parts alone."""
    return random.Random(":".join(map(str, parts)))


def namespace(number: int) -> str:
    return f"team-{number % NAMESPACES:03d}"


def service(number: int) -> str:
    """The name of a workload, as teams give them."""
    return f"{_FIRST[number % len(_FIRST)]}-{_SECOND[number % len(_SECOND)]}-{number}"


def suffix(number: int, length: int = 5) -> str:
    """The end of a name, in the alphabet that Kubernetes uses: looks random, differs for each number."""
    mixed = (number + 1) * 7_919_997_931 % len(_SAFE) ** length
    letters: list[str] = []
    for _ in range(length):
        mixed, place = divmod(mixed, len(_SAFE))
        letters.append(_SAFE[place])
    return "".join(letters)


def uid(*parts: object) -> str:
    return str(uuid.UUID(bytes=hashlib.blake2b(repr(parts).encode(), digest_size=16).digest(), version=4))


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def moment(rng: random.Random, days: int = 40) -> str:
    return stamp(_BEGIN + timedelta(seconds=rng.randrange(days * 86400)))


def later(time: str, seconds: int) -> str:
    return stamp(datetime.fromisoformat(time) + timedelta(seconds=seconds))


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def node_name(number: int) -> str:
    return f"ip-10-{number >> 8 & 255}-{number & 255}-17.example.internal"


def image(name: str, version: str) -> str:
    return f"registry.example.com/{name}:{version}"
