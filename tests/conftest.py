"""Every test may ask for a real cluster; property tests try the same examples in each run."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from shiplift.local import pki
from tests import examples, rights, timebox
from tests.timebox import Timebox

pytest_plugins = ["shiplift.local.testing"]

# A run in the background ignores Ctrl-C, and so would every process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


_BOX = pytest.StashKey[Timebox]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--within",
        type=float,
        metavar="SECONDS",
        help="begin no test that would end later than that from now",
    )


def pytest_configure(config: pytest.Config) -> None:
    examples.load(whole=not config.getoption("--no-clusters"))
    if seconds := config.getoption("--within"):
        config.stash[_BOX] = Timebox(seconds)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """MinIO's programs take minutes to build and servers of it seconds to start: like clusters."""
    quick = [item for item in items if not _starts_something(item)]
    slow = [item for item in items if _starts_something(item)]
    if config.getoption("--no-clusters"):
        config.hook.pytest_deselected(items=slow)
        items[:] = quick
    elif config.getoption("--within"):
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        long = {_file(item) for item in slow if item.get_closest_marker("long")}
        usual, others = ([item for item in slow if (_file(item) in long) is one] for one in (False, True))
        items[:] = timebox.dealt([quick, usual, others], workers, _file)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    box = item.config.stash.get(_BOX, None)
    if box and _starts_something(item) and not box.fits(_seconds(item)):
        pytest.skip(timebox.WHY)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(config: pytest.Config, terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if left_out := [report.nodeid for report in skipped if timebox.WHY in report.longreprtext]:
        terminalreporter.write_line(timebox.summary(left_out, config.stash[_BOX].pace), red=True)
    if config.getoption("durations"):
        reports = [
            one for kind in ("", "passed", "failed", "error") for one in terminalreporter.stats.get(kind, [])
        ]
        terminalreporter.write_line(timebox.spent((one.nodeid, one.duration) for one in reports))
    for line in rights.summary():
        terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what its clusters noted."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["rights"] = rights.noted()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    rights.note(getattr(node, "workeroutput", {}).get("rights", {}))


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::", 1)[0]


def _seconds(item: pytest.Item) -> float:
    mark = item.get_closest_marker("long")
    return mark.kwargs["seconds"] if mark else timebox.USUAL


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tells a failure when it happens: a run that is cut off comes to no summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\nfailed: {report.nodeid} ({report.when}, {report.duration:.0f} s)\n")
        sys.stderr.write(f"{report.longreprtext}\n")


def _starts_something(item: pytest.Item) -> bool:
    return not {"programs", "minio_programs"}.isdisjoint(getattr(item, "fixturenames", ()))


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
