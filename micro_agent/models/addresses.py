"""Addresses of model servers: which texts are one, and which host it is. Nothing secret may stand in one.

An address goes into records, errors and announcements, so what could hold a key or a password is refused.
"""

import re
from urllib.parse import SplitResult, urlsplit

OPENAI_PUBLIC_URL = "https://api.openai.com/v1"
OLLAMA_DEFAULT_URL = "http://127.0.0.1:11434"

_DEFAULT_PORT = {"http": 80, "https": 443}
_NO_SECRETS = "without a password and without a query"


def is_public_openai(url: str) -> bool:
    """Whether ``url`` is OpenAI's own service, as opposed to a compatible server that may borrow its model names."""
    return urlsplit(url).hostname == urlsplit(OPENAI_PUBLIC_URL).hostname


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, which is what a key belongs to; the port is always there."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or _DEFAULT_PORT[parts.scheme]}"


def http_url(text: str) -> str:
    """The base URL in ``text`` without a slash at its end.

    Raises:
        ValueError: It is not an ``http://`` or ``https://`` URL with a host and a port that can be one, or it has a
            password or a query in it, which would be shown wherever the address is.
    """
    fault = f"not an http:// or https:// URL {_NO_SECRETS}"
    parts = _parsed(text, fault)
    if parts.scheme not in _DEFAULT_PORT or not parts.hostname or "@" in parts.netloc:
        raise ValueError(fault)
    return text.rstrip("/")


def ollama_url(text: str) -> str:
    """The base URL of the Ollama server that ``text`` names, in the forms that Ollama's own ``OLLAMA_HOST`` has.

    ``host``, ``host:port``, ``:port`` and whole URLs; the port is 11434 unless the URL has a scheme. An address to
    listen on (``0.0.0.0``, ``[::]``) becomes the loopback one. A path of ``/v1`` or ``/api`` at the end is left out.
    Source: ``envconfig.Host`` of Ollama.

    Raises:
        ValueError: It names no host, or it has a password or a query in it.
    """
    fault = f"not a host, host:port or http:// URL {_NO_SECRETS}"
    scheme, mark, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if mark else ("http", text)
    if scheme not in _DEFAULT_PORT or "@" in text:
        raise ValueError(fault)
    authority, _, path = rest.partition("/")
    if re.fullmatch(r"[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F]*", authority):
        authority = f"[{authority}]"
    parts = _parsed(f"{scheme}://{authority}/{path}", fault)
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname)
    port = parts.port or (_DEFAULT_PORT[scheme] if mark else 11434)
    path = re.sub(r"(^|/)(v1|api)$", "", path.rstrip("/"))
    return f"{scheme}://{f'[{host}]' if ':' in str(host) else host}:{port}{path and '/' + path}"


def _parsed(text: str, fault: str) -> SplitResult:
    """The parts of a URL without anything that a query, a terminal or two parsers could make something else of."""
    try:
        parts = urlsplit(text)
        port_fits = parts.port != 0
    except ValueError:  # it says which part of the text is at fault, and that may be the secret
        raise ValueError(fault) from None
    if not port_fits or not text.isprintable() or re.search(r"[\s?#\\]", text):
        raise ValueError(fault)
    return parts


def shown(value: object) -> str:
    """``value`` in quotes and short, unless it may hold a secret: a key in the wrong place, a password, a query."""
    text = str(value)
    if text.startswith("sk-") or re.search("[@?#]", text):
        return "not valid (it is not shown, as it may be a secret)"
    return repr(text if len(text) <= 60 else text[:57] + "...")
