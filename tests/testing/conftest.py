"""A plain HTTP client for the tests of the scripted server."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

Post = Callable[..., tuple[int, dict[str, str], bytes]]


@pytest.fixture
def connect() -> Iterator[Callable[[str], HTTPConnection]]:
    """Opens connections to a URL and closes them at the end of the test."""
    opened: list[HTTPConnection] = []

    def connect(url: str) -> HTTPConnection:
        connection = HTTPConnection(url.removeprefix("http://").partition("/")[0], timeout=20)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def post() -> Post:
    """Posts one JSON object on a connection of its own; status, headers and the whole body come back."""

    def post(url: str, **body: Any) -> tuple[int, dict[str, str], bytes]:
        host, _, path = url.removeprefix("http://").partition("/")
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], **body}
        with closing(HTTPConnection(host, timeout=20)) as connection:
            connection.request("POST", f"/{path}", json.dumps(body))
            with connection.getresponse() as response:
                return response.status, dict(response.getheaders()), response.read()

    return post
