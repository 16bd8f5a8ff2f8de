"""Errors of model calls: from a server's refusal to an exception, and from any exception to data for the run."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Literal, TypeVar, cast

from dspy import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMNotConfiguredError,
    LMProviderError,
    LMRateLimitError,
    LMServerError,
    LMStreamAssemblyError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedFeatureError,
    LMUnsupportedModelError,
)

from micro_agent.files.masking import mask_of
from micro_agent.models.refusals import (
    BAD_PATTERN,
    BAD_SCHEMA,
    NO_CREDIT,
    NO_DOTS,
    NO_IMAGES,
    NO_MEMORY,
    NO_MODEL,
    NO_SCHEMA,
    NO_STREAM_OPTIONS,
    NO_THINKING,
    NO_TOOLS,
    OVERFLOW,
    coded,
    parsed,
    said,
)

MAX_BODY_CHARS = 64 * 1024
"""So much of a server's error body is kept."""
MAX_MESSAGE_CHARS = 500
MAX_SAID_CHARS = 300
"""So much of a server's words stands in the message, so that there is room for what to do."""

Code = Literal[
    "NO_SERVER", "AUTH", "BILLING", "MODEL_NOT_FOUND", "RATE_LIMITED", "SERVER_ERROR", "TIMEOUT", "BAD_REQUEST",
    "CONTEXT_OVERFLOW", "BAD_REPLY", "MOCK_REFUSED", "UNEXPECTED",
]  # fmt: skip

LM_ERRORS: tuple[type[Exception], ...] = (LMError,)
"""What a model call raises, whatever the engine: DSPy turns any other exception of an engine into one of these."""

E = TypeVar("E", bound=LMError)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model call failed, as a run records it.

    ``message`` is one line of at most 500 characters that says what happened and what to do, without any key.
    ``retry_after`` is in seconds, as the server asked. ``reason`` is the run's termination reason.
    """

    code: Code
    message: str
    retryable: bool = False
    retry_after: float | None = None
    reason: Literal["lm_error", "context_overflow"] = "lm_error"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server sent, perhaps instead of a reply. ``headers`` have names in lower case."""

    status: int
    body: str
    headers: Mapping[str, str]
    url: str
    model: str
    provider: str

    def saying(self, body: str) -> "Refusal":
        """The same with ``body``."""
        return replace(self, body=body)


_REQUEST_FAULT = frozenset({400, 404, 405, 413, 415, 422, 500, 501})
_ANY = frozenset(range(100, 600))
_RULES: tuple[tuple[frozenset[int], re.Pattern[str] | None, type[LMError]], ...] = (
    # The first row with the status, and words that match (if it asks for any), names the error.
    (_ANY, NO_CREDIT, LMBillingError),  # before 429: an empty account does not fill up by waiting
    (frozenset({402}), None, LMBillingError),
    (frozenset({401, 403}), None, LMAuthError),
    (frozenset({429}), None, LMRateLimitError),  # before the words: "too many tokens" is one, too
    (_REQUEST_FAULT, NO_IMAGES, LMInvalidRequestError),  # llama.cpp says it under 500: not to be retried
    (_REQUEST_FAULT, OVERFLOW, ContextWindowExceededError),
    (_REQUEST_FAULT, NO_TOOLS, LMInvalidRequestError),  # so are these
    (_REQUEST_FAULT, NO_SCHEMA, LMInvalidRequestError),
    (_REQUEST_FAULT, BAD_SCHEMA, LMInvalidRequestError),
    (_REQUEST_FAULT, NO_MODEL, LMUnsupportedModelError),
    (frozenset({408, 425}) | frozenset(range(500, 600)), None, LMServerError),
    (frozenset(range(400, 500)), None, LMInvalidRequestError),
)

