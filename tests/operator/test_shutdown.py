"""Stopping takes less than the 30 s that a pod has, whatever the API server does."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from shiplift.kube.errors import Unreachable
from shiplift.kube.fence import Fence
from shiplift.operator import install
from tests.kube.answering import answering
from tests.kube.gate import Gate, kubeconfig_through
from tests.operator.rig import Rig
from tests.until import until

WITHIN = 29.0


def test_who_asks_about_the_fence_is_told_at_once_when_it_is_time_to_stop() -> None:
    with answering(b"", stay=True) as server:
        asking = Fence(server.credentials, install.names("shiplift-system"))
        began = time.monotonic()
        threading.Timer(0.3, asking.give_up).start()
        with pytest.raises(Unreachable):
            asking.epoch()
        with pytest.raises(Unreachable):
            asking.epoch()
        assert time.monotonic() - began < 3


@pytest.mark.crash
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "steps-in-flight"])
def test_it_stops_in_time_though_the_api_server_says_nothing_any_more(
    rig: Rig, tmp_path: Path, busy: bool
) -> None:
    gate = Gate(rig.cluster.credentials().server.port)
    try:
        rig.kubeconfig = kubeconfig_through(gate, rig.kubeconfig, tmp_path)
        operator = rig.start()
        until(lambda: operator.said("leading"))
        if busy:
            rig.ask_for_a_stamp("first")
            until(lambda: rig.stamp("first"))
        gate.silence()
        time.sleep(1)
        operator.send(signal.SIGTERM)
        began = time.monotonic()
        until(lambda: operator._process.poll() is not None, WITHIN)
        assert time.monotonic() - began < WITHIN
        assert operator.said("stopped")
    finally:
        gate.close()
