"""Errors in the form of OpenAI's API, on its paths alone: what their clients read, with our codes."""

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from micro_agent.files.masking import mask_of
from micro_agent.server.errors import CODES, SAFE, of_defect

PATHS = "/v1/"
"""What begins so is OpenAI's API."""

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class NotTaken(Exception):
    """A request that is refused for one of its parameters.

    Args:
        param: Which, such as ``messages.2.content``.
        message: What to do, in one line.
        code: A code of `CODES`.
    """

    def __init__(self, param: str, message: str, code: str = "unsupported_parameter") -> None:
        super().__init__(message)
        self.param, self.code = param, code


def told(status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def unanswered(status: int, code: str, message: str) -> Response:
    """The response for a run that has no answer. It is not to be asked again by a program that nobody told to."""
    content = mask_of().encode(told(status, code, message))
    return Response(content, status, {"X-Should-Retry": "false"}, media_type="application/json")


def answer_errors(app: FastAPI) -> None:
    """Have the errors of an app's routes on these paths answered in this form, together with `InTheirForm`."""
    app.add_exception_handler(NotTaken, _of_not_taken)
    app.add_exception_handler(Exception, _of_defect)


async def _of_not_taken(_: Request, error: Exception) -> Response:
    assert isinstance(error, NotTaken)
    status = CODES[error.code].status
    body = mask_of().encode(told(status, error.code, str(error), error.param))
    return Response(body, status, media_type="application/json")


async def _of_defect(request: Request, error: Exception) -> Response:
    """No middleware sees what a defect answers."""
    if not request.url.path.startswith(PATHS):
        return await of_defect(request, error)
    response = unanswered(500, "internal_error", CODES["internal_error"].meaning)
    response.headers.update(SAFE)
    return response


class InTheirForm:
    """Puts errors that were answered in our form into theirs. It is around everything that refuses requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its response back."""
        if scope["type"] != "http" or not scope["path"].startswith(PATHS):
            await self._app(scope, receive, send)
            return
        started: Message | None = None

        async def send_in_form(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start" and _is_error(message):
                started = message  # its body, all in one piece, comes next
            elif started is None:
                await send(message)
            else:
                status, body = _in_form(started["status"], message["body"])
                headers = [one for one in started["headers"] if one[0] != b"content-length"]
                headers.append((b"content-length", str(len(body)).encode()))
                await send({**started, "status": status, "headers": headers})
                await send({**message, "body": body})

        await self._app(scope, receive, send_in_form)


def _is_error(start: Message) -> bool:
    """Whether a response is an error of ours: what CORS refuses is a text."""
    return start["status"] >= 400 and (b"content-type", b"application/json") in start["headers"]


def _in_form(status: int, body: bytes) -> tuple[int, bytes]:
    error = json.loads(body)["error"]
    if "type" in error:
        return status, body
    status = 400 if status == 422 else status  # theirs knows no other status for what is wrong with a request
    faults: list[dict[str, str]] = error.get("faults") or []
    param = faults[0]["at"].removeprefix("body.") if faults else None
    return status, json.dumps(told(status, error["code"], error["message"], param)).encode()