_SHORTEN = "shorten the input or give the model a longer context"
_CODES: tuple[tuple[type[BaseException], Code, str], ...] = (
    # The first row whose class the exception is of; then what to do, unless the message says it already.
    (ContextWindowExceededError, "CONTEXT_OVERFLOW", _SHORTEN),
    (LMNotConfiguredError, "AUTH", "set the API key"),
    (LMAuthError, "AUTH", "check the API key"),
    (LMBillingError, "BILLING", "check the credit of this account"),
    (LMRateLimitError, "RATE_LIMITED", "wait, or send fewer requests at once"),
    (LMUnsupportedModelError, "MODEL_NOT_FOUND", "check the model's name"),
    (LMTimeoutError, "TIMEOUT", "allow more time or take a smaller model"),
    (LMServerError, "SERVER_ERROR", "try again later; the server's log may say more"),
    (LMInvalidRequestError, "BAD_REQUEST", ""),
    (LMTransportError, "NO_SERVER", "is the server running?"),
    (LMStreamAssemblyError, "BAD_REPLY", ""),
    (LMProviderError, "BAD_REPLY", "check that the base URL is that of a model's API"),
    (LMUnsupportedFeatureError, "BAD_REQUEST", ""),
    (LMConfigurationError, "BAD_REQUEST", ""),
    (TimeoutError, "TIMEOUT", "allow more time or take a smaller model"),
    (BaseException, "UNEXPECTED", ""),
)

_IMAGE_DATA = re.compile(r"(?<=;base64,)[\w+/=]{8,}")
"""In the words of a server that quotes the request, as older versions of llama.cpp's do."""
_KEY_SHAPES = re.compile(
    r"(?i)\b(?:sk|gsk|xai|hf|nvapi|csk|tgp)[-_][\w*.-]{6,}|AIza[\w-]{20,}|(?<=bearer )\S+|(?<=//)[^/@\s]+@"
)


def marked(error: E, **attributes: Any) -> E:
    """``error`` with attributes that DSPy's classes do not have (``body``, ``emitted``, ``retries``)."""
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def refused(refusal: Refusal) -> LMError:
    """The public DSPy error for a refusal, with ``body`` (bounded) and ``status``.

    The status decides, and where servers disagree on statuses, their words. An error without a status of its own under
    HTTP 200 counts as the server's fault.
    """
    body = refusal.body[:MAX_BODY_CHARS]
    status, words = refusal.status, coded(body)
    if status < 300:
        status = _own_status(body)
    found = (
        kind for statuses, words_of, kind in _RULES if status in statuses and (not words_of or words_of.search(words))
    )
    error = next(found, LMProviderError)(
        message=_told(refusal, status, body), model=refusal.model, provider=refusal.provider, status=status,
        provider_code=str(_own_code(body) or "") or None, request_id=refusal.headers.get("x-request-id"),
        retry_after=retry_after(refusal.headers),
    )  # fmt: skip
    return marked(error, body=body)


def failure_of(exc: BaseException, *, base_url: str | None = None, model: str | None = None) -> Failure:
    """What ``exc``, raised by a call of ``model`` at ``base_url``, means for the run."""
    text = str(getattr(exc, "message", "")) or str(exc)
    code, advice = _meaning(exc, text)
    if code == "UNEXPECTED" or not text.strip():
        text = f"{type(exc).__name__}: {text}".rstrip(": ")
    where = f" ({model} at {base_url})" if base_url and model and base_url not in text else ""
    what_to_do = f": {advice}" if advice and advice not in text else ""
    return Failure(
        code=code,
        message=one_line(text + where, MAX_MESSAGE_CHARS - len(what_to_do)) + what_to_do,
        retryable=retryable(exc),
        retry_after=getattr(exc, "retry_after", None),
        reason="context_overflow" if code == "CONTEXT_OVERFLOW" else "lm_error",
    )


def _meaning(exc: BaseException, text: str) -> tuple[Code, str]:
    _, code, advice = next(row for row in _CODES if isinstance(exc, row[0]))
    advice = getattr(exc, "remedy", advice)
    if getattr(exc, "code", None) == "MOCK_REFUSED":
        return "MOCK_REFUSED", ""
    if code == "BAD_REQUEST" and OVERFLOW.search(text):  # lm15 knows the codes, not the words
        return "CONTEXT_OVERFLOW", _SHORTEN
    if code == "NO_SERVER" and getattr(exc, "reached", False):
        return "SERVER_ERROR", "try again later"
    return code, advice


def retryable(exc: BaseException) -> bool:
    """Whether the same request may succeed later: transport faults, 429 and 5xx, unless text was already shown."""
    if getattr(exc, "emitted", False) or getattr(exc, "status", None) == 501:
        return False
    return isinstance(exc, LMTransportError | LMRateLimitError | LMServerError) and not NO_MEMORY.search(str(exc))


