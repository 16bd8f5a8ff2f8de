"""What the words of a server's error mean: a table of patterns, and the reading of error bodies it is applied to.

Each pattern was written for wordings that servers are known to use; they stand beside it.
"""

import json
import re
from typing import Any, cast

_TOOLS = r"[`'\"]?(?:tools?|tool[ _-](?:use|calls?|calling)|functions?|function[ _-]?call(?:s|ing)?)\b"
_SCHEMA = r"(?:response[_ ]format|json[_ ]schema|structured[_ ]outputs?|guided[_ ](?:json|decoding)|grammar)"
_UNKNOWN = r"(?:unknown|unrecognized|unexpected|unsupported)[\w ]*"
_FIELD = r"(?:field|param(?:eter)?|argument|keyword|property|key)s?[\w ]*:?"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


OVERFLOW = _any(
    r"context_length_exceeded|exceed_context_size",  # OpenAI's code; llama.cpp's type
    r"maximum context|maximum number of (?:input )?tokens",  # OpenAI, vLLM, SGLang: "maximum context length is 4096"
    # llama.cpp: "the request exceeds the available context size"; Ollama: "input length exceeds the context length"
    r"(?:exceed|longer than|larger than|greater than|too (?:long|large|many)|overflow|does not fit|beyond).{0,80}"
    r"\b(?:context (?:length|window|size)|n_ctx)",
    r"\b(?:context[ _](?:length|window|size)|n_ctx)\b.{0,80}(?:exceed|too (?:small|short)|overflow|reached)",
    r"prompt (?:is )?too long|input is too long|too many (?:input |prompt )?tokens(?! per\b)",  # Anthropic, TGI
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",
)
"""The request does not fit in the model's context."""

NO_TOOLS = _any(
    # Ollama: "… does not support tools"; DeepSeek: "does not support Function Calling"
    rf"(?:not|n't) support (?:native |the |using )?{_TOOLS}",
    r"no endpoints found that support tool use",  # OpenRouter
    rf"{_TOOLS}[`'\"]? (?:is|are) (?:not|un) ?(?:currently |yet )?(?:supported|enabled|available|implemented)",
    # Go: 'unknown field "tools"'; llama.cpp: "Unsupported param: tools"
    rf"{_UNKNOWN}{_FIELD} [`'\"]*(?:tools|functions)\b(?![\[.])",
    r"(?:^|[ .])tools: extra (?:inputs|fields)",  # pydantic: "body.tools: Extra inputs are not permitted"
    r"auto[`'\"]* tool choice requires|--enable-auto-tool-choice",  # vLLM
    r"tools param(?:eter)? requires|requires? --jinja",  # llama.cpp
)
"""The server or the model takes no ``tools``."""

NO_IMAGES = _any(
    # llama.cpp, under 500: "image input is not supported", older 'Unsupported content part type: "image_url"'; Mistral
    # "Image input is not enabled"; OpenRouter, under 404: "No endpoints found that support image input"; Ollama "this
    # model does not support image input", "this model is missing data required for image input"
    r"image inputs? (?:is|are) not|(?:not|n't|that) support (?:image|vision)|required for image input",
    # vLLM "… is not a multimodal model", "At most 0 image(s) may be provided"; LM Studio "does not support images"
    r"is not a multimodal model|at most \d+ image",
    # OpenAI "image_url is only supported by certain models"; DeepSeek (serde) "unknown variant `image_url`, expected"
    r"\bimage_url\b.{0,20}only supported by|(?:unsupported|unknown|invalid)[\w ]{0,30}:? [`'\"\\]*image_url\b",
    r"(?:failed|unable) to (?:load|decode|process) (?:the )?image|invalid[_ ](?:base64_)?image|image_parse_error",
)
"""The server or the model takes no images, or not this one."""

NO_SCHEMA = _any(
    # Groq: "does not support response format `json_schema`"; xgrammar: "schema contains features not supported by"
    rf"(?:n[o']t support|{_UNKNOWN}|failed to (?:parse|compile|initialize)|invalid schema for).{{0,80}}?\b{_SCHEMA}",
    # OpenAI: "'response_format' of type 'json_schema' is not supported"; LM Studio: "'response_format.type' must be"
    rf"{_SCHEMA}\b.{{0,80}}?(?:not (?:\w+ )?(?:supported|available|allowed|enabled|permitted|implemented)|unsupported"
    r"|unavailable|must be)",
    r"ChatRequest\.format\b|invalid (?:json schema in )?format\b",  # Ollama, old and new
    r"(?:^|[ .])(?:response_)?format: extra (?:inputs|fields)",
)
"""The server or the model takes no schema to constrain decoding with."""

BAD_SCHEMA = _any(
    # llama.cpp: "Unable to generate parser for this template. … JSON schema error at #/properties/x: schema must be an
    # object"; older: "JSON schema conversion failed", "Failed to parse grammar"
    r"unable to generate parser for this template|json schema (?:error at|conversion failed)|failed to parse grammar",
    r"invalid schema for function",  # OpenAI
)
"""The server takes schemas, but not this one."""

BAD_PATTERN = _any(r"does not match the expected [\w-]+ format")
"""llama.cpp, under 500: a ``pattern`` let the model write what is not JSON, so that its own parser failed."""

