"""From bytes to a checked message or None, whatever the bytes are."""

from __future__ import annotations

import dataclasses
import random

import pytest

from holdfast.launch import messages
from holdfast.launch.messages import BEFORE_TOKEN, FROM_AGENT, FROM_COORDINATOR, encode, parse
from tests.launch.malformed import SEEN, VALID, mutated

ALL = {**BEFORE_TOKEN, **FROM_AGENT, **FROM_COORDINATOR}


@pytest.mark.parametrize("message", VALID, ids=lambda one: type(one).__name__)
def test_what_is_sent_is_what_is_received(message: messages.Message) -> None:
    assert parse(encode(message), ALL) == message


@pytest.mark.parametrize("line", SEEN[:22], ids=lambda one: repr(one[:24]))
def test_what_ended_a_coordinator_is_no_message(line: bytes) -> None:
    assert parse(line, ALL) is None


def test_a_message_of_the_other_side_is_none() -> None:
    start, status = encode(messages.Start(1, 2, "h:1", False)), encode(messages.Status(True, 1))
    assert parse(start, FROM_AGENT) is None
    assert parse(status, FROM_COORDINATOR) is None
    assert parse(status, BEFORE_TOKEN) is None


def test_twenty_thousand_changed_messages_are_none_or_fit_in_every_field() -> None:
    fitted = 0
    for line in mutated(random.Random(11), 20_000):
        message = parse(line, ALL)
        if message is not None:
            fitted += 1
            assert parse(encode(message), ALL) == message
            for one in dataclasses.fields(message):
                assert one.metadata["check"](getattr(message, one.name)) == getattr(message, one.name)
    assert 0 < fitted < 15_000


def test_text_is_cut_and_holds_no_escape_sequence() -> None:
    hello = parse(encode(messages.Hello(0, "t", "evil\x1b]0;owned\x07" + "x" * 999)), BEFORE_TOKEN)
    assert isinstance(hello, messages.Hello)
    assert hello.host.startswith("evil\ufffd]0;owned\ufffdx")
    assert len(hello.host) == 255


def test_a_verdict_of_any_size_fits_a_line() -> None:
    fact = {"fact": "\U0001f600" * 5000, "source": "s"}
    ended = messages.ProcessEnded(
        1, verdict={"summary": "x" * 10**6, "because": [fact] * 100, "other": object}
    )
    line = encode(ended)
    assert len(line) < messages.LINE_BYTES
    message = parse(line, FROM_AGENT)
    assert isinstance(message, messages.ProcessEnded)
    assert sorted(message.verdict) == ["because", "summary"]
    assert len(message.verdict["because"]) == 20


def test_a_line_that_is_too_long_is_none() -> None:
    assert parse(b" " * messages.LINE_BYTES + encode(messages.Pong(1.0)), FROM_AGENT) is None


def test_a_number_out_of_its_range_is_not_sent() -> None:
    with pytest.raises(ValueError, match="whole number"):
        encode(messages.Hello(-1, "t", "h"))
