"""Operator processes in no time: everything is imported once, and each line on standard input forks one.

usage: driver.py LAYER   with LAYER as in `shiplift operator`, or `module:name` of a LayerPart

Each child is a process like any other: it runs the product's own Operator, logs to its own file, and is there
to be killed. When standard input ends, all children end.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from shiplift.engine.backoff import Backoff
from shiplift.kube.credentials import load
from shiplift.kube.lease import Timing
from shiplift.kube.part import LayerPart
from shiplift.kube.watch import Pace
from shiplift.operator import install, logs
from shiplift.operator.layers import chosen
from shiplift.operator.process import Operator, Settings

LEASE = Timing(duration=4.0, renew_deadline=3.0, retry=0.5, follow=0.1)
PACE = Pace(backoff=Backoff(first=timedelta(seconds=0.1), cap=timedelta(seconds=1), jitter=0.5))


class Order(msgspec.Struct, frozen=True):
    """One operator to be started."""

    kubeconfig: str
    namespace: str
    log: str


def layer(name: str) -> LayerPart:
    if ":" not in name:
        return chosen([name])[0]
    module, _, attribute = name.partition(":")
    found: Any = getattr(importlib.import_module(module), attribute)
    return found


def operate(order: Order, part: LayerPart) -> None:
    logs.configure()
    settings = Settings(install.names(order.namespace), ("127.0.0.1", 0), LEASE, PACE)
    Operator(load(Path(order.kubeconfig)), [part], settings).run()


def fork(order: Order, part: LayerPart) -> int:
    if child := os.fork():
        return child
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.enable()
        faulthandler.register(signal.SIGUSR1)
        operate(order, part)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap(_number: int, _frame: object) -> None:
    """Nobody waits for the children; one that was not killed says how it ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(ended[1])
            if code != -signal.SIGKILL:
                print(f"operator {ended[0]} ended by itself with {code}", file=sys.stderr, flush=True)


def main(name: str) -> None:
    part = layer(name)
    signal.signal(signal.SIGCHLD, _reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: list[int] = []
    print("ready", flush=True)
    for line in sys.stdin:
        child = fork(msgspec.json.decode(line, type=Order), part)
        children.append(os.pidfd_open(child))
        print(child, flush=True)
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