NO_DOTS = _any(
    # OpenAI: "Invalid 'tools[0].function.name': string does not match pattern"; vLLM and others say it with "function"
    r"\bname\b.{0,60}(?:does not|doesn't|must|should) match.{0,40}(?:pattern|regex|\^\[)",
    r"(?:invalid|illegal).{0,40}(?:tool|function)\S{0,20} name",  # Gemini: "Invalid function name. Must start with…"
    r"(?:tool|function) name.{0,100}(?:invalid|illegal|alphanumeric|only contain|underscores?)",  # Azure, Mistral
)
"""The server takes no dots in the names of tools."""

NO_STREAM_OPTIONS = _any(
    # OpenAI, older: "Unrecognized request argument supplied: stream_options"; Groq: "property 'stream_options' is
    # unsupported"; pydantic: "body.stream_options: Extra inputs …". What follows tells it from a request sent back.
    r"\b(?:stream[_ ]options|include_usage)\b(?!['\"]*: *(?:\{|true))",
)
"""The server does not count the tokens of a streamed reply."""

NO_MODEL = _any(
    r"model_not_found",
    # Ollama: 'model "x" not found'; OpenAI and vLLM: "The model `x` does not exist"
    r"\bmodel\b.{0,120}(?:not found|does not exist|no such|is not available|is not a valid model)",
    r"(?:unknown|no such|invalid|not a valid) model\b",  # OpenRouter, llama-swap
)
"""The model is not there."""

_NAMED_LIMIT = _any(
    # The number is the context, not the prompt: OpenAI and vLLM "maximum context length is 4096 tokens"; LM Studio
    # "loaded with context length of only 4096 tokens", "n_keep (9000) >= n_ctx (4096)"; SGLang "longer than the model's
    # context length (4096 tokens)"; llama.cpp "available context size (4096 tokens)"; llama-cpp-python "exceed context
    # window of 2048"
    r"\b(?:context (?:length|window|size)|n_ctx)(?: (?:is|of|only|limit|just))*[ :=(]*(?P<a>\d[\d,]*)",
    # Anthropic "210000 tokens > 200000 maximum"; Gemini "maximum number of tokens allowed (1048576)"
    r"\d tokens > (?P<b>\d[\d,]*)|maximum number of (?:input )?tokens(?: allowed)?[ :=(]*(?P<c>\d[\d,]*)",
    r"max_new_tokens`? must be <= (?P<d>\d+)|(?P<e>\d[\d,]*)[- ]token context",  # TGI
)
"""How a refusal names the length of the context."""

NO_CREDIT = _any(
    r"insufficient_quota|billing_(?:hard_limit|not_active)",  # OpenAI, under 429
    r"insufficient (?:balance|credits?|funds)|credit balance is too low",  # DeepSeek, OpenRouter, Anthropic
)
"""The account has nothing left."""

NO_THINKING = _any(r"does not support thinking")
"""Ollama, under 400: ``think`` was asked of a model that has no such mode."""

NO_MEMORY = _any(r"requires more system memory")
"""Ollama, under 500: trying again does not help."""


def context_limit(body: str) -> int | None:
    """The length of the context that a refusal names, in tokens; ``None`` if it names none.

    llama.cpp has it in a field of its own (``n_ctx``), others in their words.
    """
    error = (parsed(body) or {}).get("error")
    field = cast(dict[str, Any], error).get("n_ctx") if isinstance(error, dict) else None
    if isinstance(field, int) and field > 0:
        return field
    named = _NAMED_LIMIT.search(said(body))
    digits = next((group for group in named.groups() if group), "") if named else ""
    return int(digits.replace(",", "")) or None if digits else None


def said(body: str) -> str:
    """The words of an error body in one line, whatever the server's shape for them."""
    data = parsed(body)
    if data is None:  # a page of a proxy
        return " ".join(re.sub(r"<[^<>]*>", " ", body).split())
    return " ".join("; ".join(_words(data.get("error") or data)).split())


def coded(body: str) -> str:
    """The words of an error body with its code and type before them: what the patterns are applied to."""
    error = (parsed(body) or {}).get("error")
    fields: dict[str, Any] = cast(dict[str, Any], error) if isinstance(error, dict) else {}
    codes = [value for value in (fields.get("code"), fields.get("type")) if isinstance(value, str)]
    return " ".join([*codes, said(body)])


def parsed(body: str) -> dict[str, Any] | None:
    """The JSON object in ``body`` (or the first one of a list, as Gemini sends it), if there is one."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and data:
        data = cast(list[Any], data)[0]
    return cast(dict[str, Any], data) if isinstance(data, dict) else None


def _words(error: Any) -> list[str]:
    if not isinstance(error, dict):
        return [error] if isinstance(error, str) else []
    fields = cast(dict[str, Any], error)
    metadata = fields.get("metadata")
    upstream = cast(dict[str, Any], metadata).get("raw") if isinstance(metadata, dict) else None  # OpenRouter
    words = [value for value in (fields.get("message"), fields.get("error"), upstream) if isinstance(value, str)]
    return [*words, *_details(fields.get("detail"))]


def _details(detail: Any) -> list[str]:
    """FastAPI's ``detail``: a string, or ``[{"loc": ["body", "tools"], "msg": "Extra inputs are …"}]``."""
    if isinstance(detail, str):
        return [detail]
    entries = cast(list[Any], detail) if isinstance(detail, list) else []
    faults = [cast(dict[str, Any], entry) for entry in entries if isinstance(entry, dict)]
    return [f"{_path(fault.get('loc'))}: {fault.get('msg')}" for fault in faults]


def _path(loc: Any) -> str:
    return ".".join(map(str, cast(list[Any], loc))) if isinstance(loc, list) else str(loc)
