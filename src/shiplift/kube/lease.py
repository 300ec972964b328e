"""Leader election on one Lease: at most one process believes that it leads, as far as its clock can tell.

What it keeps true:
- A leader believes until `renew_deadline` after it *sent* its last successful renewal; a follower takes over
  `duration` after it *saw* the last change. The follower's count starts later and lasts longer, and nobody
  compares two machines' clocks.
- Each term has its own epoch (`leaseTransitions`), higher than all before it, also when the same process
  leads again. A number that somebody else wrote there, and no election can have led to, counts for nothing.
- Every write carries the resourceVersion that it was decided on. A write with an unknown result is settled by
  reading the Lease.
- The API server being away ends a term, never the process: the thread goes on trying, whatever something
  before the server answers in its place.

This is not fencing: a process that is stopped between `check` and its write wakes up with a stale write. See
`fence` and `claims`.
"""

from __future__ import annotations

import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Self

import msgspec
import structlog

from shiplift.facts.kinds import LEASE
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import (
    NOT_THE_SERVER,
    AlreadyExists,
    BadAnswer,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    PreconditionFailed,
    Unauthorized,
    Unknown,
)

MANAGER = "shiplift-lease"
"""The field manager of the election, which followers use too; the fence lets it pass on our Lease."""

NOT_ACTING = "shiplift.dev/not-acting"
"""The annotation of the Lease that says why its holder does not act; it has none while the holder acts."""

LAST_EPOCH = 999_999_999
"""The fence compares epochs of up to nine digits."""

_MOST_AHEAD = 1_000_000
"""So many terms may follow each other without one that raises the fence; beyond that a number was edited."""
_LEAST_TIMEOUT, _MOST_TIMEOUT = 1.0, 5.0
_LONGEST_WORDS = 1000

log = structlog.get_logger(__name__)
_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""


class NotLeading(KubeError):  # noqa: N818 - says what we are
    """This process may not act: it leads no more, or never did."""


LONGEST = 60.0
"""Seconds that a Lease of others counts without being renewed, whatever stands in it."""


class Timing(msgspec.Struct, frozen=True):
    """In seconds. Safe while no clock runs faster than another by more than duration / renew_deadline."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0
    follow: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError("a lease needs 0 < retry < renew_deadline < duration")
        if self.follow <= 0 or self.duration != int(self.duration):
            raise ValueError("a lease needs follow > 0 and a duration of whole seconds")


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """What a Lease says. `None` and absent are the same to the API server."""

    holder_identity: str | None = None
    renew_time: str | None = None
    acquire_time: str | None = None
    lease_transitions: int | None = None
    lease_duration_seconds: int | None = None

    @property
    def epoch(self) -> int:
        return self.lease_transitions or 0

    def lasts(self, ours: float) -> float:
        """For how long it counts unchanged, where our own lasts that long: what somebody writes into it keeps
        nobody from leading for ever."""
        return min(self.lease_duration_seconds or 0, max(ours, LONGEST))


class Move(Enum):
    """What a candidate may do next."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    FOLLOW = "follow"


def next_move(
    record: Record | None, me: str, *, leading: bool, unchanged_for: float, ours: float = LONGEST
) -> Move:
    """From what was read, whether our term is still on, and how long nothing has changed by our clock."""
    if record is None:
        return Move.CREATE
    if record.holder_identity == me:
        return Move.RENEW if leading else Move.TAKE
    expired = unchanged_for >= record.lasts(ours)
    return Move.TAKE if expired or not record.holder_identity else Move.FOLLOW


def idleness(record: Record | None, not_acting: str, unchanged_for: float, ours: float = LONGEST) -> str:
    """Why nobody acts, by what a Lease says and how long it has said so; empty where its holder acts."""
    if record is None or not record.holder_identity:
        return "nobody leads"
    if unchanged_for >= record.lasts(ours):
        return f"{record.holder_identity} led, and does not renew its lease any more"
    return f"{record.holder_identity} leads, but does not act: {not_acting}" if not_acting else ""


def is_credible(epoch: int, known: int) -> bool:
    """Whether elections can have led from an epoch that is known to this one, and to one more."""
    return epoch <= min(known + _MOST_AHEAD, LAST_EPOCH - 1)