def overflows(exc: BaseException) -> bool:
    """Whether ``exc`` says that the request did not fit in the model's context."""
    return failure_of(exc).code == "CONTEXT_OVERFLOW"


def refuses_tools(exc: BaseException) -> bool:
    """Whether ``exc`` says that this server or model takes no tools, so that JSON mode is the way to go on."""
    return _says(exc, NO_TOOLS)


def refuses_schema(exc: BaseException) -> bool:
    """Whether ``exc`` says that this server or model takes no response schema, so that it is to be left out."""
    return _says(exc, NO_SCHEMA)


def refuses_this_schema(exc: BaseException) -> bool:
    """Whether ``exc`` says that this server takes schemas and not this one, so that a simpler one may do."""
    return _says(exc, BAD_SCHEMA)


def fails_on_pattern(exc: BaseException) -> bool:
    """Whether ``exc`` says that a reply was none, as it is where a ``pattern`` let through what JSON has to escape."""
    return _says(exc, BAD_PATTERN)


def refuses_dots(exc: BaseException) -> bool:
    """Whether ``exc`` says that this server takes no tool whose name has a dot, so that it is to be named otherwise."""
    return _says(exc, NO_DOTS)


def refuses_stream_options(exc: BaseException) -> bool:
    """Whether ``exc`` says that this server takes no ``stream_options``, so that its streams are to go uncounted."""
    return _says(exc, NO_STREAM_OPTIONS)


def one_line(text: str, most: int) -> str:
    """``text`` in one line of at most ``most`` characters, without known secrets and whatever looks like a key."""
    line = _KEY_SHAPES.sub("***", " ".join(_IMAGE_DATA.sub("…", mask_of().text(text)).split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, as ``retry-after-ms`` or ``Retry-After`` (seconds or a date, RFC 9110 10.2.3) says."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit)
        if seconds is not None:
            return seconds
    return None


def _seconds(value: str, unit: float) -> float | None:
    try:
        seconds = float(value) * unit
    except ValueError:
        return _until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    return max(0.0, then.replace(tzinfo=then.tzinfo or UTC).timestamp() - time())


def _says(exc: BaseException, pattern: re.Pattern[str]) -> bool:
    if getattr(exc, "status", None) not in {None, *_REQUEST_FAULT} or not isinstance(
        exc, LMInvalidRequestError | LMServerError
    ):
        return False
    body = getattr(exc, "body", None)
    words = coded(body) if isinstance(body, str) else str(exc)
    others = "tool_use_failed" in words or NO_IMAGES.search(words)  # to be answered otherwise, whatever else it says
    return not others and pattern.search(words) is not None


def _told(refusal: Refusal, status: int, body: str) -> str:
    """What the server said, and what to do where its words alone do not tell."""
    words = coded(body)
    text = f"{refusal.url} answered {status}: {one_line(said(body) or 'no reason given', MAX_SAID_CHARS)}"
    if refusal.provider == "ollama" and status in _REQUEST_FAULT and NO_MODEL.search(words):
        return f"{text}: get it with `ollama pull {refusal.model}`"
    if status in _REQUEST_FAULT and NO_IMAGES.search(words):
        return f"{text}: take a model that takes images (llama.cpp's server wants its --mmproj), or ask without"
    if status == 404 and not (NO_MODEL.search(words) or NO_TOOLS.search(words)):
        return f"{text}: check the base URL (OpenAI-compatible servers want one that ends in /v1)"
    if status < 400:
        return f"{text}: set the base URL to where it redirects, {refusal.headers.get('location', 'which is not said')}"
    if NO_MEMORY.search(words):
        return f"{text}: take a smaller model or a smaller OLLAMA_NUM_CTX"
    if NO_THINKING.search(words):
        return f"{text}: leave out --think and OLLAMA_THINK, or take a model that thinks"
    return text


def _own_status(body: str) -> int:
    """The status that an error under HTTP 200 gives itself (OpenRouter: ``{"error": {"code": 429}}``), else 500."""
    code = _own_code(body)
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _own_code(body: str) -> Any:
    error = (parsed(body) or {}).get("error")
    return cast(dict[str, Any], error).get("code") if isinstance(error, dict) else None
