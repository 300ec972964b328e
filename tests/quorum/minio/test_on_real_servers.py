"""Four real servers swap their binary in place; what they refuse, and what they do to good files.

Servers are shared by the tests that change nothing; those that switch have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.engine.probes import Truth
from shiplift.kube.secrets import Hidden
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import (
    Answered,
    HostAnswer,
    Refused,
    Reply,
    Server,
    Silent,
    Told,
    Verdict,
    Why,
)
from shiplift.quorum.serving import Artifact, ArtifactServer
from shiplift.quorum.wire import Direct
from tests.minio import builds
from tests.minio.keys import Key
from tests.minio.servers import CREDENTIALS, Servers, running
from tests.quorum.conftest import Programs
from tests.until import until

OLD, NEW = builds.OLD.time, builds.NEW.time
_TRIES = 20
"""Real servers garble one good file in seven, and more where they are short of time."""


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory, minio_programs: Programs, key: Key
) -> Iterator[Servers]:
    with running(tmp_path_factory.mktemp("minio"), minio_programs.old, key.public) as four:
        yield four


@pytest.fixture
def url(serving: ArtifactServer, artifact: Artifact) -> str:
    return published(serving, artifact)


def published(serving: ArtifactServer, artifact: Artifact, attempt: str = "a-1") -> str:
    serving.publish(attempt, artifact)
    return serving.url(f"http://127.0.0.1:{serving.port}", attempt, 600)


def whole(call: Callable[[], Reply]) -> Answered:
    """What each host answered the first time that it did not garble the file."""
    answers = dict[str, HostAnswer]()
    for _ in range(_TRIES):
        reply = call()
        assert isinstance(reply, Answered), reply
        clear = {one.endpoint: one for one in reply.hosts if one.verdict is not Verdict.GARBLED}
        answers = {**clear, **answers}
        if len(answers) == len(reply.hosts):
            return Answered(tuple(answers.values()))
    raise AssertionError(f"garbled {_TRIES} times: {reply}")


def verdicts(reply: Reply) -> set[Verdict]:
    assert isinstance(reply, Answered), reply
    return {host.verdict for host in reply.hosts}


def test_each_server_says_its_version_and_whom_it_knows(servers: Servers) -> None:
    endpoints = tuple(sorted(f"127.0.0.1:{server.port}" for server in servers.all))
    for server in servers.all:
        assert servers.engine().ask(server) == Told(OLD, True, 2, endpoints)


def test_a_server_that_is_not_there_is_silent(servers: Servers) -> None:
    nobody = msgspec.structs.replace(servers.all[0], port=1)
    answer = servers.engine().ask(nobody)
    assert isinstance(answer, Silent)
    assert "refused" in answer.why


def test_a_server_that_calls_itself_otherwise_is_silent(servers: Servers) -> None:
    answer = servers.engine().ask(msgspec.structs.replace(servers.all[0], host="minio-0.minio"))
    assert isinstance(answer, Silent)
    assert "does not name itself minio-0.minio" in answer.why


def test_wrong_credentials_are_named_and_the_secret_is_not(servers: Servers, url: str) -> None:
    stranger = MinIO(Direct(), Credentials(CREDENTIALS.access_key, Hidden(b"a wrong secret")))
    reply = stranger.stage(servers.all[0], url)
    assert isinstance(reply, Refused)
    assert reply.why is Why.DENIED
    assert "a wrong secret" not in repr((stranger, reply))


def test_each_server_of_four_may_stop_and_sings(servers: Servers) -> None:
    engine = servers.engine()
    assert [engine.may_stop(server).may for server in servers.all] == [Truth.TRUE] * 4
    assert all(one.sings for one in engine.canary(servers.all, None))


def test_the_canary_leaves_no_bucket_behind_and_makes_none_that_was_named(servers: Servers) -> None:
    engine = servers.engine()
    engine.canary(servers.all, None)
    assert not any((servers.folder / "d0" / "shiplift-canary").glob("*"))
    assert not (servers.folder / "d0" / "shiplift-canary").exists()
    [first, *_] = engine.canary(servers.all, "a-bucket-that-is-not-there")
    assert "NoSuchBucket" in first.trouble


def test_staging_puts_the_binary_beside_each_server_and_switches_none(
    servers: Servers, url: str, artifact: Artifact
) -> None:
    pids = [servers.pid(at) for at in range(4)]
    reply = whole(lambda: servers.engine().stage(servers.all[1], url))
    assert sorted(reply.hosts, key=lambda host: host.endpoint) == sorted(
        (HostAnswer(f"127.0.0.1:{server.port}", Verdict.DONE) for server in servers.all),
        key=lambda host: host.endpoint,
    )
    staged = [servers.program(at).with_name(".minio.new") for at in range(4)]
    assert all(path.stat().st_size == artifact.binary.stat().st_size for path in staged)
    assert servers.versions() == [OLD] * 4
    assert [servers.pid(at) for at in range(4)] == pids


def test_a_binary_of_another_key_is_not_trusted_by_any_server(
    servers: Servers, serving: ArtifactServer, artifact: Artifact
) -> None:
    foreign = msgspec.structs.replace(artifact, signature=Key().sign(artifact.binary))
    reply = whole(lambda: servers.engine().stage(servers.all[0], published(serving, foreign)))
    assert verdicts(reply) == {Verdict.NOT_TRUSTED}


def test_a_wrong_checksum_is_never_staged(
    servers: Servers, serving: ArtifactServer, artifact: Artifact
) -> None:
    wrong = msgspec.structs.replace(artifact, sha256="0" * 64)
    assert verdicts(servers.engine().stage(servers.all[0], published(serving, wrong))) == {Verdict.GARBLED}


def test_an_older_binary_is_refused_by_every_server(
    servers: Servers, serving: ArtifactServer, artifact: Artifact
) -> None:
    older = msgspec.structs.replace(artifact, name="minio.RELEASE.2024-12-18T13-15-44Z")
    assert verdicts(servers.engine().stage(servers.all[0], published(serving, older))) == {Verdict.AT_TARGET}


@pytest.mark.parametrize("change", ["withdrawn", "nobody listens"])
def test_a_binary_that_cannot_be_fetched_is_said_without_its_token(
    servers: Servers, serving: ArtifactServer, url: str, change: str
) -> None:
    if change == "withdrawn":
        serving.withdraw("a-1")
    else:
        url = url.replace(f":{serving.port}", ":1")
    reply = servers.engine().stage(servers.all[0], url)
    assert isinstance(reply, Refused)
    assert reply.why is Why.NO_ARTIFACT
    assert url.partition("token=")[2] not in reply.message


def test_four_servers_switch_together_and_no_process_is_another(
    tmp_path: Path, minio_programs: Programs, key: Key, url: str
) -> None:
    with running(tmp_path, minio_programs.old, key.public) as servers:
        pids = [servers.pid(at) for at in range(4)]
        swap(servers, url)
        assert servers.versions() == [NEW] * 4
        assert [servers.pid(at) for at in range(4)] == pids
        until(lambda: all(one.sings for one in servers.engine().canary(servers.all, None)), 60, 0.5)


def swap(servers: Servers, url: str, which: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    """As a controller does it: through a server that runs the old version, until none of these does.

    A server that is the only new one does not serve: at its start it waits for another that has its binary.
    """
    for _ in range(_TRIES):
        found = servers.versions()
        old = [servers.all[at] for at in which if found[at] == OLD]
        if not old:
            break
        reply = servers.engine().switch(old[0], url)
        assert isinstance(reply, Answered), reply
        done = [server for server in servers.all if _switched(reply, server)]
        until(lambda done=done: all(_version(servers, server) == NEW for server in done), 60, 0.1)
    until(lambda: all(_serves(servers.engine().ask(server)) for server in servers.all), 60, 0.1)


def _switched(reply: Answered, server: Server) -> bool:
    return any(host.verdict is Verdict.DONE for host in reply.hosts if server.owns(host.endpoint))


def _version(servers: Servers, server: Server) -> str:
    answer = servers.engine().ask(server)
    return answer.version if isinstance(answer, Told) else ""


def _serves(answer: Told | Silent) -> bool:
    return isinstance(answer, Told) and answer.serving


@pytest.mark.crash
def test_a_server_that_could_not_write_is_switched_later_through_itself_and_a_new_one_says_nothing_of_it(
    tmp_path: Path, minio_programs: Programs, key: Key, url: str
) -> None:
    with running(tmp_path, minio_programs.old, key.public) as servers:
        engine = servers.engine()
        # where the server would try whether it can write: a folder is nothing to write to, even for root
        in_the_way = servers.program(3).with_name(".minio.check-perm")
        in_the_way.mkdir()
        staged = whole(lambda: engine.stage(servers.all[0], url))
        assert by_server(servers, staged)[3] is Verdict.READ_ONLY
        swap(servers, url, (0, 1, 2))
        assert servers.versions() == [NEW, NEW, NEW, OLD]
        through_new = engine.stage(servers.all[0], url)
        assert verdicts(through_new) == {Verdict.AT_TARGET}
        in_the_way.rmdir()
        resumed = whole(lambda: engine.stage(servers.all[3], url))
        assert by_server(servers, resumed) == [Verdict.AT_TARGET] * 3 + [Verdict.DONE]
        swap(servers, url)
        assert servers.versions() == [NEW] * 4


def by_server(servers: Servers, reply: Answered) -> list[Verdict]:
    found = [[host.verdict for host in reply.hosts if server.owns(host.endpoint)] for server in servers.all]
    assert all(len(one) == 1 for one in found)
    return [one for [one] in found]


@pytest.mark.crash
def test_a_server_that_comes_back_with_the_old_binary_says_so_and_does_not_serve(
    tmp_path: Path, minio_programs: Programs, key: Key, url: str
) -> None:
    with running(tmp_path, minio_programs.old, key.public) as servers:
        swap(servers, url)
        servers.kill(2)
        servers.install(2, minio_programs.old)
        servers.start(2)
        engine = servers.engine()
        answer = until(lambda: _told(engine.ask(servers.all[2])), 30, 0.2)
        assert (answer.version, answer.serving) == (OLD, False)
        refused = engine.stage(servers.all[2], url)
        assert isinstance(refused, Refused)
        assert refused.why is Why.STARTING
        assert engine.may_stop(servers.all[2]).may is not Truth.TRUE


def _told(answer: Told | Silent) -> Told | None:
    return answer if isinstance(answer, Told) else None


def test_servers_whose_updates_are_switched_off_say_so(
    tmp_path: Path, minio_programs: Programs, key: Key, url: str
) -> None:
    with running(tmp_path, minio_programs.old, key.public, {"MINIO_UPDATE": "off"}) as servers:
        told = servers.engine().ask(servers.all[0])
        assert isinstance(told, Told)
        assert ("MINIO_UPDATE", "off") in told.settings
        reply = servers.engine().stage(servers.all[0], url)
        assert isinstance(reply, Refused)
        assert reply.why is Why.SWITCHED_OFF


def test_a_server_is_known_by_its_port_where_all_have_one_address(servers: Servers) -> None:
    one, other = servers.all[:2]
    assert one.owns(f"127.0.0.1:{one.port}")
    assert not one.owns(f"127.0.0.1:{other.port}")
    assert Server("a", "10.0.0.1", 9000, "a.b.c").owns("a.b.c.svc.cluster.local:9000")
