"""Connections whose headers do not come: which deadlines run, without a clock."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from eigentext.studio.service.protocol import protocol

SECONDS = 7.0
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Loop:
    """Keeps what was to be called later, and starts nothing."""

    def __init__(self) -> None:
        self.later: dict[Any, tuple[float, Any]] = {}

    def call_later(self, seconds: float, call: Any) -> Any:
        handle = Mock()
        handle.cancel = lambda: self.later.pop(handle)
        self.later[handle] = seconds, call
        return handle

    def create_task(self, work: Any) -> Any:
        work.close()
        return Mock()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def connection(loop: Loop) -> Any:
    config = uvicorn.Config(Mock(), log_config=None, ws="none", lifespan="off")
    made = protocol(SECONDS, 2)(config, ServerState(), {}, loop)  # type: ignore[arg-type]
    made.connection_made(Mock())
    return made


def answered(connection: Any) -> None:
    """The answer to a request has been sent."""
    connection.conn.send(h11.Response(status_code=200, headers=[(b"content-length", b"0")]))
    connection.conn.send(h11.EndOfMessage())
    connection.conn.start_next_cycle()


def test_a_connection_has_one_deadline_until_its_headers_are_whole(
    connection: Any, loop: Loop
) -> None:
    given = list(loop.later)
    assert len(given) == 1
    connection.data_received(REQUEST[:9])
    connection.data_received(REQUEST[9:-2])
    assert list(loop.later) == given  # a byte now and then puts nothing off
    ((seconds, call),) = loop.later.values()
    assert seconds == SECONDS
    assert not connection.transport.close.called
    call()
    assert connection.transport.close.called


def test_whole_headers_are_waited_for_no_more_until_the_next_begin(
    connection: Any, loop: Loop
) -> None:
    connection.data_received(REQUEST[:9])
    connection.data_received(REQUEST[9:])
    assert not loop.later
    answered(connection)
    assert not loop.later
    connection.data_received(REQUEST[:9])
    assert [seconds for seconds, _ in loop.later.values()] == [SECONDS]
    connection.data_received(REQUEST[9:])
    assert not loop.later


def test_a_body_is_not_headers(connection: Any, loop: Loop) -> None:
    connection.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhal")
    assert not loop.later


def test_a_body_that_goes_on_after_the_answer_has_a_deadline(connection: Any, loop: Loop) -> None:
    connection.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhal")
    connection.conn.send(h11.Response(status_code=200, headers=[(b"content-length", b"0")]))
    connection.conn.send(h11.EndOfMessage())
    connection.cycle.response_complete = True
    connection.transport.is_closing.return_value = False
    connection.on_response_complete()
    connection.data_received(b"f")  # which ends the wait for another request
    ((seconds, call),) = loop.later.values()
    assert seconds == SECONDS
    call()
    assert connection.transport.close.called


def test_a_client_has_so_many_connections(loop: Loop) -> None:
    config = uvicorn.Config(Mock(), log_config=None, ws="none", lifespan="off")
    kind = protocol(SECONDS, 2)

    def connect(address: str) -> Any:
        made = kind(config, ServerState(), {}, loop)  # type: ignore[arg-type]
        transport = Mock()
        transport.get_extra_info = {"socket": None, "peername": (address, 9)}.get
        made.connection_made(transport)
        return made

    first, second, third = (connect("10.0.0.1") for _ in range(3))
    assert not first.transport.close.called
    assert not second.transport.close.called
    assert third.transport.close.called
    (answer,) = third.transport.write.call_args.args
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: " in answer
    third.data_received(REQUEST)  # is for nobody
    assert third.cycle is None
    assert not connect("10.0.0.2").transport.close.called
    third.connection_lost(None)
    assert connect("10.0.0.1").transport.close.called
    first.connection_lost(None)
    assert not connect("10.0.0.1").transport.close.called
    networks = [connect(f"2001:db8::{k}") for k in range(3)]  # addresses that one client has
    assert networks[2].transport.close.called


def test_a_connection_that_is_gone_has_no_deadline(connection: Any, loop: Loop) -> None:
    connection.connection_lost(None)
    assert not loop.later
