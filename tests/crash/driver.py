"""Operator processes in no time: everything is imported once, and each line on standard input forks one.

Each child is a process like any other: it runs the product's own Operator, or a program beside it, logs to
its own file, and is there to be killed. When standard input ends, all children end.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import msgspec

from shiplift.engine.backoff import Backoff
from shiplift.kube.credentials import load
from shiplift.kube.lease import Timing
from shiplift.kube.part import LayerPart
from shiplift.kube.watch import Pace
from shiplift.operator import install, logs
from shiplift.operator.process import Operator, Settings
from tests.crash import layers
from tests.crash.orders import Order

LEASE = Timing(duration=4.0, renew_deadline=3.0, retry=0.5, follow=0.1)
_ENDING: set[int] = set()
"""Children that are to end by themselves."""
PACE = Pace(backoff=Backoff(first=timedelta(seconds=0.1), cap=timedelta(seconds=1), jitter=0.5))


def operate(order: Order, parts: Sequence[LayerPart]) -> None:
    logs.configure()
    os.environ.update(order.environment)
    settings = Settings(install.names(order.namespace), ("127.0.0.1", 0), LEASE, PACE)
    Operator(load(Path(order.kubeconfig)), parts, settings).run()


def _program(order: Order) -> Callable[[], None]:
    """What the process does, with all that it needs imported."""
    if not order.main:
        return functools.partial(operate, order, [layers.part(name) for name in order.layers])
    module, _, name = order.main.partition(":")
    return functools.partial(getattr(importlib.import_module(module), name), order)


def fork(order: Order) -> int:
    program = _program(order)
    if child := os.fork():
        _ENDING.update([child] if order.ends else [])
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
        program()
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
            if code != -signal.SIGKILL and ended[0] not in _ENDING:
                print(f"process {ended[0]} ended by itself with {code}", file=sys.stderr, flush=True)


def main() -> None:
    signal.signal(signal.SIGCHLD, _reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: list[int] = []
    print("ready", flush=True)
    for line in sys.stdin:
        child = fork(msgspec.json.decode(line, type=Order))
        children.append(os.pidfd_open(child))
        print(child, flush=True)
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
