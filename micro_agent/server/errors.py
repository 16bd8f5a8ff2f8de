"""Errors over HTTP: one table of codes, and everything that can go wrong turned into one form of JSON."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from micro_agent.errors import (
    AlreadyDecided,
    ApprovalExpired,
    ConfigurationError,
    MicroAgentError,
    NotWaiting,
    RunBusy,
    RunNotFound,
    StorageError,
)
from micro_agent.files.masking import mask_of
from micro_agent.server.runs import PoolFull, ShuttingDown
from micro_agent.server.schemas import Error, Fault, Problem

_SHOWN_FAULTS = 20
_SHOWN_CHARS = 200
_log = logging.getLogger("micro_agent")


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means: its HTTP status and one line for whoever meets it."""

    status: int
    meaning: str


CODES: dict[str, Code] = {
    "bad_request": Code(
        400, "The request cannot be read: no single Host header, two lengths, or a body that is not JSON."
    ),
    "unsupported_parameter": Code(400, "On OpenAI's paths: a parameter that an agent does not take, such as `tools`."),
    "unauthorized": Code(401, "The header `Authorization: Bearer TOKEN` is missing or wrong."),
    "bad_host": Code(403, "The Host header is not a name of this server; see MICRO_AGENT_ALLOWED_HOSTS."),
    "cross_site": Code(403, "A web page of another origin sent it; see MICRO_AGENT_ALLOWED_ORIGINS."),
    "not_found": Code(404, "There is nothing at this path."),
    "model_not_found": Code(404, "On OpenAI's paths: there is one model, `micro-agent`."),
    "run_not_found": Code(404, "There is no such run, or no such record of it."),
    "method_not_allowed": Code(405, "This path does not take this method; the header Allow names those it takes."),
    "timeout": Code(408, "The request did not arrive in time: MICRO_AGENT_HEADER_TIMEOUT, MICRO_AGENT_BODY_TIMEOUT."),
    "patch_not_found": Code(404, "There is no such patch, or no repository is served."),
    "already_decided": Code(409, "Somebody else decided this question first."),
    "approval_expired": Code(409, "The question is too old to be decided; `POST /runs/{id}/resume` asks it anew."),
    "not_waiting": Code(409, "The run has no open question, or another one than the decision is about."),
    "not_under_way": Code(409, "This server does not have the run under way, so it cannot cancel it."),
    "run_busy": Code(409, "Another process holds the run."),
    "patch_refused": Code(409, "The patch cannot be applied, rejected or undone as it is; the message says why."),
    "too_large": Code(413, "The body is larger than MICRO_AGENT_MAX_BODY."),
    "unsupported_media_type": Code(415, "A body must be `application/json` in UTF-8, not compressed."),
    "invalid_request": Code(422, "A parameter or a field is missing, unknown or wrong; `faults` says which."),
    "too_many_runs": Code(429, "As many runs as are allowed are under way; come back after `Retry-After` seconds."),
    "configuration_error": Code(500, "The server's settings do not let it answer; the message says which."),
    "storage_error": Code(500, "A trace or a journal cannot be read or written."),
    "internal_error": Code(500, "A defect of the server; its log has more."),
    "too_many_connections": Code(503, "All of MICRO_AGENT_MAX_CONNECTIONS wait for an answer; try again later."),
    "shutting_down": Code(503, "The server is about to end. A run that was under way can be resumed."),
}
"""Every code that an error can have. Codes may be added, never renamed."""

_OF_ERRORS: dict[type[Exception], str] = {
    PoolFull: "too_many_runs",
    ShuttingDown: "shutting_down",
    RunNotFound: "run_not_found",
    RunBusy: "run_busy",
    NotWaiting: "not_waiting",
    ApprovalExpired: "approval_expired",
    AlreadyDecided: "already_decided",
    StorageError: "storage_error",
    ConfigurationError: "configuration_error",
    MicroAgentError: "internal_error",
}

_OF_STATUS = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}


class Refused(Exception):
    """A request that is refused with a code of `CODES`."""

    def __init__(self, code: str, message: str | None = None) -> None:
        super().__init__(message or CODES[code].meaning)
        self.code = code


def problem(
    code: str,
    message: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    faults: list[Fault] | None = None,
) -> Response:
    """The response for a code. The message is the code's meaning unless there is a better one."""
    body = Error(error=Problem(code=code, message=message or CODES[code].meaning, faults=faults))
    content = mask_of().encode(body.model_dump(exclude_none=True))
    return Response(content, CODES[code].status, headers, media_type="application/json")


def code_of(error: MicroAgentError) -> str:
    """The code of an error of ours: that of the nearest class in the table."""
    return next(_OF_ERRORS[kind] for kind in type(error).__mro__ if kind in _OF_ERRORS)


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """What a route's OpenAPI says about the errors with these codes and those that every route has."""
    every = ("bad_request", "bad_host", "cross_site", "too_large", "unsupported_media_type", "invalid_request")
    found: dict[int | str, dict[str, Any]] = {}
    for code in sorted({*codes, *every, "storage_error", "internal_error"}, key=list(CODES).index):
        status, meaning = CODES[code].status, CODES[code].meaning
        entry = found.setdefault(status, {"description": "", "content": {}})
        entry["description"] = f"{entry['description']} `{code}`: {meaning}".strip()
        schema = {"$ref": "#/components/schemas/Error"}  # not "model": that takes the type of the route's answers
        media = entry["content"].setdefault("application/json", {"schema": schema, "examples": {}})
        media["examples"][code] = {"value": {"error": {"code": code, "message": meaning}}}
    return found


def answer_errors(app: FastAPI) -> None:
    """Make every error of an app's routes a response in the one form."""
    app.add_exception_handler(MicroAgentError, _of_ours)
    app.add_exception_handler(Refused, _of_refused)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(Exception, of_defect)


async def _of_ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, MicroAgentError)
    headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, PoolFull) else None
    return problem(code_of(error), str(error), headers=headers)


async def _of_refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return problem(error.code, str(error))


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(_OF_STATUS[error.status_code], headers=error.headers)


async def _of_validation(_: Request, error: Exception) -> Response:
    """No input is echoed: it can be huge, and it can be a secret in the wrong place."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(fault["type"] == "json_invalid" for fault in found):
        return problem("bad_request", "the body is not JSON")
    faults = [Fault(at=_at(fault["loc"]), message=str(fault["msg"])[:_SHOWN_CHARS]) for fault in found[:_SHOWN_FAULTS]]
    told = "; ".join(f"{fault.at}: {fault.message}" for fault in faults[:3])
    return problem("invalid_request", told, faults=faults)


async def of_defect(_: Request, error: Exception) -> Response:
    """The server that runs the app logs the traceback; nothing of it goes to the client."""
    return problem("internal_error", headers=SAFE)


def _at(place: tuple[Any, ...]) -> str:
    return ".".join(str(part)[:_SHOWN_CHARS] for part in place)


SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
"""Headers that every response has. What a defect answers passes no middleware, so it brings them along."""
