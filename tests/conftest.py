"""Every test may ask for a real cluster; property tests try the same examples in each run."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from shiplift.local import pki
from tests import examples

pytest_plugins = ["shiplift.local.testing"]

# A run in the background ignores Ctrl-C, and so would every process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    examples.load(whole=not config.getoption("--no-clusters"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """MinIO's programs take minutes to build and servers of it seconds to start: like clusters."""
    if config.getoption("--no-clusters"):
        config.hook.pytest_deselected(items=[item for item in items if _starts_minio(item)])
        items[:] = [item for item in items if not _starts_minio(item)]


def _starts_minio(item: pytest.Item) -> bool:
    return "minio_programs" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority of the tests (`ca.crt`), and what it signed for servers on loopback."""
    folder = tmp_path_factory.mktemp("keys")
    pki.write_all(folder)
    return folder


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest calls it
    """What a test runs in this process may send logs to the stderr of that test, which is closed after it."""
    yield
    structlog.reset_defaults()
