import pytest
import structlog
from structlog.testing import capture_logs

from tests.engine.loop_bench import SECOND, Bench


@pytest.fixture
def bench():
    bench = Bench()
    bench.loop.start()
    yield bench
    for gate in bench.layer.gates.values():
        gate.set()
    assert bench.loop.stop(20 * SECOND)


@pytest.fixture
def quiet_logs():
    with capture_logs() as logs:
        yield logs
    structlog.reset_defaults()
