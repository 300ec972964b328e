"""A candidate for tests, in a process of its own, that says when it could have written.

    python -m tests.kube.contender KUBECONFIG NAMESPACE

Each line on stdout is one moment at which `check` let it pass: the epoch, and the time by a clock that all
processes of this machine share. It ends, letting go of the Lease, when its stdin is closed.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path

import structlog

from shiplift.kube import credentials
from shiplift.kube.lease import Leader, NotLeading, Timing, now

TIMING = Timing(duration=1, renew_deadline=0.7, retry=0.15, follow=0.05)


def report(leader: Leader, ended: threading.Event) -> None:
    while not ended.is_set():
        moment = now()
        with contextlib.suppress(NotLeading):
            print(leader.check(), moment, flush=True)
        time.sleep(0.01)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    kubeconfig, namespace = sys.argv[1:]
    ended = threading.Event()
    with Leader(credentials.load(Path(kubeconfig)), namespace, timing=TIMING) as leader:
        reporter = threading.Thread(target=report, args=(leader, ended))
        reporter.start()
        sys.stdin.read()
        ended.set()
        reporter.join()


if __name__ == "__main__":
    main()