def next_epoch(raised: int, *said: int) -> int:
    """Above the epoch that the fence was raised to, and above what the Lease has said, where it is credible.

    Where nothing of it is, terms that did not raise the fence are not known, nor those before it where
    somebody took its epoch away too: a number drawn from many is one that none of them has had."""
    credible = [epoch for epoch in said if is_credible(epoch, raised)]
    if credible:
        return 1 + max(raised, *credible)
    return min(raised + _dice.randint(1, _MOST_AHEAD), LAST_EPOCH)


def rules(name: str = "shiplift") -> list[Mapping[str, Any]]:
    """The RBAC that a candidate needs in its own namespace. RBAC cannot name what is yet to be created."""
    leases = {"apiGroups": [LEASE.group], "resources": [LEASE.plural]}
    return [
        leases | {"verbs": ["create"]},
        leases | {"resourceNames": [name], "verbs": ["get", "update"]},
    ]


def now() -> float:
    """Seconds that go on while the machine sleeps, where the system can tell; never set back."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class Term(msgspec.Struct, frozen=True):
    """One time of leading: replaced as a whole, so that a reader never sees half of it."""

    epoch: int
    deadline: float


def _nothing(_: object) -> None:
    pass


class Leader:
    """One candidate: a thread with its own connection, so that a busy process still renews.

    `on_leading(epoch)` and `on_lost(why)` are called on that thread and must be quick. `on_lost` may come one
    request late when the API server hangs; `check` never does.
    """

    def __init__(
        self,
        credentials: Credentials,
        namespace: str,
        name: str = "shiplift",
        *,
        timing: Timing | None = None,
        floor: Callable[[], int] = lambda: 0,
        on_leading: Callable[[int], None] = _nothing,
        on_lost: Callable[[str], None] = _nothing,
    ) -> None:
        self.namespace, self.name = namespace, name
        self.timing = timing or Timing()
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self.trouble: KubeError | None = None
        self._floor, self._on_leading, self._on_lost = floor, on_leading, on_lost
        timeout = min(max(_LEAST_TIMEOUT, self.timing.renew_deadline / 4), _MOST_TIMEOUT)
        self._client = Client(credentials, field_manager=MANAGER, timeout=timeout)
        self._term: Term | None = None
        self._lease: dict[str, Any] | None = None
        self._seen: Record | None = None
        self._seen_not_acting = ""
        self._seen_at = now()
        self._highest = 0
        self._followed = ""
        self._not_acting = ""
        self._abandoned: tuple[int, str] | None = None
        self._handed_over: tuple[int, str] | None = None
        self._back_until = float("-inf")
        """Until when, by `now()`, another may take the Lease that we let go of."""
        self._leading = threading.Event()
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        """Set when the thread should not sleep on: to stop, or to end a term."""
        self._thread = threading.Thread(target=self._run, name=f"lease-{name}", daemon=True)

    # --- what the rest of the process asks ---

    def start(self) -> None:
        """Begin to run for leader."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Stop leading, then let go of the Lease: another takes over at once. Stop acting before this."""
        self._stopping.set()
        self._wanted.set()
        if self._thread.ident is None:
            self._client.close()
        else:
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether the thread still runs; if not, the process is of no use."""
        return self._thread.is_alive()

    @property
    def leading(self) -> bool:
        return now() < self.deadline()

    @property
    def holder(self) -> str:
        """Who leads, as last seen; empty when nobody does."""
        return (self._seen and self._seen.holder_identity) or ""

    @property
    def idleness(self) -> str:
        """Why nobody acts, whoever leads, as last seen; empty where somebody does."""
        return idleness(self._seen, self._seen_not_acting, now() - self._seen_at, self.timing.duration)

    def deadline(self) -> float:
        """Until when, by `now()`, we may believe that we lead."""
        term = self._term
        return term.deadline if term else float("-inf")

    def check(self, epoch: int | None = None) -> int:
        """Call right before each write: the current epoch, or NotLeading, also when `epoch` is over."""
        term = self._term
        if term is None or now() >= term.deadline:
            raise NotLeading(f"{self.identity} does not lead {self.namespace}/{self.name}")
        if epoch is not None and epoch != term.epoch:
            raise NotLeading(f"epoch {epoch} is over, now is {term.epoch}")
        return term.epoch

    def abandon(self, epoch: int, why: str) -> None:
        """End that term, which nobody obeys any more; a later one begins at once, if nobody else leads."""
        self._abandoned = (epoch, why)
        self._wanted.set()

    def hand_over(self, epoch: int, why: str) -> None:
        """End that term and let go of the Lease; stand back until another has taken it, or nobody has for
        twice the time after which any would. Stop acting before this."""
        self._handed_over = (epoch, why)
        self._wanted.set()

    def tell(self, not_acting: str) -> None:
        """Let the Lease say, from its next renewal on, why we lead and do not act; empty while we do."""
        self._not_acting = not_acting[:_LONGEST_WORDS]

    def wait_leading(self, timeout: float | None = None) -> bool:
        """Block until we lead."""
        return self._leading.wait(timeout)

    # --- the thread ---

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._attempt()
                self._end_if_lapsed()
                self._wanted.wait(self._pause())
                self._wanted.clear()
            self._release()
        finally:
            self._end("stopped")
            self._client.close()

    def _attempt(self) -> None:
        # a process that was stopped wakes up here: the old term ends before a new one begins
        self._end_if_lapsed()
        self._end_if_abandoned()
        try:
            self._let_go_if_handed_over()
            self._turn()
        except KubeError as error:
            self._note(self._explained(error))
        else:
            self._note(None)

    def _turn(self) -> None:
        if self.leading and self._lease is not None:
            try:
                return self._write(Move.RENEW, self._lease)
            except (Conflict, NotFound, PreconditionFailed, Unknown):
                self._lease = None
        lease = self._read()
        if self._stands_back():
            return None
        move = next_move(
            self._seen,
            self.identity,
            leading=self.leading,
            unchanged_for=now() - self._seen_at,
            ours=self.timing.duration,
        )
        if move is Move.FOLLOW:
            self._stand_by()
            return self._end(f"{self.holder} leads")
        return self._write(move, lease)

    def _stands_back(self) -> bool:
        if self.holder not in ("", self.identity):
            self._back_until = float("-inf")
        return now() < self._back_until

    def _stand_by(self) -> None:
        """Said once for each leader: whoever starts a second one should not wait for it in vain."""
        if self.holder != self._followed:
            self._followed = self.holder
            log.info("lease.standing_by", lease=f"{self.namespace}/{self.name}", leader=self.holder)

    def _read(self) -> dict[str, Any] | None:
        try:
            lease = self._client.get(LEASE, self.name, self.namespace)
        except NotFound:
            lease = None
        self._observe(lease)
        return lease

    def _observe(self, lease: dict[str, Any] | None) -> None:
        said = None if lease is None else _said(lease)
        record = said and (said.spec or Record())
        if record != self._seen:
            self._seen, self._seen_at = record, now()
        about = (said and said.metadata.annotations) or {}
        self._seen_not_acting = about.get(NOT_ACTING, "")
        epoch = record.epoch if record else 0
        if not self._highest or is_credible(epoch, self._highest):
            self._highest = max(self._highest, epoch)

    def _write(self, move: Move, lease: dict[str, Any] | None) -> None:
        term = self._term
        epoch = term.epoch if move is Move.RENEW and term is not None else self._next_epoch()
        sent = now()
        written = self._put(self._claimed(move, epoch), lease)
        self._observe(written)
        self._lease = written
        self._begin(Term(epoch, sent + self.timing.renew_deadline))

    def _next_epoch(self) -> int:
        raised, seen = self._floor(), self._seen.epoch if self._seen else 0
        epoch = next_epoch(raised, self._highest, seen)
        if (most := max(self._highest, seen)) > epoch:
            log.warning("lease.edited", lease=self.name, transitions=most, fence=raised, taken_instead=epoch)
            self._highest = epoch - 1
        return epoch

    def _claimed(self, move: Move, epoch: int) -> Record:
        stamp = _micro_time()
        kept = self._seen.acquire_time if self._seen and move is Move.RENEW else None
        return Record(
            holder_identity=self.identity,
            renew_time=stamp,
            acquire_time=kept or stamp,
            lease_transitions=epoch,
            lease_duration_seconds=int(self.timing.duration),
        )

    def _put(self, record: Record, lease: dict[str, Any] | None) -> dict[str, Any]:
        spec = {key: value for key, value in msgspec.to_builtins(record).items() if value is not None}
        if lease is not None:
            said = self._not_acting if record.holder_identity else ""
            about = lease["metadata"] | {"annotations": _annotations(lease, said)}
            return self._client.update(LEASE, lease | {"metadata": about, "spec": spec}).object
        body = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }
        return self._client.create(LEASE, body, self.namespace).object

    def _begin(self, term: Term) -> None:
        before, self._term = self._term, term
        if before is None or before.epoch != term.epoch:
            log.info(
                "lease.leading",
                lease=f"{self.namespace}/{self.name}",
                identity=self.identity,
                epoch=term.epoch,
            )
            self._leading.set()
            self._on_leading(term.epoch)

    def _end(self, why: str) -> None:
        term, self._term = self._term, None
        self._leading.clear()
        if term is not None:
            tell = log.info if self._stopping.is_set() else log.warning
            tell("lease.lost", lease=self.name, identity=self.identity, epoch=term.epoch, why=why)
            self._on_lost(why)

    def _end_if_lapsed(self) -> None:
        if self._term is not None and not self.leading:
            self._end("not renewed in time")

    def _end_if_abandoned(self) -> None:
        abandoned, self._abandoned = self._abandoned, None
        if abandoned is not None and self._term is not None and self._term.epoch == abandoned[0]:
            self._end(abandoned[1])

    def _let_go_if_handed_over(self) -> None:
        handed, self._handed_over = self._handed_over, None
        if handed is None or self._term is None or self._term.epoch != handed[0]:
            return
        self._end(handed[1])
        self._back_until = now() + 2 * self.timing.duration
        self._let_go_of_any_version()

    def _pause(self) -> float:
        if self._term is not None:
            return max(0.0, min(self.timing.retry, self.deadline() - now()))
        base = self.timing.retry if self.trouble else self.timing.follow
        return base * _dice.uniform(1.0, 1.2)

    def _release(self) -> None:
        """Let go. The term ends first: nobody may act on a Lease that is being handed over."""
        held = self._term is not None
        self._end("stopped")
        if not held:
            return
        try:
            self._let_go_of_any_version()
        except KubeError as error:
            log.warning("lease.not_released", lease=self.name, error=str(error))

    def _let_go_of_any_version(self) -> None:
        try:
            self._let_go(self._lease or self._read())
        except Conflict:
            self._let_go(self._read())

    def _let_go(self, lease: dict[str, Any] | None) -> None:
        if lease is None or self._seen is None or self._seen.holder_identity != self.identity:
            return
        stamp = _micro_time()
        free = Record(
            renew_time=stamp,
            acquire_time=stamp,
            lease_transitions=self._seen.epoch,
            lease_duration_seconds=1,
        )
        self._put(free, lease)
        log.info("lease.released", lease=self.name, identity=self.identity)

    def _note(self, trouble: KubeError | None) -> None:
        """Keep the trouble for the readiness page; say it when it changes, not every two seconds."""
        if trouble is not None and str(trouble) != str(self.trouble):
            log.warning("lease.trouble", lease=self.name, error=str(trouble))
        self.trouble = trouble

    def _explained(self, error: KubeError) -> KubeError | None:
        where = f"namespace {self.namespace}"
        if isinstance(error, AlreadyExists | Conflict):
            return None
        if isinstance(error, Forbidden):
            error.hint = (
                f"grant this user get and update on leases/{self.name}, and create on leases, in {where}"
            )
        elif isinstance(error, Unauthorized):
            error.hint = (
                "the credentials are not accepted: is the token expired, or its ServiceAccount gone?"
                " where that was made anew, pods have a token of the new one when they are made anew too"
            )
        elif isinstance(error, NotFound):
            error.hint = f"does {where} exist?"
        return error


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    """What the next write of a Lease takes of its metadata."""

    uid: str
    resource_version: str
    annotations: dict[str, str] | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: Record | None = None


def _said(lease: dict[str, Any]) -> _Lease:
    """No API server has it otherwise; what answers in the place of one may."""
    try:
        return msgspec.convert(lease, _Lease)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"the answer is no Lease: {error}", hint=NOT_THE_SERVER) from error


def _annotations(lease: dict[str, Any], not_acting: str) -> dict[str, str]:
    """Those of others stay; what an earlier holder said of itself goes, and with a holder what it said."""
    found: dict[str, str] = lease["metadata"].get("annotations") or {}
    others = {key: text for key, text in found.items() if key != NOT_ACTING}
    return others | ({NOT_ACTING: not_acting} if not_acting else {})


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
