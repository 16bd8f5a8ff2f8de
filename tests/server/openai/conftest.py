"""A client in OpenAI's words, without OpenAI's package: that takes seconds to import, and `make torture` has it."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx

from micro_agent.testing import call, text

if TYPE_CHECKING:
    from tests.server.conftest import Serving

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
SUM: list[Any] = [call("add", {"a": 2, "b": 3}), text("It is 5.")]
TIDY: list[Any] = [call("delete", {"path": "old.txt"}), text("It is gone.")]
PNG = "data:image/png;base64,iVBORw0KGgo="
OTHER_PNG = "data:image/png;base64,iVBORw0KGgoA"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def says(role: str, content: Any) -> Any:
    """A message."""
    return {"role": role, "content": content}


class Told(dict[str, Any]):
    """An object of JSON. A field that it does not have is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    @property
    def output_text(self) -> str:
        """All texts of a response."""
        return "".join(part["text"] for item in self["output"] for part in item.get("content") or ())


class Error(Exception):
    """What a server refuses, or could not answer."""

    def __init__(self, error: dict[str, Any], response: httpx.Response) -> None:
        super().__init__(error["message"])
        self.code, self.type, self.param = error["code"], error["type"], error["param"]
        self.status, self.headers = response.status_code, response.headers


class Client:
    """Asks a server."""

    def __init__(self, serving: "Serving") -> None:
        self.serving = serving

    def chat(self, *messages: Any, stream: bool = False, headers: Any = None, **more: Any) -> Any:
        """A chat completion, or its chunks; a text stands for a message of the user."""
        said = [says("user", one) if isinstance(one, str) else one for one in messages]
        return self._asked(CHAT, {"messages": said, "stream": stream, **more}, headers)

    def says(self, *messages: Any, **more: Any) -> str:
        """What the assistant says to that."""
        return self.chat(*messages, **more).choices[0].message.content

    def streamed(self, *messages: Any, **more: Any) -> str:
        """The content of a stream."""
        return "".join(chunk.choices[0].delta.content or "" for chunk in self.chat(*messages, stream=True, **more))

    def respond(self, given: Any, *, stream: bool = False, **more: Any) -> Any:
        """A response, or its events."""
        return self._asked(RESPONSES, {"input": given, "stream": stream, **more}, None)

    def responded(self, given: Any, **more: Any) -> Any:
        """The response at the end of a stream."""
        *_, last = self.respond(given, stream=True, **more)
        return last.response

    def sent(self, number: int = -1) -> list[dict[str, Any]]:
        """The messages of a request that the model got."""
        return self.serving.lm.messages(number)

    def posted(self, path: str, **body: Any) -> httpx.Response:
        """What comes of a body as it stands."""
        return self.serving.client.post(path, json={"model": "micro-agent", **body})

    def _asked(self, path: str, body: dict[str, Any], headers: Any) -> Any:
        body = {"model": "micro-agent", **body}
        if body["stream"]:
            return self._events(path, body, headers)
        answer = self.serving.client.post(path, json=body, headers=headers)
        told = json.loads(answer.content, object_hook=Told)
        if answer.is_error:
            raise Error(told.error, answer)
        return told

    def _events(self, path: str, body: dict[str, Any], headers: Any) -> Iterator[Any]:
        with self.serving.client.stream("POST", path, json=body, headers=headers) as answer:
            if answer.is_error:
                raise Error(json.loads(answer.read())["error"], answer)
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    told = json.loads(line.removeprefix("data: "), object_hook=Told)
                    if "error" in told:
                        raise Error(told.error, answer)
                    yield told


def events(body: str) -> list[tuple[str | None, Any]]:
    """The events of a stream: the name of each, and its data."""
    found: list[tuple[str | None, Any]] = []
    for part in filter(None, body.split("\n\n")):
        lines = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
        if lines:
            data = lines["data"]
            found.append((lines.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found
