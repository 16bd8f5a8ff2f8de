"""A web page where a model's reply is due: what a proxy, a login or a captive portal sends under status 200."""

import html
import re

from dspy import LMServerError

from micro_agent.models.failures import MAX_BODY_CHARS, Refusal, marked, one_line

_LOOKED_AT = 1024
"""So many characters may stand before the tag that tells a page: comments, and what XML begins with."""
_MAX_TITLE = 100
_TAG = re.compile(r"<(?:!doctype\s+html|html|head|body|title)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]*>([^<]*)</title", re.IGNORECASE)
_REMEDY = "check the base URL, and a proxy or a login page on the way to it"


def page_error(text: str, sent: Refusal) -> LMServerError | None:
    """The error of a reply that is an HTML page, ``None`` where it is none.

    It counts as a server that fails for a while, as the same page under 502 does.
    """
    body = text[:MAX_BODY_CHARS]
    start = body.lstrip("\ufeff \t\r\n")[:_LOOKED_AT]
    if not (start.startswith("<") and _TAG.search(start)):
        return None
    titled = _TITLE.search(body)
    title = one_line(html.unescape(titled[1]), _MAX_TITLE) if titled else ""
    named = f", {title!r}," if title else ""
    told = f"{sent.url} answered {sent.status} with an HTML page{named} and no JSON: {_REMEDY}"
    error = LMServerError(told, model=sent.model, provider=sent.provider, status=sent.status)
    return marked(error, body=body, remedy=_REMEDY)
