"""When a binary counts as staged, when a call is worth another try, and when it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.step import Answer
from shiplift.quorum.engines.protocol import Answered, HostAnswer, Lost, Refused, Server, Verdict, Why
from shiplift.quorum.judging import rehearsed, staged, switched

SERVERS = tuple(Server(f"minio-{at}", f"10.0.0.{at}", 9000, f"minio-{at}.minio.store.svc") for at in range(4))


def endpoint(at: int) -> str:
    return f"minio-{at}.minio.store.svc.cluster.local:9000"


def answered(*verdicts: Verdict) -> Answered:
    return Answered(tuple(HostAnswer(endpoint(at), verdict, "said") for at, verdict in enumerate(verdicts)))


DONE = (Verdict.DONE,) * 4


def test_what_every_server_has_is_staged() -> None:
    assert staged(answered(*DONE), SERVERS, ()).answer is Answer.OK


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [
        (Verdict.AT_TARGET, Answer.REFUSED),
        (Verdict.GARBLED, Answer.REFUSED),
        (Verdict.UNREACHABLE, Answer.REFUSED),
        (Verdict.BUSY, Answer.REFUSED),
        (Verdict.HUNG, Answer.REFUSED),
        (Verdict.READ_ONLY, Answer.FAILED),
        (Verdict.NOT_TRUSTED, Answer.FAILED),
        (Verdict.FAILED, Answer.FAILED),
    ],
)
def test_one_server_without_it_is_enough_and_is_named(verdict: Verdict, answer: Answer) -> None:
    found = staged(answered(*DONE[:3], verdict), SERVERS, ())
    assert found.answer is answer
    assert found.message == f"minio-3: {verdict.value} (said)"


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_server_that_runs_the_target_by_its_own_word_is_excused(verdict: Verdict) -> None:
    assert staged(answered(*DONE[:3], verdict), SERVERS, {"minio-3"}).answer is Answer.OK


def test_a_server_that_nothing_is_told_of_has_nothing() -> None:
    found = staged(answered(*DONE[:3]), SERVERS, ())
    assert (found.answer, "minio-3" in found.message) == (Answer.REFUSED, True)


def test_a_server_that_is_told_of_twice_is_not_believed() -> None:
    twice = Answered((*answered(*DONE).hosts, HostAnswer(endpoint(3), Verdict.DONE)))
    assert staged(twice, SERVERS, ()).answer is Answer.REFUSED


def test_a_stranger_among_the_hosts_stops_it() -> None:
    more = Answered((*answered(*DONE).hosts, HostAnswer("minio-4.other.svc:9000", Verdict.DONE)))
    found = staged(more, SERVERS, ())
    assert (found.answer, "minio-4.other.svc:9000" in found.message) == (Answer.FAILED, True)


@pytest.mark.parametrize(
    ("why", "answer"),
    [
        (Why.SWITCHED_OFF, Answer.FAILED),
        (Why.DENIED, Answer.FAILED),
        (Why.STARTING, Answer.REFUSED),
        (Why.NO_ARTIFACT, Answer.REFUSED),
        (Why.FAILED, Answer.REFUSED),
    ],
)
def test_a_call_that_was_refused_changed_nothing(why: Why, answer: Answer) -> None:
    assert staged(Refused(why, "x"), SERVERS, ()).answer is answer
    assert switched(Refused(why, "x"), SERVERS).answer is answer


def test_a_lost_answer_is_another_try_of_staging_and_an_unknown_switch() -> None:
    assert staged(Lost("x"), SERVERS, ()).answer is Answer.REFUSED
    assert switched(Lost("x"), SERVERS).answer is Answer.UNKNOWN


def test_a_switch_that_reached_some_was_carried_out_and_tells_of_the_others() -> None:
    found = switched(answered(*DONE[:3], Verdict.GARBLED), SERVERS)
    assert (found.answer, found.message) == (Answer.OK, f"minio-3: {Verdict.GARBLED.value} (said)")


@given(st.lists(st.sampled_from(list(Verdict)), max_size=5), st.sets(st.sampled_from(range(4))))
def test_nothing_is_staged_but_what_each_server_has_or_does_not_need(
    verdicts: list[Verdict], at_target: set[int]
) -> None:
    found = staged(answered(*verdicts), SERVERS, {f"minio-{at}" for at in at_target})
    each = [at in at_target or verdicts[at] is Verdict.DONE for at in range(min(4, len(verdicts)))]
    assert (found.answer is Answer.OK) == (len(verdicts) == 4 and all(each))
    assert found.answer is Answer.OK or found.message


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [
        ([Verdict.NOT_TRUSTED] * 2, Answer.OK),
        ([Verdict.NOT_TRUSTED, Verdict.GARBLED], Answer.OK),
        ([Verdict.NOT_TRUSTED, Verdict.READ_ONLY], Answer.FAILED),
        ([Verdict.NOT_TRUSTED, Verdict.NOT_FETCHED], Answer.FAILED),
        ([Verdict.NOT_TRUSTED, Verdict.UNREACHABLE], Answer.REFUSED),
        ([Verdict.NOT_TRUSTED, Verdict.DONE], Answer.FAILED),
    ],
)
def test_a_rehearsal_is_passed_by_who_refuses_the_file_for_its_signature_alone(
    verdicts: list[Verdict], answer: Answer
) -> None:
    pair = SERVERS[:2]
    hosts = tuple(
        HostAnswer(f"{server.host}:{server.port}", verdict)
        for server, verdict in zip(pair, verdicts, strict=True)
    )
    assert rehearsed(Answered(hosts), pair).answer is answer
    assert rehearsed(Answered(hosts[:1]), pair).answer is Answer.REFUSED
