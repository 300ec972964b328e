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
_WORDS = (
    "account basket billing catalog checkout claims content customer delivery discount document export "
    "feed fraud gateway identity import inbox index invoice ledger loyalty mailer media notify offer "
    "order partner payment pricing profile promo quote rating refund report review rules search session "
    "settlement shipping stock tax ticket tracking voucher wallet webhook"
).split()


def seeded(*parts: object) -> random.Random:
    """Randomness that depends on the parts alone."""
    return random.Random(":".join(map(str, parts)))


def namespace(number: int) -> str:
    return f"team-{number % NAMESPACES:03d}"


def service(number: int) -> str:
    """The name of a workload, as teams give them."""
    first, second = _WORDS[number % len(_WORDS)], _WORDS[number * 7 // len(_WORDS) % len(_WORDS)]
    return f"{first}-{second}-{number}"


def suffix(rng: random.Random, length: int) -> str:
    """A random end of a name, in the alphabet that Kubernetes uses."""
    return "".join(rng.choices(_SAFE, k=length))


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
